"""Tasks of all functions in a random order: as often as promised, and second passes that wait only so long."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rbdgen import compile_robot
from rbdgen.functions.registry import common
from rbdgen.machines.pipeline.mixes import MOST_YIELDS
from rbdgen.trials import make_tasks, task_states
from rbdgen_sim.cosim import measured_mix
from rbdgen_sim.scoreboard import run_tasks
from rbdgen_sim.simulators import get_simulator
from tests.chains import snake
from tests.conftest import component, design, in_words

AMARANTH = get_simulator("amaranth")
ALL = common()
LARGE = {"device": "gw5a", "overflow": "flag"}


def played(d, order: np.ndarray, workdir: Path, **options):
    """Tasks of ``d`` in this order in simulation."""
    tasks = [make_tasks(d, f, task_states(d, len(order), seed=3)) for f in d.network.functions]
    return run_tasks(d, tasks, order, component(d), AMARANTH, workdir, **options)


def random_order(d, count: int) -> np.ndarray:
    return np.random.default_rng(5).integers(0, len(d.network.functions), count)


@pytest.mark.parametrize(
    ("ii", "options", "programs"),
    [
        (1, {}, "two"),
        pytest.param(4, {}, "one", marks=pytest.mark.thorough),
        (4, LARGE, "one"),
        pytest.param(8, {}, "two", marks=pytest.mark.thorough),
        pytest.param(1, {}, "one", marks=pytest.mark.thorough),
        pytest.param(4, {}, "two", marks=pytest.mark.thorough),
        pytest.param(8, {}, "one", marks=pytest.mark.thorough),
        pytest.param(12, {}, "two", marks=pytest.mark.thorough),
        pytest.param(12, {}, "one", marks=pytest.mark.thorough),
        pytest.param(4, LARGE, "two", marks=pytest.mark.thorough),
    ],
    ids=str,
)
@pytest.mark.slow
def test_mixes_take_the_promised_interval(ii: int, options, programs: str, tmp_path: Path) -> None:
    d = design("pendulum2", functions=ALL, ii=ii, programs=programs, **options)
    order = random_order(d, 240)
    found = measured_mix(d, order, played(d, order, tmp_path))
    assert found.mismatches == 0
    assert found.measured <= 1.01 * found.promised
    turns = 8 / 7 if programs == "one" else 1
    assert d.mixed_interval == pytest.approx(ii * turns, rel=0.01)
    stalled = played(d, order[:60], tmp_path, stall=0.3, seed=2)
    assert all(o.mismatches == 0 for o in stalled.outcomes.values())


@pytest.mark.thorough
@pytest.mark.parametrize(
    "functions",
    [
        ("did", "dfd", "step"),
        pytest.param(("did", "dfd"), marks=pytest.mark.thorough),
        pytest.param(("fd", "did", "dfd"), marks=pytest.mark.thorough),
        pytest.param(("id", "dfd"), marks=pytest.mark.thorough),
    ],
)
def test_other_mixes_take_the_promised_interval(functions: tuple[str, ...], tmp_path: Path) -> None:
    """Also where second passes and new tasks ask for every turn of a program, so that some are lost."""
    d = design("pendulum2", functions=functions, ii=3)
    order = random_order(d, 240)
    found = measured_mix(d, order, played(d, order, tmp_path))
    assert found.mismatches == 0
    assert found.measured <= 1.01 * found.promised


@pytest.mark.parametrize(
    ("functions", "ii", "options"),
    [
        (("m", "fd"), 3, {}),
        pytest.param(("id", "fd"), 1, {}, marks=pytest.mark.thorough),
        pytest.param(("id", "fd"), 4, {"device": "gw5a"}, marks=pytest.mark.thorough),
        pytest.param(("m", "fd"), 2, LARGE, marks=pytest.mark.thorough),
    ],
)
@pytest.mark.slow
def test_results_that_wait_for_each_other_cost_what_is_promised(
    functions: tuple[str, ...], ii: int, options, tmp_path: Path
) -> None:
    """Where results fill the stream, and come together as functions take different times, lanes fill up."""
    logarithmic = {"inverse_dynamics": "scan", "forward_dynamics": "cfa"}
    d = compile_robot(snake(2), in_words(functions=functions, ii=ii, **logarithmic, **options))
    order = random_order(d, 120)
    found = measured_mix(d, order, played(d, order, tmp_path))
    assert found.mismatches == 0
    assert found.measured == pytest.approx(found.promised, rel=0.005)
    if not options:
        assert ii * 1.01 < (d.mixed_interval or 0) < ii * 1.1


@pytest.mark.parametrize(
    ("ii", "options"),
    [
        (1, {}),
        (4, LARGE),
        pytest.param(1, LARGE, marks=pytest.mark.thorough),
        pytest.param(4, {}, marks=pytest.mark.thorough),
    ],
    ids=str,
)
@pytest.mark.slow
def test_a_second_pass_leaves_only_a_few_turns_to_new_tasks(
    ii: int, options, tmp_path: Path
) -> None:
    d = design("pendulum2", functions=ALL, ii=ii, **options)
    order = np.array([ALL.index("dfd"), *[ALL.index("did")] * 60])
    run = played(d, order, tmp_path)
    (latency,) = run.outcomes["dfd"].latencies
    promised = d.promised_latency("dfd")
    longest = promised + MOST_YIELDS * ii + d.tasks.result_beats("did")
    assert promised < latency <= longest


@pytest.mark.parametrize("function", ALL)
@pytest.mark.parametrize(
    ("ii", "options"),
    [
        (1, {}),
        pytest.param(4, LARGE, marks=pytest.mark.thorough),
        (4, {"programs": "one"}),
        pytest.param(4, {}, marks=pytest.mark.thorough),
        pytest.param(8, {}, marks=pytest.mark.thorough),
    ],
    ids=str,
)
@pytest.mark.slow
def test_latency_at_full_rate_is_as_promised(
    ii: int, options, function: str, tmp_path: Path
) -> None:
    d = design("pendulum2", functions=ALL, ii=ii, **options)
    order = np.full(40, ALL.index(function))
    latencies = played(d, order, tmp_path).outcomes[function].latencies
    promised = d.steady_latency(function)
    if function == "dfd" and "programs" in options:
        assert promised is None
    else:
        assert set(latencies[1:]) == {promised}
