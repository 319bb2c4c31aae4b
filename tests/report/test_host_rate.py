"""Tasks per second at the host: in reports, as text, and which of accelerator and link binds."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from rbdgen import Design, Target
from rbdgen.errors import ConfigError
from rbdgen.protocol.links import USUAL, Link, Streams, get_link, serial_line
from rbdgen.report import design_text
from rbdgen.report.design import design_report
from rbdgen.report.files import _check_functions
from rbdgen.report.host_rate import host_rates, host_text, rate_text
from rbdgen.schema.json_files import check
from tests.conftest import design

FUNCTIONS = ("id", "did")


def behind(link: Link | None, **options: Any) -> Design:
    """A design for a board with this link."""
    d = design("pendulum2", functions=FUNCTIONS, **options)
    return replace(d, target=Target(link=link))


def test_the_slowest_of_three_binds() -> None:
    d = behind(serial_line(3_000_000), ii=4)
    host = host_rates(d, 100.0)
    (link,) = host["links"]
    assert (host["figures"], host["of_board"], host["clock_mhz"]) == ("modelled", True, 100.0)
    assert host["core"] == {"id": 25e6, "did": 25e6}
    line = get_link("serial")
    for name, way in {"id": "in", "did": "out"}.items():
        found = link["functions"][name]
        rates = line.rates(d.tasks, name, 100.0)
        assert found["binds"] == way
        assert found["tasks_per_second"] == pytest.approx(min(rates.into, rates.out), rel=1e-5)
        assert found["in_per_second"] == pytest.approx(rates.into, rel=1e-5)
        # a byte is ten bits on the line
        assert found["task_bytes"] == pytest.approx(3e6 / rates.into / 8, abs=0.01)


def test_a_lone_call_takes_its_bits_both_ways_and_the_latency_between() -> None:
    d = behind(serial_line(3_000_000), ii=4)
    slow, fast = (host_rates(d, clock)["links"][0]["functions"]["id"] for clock in (1.0, 100.0))
    latency = d.promised_latency("id")
    assert slow["alone_us"] - fast["alone_us"] == pytest.approx(0.99 * latency, rel=1e-3)
    # frames of the task and its result, and the answer to the hello behind the task, 54 bytes
    line = 10 / 3 * (8 * (fast["task_bytes"] + fast["result_bytes"]) / 10 + 54)
    assert fast["alone_us"] == pytest.approx(line + latency / 100, rel=1e-3)
    wire = behind(get_link("gigabit-ethernet"), ii=4)
    alone = host_rates(wire, 100.0)["links"][0]["functions"]["id"]["alone_us"]
    # a frame of Ethernet is 84 bytes at least, with what is around it
    assert alone > 2 * 84 / 125 + latency / 100


def test_a_fast_link_leaves_it_to_the_accelerators() -> None:
    d = behind(Streams("a wide link", "nothing", cycle=10**6), replicas=3)
    host = host_rates(d, 50.0)
    found = host["links"][0]["functions"]["id"]
    assert found["binds"] == "core"
    assert found["tasks_per_second"] == pytest.approx(150e6, rel=1e-3)


def test_a_fixed_clock_is_the_boards() -> None:
    d = behind(get_link("serial"), ii=4)
    fixed = replace(d, target=replace(d.target, clock=50.0))
    host = design_report(fixed)["host"]
    assert (host["clock_mhz"], host["core"]["id"]) == (50.0, 12.5e6)


def test_without_a_board_the_usual_links_are_shown() -> None:
    report = design_report(design("pendulum2", functions=FUNCTIONS, ii=4))
    host = report["host"]
    assert not host["of_board"]
    assert [link["name"] for link in host["links"]] == [get_link(name).name for name in USUAL]
    said = design_text.layout(report)
    for link in host["links"]:
        assert f"not counted of {link['name']}: " in " ".join(said.split())
    assert "modelled, at 125 MHz:" in said
    assert max(map(len, host_text(host).splitlines())) <= 80


def test_an_infinitely_slow_clock_is_no_ones_fault() -> None:
    """Where the clock is another, the accelerator's rate follows it, and that of a link of its own does not."""
    d = behind(get_link("gigabit-ethernet"), ii=4)
    fast, slow = host_rates(d, 100.0), host_rates(d, 0.1)
    ways = [host["links"][0]["functions"]["id"] for host in (fast, slow)]
    assert ways[0]["in_per_second"] == ways[1]["in_per_second"]
    assert [way["binds"] for way in ways] == ["in", "core"]
    assert ways[1]["tasks_per_second"] == 25_000.0


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (7258.3, "7.26 k"),
        (1e8, "100 M"),
        (999.4, "999"),
        (1234567, "1.23 M"),
        (0.25, "0.25"),
        (1e9, "1 G"),
    ],
)
def test_rates_are_short(rate: float, text: str) -> None:
    assert rate_text(rate) == text


def test_a_report_whose_host_is_broken_is_refused() -> None:
    whole = design_report(design("pendulum2", functions=FUNCTIONS, ii=4))
    check(whole, "report")
    _check_functions(whole)
    for change, message in (
        (lambda host: host["core"].pop("did"), r"^lacks host\.core\.'did'$"),
        (lambda host: host["links"][1]["functions"].pop("id"), r"^lacks host\.links\[1\]\.func"),
    ):
        broken = copy.deepcopy(whole)
        change(broken["host"])
        with pytest.raises(ConfigError, match=message):
            _check_functions(broken)
    broken = copy.deepcopy(whole)
    broken["host"]["links"][0]["functions"]["id"]["binds"] = "luck"
    with pytest.raises(ConfigError, match=r"binds must be one of core, in, out, not 'luck'"):
        check(broken, "report")
