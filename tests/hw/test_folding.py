"""Folded units in RTL: four legs on one hardware leg, bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rbdgen import compile_robot, load_robot
from rbdgen.trials import make_tasks, task_states
from rbdgen_sim.scoreboard import run_tasks
from rbdgen_sim.simulators import get_simulator
from tests.conftest import component, in_words


@pytest.mark.parametrize(
    ("functions", "ii", "kwargs"),
    [
        pytest.param(("id",), 4, {}, marks=pytest.mark.thorough),
        (("id", "m"), 12, {}),
        (("id",), 8, {"overflow": "saturate", "rounding": "truncate", "constants": "logic"}),
        pytest.param(("id",), 4, {"error": {"all": 1e-2}}, marks=pytest.mark.thorough),
    ],
)
@pytest.mark.slow
def test_four_legs_on_one(
    functions: tuple[str, ...], ii: int, kwargs: dict, tmp_path: Path
) -> None:
    d = compile_robot(load_robot("hyq"), in_words(functions=functions, ii=ii, **kwargs))
    assert d.plan.schedule.folds.units
    states = task_states(d, 24, seed=2)
    states.v[7] *= 40.0  # saturates in some legs more than in others
    tasks = [make_tasks(d, f, states) for f in functions]
    order = np.arange(24) % len(tasks)
    run = run_tasks(
        d, tasks, order, component(d), get_simulator("amaranth"), tmp_path, stall=0.1, seed=3
    )
    assert all(o.mismatches == 0 for o in run.outcomes.values())
    assert any(o.flags.any() for o in run.outcomes.values())
