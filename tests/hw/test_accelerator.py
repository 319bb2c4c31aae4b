"""The accelerator in Amaranth's simulator: bits, flags, order and cycles, at several intervals and devices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rbdgen.host.tasks import Flag
from rbdgen.model import random_states
from rbdgen_hw.emit import accelerator, design_verilog
from rbdgen_sim.cosim import make_tasks, run_tasks
from rbdgen_sim.interface import Rtl, Stimulus, get_simulator
from tests.conftest import design

AMARANTH = get_simulator("amaranth")


def rtl(d) -> Rtl:
    """The design for Amaranth's simulator."""
    return Rtl(d.name, (), d.tasks.task.beat_bits, d.tasks.result.beat_bits, design=accelerator(d))


@pytest.mark.parametrize("device", ["generic125", "generic250"])
@pytest.mark.parametrize("ii", [1, 2, 3, 5, 8])
def test_bits_and_cycles(ii: int, device: str, tmp_path: Path) -> None:
    d = design("pendulum2", ii=ii, device=device)
    tasks = make_tasks(d, random_states(d.robot, d.ranges, 40, seed=ii))
    run = run_tasks(d, tasks, rtl(d), AMARANTH, tmp_path)
    assert run.mismatches == 0
    assert run.latencies[0] == d.latency_cycles
    assert set(run.intervals[len(run.intervals) // 2 :]) == {ii}


@pytest.mark.parametrize("stall", [0.3, 0.8])
@pytest.mark.parametrize("ii", [1, 4])
def test_stalls_change_nothing_but_time(ii: int, stall: float, tmp_path: Path) -> None:
    d = design("pendulum2", ii=ii)
    tasks = make_tasks(d, random_states(d.robot, d.ranges, 60, seed=1))
    assert run_tasks(d, tasks, rtl(d), AMARANTH, tmp_path, stall=stall, seed=7).mismatches == 0


def test_a_sink_that_stops_long_loses_nothing(tmp_path: Path) -> None:
    d = design("pendulum2")
    tasks = make_tasks(d, random_states(d.robot, d.ranges, 100, seed=2))
    assert run_tasks(d, tasks, rtl(d), AMARANTH, tmp_path, stall=0.95, seed=3).mismatches == 0


@pytest.mark.parametrize("ii", [1, 3])
def test_a_state_out_of_range_is_flagged_and_the_others_untouched(ii: int, tmp_path: Path) -> None:
    d = design("pendulum2", ii=ii)
    q, v, a = random_states(d.robot, d.ranges, 30, seed=4)
    v[10] *= 50.0
    v[20, 0] = d.ranges.v_max[0] * 1.01
    tasks = make_tasks(d, (q, v, a))
    run = run_tasks(d, tasks, rtl(d), AMARANTH, tmp_path)
    assert run.mismatches == 0
    assert np.flatnonzero(run.flags & Flag.RANGE).tolist() == [10, 20]
    clean = make_tasks(d, random_states(d.robot, d.ranges, 30, seed=4))
    others = [k for k in range(30) if k not in (10, 20)]
    for value, expected in zip(run.values, clean.expected, strict=True):
        assert np.array_equal(value[others], expected[others])


def test_saturation_inside_is_flagged_on_its_task_only(tmp_path: Path) -> None:
    """Declared ranges that are too small for what is sent make intermediate values saturate."""
    d = design("pendulum2")
    q, v, a = random_states(d.robot, d.ranges, 20, seed=5)
    v[7], a[7] = 1e3, 1e3
    tasks = make_tasks(d, (q, v, a))
    assert tasks.flags[7] == Flag.OVERFLOW | Flag.RANGE
    run = run_tasks(d, tasks, rtl(d), AMARANTH, tmp_path)
    assert run.mismatches == 0
    assert np.flatnonzero(run.flags).tolist() == [7]


def test_an_unknown_function_is_answered_with_its_tag_and_a_flag(tmp_path: Path) -> None:
    d = design("pendulum2")
    tasks = make_tasks(d, random_states(d.robot, d.ranges, 3, seed=6))
    beats = d.tasks.pack(np.array([0, 9, 0]), np.array([1, 2, 3]), tasks.raw)
    trace = AMARANTH.run(rtl(d), Stimulus(beats, 3 * d.tasks.result.beats), tmp_path)
    results = d.tasks.unpack(trace.payloads)
    assert results.tag.tolist() == [1, 2, 3]
    assert results.function.tolist() == [0, 9, 0]
    assert results.flags.tolist() == [0, Flag.FUNCTION, 0]


def test_units_are_named_after_bodies() -> None:
    d = design("pendulum2")
    text = design_verilog(d)
    for unit in d.plan.units:
        assert f"module {d.name}_{unit.name}(" in text
    ports = text.split(f"module {d.name}(")[1].split(")")[0]
    assert {p.strip() for p in ports.split(",")} >= {"clk", "rst", "in_valid", "in_ready", "in_payload", "out_valid"}


def test_verilog_is_the_same_every_time() -> None:
    fresh = design.__wrapped__("pendulum2", ii=2)
    assert design_verilog(design("pendulum2", ii=2)) == design_verilog(fresh)
