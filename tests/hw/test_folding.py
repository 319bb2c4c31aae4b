"""Folded units in RTL: four legs on one hardware leg, and columns on one, bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rbdgen import Options, compile_robot, load_robot
from rbdgen.layout import columns
from rbdgen.trials import make_tasks, task_states
from rbdgen_hw.emit import accelerator, design_verilog
from rbdgen_sim.interface import Rtl
from rbdgen_sim.scoreboard import run_tasks
from rbdgen_sim.simulators import get_simulator
from tests.conftest import design


@pytest.mark.parametrize(("functions", "ii"), [(("id",), 4), (("id", "m"), 12)])
def test_four_legs_on_one(functions: tuple[str, ...], ii: int, tmp_path: Path) -> None:
    d = design("hyq", functions=functions, ii=ii)
    assert d.plan.schedule.folds.units
    rtl = Rtl(d.name, (), d.tasks.task.beat_bits, d.tasks.result.beat_bits, design=accelerator(d))
    states = task_states(d, 24, seed=2)
    states.v[7] *= 40.0  # saturates in some legs more than in others
    tasks = [make_tasks(d, f, states) for f in functions]
    order = np.arange(24) % len(tasks)
    run = run_tasks(d, tasks, order, rtl, get_simulator("amaranth"), tmp_path, stall=0.1, seed=3)
    assert all(o.mismatches == 0 for o in run.outcomes.values())
    assert any(o.flags.any() for o in run.outcomes.values())


@pytest.mark.parametrize(
    ("ii", "kwargs"),
    [
        (4, {}),
        (12, {"overflow": "flag", "rounding": "truncate", "constants": "multipliers"}),
        (16, {"error": {"all": 1e-2}, "overflow": "flag"}),
    ],
)
def test_columns_on_one(
    ii: int, kwargs: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every kind of column, whatever it saves, with turns that are idle and signs that differ."""
    monkeypatch.setattr(columns, "LEAST_SAVED", 0.01)
    functions = ("m", "difd")
    d = compile_robot(
        load_robot("ur5"), Options(functions=functions, ii=ii, columns="fold", **kwargs)
    )
    folds = d.plan.schedule.folds
    unit = d.fixed.graph.nodes
    assert len({unit[t].owner for t in folds.turns}) > 3
    source = tmp_path / "accelerator.v"
    source.write_text(design_verilog(d))
    rtl = Rtl(d.name, (source,), d.tasks.task.beat_bits, d.tasks.result.beat_bits)
    states = task_states(d, 40, seed=2)
    states.v[7] *= 40.0  # overflows, in some columns more than in others
    tasks = [make_tasks(d, f, states) for f in functions]
    order = np.arange(40) % len(tasks)
    run = run_tasks(d, tasks, order, rtl, get_simulator("icarus"), tmp_path, stall=0.1, seed=3)
    assert all(o.mismatches == 0 for o in run.outcomes.values())
    assert any(o.flags.any() for o in run.outcomes.values())
