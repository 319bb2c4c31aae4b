"""Inertial parameters that are loaded: into the model, and over the stream into the hardware."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module, ResetInserter, Signal
from amaranth.lib import wiring

from rbdgen import ConfigError, Design, Robot, load_robot, parameter_values
from rbdgen.compiler import Options, compile_robot
from rbdgen.functions.registry import common
from rbdgen.model import with_armature
from rbdgen.protocol.tasks import CALIBRATE, Flag
from rbdgen.tracing.calibration import varied_robot
from rbdgen.trials import make_tasks, raw_parameters, relative_errors, task_states
from rbdgen_hw.emit import accelerator
from rbdgen_sim.interface import Rtl, Stimulus
from rbdgen_sim.scoreboard import run_tasks
from rbdgen_sim.simulators import get_simulator
from tests.conftest import component, design, error_of_largest

ALL = common()
AMARANTH = get_simulator("amaranth")


ENGINE = {"machine": "engine", "word": 32}


def calibratable(**options: Any) -> Design:
    return design("pendulum2", functions=ALL, calibratable=True, **options)


def other(robot: Robot, seed: int = 1) -> Robot:
    return varied_robot(robot, np.random.default_rng(seed))


@pytest.mark.parametrize("name", ["iiwa14", pytest.param("hyq", marks=pytest.mark.thorough)])
@pytest.mark.slow
def test_the_model_becomes_that_of_another_robot(name: str) -> None:
    d = design(name, functions=("id", "m", "did"), ii=4, calibratable=True)
    for robot in (None, other(d.robot)):
        states = task_states(d, 200, seed=3, robot=robot)
        for function in d.network.functions:
            tasks = make_tasks(d, function, states, robot)
            assert not tasks.flags.any()
            assert error_of_largest(d, tasks) < 2e-4
            # of each entry, in words of 18 bits
            assert relative_errors(d, tasks, tasks.expected)[0] < 1e-3
    nominal = make_tasks(d, "id", states)
    assert (
        relative_errors(d, nominal, make_tasks(d, "id", states, other(d.robot)).expected)[0] > 1e-2
    )


@pytest.mark.parametrize("name", ["pendulum2", pytest.param("iiwa14", marks=pytest.mark.thorough)])
def test_every_loaded_robot_keeps_the_target(name: str) -> None:
    """Also entries that are far smaller after a reset than with what may be loaded."""
    d = compile_robot(load_robot(name), Options(("id", "m", "did"), ii=4, calibratable=True))
    for robot in (None, *(other(d.robot, seed) for seed in range(3))):
        states = task_states(d, 1000, seed=4, robot=robot)
        for function in d.network.functions:
            tasks = make_tasks(d, function, states, robot)
            assert relative_errors(d, tasks, tasks.expected)[0] < 1e-3, function


@pytest.mark.parametrize(
    "options",
    [
        {"ii": 1, "constants": "logic"},
        pytest.param({"ii": 4, "constants": "logic"}, marks=pytest.mark.thorough),
        {"ii": 4, "constants": "multipliers"},
        ENGINE,
        pytest.param(ENGINE | {"cores": 3}, marks=pytest.mark.thorough),
    ],
)
@pytest.mark.slow
def test_the_hardware_becomes_that_of_another_robot(
    options: dict[str, Any], tmp_path: Path
) -> None:
    d = calibratable(**options)
    for robot in (None, other(d.robot)):
        states = task_states(d, 35, seed=3, robot=robot)
        tasks = [make_tasks(d, f, states, robot) for f in ALL]
        run = run_tasks(
            d, tasks, np.arange(35) % 7, component(d), AMARANTH, tmp_path, stall=0.2, seed=4
        )
        assert all(o.mismatches == 0 for o in run.outcomes.values())


@pytest.mark.slow
def test_rotors_are_loaded_as_well(tmp_path: Path) -> None:
    plain = load_robot("pendulum2")
    robot = with_armature(plain, dict.fromkeys(plain.joint_names, 0.1))
    d = compile_robot(robot, Options(ALL, ii=4, calibratable=True, word=18))
    names = [p.word.name for p in d.network.parameters]
    assert {"p_link1_r0", "p_link2_r0"} <= set(names)
    changed = other(robot)
    assert changed.bodies[0].armature != robot.bodies[0].armature
    states = task_states(d, 35, seed=3, robot=changed)
    tasks = [make_tasks(d, f, states, changed) for f in ALL]
    for made in tasks:
        assert relative_errors(d, made, made.expected)[0] < 1e-3
    run = run_tasks(
        d, tasks, np.arange(35) % 7, component(d), AMARANTH, tmp_path, stall=0.2, seed=4
    )
    assert all(o.mismatches == 0 for o in run.outcomes.values())
    with pytest.raises(ConfigError, match="and rotors' where there are some"):
        parameter_values(robot, plain)
    with pytest.raises(ConfigError, match="and rotors' where there are some"):
        parameter_values(plain, robot)


@pytest.mark.parametrize("options", [{"ii": 4}, ENGINE])
@pytest.mark.slow
def test_parameters_change_between_tasks_only(options: dict[str, Any], tmp_path: Path) -> None:
    """Tasks before a parameter are answered with the old one, tasks behind it with the new one."""
    d = calibratable(**options)
    states, robot = task_states(d, 8, seed=5), other(d.robot)
    before, after = make_tasks(d, "id", states), make_tasks(d, "id", states, robot)
    sent = [b for p in d.tasks.pack("id", np.arange(8), before.raw) for b in p]
    loads = d.tasks.pack_calibration(
        np.arange(len(d.tasks.parameters)),
        np.arange(99)[: len(d.tasks.parameters)],
        raw_parameters(d, robot),
    )
    beats = [*sent, *(b for p in loads for b in p), *sent]
    count = 16 * d.tasks.result_beats("id") + len(loads)
    trace = AMARANTH.run(
        component(d), Stimulus(beats, count, input_stall=0.1, output_stall=0.4, seed=1), tmp_path
    )
    packets = [p for p in d.tasks.split(trace.payloads) if d.tasks.header(p[0])[0] != CALIBRATE]
    results = d.tasks.unpack("id", packets)
    for value, old, new in zip(results.values, before.expected, after.expected, strict=True):
        assert value.tolist() == [*old, *new]


class _Restarted(wiring.Component):
    """A design that takes so many beats, gives so many, is reset, and goes on."""

    def __init__(self, d: Design, taken: int, given: int) -> None:
        self.inner = accelerator(d)
        self.counts = taken, given
        super().__init__(self.inner.signature)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        first, awaited = self.counts
        taken, given = Signal(range(first + 1)), Signal(range(awaited + 1))
        reset, again = Signal(), Signal()
        m.submodules.inner = ResetInserter(reset)(self.inner)
        with m.If(self.i.valid & self.i.ready & (taken != first)):
            m.d.sync += taken.eq(taken + 1)
        with m.If(self.o.valid & self.o.ready & (given != awaited)):
            m.d.sync += given.eq(given + 1)
        m.d.sync += again.eq(given == awaited)
        open_now = (taken != first) | again
        m.d.comb += [
            reset.eq((given == awaited) & ~again),
            self.inner.i.payload.eq(self.i.payload),
            self.inner.i.valid.eq(self.i.valid & open_now),
            self.i.ready.eq(self.inner.i.ready & open_now),
            self.o.payload.eq(self.inner.o.payload),
            self.o.valid.eq(self.inner.o.valid),
            self.inner.o.ready.eq(self.o.ready),
        ]
        return m


@pytest.mark.parametrize("options", [{"ii": 4}, ENGINE])
def test_a_reset_brings_the_nominal_values_back(options: dict[str, Any], tmp_path: Path) -> None:
    d = calibratable(**options)
    states, robot = task_states(d, 4, seed=5), other(d.robot)
    tasks, count = make_tasks(d, "id", states), len(d.tasks.parameters)
    numbers = np.arange(count)
    loads = d.tasks.pack_calibration(numbers, numbers, raw_parameters(d, robot))
    widths = d.tasks.task.row_bits, d.tasks.result.row_bits
    before = [b for p in loads for b in p]
    behind = [b for p in d.tasks.pack("id", np.arange(4), tasks.raw) for b in p]
    rtl = Rtl("restarted", (), *widths, design=_Restarted(d, len(before), count))
    expected = count + 4 * d.tasks.result_beats("id")
    trace = AMARANTH.run(rtl, Stimulus([*before, *behind], expected), tmp_path)
    packets = d.tasks.split(trace.payloads)[count:]
    results = d.tasks.unpack("id", packets)
    for value, nominal in zip(results.values, tasks.expected, strict=True):
        assert value.tolist() == nominal.tolist()


@pytest.mark.parametrize("options", [{"ii": 1}, ENGINE])
def test_what_is_out_of_range_is_not_loaded(options: dict[str, Any], tmp_path: Path) -> None:
    d = calibratable(**options)
    tasks = make_tasks(d, "id", task_states(d, 3, seed=6))
    count = len(d.tasks.parameters)
    too_large = d.tasks.parameters[0].codes[1] + 1
    loads = d.tasks.pack_calibration(
        np.array([7, 8]), np.array([0, count]), np.array([too_large, 0])
    )
    beats = [b for p in (*loads, *d.tasks.pack("id", np.arange(3), tasks.raw)) for b in p]
    trace = AMARANTH.run(
        component(d), Stimulus(beats, 2 + 3 * d.tasks.result_beats("id")), tmp_path
    )
    packets = d.tasks.split(trace.payloads)
    answers = [d.tasks.header(p[0]) for p in packets]
    assert [a for a in answers if a[0] == CALIBRATE] == [
        (CALIBRATE, 7, Flag.RANGE),
        (CALIBRATE, 8, Flag.RANGE),
    ]
    results = d.tasks.unpack(
        "id", [p for p, a in zip(packets, answers, strict=True) if a[0] != CALIBRATE]
    )
    for value, expected in zip(results.values, tasks.expected, strict=True):
        assert np.array_equal(value, expected)


def test_only_inertias_can_be_calibrated() -> None:
    d = calibratable(ii=1)
    assert d.network.calibration is not None
    bodies = (d.robot.bodies[0], dataclasses.replace(d.robot.bodies[1], parent=-1))
    moved = dataclasses.replace(d.robot, bodies=bodies)
    with pytest.raises(ConfigError, match=r"joint .* must be as in .*; only masses"):
        d.network.calibration.values(moved)
    with pytest.raises(ConfigError, match="calibratable needs derivative composite"):
        compile_robot(
            load_robot("pendulum2"),
            Options(("did",), derivative="columns", calibratable=True, word=18),
        )


def test_variations_are_bodies_that_can_exist() -> None:
    robot = other(load_robot("iiwa14"), 7)
    for body in robot.bodies:
        assert np.linalg.eigvalsh(body.inertia.pseudo).min() > -1e-9
