"""The smallest design for a latency or a rate, and what is next to it."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from rbdgen import ConfigError, Options, Target, compile_robot, load_robot
from rbdgen.compiler import Design
from rbdgen.compiler.cost import Cost, answer_time
from rbdgen.compiler.latency import NEAR
from rbdgen.compiler.neighbours import neighbours, slowest_interval
from rbdgen.machines.pipeline.budget import Budget
from rbdgen.report.files import config_text
from tests.cli.test_cli import run

ROBOT = load_robot("pendulum2")
BASE = Options(functions=("id",), word=18)
PIPELINE = replace(BASE, machine="pipeline")


def within(seconds: float, options: Options = PIPELINE, rate: float | None = None) -> Design:
    return compile_robot(ROBOT, options, budget=Budget(latency=seconds, rate=rate))


@pytest.mark.parametrize("cycles", [13, 20, 60])
def test_a_pipeline_has_the_longest_interval_that_keeps_the_latency(cycles: int) -> None:
    """Every longer one beyond a small share takes longer."""
    allowed = (cycles + 0.01) / 125e6
    design = within(allowed)
    assert design.promised_latency("id") <= cycles
    longer = design.options.ii + max(1, int(design.options.ii * NEAR)) + 1
    if longer <= cycles:
        beyond = compile_robot(ROBOT, replace(PIPELINE, ii=longer))
        assert beyond.promised_latency("id") > cycles


def test_the_clock_of_a_board_counts() -> None:
    board = Target.of_board("ulx3s_85f", latency=0.5e-6)
    design = compile_robot(ROBOT, PIPELINE, target=board)
    assert design.promised_latency("id") / (1e6 * design.running_clock) <= 0.5e-6


def test_a_rate_beside_a_latency_is_kept_too() -> None:
    design = within(1e-6, rate=20e6)
    assert answer_time(design) <= 1e-6
    assert slowest_interval(design) <= 1 / 20e6


def test_an_engine_that_does_is_taken_where_it_is_smaller() -> None:
    robot = load_robot("iiwa14")
    options = Options(functions=("id",), machine="auto")
    design = compile_robot(robot, options, budget=Budget(latency=20e-6))
    assert design.options.machine == "engine"
    assert answer_time(design) <= 20e-6
    assert any("20 are allowed" in line for line in design.why)


def test_what_no_machine_does_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^latency: 0\.01 µs are less than the 0\.\d+ that"):
        within(10e-9)
    with pytest.raises(ConfigError, match=r"^latency: .* an engine of 4 lanes takes"):
        within(100e-9, replace(BASE, word=None, machine="engine"))
    with pytest.raises(ConfigError, match=r"^latency and goal \(--for\): .* leave one of them out"):
        within(1e-6, replace(PIPELINE, goal="latency"))
    with pytest.raises(ConfigError, match=r"^rate: must be at most 1\.25e\+08"):
        within(1e-6, rate=1e9)


def test_an_interval_that_is_not_as_long_as_a_rate_allows_is_told() -> None:
    design = compile_robot(ROBOT, PIPELINE, budget=Budget(rate=10e3))
    assert any("allow an interval of 12500 cycles; a pipeline has 4096" in w for w in design.why)


def test_neighbours_are_faster_and_smaller() -> None:
    design = within(0.3e-6)
    found = neighbours(design, lambda o, t: compile_robot(ROBOT, o, target=t))
    assert found.faster is not None
    assert answer_time(found.faster) < answer_time(design)
    if found.smaller is not None:
        assert Cost.of(found.smaller).area({}) < Cost.of(design).area({})
        assert answer_time(found.smaller) > answer_time(design)


def test_a_configuration_asks_for_it_again() -> None:
    content = tomllib.loads(config_text(within(0.5e-6), "pendulum2"))
    assert content["latency"] == pytest.approx(0.5e-6)
    assert "ii" not in content


def test_the_command_line_shows_neighbours_and_totals(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asked = ("layout", "pendulum2", "--board", "ulx3s_85f", "--latency", "500ns", "--evidence", "0")
    status, out, err = run(capsys, *asked, "--json")
    assert status == 0, err
    found = json.loads(out)["smallest"]
    assert found["available"]["luts"] == 83640
    assert found["this"]["latency_us"] <= 0.5
    assert found["faster"]["latency_us"] < found["this"]["latency_us"]
    status, out, _ = run(capsys, *asked)
    assert status == 0
    assert max(map(len, out.splitlines())) <= 80
    for words in ("asked for: an answer within 0.5 µs", "next faster", "ulx3s_85f"):
        assert words in out


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--latency", "20uss"], r"latency: must be a number, such as 20us"),
        (["--latency", "0"], r"latency: must be above 0 seconds, not 0"),
        (["--rate", "fast"], r"rate: must be a number, such as 10000 or 10k, not 'fast'"),
        (["--latency", "1us", "--ii", "4"], r"ii and latency: give one of them"),
    ],
)
def test_demands_that_are_none_are_one_line(
    given: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = run(capsys, "layout", "pendulum2", *given)
    assert status == 2
    assert re.search(message, err.strip().splitlines()[-1]), err


@pytest.mark.parametrize("text", ["10k", "10000", "10kHz", "0.01M", "1e4"])
def test_rates_have_units(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    design = ("layout", "pendulum2", "--word", "18", "--machine", "pipeline", "--evidence", "0")
    status, out, _ = run(capsys, *design, "--rate", text)
    assert status == 0
    assert "10000 tasks/s at 125 MHz" in out
