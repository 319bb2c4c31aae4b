"""A board's link decides how often tasks come: what is said of that, and what ``--for host`` makes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rbdgen import Budget, ConfigError, Design, Options, Target, compile_robot, load_robot
from rbdgen.compiler.cost import AS_FAST, Cost, interval_at_host, link_cycles
from rbdgen.protocol.links import Link, Streams, get_link
from rbdgen_boards.board import get_board
from tests.compiler.test_replicas import board_of, on_board
from tests.conftest import design, in_words

NOTE = "--for host chooses so"


def behind(link: Link, **options: Any) -> Design:
    return on_board("pendulum2", board_of("ulx3s_85f", link=link), **options)


def notes(d: Design) -> list[str]:
    return [line for line in d.why if line.endswith(NOTE)]


def test_the_usual_choice_stays_and_says_what_the_link_makes_of_it() -> None:
    d = on_board("pendulum2", board_of("ulx3s_85f"))
    assert d.options.ii == 1
    (note,) = notes(d)
    cost = Cost.of(d)
    assert note.startswith("at the host a serial line of 3 Mbaud binds, not the accelerator: an in")
    assert f"instead of {cost.tables} and " in note
    assert f"multiplier blocks instead of {cost.blocks}, by the model" in note


@pytest.mark.parametrize(
    "options", [{"goal": "throughput"}, {"goal": "area"}, {"goal": "latency"}, {"goal": "host"}]
)
def test_whoever_gives_a_goal_is_told_nothing(options: dict[str, Any]) -> None:
    assert notes(on_board("pendulum2", board_of("ulx3s_85f"), **options)) == []


def test_whoever_gives_an_interval_is_told_nothing() -> None:
    assert notes(on_board("pendulum2", board_of("ulx3s_85f", blocks=None), ii=1)) == []


def test_a_link_that_is_fast_enough_is_not_spoken_of() -> None:
    assert notes(behind(Streams("wide", "", cycle=512))) == []


@pytest.mark.parametrize("functions", [("id",), ("id", "m", "dfd")])
def test_for_the_host_it_is_as_fast_there_and_smaller(functions: tuple[str, ...]) -> None:
    available = get_board("ulx3s_85f").resources
    usual, host = (
        on_board("pendulum2", board_of("ulx3s_85f"), functions=functions, goal=goal)
        for goal in (None, "host")
    )
    before, after = Cost.of(usual), Cost.of(host)
    assert after.at_host <= before.at_host * (1 + AS_FAST)
    assert after.area(available) < 0.6 * before.area(available)
    link = get_link("serial")
    clock = host.plan.schedule.device.megahertz
    for name in functions:
        # the accelerator never waits for itself
        assert host.mean_interval(name) <= link.interval(host.tasks, name, clock)
    # at a long interval packets are as short as at the shortest
    assert host.options.ii > 8
    shortest = design("pendulum2", functions=functions, device="ecp5")
    assert host.tasks.task.words_per_beat == shortest.tasks.task.words_per_beat
    assert any("no slower at the host" in line for line in host.why)


def test_the_interval_is_no_longer_than_the_link_takes() -> None:
    for cycle in (64, 32, 16):
        d = behind(Streams("narrow", "", cycle=cycle), goal="host")
        assert d.options.ii <= link_cycles(d)
        assert interval_at_host(d, "id") == pytest.approx(
            Streams("narrow", "", cycle=cycle).interval(d.tasks, "id", 100.0)
        )


def test_an_interval_that_is_given_stays() -> None:
    d = on_board("pendulum2", board_of("ulx3s_85f", blocks=None), ii=3, goal="host")
    assert d.options.ii == 3


def test_where_the_link_is_faster_several_are_side_by_side() -> None:
    fast, host = (on_board("pendulum2", board_of("vcu118"), goal=g) for g in (None, "host"))
    assert (host.options.ii, host.options.replicas) == (1, fast.options.replicas)
    assert host.options.replicas is not None
    assert host.options.replicas > 1


def test_without_a_link_there_is_no_such_goal() -> None:
    message = r"^goal \(--for\): host is for the link of a board; give --board, or another goal "
    for budget in (None, Budget(multipliers=50)):
        with pytest.raises(ConfigError, match=message):
            compile_robot(load_robot("pendulum2"), Options(goal="host", word=18), budget=budget)


def test_a_design_for_no_board_waits_for_nothing() -> None:
    d = compile_robot(load_robot("pendulum2"), in_words(ii=5))
    assert link_cycles(d) == 1
    assert interval_at_host(d, "id") == 5
    assert Cost.of(replace(d, target=Target())).at_host == 5
