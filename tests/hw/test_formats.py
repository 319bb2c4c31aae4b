"""Hardware with formats of its own for every signal, and with every way to round and overflow: bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rbdgen import Options, compile_robot, load_robot
from rbdgen.trials import make_tasks, task_states
from rbdgen_sim.scoreboard import run_tasks
from tests.conftest import in_words
from tests.hw.test_accelerator import AMARANTH, rtl

SOME = ("id", "fd", "did")


@pytest.mark.parametrize(
    ("ii", "options"),
    [
        (1, {"rounding": "nearest", "overflow": "flag"}),
        (3, {}),
        (2, {"constants": "multipliers"}),
        (5, {"spread": "twice", "device": "gw5a", "overflow": "flag", "programs": "one"}),
    ],
)
def test_formats_per_signal_bit_for_bit(ii: int, options: dict[str, str], tmp_path: Path) -> None:
    d = compile_robot(
        load_robot("pendulum2"), Options(functions=SOME, ii=ii, error={"all": 1e-4}, **options)
    )
    states = task_states(d, 12, seed=ii)
    # two states far outside: what overflows must be the same in hardware
    states.v[7], states.a[11] = 1e3, -1e3
    tasks = [make_tasks(d, f, states) for f in SOME]
    order = np.random.default_rng(ii).permutation(np.repeat(np.arange(len(SOME)), 12))
    run = run_tasks(d, tasks, order, rtl(d), AMARANTH, tmp_path, stall=0.2, seed=1)
    assert [o.mismatches for o in run.outcomes.values()] == [0] * len(SOME)
    assert np.all(run.outcomes["id"].flags[[7, 11]])


@pytest.mark.parametrize(
    "options",
    [
        {"rounding": "truncate"},
        {"overflow": "flag"},
        {"constants": "multipliers"},
        {"device": "ecp5", "overflow": "flag"},
    ],
)
def test_one_word_with_other_operators(options: dict[str, str], tmp_path: Path) -> None:
    d = compile_robot(load_robot("pendulum2"), in_words(functions=("id", "did"), ii=2, **options))
    states = task_states(d, 12, seed=2)
    states.v[5] = 1e3
    tasks = [make_tasks(d, f, states) for f in d.network.functions]
    run = run_tasks(d, tasks, np.repeat([0, 1], 12), rtl(d), AMARANTH, tmp_path)
    assert [o.mismatches for o in run.outcomes.values()] == [0, 0]
