"""How many accelerators stand behind one stream: what a board has room for, and what its link feeds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rbdgen import Budget, ConfigError, Design, Options, Target, compile_robot, load_robot
from rbdgen.compiler.choices import with_replicas
from rbdgen.compiler.cost import CROWDED
from rbdgen.machines.pipeline.resources import estimate
from rbdgen.protocol.links import Link, Streams
from rbdgen.report.design import design_report
from rbdgen_boards.board import board_names, get_board
from tests.conftest import design, in_words

VCU118 = get_board("vcu118")


def board_of(name: str, link: Link | None = None, **changes: Any) -> Target:
    """A board, all of whose logic tools connect, with another link or other resources."""
    whole = Target.of_board(name)
    budget = replace(whole.budget, **({"routable": 1.0} | changes))
    return replace(whole, budget=budget, link=link or whole.link)


def on_board(robot: str, target: Target, **options: Any) -> Design:
    return compile_robot(load_robot(robot), in_words(**options), target=target)


@pytest.mark.parametrize(
    ("robot", "functions", "replicas"),
    [
        ("pendulum2", ("id",), 4),
        ("iiwa14", ("id",), 2),
        pytest.param("iiwa14", ("g",), 3, marks=pytest.mark.thorough),
        pytest.param("hyq", ("id",), 1, marks=pytest.mark.thorough),
    ],
)
def test_a_large_board_gets_as_many_as_its_link_feeds(
    robot: str, functions: tuple[str, ...], replicas: int
) -> None:
    d = on_board(robot, board_of("vcu118"), functions=functions)
    assert (d.options.ii, d.options.replicas, d.tasks.replicas) == (1, replicas, replicas)
    clock = d.plan.schedule.device.megahertz

    def cycles(count: int) -> float:
        several = with_replicas(d, count)
        return max(1 / count, VCU118.link.interval(several.tasks, functions[0], clock))

    # one less is slower, and one more would leave the link what binds with the ones before it
    assert all(cycles(k) > cycles(replicas) for k in range(1, replicas))
    assert cycles(replicas + 1) >= 1 / replicas
    assert d.why[-1].endswith("PCI Express 3.0 x16, 630 bits a cycle, would not feed more")
    roofline = design_report(d)["roofline"]
    bounds = roofline["functions"][functions[0]]
    assert bounds["stream_bound"] == pytest.approx(1 / replicas, abs=1e-4)
    assert bounds["link_bound"] == pytest.approx(cycles(replicas), abs=1e-3) or replicas > 2
    assert bounds["binds"] == ("link" if bounds["link_bound"] > 1 / replicas else "streams")
    assert roofline["link"]["bits_per_cycle"] == pytest.approx(126.03e3 / 200)


def test_a_board_without_room_gets_fewer() -> None:
    wide = Streams("a wide link", "", cycle=10**6)
    one = estimate(*_parts(design("pendulum2", device="xcup", replicas=1)))
    roomy = dict(VCU118.resources)
    resources = roomy | {"luts": round(3.5 * one.luts / CROWDED)}
    d = on_board("pendulum2", board_of("vcu118", resources=resources, link=wide))
    assert d.options.replicas == 3
    assert d.why[-1].endswith("board vcu118 has no room for more")
    few = board_of("vcu118", resources=roomy | {"multipliers": 25}, blocks=25, link=wide)
    assert on_board("pendulum2", few).options.replicas == 2
    endless = on_board("pendulum2", board_of("vcu118", resources={}, link=wide))
    assert endless.options.replicas == 64


def _parts(d: Design) -> tuple[Any, Any]:
    return d.plan, d.tasks


@pytest.mark.parametrize(
    ("options", "replicas"),
    [
        ({"replicas": 1}, 1),
        ({"replicas": 7}, 7),
        ({"goal": "area"}, 1),
        ({"goal": "latency"}, 1),
        ({"goal": "throughput"}, 4),
    ],
)
def test_what_was_given_decides(options: dict[str, Any], replicas: int) -> None:
    assert on_board("pendulum2", board_of("vcu118"), **options).options.replicas == replicas


def test_longer_intervals_and_no_board_mean_one() -> None:
    given = board_of("vcu118", blocks=None)
    assert on_board("pendulum2", given, ii=2).options.replicas == 1
    assert on_board("pendulum2", given, ii=1).options.replicas == 4
    assert compile_robot(load_robot("pendulum2"), Options(word=18)).options.replicas == 1


def test_a_serial_line_feeds_one() -> None:
    for name in board_names():
        board = get_board(name)
        if board.shell == "uart":
            assert on_board("pendulum2", board_of(name)).options.replicas == 1


@pytest.mark.slow
def test_a_budget_is_for_all_of_them() -> None:
    robot = load_robot("iiwa14")
    d = compile_robot(robot, Options(replicas=2, word=18), budget=Budget(multipliers=40))
    report = design_report(d)
    assert report["multipliers"]["variable"] <= 40
    assert report["functions"]["id"]["ii_cycles"] == d.options.ii / 2
    alone = compile_robot(robot, Options(word=18), budget=Budget(multipliers=20))
    assert d.options.ii == alone.options.ii
    message = r"^budget, for each of 2 accelerators: 1 multipliers are too few for 'iiwa14'"
    with pytest.raises(ConfigError, match=message):
        compile_robot(
            robot, Options(replicas=2, share=False, word=18), budget=Budget(multipliers=2)
        )
    rate = 1.5 * d.plan.schedule.device.megahertz * 1e6
    fast = compile_robot(robot, Options(replicas=2, word=18), budget=Budget(rate=rate))
    assert fast.options.ii == 1


def test_a_report_is_of_all_of_them() -> None:
    one, two = (
        design_report(design("pendulum2", functions=("id", "m"), replicas=n)) for n in (1, 2)
    )
    assert (one["replicas"], two["replicas"]) == (1, 2)
    for kind in ("variable", "constant"):
        assert two["multipliers"][kind] == 2 * one["multipliers"][kind]
    assert two["multiplier_blocks"] == 2 * one["multiplier_blocks"]
    for name in ("luts", "registers", "memories"):
        assert two["modelled_resources"][name] > 2 * one["modelled_resources"][name]
    for name, promise in two["functions"].items():
        before = one["functions"][name]
        assert promise["ii_cycles"] == before["ii_cycles"] / 2
        assert promise["multiplier_utilization"] == before["multiplier_utilization"]
        assert promise["latency_cycles"] == before["latency_cycles"] + 3
