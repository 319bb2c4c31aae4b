"""Compiled functions are timed: all batches, functions with operands of their own, and none without a compiler."""

from __future__ import annotations

from functools import partial

import pytest

from rbdgen import load_robot, native, with_frames
from rbdgen.cli.comparing import operands_of
from rbdgen.model import builtin_path
from rbdgen.processes import cores
from rbdgen.processor_times import time_today
from rbdgen.software.timing import CUDA, C, time_software
from rbdgen.tracing.trace_options import TraceOptions

ARM = with_frames(load_robot("ur5"), {"wrist_3_link": (0.1, 0.0, 0.0)})


def test_all_batches_are_timed() -> None:
    found = time_software(load_robot("pendulum2"), ["id", "roll"], [1, 64], rounds=1)
    timed = [t for t in found if t.implementation == C]
    expected = {(f, 1, 1) for f in ("id", "roll")}
    expected |= {(f, 64, workers) for f in ("id", "roll") for workers in (1, cores())}
    assert {(t.function, t.batch, t.workers) for t in timed} == expected
    assert all(t.microseconds and t.microseconds > 0 for t in timed)
    assert [t.microseconds for t in found if t.implementation == CUDA] == [None, None]


def test_operands_that_only_one_function_has() -> None:
    others = partial(operands_of, ARM, TraceOptions(functions=("lama",)))
    today = time_today(
        ARM, builtin_path("ur5"), "fixed", ["lama"], batches=(4,), rounds=1, others=others
    )
    assert today[0].microseconds
    assert time_software(ARM, ["lama"], [4], rounds=1)[0].microseconds


def test_without_a_compiler_the_rows_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(native.VARIABLE, "no-such-compiler")
    first = time_software(load_robot("pendulum2"), ["g"], [1], rounds=1)[0]
    assert first.microseconds is None
    assert first.note.startswith("C compiler 'no-such-compiler': not found; install one")
