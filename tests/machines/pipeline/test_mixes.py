"""Turns of tasks in a random order, against rules that hold for any."""

from __future__ import annotations

import numpy as np
import pytest

from rbdgen.functions.registry import common
from rbdgen.machines.pipeline.mixes import order_intervals, yields
from tests.conftest import design

ALL = common()


@pytest.mark.parametrize("programs", ["two", "one"])
@pytest.mark.parametrize("functions", [ALL, ("did", "dfd"), ("id", "dfd"), ("fd", "did", "dfd")])
def test_no_program_admits_more_than_a_task_per_turn(
    functions: tuple[str, ...], programs: str
) -> None:
    d = design("pendulum2", functions=functions, ii=4, programs=programs)
    network = d.network
    admitted: dict[str, int] = {}
    for function in functions:
        for leaving in network.passes(function):
            admitted[leaving.program] = admitted.get(leaving.program, 0) + 1
    bound = max(1.0, max(admitted.values()) / len(functions))
    found = d.machine.mixed_interval(d.tasks, len(functions)) / 4
    assert bound - 0.01 <= found <= 1.25 * bound


def test_one_function_takes_its_own_interval() -> None:
    for programs in ("two", "one"):
        d = design("pendulum2", functions=ALL, ii=4, programs=programs)
        for k, function in enumerate(ALL):
            turns = order_intervals(d.network, d.plan, d.tasks, np.full(500, k))
            assert turns * 4 == pytest.approx(d.interval(function), rel=0.02)


def test_only_a_program_of_its_own_leaves_turns_to_new_tasks() -> None:
    assert yields(design("pendulum2", functions=ALL, ii=4).network)
    assert not yields(design("pendulum2", functions=ALL, ii=4, programs="one").network)
    assert not yields(design("pendulum2", functions=("id", "dfd"), ii=4).network)
    assert not yields(design("pendulum2", ii=4).network)


def test_nothing_is_promised_where_tasks_differ_or_come_side_by_side() -> None:
    assert design("pendulum2", ii=4).mixed_interval is None
    several = design("pendulum2", functions=("id", "m"), ii=4, replicas=2)
    assert (several.mixed_interval, several.steady_latency("m")) == (None, None)
    rolling = design("pendulum2", functions=("id", "roll"), ii=4)
    assert (rolling.mixed_interval, rolling.steady_latency("roll")) == (None, None)
    assert design("pendulum2", functions=("id", "m"), ii=4).mixed_interval == 4


def test_tasks_in_a_fixed_order_wait_only_until_results_have_come_together() -> None:
    """Of two functions in turn, and of one for a while and then the other."""
    d = design("pendulum2", functions=("m", "fd"), ii=1)
    assert d.tasks.result_beats("m") == d.tasks.result_beats("fd") == 1
    network, plan, tasks = d.network, d.plan, d.tasks
    later = d.promised_latency("fd") - d.promised_latency("m")
    assert later > 0
    assert order_intervals(network, plan, tasks, np.arange(400) % 2) == pytest.approx(1, abs=0.01)
    order = np.repeat([1, 0], 200)
    assert 1 <= order_intervals(network, plan, tasks, order) <= 1 + later / 400
