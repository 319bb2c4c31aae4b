"""The library in C with engines: programs that are loaded when a device is opened, once; after resets, over noise, and
where a load is torn; beside those of other hosts; and parameters that are given other values."""

from __future__ import annotations

import copy
from functools import lru_cache

import numpy as np
import pytest

from rbdgen import Options, golden, load_robot, parameter_values
from rbdgen.emulated_engine import EmulatedEngine, serve_engine
from rbdgen.host.driver import Driver
from rbdgen.host.engine import Engine
from rbdgen.host.programs import Program
from rbdgen.machines.engine.core import LANES, Core
from rbdgen.machines.engine.resident import Resident
from rbdgen.model.robot import Robot
from rbdgen.resident import compile_program, load_robot_into
from rbdgen.tracing.calibration import varied_robot
from rbdgen_sim.faults import Noise
from tests.host.native import (
    DESIGN,
    LOST,
    PARAMETER,
    SILENT,
    Asker,
    needs_compiler,
    on_serial,
    on_tcp,
    on_udp,
)
from tests.host.test_programs import Torn

pytestmark = needs_compiler
ENGINE = Resident(Core())
ARM = load_robot("pendulum2")
OTHER = varied_robot(ARM, np.random.default_rng(1))
Q, V, A = np.random.default_rng(2).uniform(-1.0, 1.0, (3, 5, 2))


@lru_cache
def program(lanes: int = 4, calibratable: bool = False) -> Program:
    engine = Resident(Core(lanes, LANES[lanes]))
    functions = ("id", "m")
    options = Options(functions=functions, machine="engine", calibratable=calibratable)
    return compile_program(ARM, options, engine)


def right(asker: Asker, robot: Robot = ARM) -> bool:
    """Whether a device has a robot's torques."""
    answer = asker.call("id", q=Q, v=V, a=A)
    assert answer.status == 0, answer.message
    return np.allclose(answer.values[0]["tau"], golden.rnea(robot, Q, V, A), atol=1e-3)


def test_a_program_is_loaded_when_the_device_is_opened_and_once() -> None:
    shell = EmulatedEngine(ENGINE)
    with on_serial(shell) as address, Asker(program(), address) as asker:
        assert asker.opened.status == 0, asker.opened.message
        assert right(asker)
        assert np.allclose(asker.call("m", q=Q).values[0]["m"], golden.crba(ARM, Q), atol=1e-3)
    # as the host in Python has it
    assert Engine.open(shell).entries == [program().entry]
    accepted = shell.accepted
    with on_serial(shell) as address, Asker(program(), address) as asker:
        assert right(asker)
    assert shell.accepted - accepted < 150
    assert right_in_python(shell)


def right_in_python(shell: EmulatedEngine) -> bool:
    accepted = shell.accepted
    device = Driver.open(program(), shell)
    assert shell.accepted - accepted < 150
    return np.allclose(device.rnea(Q, V, A), golden.rnea(ARM, Q, V, A), atol=1e-3)


def test_what_is_beside_it_stays_and_what_clashes_goes() -> None:
    shell = EmulatedEngine(ENGINE)
    engine = Engine.open(shell)
    load_robot_into(engine, load_robot("ur5"), Options(functions=("id",), machine="engine"))
    beside = compile_program(
        ARM, Options(functions=("id", "m"), machine="engine"), ENGINE, engine.entries
    )
    with on_tcp(shell) as address, Asker(beside, address) as asker:
        assert right(asker)
    assert engine.robots == ("ur5", "pendulum2")
    with on_tcp(shell) as address, Asker(program(), address) as asker:
        assert right(asker)
    assert engine.robots == ("pendulum2",)


def test_after_a_reset_it_is_loaded_again() -> None:
    with serve_engine(ENGINE) as server, Asker(program(), on_udp(server.name)) as asker:
        assert right(asker)
        with server.paused() as shell:
            shell.reset()
        answer = asker.call("id", q=Q, v=V, a=A)
        assert answer.note == (
            "device: was reset in mid-use; its program (pendulum2) was loaded again, and this call's tasks repeated"
        )
        assert np.allclose(answer.values[0]["tau"], golden.rnea(ARM, Q, V, A), atol=1e-3)
        assert right(asker)


@pytest.mark.parametrize("lanes", [1, 4])
def test_parameters_are_given_other_values(lanes: int) -> None:
    made = program(lanes, True)
    shell = EmulatedEngine(Resident(Core(lanes, LANES[lanes])))
    values = parameter_values(ARM, OTHER)
    with on_serial(shell) as address, Asker(made, address) as asker:
        assert right(asker)
        assert asker.calibrate(values).status == 0
        assert right(asker, OTHER)
        name = next(iter(values))
        refused = asker.calibrate(values | {name: 1e6})
        assert refused.status == PARAMETER
        assert refused.message.startswith(f"parameter {name}: must be ")
        assert right(asker, OTHER)
        shell.reset()
        answer = asker.call("id", q=Q, v=V, a=A)
        assert "loaded again" in answer.note
        assert np.allclose(answer.values[0]["tau"], golden.rnea(OTHER, Q, V, A), atol=1e-3)
    # the host in Python knows by the directory that parameters are others, and gives the program its own
    device = Driver.open(made, shell)
    assert np.allclose(device.rnea(Q, V, A), golden.rnea(ARM, Q, V, A), atol=1e-3)
    device.calibrate(values)
    own = copy.deepcopy(shell.memories.banks)
    with on_serial(shell) as address, Asker(made, address) as asker:
        assert right(asker)
        assert shell.memories.banks != own
        assert asker.calibrate(values).status == 0
    assert shell.memories.banks == own
    (entry,) = Engine.open(shell).entries
    assert entry.values == device.programs.slots[0].values


@pytest.mark.parametrize("seed", range(2))
def test_a_line_with_noise_loads_what_it_should(seed: int) -> None:
    shell = EmulatedEngine(ENGINE)
    with (
        on_serial(Noise(shell, 0.002, seed)) as address,
        Asker(program(), address, attempts=1000, patience=100) as asker,
    ):
        assert right(asker)
    quiet = EmulatedEngine(ENGINE)
    Driver.open(program(), quiet)
    assert shell.memories.columns == quiet.memories.columns
    assert shell.memories.banks == quiet.memories.banks


@pytest.mark.parametrize("share", [0.1, 0.75, 0.85, 0.95, 0.98])
def test_a_load_that_is_torn_is_told(share: float) -> None:
    shell = Torn(ENGINE)
    with on_serial(shell) as address, Asker(program(), address) as asker:
        assert asker.opened.status == 0
    whole = shell.came
    shell = Torn(ENGINE)
    shell.left = round(share * whole)
    with (
        on_serial(shell) as address,
        Asker(program(), address, attempts=2, patience=1, quiet=0.02, progress=0.1) as asker,
    ):
        assert asker.opened.status in (LOST, SILENT), asker.opened.message
    shell.left = 1 << 40
    assert Engine.open(shell).robots == ()
    with on_serial(shell) as address, Asker(program(), address) as asker:
        assert right(asker)


def test_a_program_for_another_engine_is_refused() -> None:
    shell = EmulatedEngine(Resident(Core(2, 1)))
    with on_serial(shell) as address, Asker(program(), address) as asker:
        assert asker.opened.status == DESIGN
        assert asker.opened.message == (
            f"device: has engine {shell.engine.identity.hex()}, and program rbd_pendulum2_id_m is for "
            f"{ENGINE.identity.hex()}; make it for this one, or flash the board's engine again"
        )
