"""Hardware with formats of its own for every signal, and with every way to round and overflow: bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rbdgen import Options, compile_robot, load_robot
from rbdgen.trials import make_tasks, task_states
from rbdgen_sim.scoreboard import run_tasks
from tests.conftest import component, in_words
from tests.hw.test_accelerator import AMARANTH

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
@pytest.mark.slow
def test_formats_per_signal_bit_for_bit(ii: int, options: dict[str, str], tmp_path: Path) -> None:
    d = compile_robot(
        load_robot("pendulum2"), Options(functions=SOME, ii=ii, error={"all": 1e-4}, **options)
    )
    states = task_states(d, 12, seed=ii)
    # two states far outside: what overflows must be the same in hardware
    states.v[7], states.a[11] = 1e3, -1e3
    tasks = [make_tasks(d, f, states) for f in SOME]
    order = np.random.default_rng(ii).permutation(np.repeat(np.arange(len(SOME)), 12))
    run = run_tasks(d, tasks, order, component(d), AMARANTH, tmp_path, stall=0.2, seed=1)
    assert [o.mismatches for o in run.outcomes.values()] == [0] * len(SOME)
    assert np.all(run.outcomes["id"].flags[[7, 11]])


@pytest.mark.parametrize(("ii", "device"), [(1, "ecp5"), (4, "generic125")])
@pytest.mark.slow
def test_products_beyond_64_bits(ii: int, device: str, tmp_path: Path) -> None:
    d = compile_robot(
        load_robot("pendulum2"), Options(("fd", "dfd"), ii=ii, device=device, error={"all": 2e-7})
    )
    fixed = d.fixed
    long = [fixed.split(a, b) for _, node in fixed.graph for _, a, b in node.products]
    assert max(long) > 0
    operands = [word.format.width for f in ("fd", "dfd") for word in d.tasks.functions[f].operands]
    assert max(operands) > 32
    states = task_states(d, 12, seed=ii)
    states.v[7] = 1e3
    tasks = [make_tasks(d, f, states) for f in d.network.functions]
    for made in tasks:
        usual = np.arange(12) != 7
        assert not made.flags[usual].any()
    run = run_tasks(
        d, tasks, np.repeat([0, 1], 12), component(d), AMARANTH, tmp_path, stall=0.1, seed=2
    )
    assert [o.mismatches for o in run.outcomes.values()] == [0, 0]


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
    run = run_tasks(d, tasks, np.repeat([0, 1], 12), component(d), AMARANTH, tmp_path)
    assert [o.mismatches for o in run.outcomes.values()] == [0, 0]
