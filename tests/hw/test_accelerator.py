"""The accelerator in Amaranth's simulator: bits, flags, order and cycles, at several intervals and devices."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from amaranth.hdl import ResetInserter, Signal
from amaranth.sim import Simulator

from rbdgen import Options, UnsupportedError, compile_robot, load_robot
from rbdgen.functions.registry import common
from rbdgen.machines.pipeline.queues import loop_in_block_memory, send_cycles
from rbdgen.model import Prismatic
from rbdgen.protocol.tasks import Flag, join_header
from rbdgen.trials import make_tasks, relative_errors, task_states
from rbdgen_hw import library
from rbdgen_hw.emit import accelerator, design_verilog
from rbdgen_sim.cosim import steady_interval
from rbdgen_sim.interface import Rtl, Stimulus
from rbdgen_sim.scoreboard import run_tasks
from rbdgen_sim.simulators import get_simulator
from tests.conftest import component, design, error_of_largest, in_words

AMARANTH = get_simulator("amaranth")
ALL = common()
LARGE = {"device": "gw5a", "overflow": "flag"}
"""A device where a task's operands are chosen in a cycle of their own, and headers wait for the check of operands."""


def alone(d, states, workdir: Path, function: str = "id", **options):
    """Tasks of one function and what the hardware made of them."""
    tasks = make_tasks(d, function, states)
    run = run_tasks(
        d, [tasks], np.zeros(tasks.count, int), component(d), AMARANTH, workdir, **options
    )
    return tasks, run.outcomes[function]


@pytest.mark.parametrize("device", ["generic125", "generic250", "gw5a"])
@pytest.mark.parametrize("ii", [1, 2, 3, 5, 8])
def test_bits_and_cycles(ii: int, device: str, tmp_path: Path) -> None:
    d = design("pendulum2", ii=ii, device=device)
    _, outcome = alone(d, task_states(d, 40, seed=ii), tmp_path)
    assert outcome.mismatches == 0
    assert outcome.latencies[0] == d.promised_latency("id")
    assert set(outcome.intervals[len(outcome.intervals) // 2 :]) == {ii}


@pytest.mark.parametrize("function", ALL)
@pytest.mark.parametrize(
    ("ii", "device", "programs"),
    [
        (1, "generic125", "two"),
        (3, "gw5a", "two"),
        pytest.param(5, "gw5a", "one", marks=pytest.mark.thorough),
        pytest.param(3, "generic250", "two", marks=pytest.mark.thorough),
        pytest.param(3, "generic125", "one", marks=pytest.mark.thorough),
    ],
)
def test_every_function_alone(
    function: str, ii: int, device: str, programs: str, tmp_path: Path
) -> None:
    options = {"functions": ALL, "ii": ii, "device": device, "programs": programs}
    d = design("pendulum2", ranges="motion", **options)
    tasks, outcome = alone(d, task_states(d, 30, seed=ii), tmp_path, function)
    assert outcome.mismatches == 0
    assert outcome.latencies[0] == d.promised_latency(function)
    intervals = outcome.intervals
    twice = function == "dfd" and programs == "one"
    assert d.interval(function) == (2 * ii if twice else ii)
    if twice:  # tasks start behind each other and come back behind each other: whole rounds count
        assert steady_interval(intervals) <= d.interval(function)
        beyond = np.cumsum(intervals - d.interval(function))
        low = np.minimum.accumulate(np.insert(beyond, 0, 0))[:-1]
        assert 0 < np.max(beyond - low) <= d.bunched_cycles(function)
    else:
        assert d.bunched_cycles(function) == 0
        assert set(intervals[len(intervals) // 2 :]) == {ii}
    assert relative_errors(d, tasks, outcome.values)[0] < 2e-3


@pytest.mark.parametrize(
    "stall",
    [0.3, *(pytest.param(stall, marks=pytest.mark.thorough) for stall in (0.0, 0.8))],
)
@pytest.mark.parametrize(
    ("ii", "programs", "options"),
    [
        pytest.param(1, "two", {}, marks=pytest.mark.thorough),
        pytest.param(4, "one", {}, marks=pytest.mark.slow),
        (3, "two", LARGE),
        pytest.param(5, "two", {}, marks=pytest.mark.thorough),
        pytest.param(1, "one", {}, marks=pytest.mark.thorough),
        pytest.param(4, "one", LARGE, marks=pytest.mark.thorough),
    ],
)
def test_functions_follow_each_other_in_any_order(
    ii: int, programs: str, options, stall, tmp_path: Path
) -> None:
    d = design("pendulum2", functions=ALL, ii=ii, programs=programs, **options)
    states = task_states(d, 100, seed=8)
    tasks = [make_tasks(d, f, states) for f in ALL]
    order = np.random.default_rng(9).integers(0, len(ALL), 100)
    run = run_tasks(d, tasks, order, component(d), AMARANTH, tmp_path, stall=stall, seed=7)
    assert [run.outcomes[f].mismatches for f in ALL] == [0] * len(ALL)
    assert sum(len(run.outcomes[f].flags) for f in ALL) == 100


@pytest.mark.parametrize(
    ("functions", "programs"),
    [
        (("did",), "two"),
        (("m", "difd"), "one"),
        (("fd",), "two"),
        (("dfd",), "one"),
        (("minv", "did"), "two"),
        pytest.param(("id", "did"), "one", marks=pytest.mark.thorough),
        pytest.param(("id", "did"), "two", marks=pytest.mark.thorough),
        pytest.param(("m", "difd"), "two", marks=pytest.mark.thorough),
        pytest.param(("dfd",), "two", marks=pytest.mark.thorough),
        pytest.param(("minv", "did"), "one", marks=pytest.mark.thorough),
    ],
)
@pytest.mark.slow
def test_any_set_of_functions(functions: tuple[str, ...], programs: str, tmp_path: Path) -> None:
    d = design("pendulum2", functions=functions, ii=2, programs=programs)
    states = task_states(d, 40, seed=3)
    tasks = [make_tasks(d, f, states) for f in d.network.functions]
    order = np.arange(40) % len(tasks)
    run = run_tasks(d, tasks, order, component(d), AMARANTH, tmp_path)
    assert all(o.mismatches == 0 for o in run.outcomes.values())


@pytest.mark.parametrize(
    ("option", "programs"),
    [
        ("forces", "one"),
        ("moving_base", "two"),
        ("with_inverse", "one"),
        pytest.param("forces", "two", marks=pytest.mark.thorough),
        pytest.param("moving_base", "one", marks=pytest.mark.thorough),
        pytest.param("with_inverse", "two", marks=pytest.mark.thorough),
    ],
)
@pytest.mark.slow
def test_more_operands_and_results(option: str, programs: str, tmp_path: Path) -> None:
    d = design("pendulum2", functions=ALL, ii=4, programs=programs, **{option: True})
    states = task_states(d, 70, seed=3)
    tasks = [make_tasks(d, f, states) for f in ALL]
    run = run_tasks(d, tasks, np.arange(70) % 7, component(d), AMARANTH, tmp_path)
    assert all(o.mismatches == 0 for o in run.outcomes.values())
    assert all(relative_errors(d, t, t.expected)[0] < 5e-3 for t in tasks)
    assert ("minv" in tasks[ALL.index("dfd")].reference) == (option == "with_inverse")


@pytest.mark.slow
def test_external_forces_act_in_the_bodies_own_frames() -> None:
    """Frames that were moved to save multiplications do not move the forces."""
    d = design("iiwa14", functions=("id", "did"), ii=4, forces=True)
    states = task_states(d, 200, seed=3)
    for function in d.network.functions:
        tasks = make_tasks(d, function, states)
        assert error_of_largest(d, tasks) < 2e-4
        # of each entry, in words of 18 bits
        assert relative_errors(d, tasks, tasks.expected)[0] < 1e-3


@pytest.mark.parametrize("device", ["ecp5", "gw5a"])
def test_shifters_with_a_register(device: str, tmp_path: Path) -> None:
    d = design("pendulum2", functions=("fd", "minv"), ii=2, device=device)
    assert d.plan.schedule.device.shift_cycles == 1
    _, outcome = alone(d, task_states(d, 40, seed=4), tmp_path, "fd")
    assert outcome.mismatches == 0
    assert outcome.latencies[0] == d.promised_latency("fd")


@pytest.mark.parametrize(
    ("ii", "programs"), [(1, "two"), pytest.param(4, "one", marks=pytest.mark.thorough)]
)
@pytest.mark.slow
def test_feedback_in_block_memory(
    ii: int, programs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What goes from the first pass to the second is there a cycle later, and nothing else changes."""
    options = {"functions": ("id", "dfd"), "ii": ii, "programs": programs}
    outcomes = []
    for bits in (400, 40):
        monkeypatch.setattr("rbdgen.machines.pipeline.queues.BLOCK_BITS", bits)
        d = compile_robot(load_robot("pendulum2"), in_words(**options))
        assert loop_in_block_memory(d.plan, "feedback") == (bits == 40)
        _, outcome = alone(d, task_states(d, 50, seed=ii), tmp_path, "dfd", stall=0.2, seed=5)
        assert outcome.mismatches == 0
        _, outcome = alone(d, task_states(d, 50, seed=ii), tmp_path, "dfd")
        assert outcome.mismatches == 0
        assert outcome.latencies[0] == d.promised_latency("dfd")
        outcomes.append(outcome)
    # results that are in block memory as well come a cycle later by themselves
    own = send_cycles(d.plan, d.tasks, "dfd") - d.tasks.result_beats("dfd")
    later = outcomes[1].latencies[0] - outcomes[0].latencies[0] - own
    assert later == 1 if ii == 1 else later in {0, ii}


@pytest.mark.parametrize("stall", [0.3, 0.8])
@pytest.mark.parametrize("ii", [1, 4])
def test_stalls_change_nothing_but_time(ii: int, stall: float, tmp_path: Path) -> None:
    d = design("pendulum2", ii=ii)
    assert alone(d, task_states(d, 60, seed=1), tmp_path, stall=stall, seed=7)[1].mismatches == 0


def test_a_sink_that_stops_long_loses_nothing(tmp_path: Path) -> None:
    d = design("pendulum2")
    assert alone(d, task_states(d, 100, seed=2), tmp_path, stall=0.95, seed=3)[1].mismatches == 0


@pytest.mark.parametrize(
    "options", [{}, {"device": "ecp5", "overflow": "flag"}, LARGE], ids=["comb", "ecp5", "gw5a"]
)
@pytest.mark.parametrize("ii", [1, 2, 3])
def test_a_state_out_of_range_is_flagged_and_the_others_untouched(
    ii: int, options, tmp_path: Path
) -> None:
    """However many cycles the check takes, and with overflow that saturates and that only flags."""
    d = design("pendulum2", ii=ii, **options)
    states = task_states(d, 30, seed=4)
    states.v[10] *= 50.0
    states.v[20, 0] = d.ranges.v_max[0] * 1.01
    _, outcome = alone(d, states, tmp_path)
    assert outcome.mismatches == 0
    assert np.flatnonzero(outcome.flags & Flag.RANGE).tolist() == [10, 20]
    clean = make_tasks(d, "id", task_states(d, 30, seed=4))
    others = [k for k in range(30) if k not in (10, 20)]
    for value, expected in zip(outcome.values, clean.expected, strict=True):
        assert np.array_equal(value[others], expected[others])


def test_saturation_inside_is_flagged_on_its_task_only(tmp_path: Path) -> None:
    """Declared ranges that are too small for what is sent make intermediate values saturate."""
    d = design("pendulum2")
    states = task_states(d, 20, seed=5)
    states.v[7], states.a[7] = 1e3, 1e3
    tasks, outcome = alone(d, states, tmp_path)
    assert tasks.flags[7] == Flag.OVERFLOW | Flag.RANGE
    assert outcome.mismatches == 0
    assert np.flatnonzero(outcome.flags).tolist() == [7]


@pytest.mark.parametrize("ii", [2, 8])
@pytest.mark.slow
def test_an_idle_pipeline_keeps_no_overflow_for_the_next_task(ii: int, tmp_path: Path) -> None:
    d = design("pendulum2", ii=ii)
    states = task_states(d, 24, seed=5)
    states.v[::3], states.a[::3] = 1e3, 1e3
    tasks, outcome = alone(d, states, tmp_path, stall=0.97, seed=1)
    assert outcome.mismatches == 0
    assert np.flatnonzero(outcome.flags).tolist() == list(range(0, 24, 3))
    assert np.all(tasks.flags[::3] & Flag.OVERFLOW)


@pytest.mark.parametrize("functions", [("m",), ("id", "m", "minv")])
@pytest.mark.parametrize("ii", [1, 3])
def test_results_that_never_change_are_results_too(
    functions: tuple[str, ...], ii: int, tmp_path: Path
) -> None:
    """A slider's mass is known before a task comes."""
    robot = load_robot("pendulum2")
    slider = dataclasses.replace(robot.bodies[0], joint=Prismatic((1.0, 0.0, 0.0)))
    d = compile_robot(
        dataclasses.replace(robot, bodies=(slider,)), Options(functions=functions, ii=ii, word=18)
    )
    states = task_states(d, 20, seed=1)
    tasks = [make_tasks(d, f, states) for f in d.network.functions]
    run = run_tasks(d, tasks, np.arange(20) % len(tasks), component(d), AMARANTH, tmp_path)
    assert all(o.mismatches == 0 for o in run.outcomes.values())


@pytest.mark.parametrize(
    ("ii", "programs"),
    [
        (1, "two"),
        (4, "one"),
        pytest.param(1, "one", marks=pytest.mark.thorough),
        pytest.param(4, "two", marks=pytest.mark.thorough),
    ],
)
@pytest.mark.slow
def test_flags_of_the_first_pass_reach_the_results_of_the_second(
    ii: int, programs: str, tmp_path: Path
) -> None:
    d = design("pendulum2", functions=ALL, ii=ii, programs=programs, ranges="motion")
    states = task_states(d, 12, seed=6)
    states.tau[5] *= 30.0
    tasks, outcome = alone(d, states, tmp_path, "dfd")
    assert outcome.mismatches == 0
    assert tasks.flags[5] == Flag.OVERFLOW | Flag.RANGE
    assert np.flatnonzero(outcome.flags).tolist() == [5]


def test_an_unknown_function_is_answered_with_its_tag_and_a_flag(tmp_path: Path) -> None:
    d = design("pendulum2", ii=4)
    layout = d.tasks
    tasks = make_tasks(d, "id", task_states(d, 2, seed=6))
    first, second = layout.pack("id", np.array([1, 3]), tasks.raw)
    unknown = [join_header(9, 2), join_header(9, 3), join_header(31, 0), join_header(15, 0)]
    beats = [*first, *unknown[:2], *second, *unknown[2:]]
    trace = AMARANTH.run(component(d), Stimulus(beats, 2 * layout.result_beats("id") + 4), tmp_path)
    packets = [layout.header(p[0]) for p in layout.split(trace.payloads)]
    assert sorted(packets) == [
        (0, 1, 0),
        (0, 3, 0),
        (9, 2, Flag.FUNCTION),
        (9, 3, Flag.FUNCTION),
        (15, 0, Flag.FUNCTION),
        (31, 0, Flag.FUNCTION),
    ]


@pytest.mark.parametrize("ii", [1, pytest.param(2, marks=pytest.mark.thorough), 5])
@pytest.mark.slow
def test_a_reset_amid_tasks_leaves_nothing_behind(ii: int, tmp_path: Path) -> None:
    """Phases have no reset: in whatever phase the pipelines are cut off, the next tasks find them in order."""
    d = design("pendulum2", functions=("id", "dfd"), ii=ii)
    layout = d.tasks
    beats = []
    for tag in range(6):
        function = ("id", "dfd")[tag % 2]
        beats += layout.pack(
            function, np.array([tag]), make_tasks(d, function, task_states(d, 1, seed=tag)).raw
        )[0]
    results = 3 * (layout.result_beats("id") + layout.result_beats("dfd"))
    wanted = layout.split(AMARANTH.run(component(d), Stimulus(beats, results), tmp_path).payloads)
    dut, reset = accelerator(d), Signal()
    enough = 2 * d.promised_latency("dfd") + 10 * ii

    async def bench(ctx) -> None:
        ctx.set(dut.o.ready, 1)
        for cut in (*range(ii + 1), *range(20, 20 + ii), d.promised_latency("id"), enough):
            sent, seen = 0, []
            for cycle in range(cut + enough):
                ctx.set(reset, cycle == cut)
                ctx.set(dut.i.valid, sent < len(beats) and cycle != cut)
                ctx.set(dut.i.payload, beats[min(sent, len(beats) - 1)])
                sent += ctx.get(dut.i.valid) & ctx.get(dut.i.ready)
                if ctx.get(dut.o.valid) and cycle > cut:
                    seen.append(ctx.get(dut.o.payload))
                if cycle == cut:
                    sent = 0
                await ctx.tick()
            assert layout.split(seen) == wanted

    simulator = Simulator(ResetInserter(reset)(dut))
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def test_units_are_named_after_bodies() -> None:
    d = design("pendulum2")
    text = design_verilog(d)
    for unit in d.plan.units:
        assert f"module {d.name}_{unit.name}(" in text
    ports = text.split(f"module {d.name}(")[1].split(")")[0]
    assert {p.strip() for p in ports.split(",")} >= {
        "clk",
        "rst",
        "in_valid",
        "in_ready",
        "in_payload",
        "out_valid",
    }


def test_verilog_is_the_same_every_time() -> None:
    fresh = design.__wrapped__("pendulum2", ii=2)
    assert design_verilog(design("pendulum2", ii=2)) == design_verilog(fresh)


@pytest.mark.slow
def test_modules_too_large_for_an_instance_are_submodules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    d = design("pendulum2", functions=("id", "dfd"), ii=3)
    usual = design_verilog(d)
    monkeypatch.setattr(library, "LARGEST", 200)
    verilog = design_verilog(d)
    assert f"{d.name}.core " not in usual
    assert f"{d.name}.core " in verilog
    source = tmp_path / "design.v"
    source.write_text(verilog)
    tasks = [make_tasks(d, f, task_states(d, 10, seed=1)) for f in d.network.functions]
    design_rtl = Rtl(d.name, (source,), d.tasks.task.beat_bits, d.tasks.result.beat_bits)
    run = run_tasks(d, tasks, np.repeat([0, 1], 10), design_rtl, get_simulator("icarus"), tmp_path)
    assert [o.mismatches for o in run.outcomes.values()] == [0, 0]


def test_a_port_that_is_too_wide_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "WIDEST", 150)
    with pytest.raises(
        UnsupportedError,
        match=r"^feedback: w_data has \d+ bits, and a port may have 150; use fewer",
    ):
        design_verilog(design("pendulum2", functions=("dfd",), ii=3))
