"""The RTL of an engine without a program, behind its byte link: what is loaded into it answers as the emulated one."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pytest

from rbdgen import Options, load_robot
from rbdgen.emulated_engine import EmulatedEngine
from rbdgen.errors import RbdgenWarning
from rbdgen.host.driver import Driver
from rbdgen.host.programs import Program
from rbdgen.host.transport import ProcessTransport, Transport
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.resident import Resident
from rbdgen.model.ranges import declared_ranges, random_states
from rbdgen.protocol.directory import Entry
from rbdgen.protocol.links import Addresses
from rbdgen.resident import compile_program
from rbdgen_hw.emit import engine_verilog, link_verilog, udp_verilog
from rbdgen_hw.shells.ethernet import GMII
from rbdgen_sim.device import SimulatedStation, build_device, build_station
from rbdgen_sim.faults import Noise
from tests.host.test_simulated_station import BAD, CLOCK, SHORT_SECOND

ENGINE = Resident(Core(1, 1, depth=1024, results=512), 2)
COUNT = 1000


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The compiled program of the engine's RTL: for robots that it has never seen."""
    work = tmp_path_factory.mktemp("engine")
    texts = {"engine.v": engine_verilog(ENGINE), "link.v": link_verilog(ENGINE, ENGINE.identity)}
    for name, text in texts.items():
        (work / name).write_text(text, encoding="utf-8")
    sources = [work / name for name in texts]
    return str(build_device(sources, f"{ENGINE.name}_link", work / "build"))


def made(robot: str, functions: tuple[str, ...], beside: tuple[Entry, ...] = ()) -> Program:
    options = Options(functions=functions, machine="engine")
    return compile_program(load_robot(robot), options, ENGINE, beside)


FIRST = made("pendulum2", ("id", "m"))


def answers(arm: Driver, count: int = COUNT) -> list[np.ndarray]:
    """What two robots beside each other answer, one after the other, the first one again behind them, and a third in
    their place; so many tasks of each function."""
    beside = tuple(arm.programs.entries())
    other = arm.load(made("ur5", ("id", "fd"), beside))
    assert arm.robots == ("pendulum2", "ur5")
    rnd = np.random.default_rng(2)
    short, long = rnd.uniform(-1.0, 1.0, (3, count, 2)), rnd.uniform(-1.0, 1.0, (3, count, 6))
    found = [arm.rnea(*short), other.rnea(*long), other.forward_dynamics(*long), arm.crba(short[0])]
    hyq = load_robot("hyq")
    third = arm.load(made("hyq", ("m",)))
    found.append(third.crba(random_states(hyq, declared_ranges(hyq), 50, 5)[0]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.0, 0.002])
def test_it_answers_as_the_emulated_one(device: str, rate: float) -> None:
    transport: Transport = ProcessTransport([device])
    if rate:
        transport = Noise(transport, rate, seed=4)
    with Driver.open(FIRST, transport, attempts=10_000, patience=1000) as arm:
        same(arm)


def same(arm: Driver, count: int = COUNT) -> None:
    """That a device answers as the emulated engine."""
    expected = answers(Driver.open(FIRST, EmulatedEngine(ENGINE)), count)
    for found, wanted in zip(answers(arm, count), expected, strict=True):
        assert np.array_equal(found, wanted)


@pytest.mark.slow
@pytest.mark.thorough
def test_it_answers_so_over_a_bad_wire(tmp_path: Path) -> None:
    station = Addresses().station(ENGINE.identity)
    texts = {
        "engine.v": engine_verilog(ENGINE),
        "udp.v": udp_verilog(ENGINE, ENGINE.identity, SHORT_SECOND, station, GMII),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    sources = [tmp_path / name for name in texts]
    board = build_station(FIRST.manifest, station, sources, f"{ENGINE.name}_udp", tmp_path)
    with (
        SimulatedStation(board, CLOCK, BAD, seed=3) as simulated,
        Driver.udp(FIRST, simulated.address) as arm,
    ):
        same(arm)
        arm = arm.load(FIRST)
        before = arm.rnea(*np.ones((3, 2)))
        simulated.reset()
        # a reset comes when it comes
        for _ in range(20):
            assert np.array_equal(arm.rnea(*np.ones((3, 2))), before)


@pytest.mark.slow
def test_a_reset_is_seen_and_mended(device: str) -> None:
    transport = ProcessTransport([device])
    q = np.random.default_rng(3).uniform(-1.0, 1.0, (3, 20, 2))
    again = pytest.warns(RbdgenWarning, match=r"its program \(pendulum2\) was loaded again")
    with Driver.open(made("pendulum2", ("id",)), transport) as arm:
        before = arm.rnea(*q)
        transport.process.send_signal(signal.SIGUSR1)
        with again:
            assert np.array_equal(arm.rnea(*q), before)


LEAN = Resident(Core(1, 1, words=512, depth=2048, results=256, limits=128, lean=True))


@pytest.mark.slow
def test_a_lean_one_answers_behind_its_link(tmp_path: Path) -> None:
    """The link reads lengths from entries whose fields have no bit more than they need."""
    texts = {"engine.v": engine_verilog(LEAN), "link.v": link_verilog(LEAN, LEAN.identity)}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    sources = [tmp_path / name for name in texts]
    rtl = str(build_device(sources, f"{LEAN.name}_link", tmp_path / "build"))
    options = Options(functions=("id", "fd"), machine="engine")
    program = compile_program(load_robot("ur5"), options, LEAN)
    states = np.random.default_rng(3).uniform(-1.0, 1.0, (3, 200, 6))
    found = []
    for transport in (ProcessTransport([rtl]), EmulatedEngine(LEAN)):
        with Driver.open(program, transport) as arm:
            found.append([arm.rnea(*states), arm.forward_dynamics(*states)])
    for got, wanted in zip(*found, strict=True):
        assert np.array_equal(got, wanted)
