"""The RTL of an engine behind its SPI port, its clock and the host's in many ratios: it answers as the emulated one."""

from __future__ import annotations

import contextlib
import signal
from pathlib import Path

import numpy as np
import pytest

from rbdgen.emulated_engine import EmulatedEngine
from rbdgen.errors import LinkError, RbdgenWarning
from rbdgen.host.driver import Driver
from rbdgen.host.engine import Engine
from rbdgen.host.spi import SpiTransport
from rbdgen.host.transport import Transport
from rbdgen_hw.emit import engine_verilog, spi_verilog
from rbdgen_sim.faults import Noise
from rbdgen_sim.spi_board import SimulatedBus, build_spi_board
from tests.host.test_simulated_engine import ENGINE, FIRST, made, same

BAD = (4.6, 0.06, 0.01), (9.7, 0.25, 0.002)
"""Cycles in one of the bus's clock, its jitter, and the share of bytes that come damaged."""


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled program of the engine's RTL."""
    work = tmp_path_factory.mktemp("engine")
    texts = {"engine.v": engine_verilog(ENGINE), "spi.v": spi_verilog(ENGINE, ENGINE.identity)}
    for name, text in texts.items():
        (work / name).write_text(text, encoding="utf-8")
    sources = [work / name for name in texts]
    return build_spi_board(sources, f"{ENGINE.name}_spi", work / "build")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ratio", "jitter", "noise"),
    [(4.0, 0.0, 0.0), *(pytest.param(*more, marks=pytest.mark.thorough) for more in BAD)],
)
def test_it_answers_as_the_emulated_one(
    board: Path, ratio: float, jitter: float, noise: float
) -> None:
    transport: Transport = SpiTransport(SimulatedBus(board, ratio, jitter), "bus")
    if noise:
        transport = Noise(transport, noise, seed=4)
    with Driver.open(FIRST, transport, attempts=10_000, patience=1000) as arm:
        same(arm, 60)


@pytest.mark.slow
def test_a_reset_is_seen_and_mended(board: Path) -> None:
    bus = SimulatedBus(board, 5.3, 0.1)
    q = np.random.default_rng(3).uniform(-1.0, 1.0, (3, 20, 2))
    program = made("pendulum2", ("id",))
    wanted = Driver.open(program, EmulatedEngine(ENGINE)).rnea(*q)
    again = pytest.warns(RbdgenWarning, match=r"its program \(pendulum2\) was loaded again")
    with Driver.open(program, SpiTransport(bus, "bus")) as arm:
        assert np.array_equal(arm.rnea(*q), wanted)
        bus.process.send_signal(signal.SIGUSR1)
        with again:
            assert np.array_equal(arm.rnea(*q), wanted)


class Cut:
    """A way to a device that is cut after so many bytes."""

    def __init__(self, inner: Transport) -> None:
        self.inner, self.left, self.came = inner, 1 << 40, 0

    def write(self, data: bytes) -> None:
        self.came += len(data)
        self.inner.write(data[: self.left])
        self.left = max(0, self.left - len(data))

    def read(self) -> bytes:
        return self.inner.read()

    def close(self) -> None:
        self.inner.close()


@pytest.mark.slow
def test_loads_that_are_torn_leave_the_old_program_or_none(board: Path) -> None:
    """A step of a prime number of bytes, so that all places in packets are met."""
    old, new = made("pendulum2", ("id", "m")), made("pendulum2", ("id",))
    line = Cut(SpiTransport(SimulatedBus(board, 4.2), "bus", timeout=0.01))
    Driver.open(old, line)
    before = line.came
    Driver.open(new, line)
    whole = line.came - before
    q = np.random.default_rng(5).uniform(-1.0, 1.0, (3, 3, 2))
    wanted = {
        own.manifest.identity: Driver.open(own, EmulatedEngine(ENGINE)).rnea(*q)
        for own in (old, new)
    }
    found = set()
    for cut in range(0, whole + 499, 499):
        Driver.open(old, line)
        line.left = cut
        with contextlib.suppress(LinkError):
            Driver.open(new, line, patience=1, seconds=0.5)
        line.left = 1 << 40
        there = Engine.open(line).entries
        found.add(there[0].identity if there else b"")
        if there:
            (own,) = [p for p in (old, new) if p.manifest.identity == there[0].identity]
            # what is there is not loaded again
            sent = line.came
            assert np.array_equal(Driver.open(own, line).rnea(*q), wanted[own.manifest.identity])
            assert line.came - sent < whole
    assert found == {*wanted, b""}
    line.close()
