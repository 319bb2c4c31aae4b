"""Devices behind an SPI bus: what is said over it, what goes wrong with it, and Linux's devices."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

from rbdgen import load_robot
from rbdgen.emulated_engine import EmulatedEngine
from rbdgen.emulation import bit_true, bit_true_shell, manifest_of
from rbdgen.errors import ConfigError, LinkError, ToolError
from rbdgen.host.driver import Driver
from rbdgen.host.engine import Engine
from rbdgen.host.spi import BLOCK, SpiTransport, open_spi
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.resident import Resident
from rbdgen.options import Options
from rbdgen.protocol.frames import FILLER, Kind, frame_bytes
from rbdgen.resident import load_robot_into
from rbdgen.shells.spi_model import SpiModel
from rbdgen_sim.comparison import random_operands
from tests.conftest import design

ENGINE = Resident(Core())


class Script:
    """A bus whose device says these bytes, then flags."""

    def __init__(self, said: bytes) -> None:
        self.said = bytearray(said)
        self.sizes: list[int] = []

    def transfer(self, data: bytes) -> bytes:
        self.sizes.append(len(data))
        found = bytes(self.said[: len(data)])
        del self.said[: len(data)]
        return found + bytes([FILLER]) * (len(data) - len(found))

    def close(self) -> None:
        pass


def test_what_comes_while_the_host_speaks_is_kept() -> None:
    frame = frame_bytes(Kind.TASK, bytes(range(200)))
    bus = Script(bytes([FILLER]) * 3 + frame)
    line = SpiTransport(bus, "bus", timeout=0.0)
    line.write(bytes(100))
    line.write(bytes(3 * BLOCK))
    assert bus.sizes == [100, BLOCK, BLOCK, BLOCK]
    assert line.read().strip(bytes([FILLER])) == frame[1:-1]
    assert line.read() == b""


@pytest.mark.parametrize("before", [0, 1, 62, 63, 64])
def test_a_flag_that_ends_a_frame_is_told_and_others_are_silence(before: int) -> None:
    # wherever the block for which a device is asked ends in the frame
    frame = frame_bytes(Kind.HELLO, bytes(58))
    line = SpiTransport(Script(bytes([FILLER]) * before + frame), "bus", timeout=0.0)
    found = line.read() + line.read() + line.read()
    # the flag before it need not be told
    assert frame[1:] in found
    assert line.read() == b""


def test_an_engine_behind_a_bus_answers_as_on_a_line() -> None:
    found = []
    for transport in (
        EmulatedEngine(ENGINE),
        SpiTransport(SpiModel(EmulatedEngine(ENGINE)), "bus", timeout=0.0),
    ):
        engine = Engine.open(transport)
        arm = load_robot_into(engine, load_robot("ur5"), Options(functions=("id",)))
        q = np.random.default_rng(1).uniform(-1.0, 1.0, (3, 300, 6))
        found.append(arm.rnea(*q))
        assert engine.robots == ("ur5",)
    assert np.array_equal(*found)


class Flipping(SpiModel):
    """A bus of which one byte in a hundred comes damaged, either way: bytes are never lost where a host counts them."""

    random = np.random.default_rng(5)

    def transfer(self, data: bytes) -> bytes:
        return self.damaged(super().transfer(self.damaged(data)))

    def damaged(self, data: bytes) -> bytes:
        wrong = self.random.random(len(data)) < 0.01
        flips = np.where(wrong, self.random.integers(1, 256, len(data)), 0)
        return (np.frombuffer(data, np.uint8) ^ flips.astype(np.uint8)).tobytes()


def test_a_bus_that_damages_bytes_costs_time_only() -> None:
    d = design("pendulum2", functions=("id", "m"))
    q, v, a, _ = random_operands(d, 1000)
    bus = Flipping(bit_true_shell(d))
    line = SpiTransport(bus, "bus", timeout=0.0)
    with Driver.open(manifest_of(d), line, patience=100) as device:
        assert np.array_equal(device.rnea(q, v, a), bit_true(d).rnea(q, v, a))
        assert device.link.counters.lost > 100


@pytest.mark.parametrize("byte", [0x00, 0xFF])
def test_a_bus_without_a_device_is_told(byte: int) -> None:
    class Nobody(Script):
        def transfer(self, data: bytes) -> bytes:
            return bytes([byte]) * len(data)

    line = SpiTransport(Nobody(b""), "bus", timeout=0.0)
    with pytest.raises(LinkError, match=r"^device: no answer to \d+ hellos, only bytes that are"):
        Engine.open(line, patience=2, seconds=0.2)


def test_a_bus_that_fails_is_told() -> None:
    class Broken(Script):
        def transfer(self, data: bytes) -> bytes:
            raise OSError(5, "Input/output error")

    with pytest.raises(LinkError, match=r"^bus: Input/output error; check the wires"):
        Engine.open(SpiTransport(Broken(b""), "bus"))


class Spidev(ModuleType):
    """As much of the module as is used, around a model of a device."""

    def __init__(self, bus: SpiModel) -> None:
        super().__init__("spidev")
        self.bus = bus
        self.opened: list[str] = []
        self.mode = self.max_speed_hz = -1

    def SpiDev(self) -> Spidev:
        return self

    def open_path(self, path: str) -> None:
        if path != "/dev/spidev0.0":
            raise FileNotFoundError(2, "No such file or directory")
        self.opened.append(path)

    def xfer2(self, data: list[int]) -> list[int]:
        return list(self.bus.transfer(bytes(data)))

    def close(self) -> None:
        self.opened.clear()


@pytest.fixture
def spidev(monkeypatch: pytest.MonkeyPatch) -> Spidev:
    module = Spidev(SpiModel(EmulatedEngine(ENGINE)))
    monkeypatch.setitem(sys.modules, "spidev", module)
    monkeypatch.setattr(sys, "platform", "linux")
    return module


def test_linuxs_devices_are_opened_in_mode_0(spidev: Spidev) -> None:
    with Engine.spi("/dev/spidev0.0", 1_000_000) as engine:
        assert engine.robots == ()
        assert spidev.opened == ["/dev/spidev0.0"]
        assert (spidev.mode, spidev.max_speed_hz) == (0, 1_000_000)
    assert not spidev.opened


def test_a_device_that_is_not_there_is_named(spidev: Spidev) -> None:
    with pytest.raises(LinkError, match=r"^/dev/spidev9\.0: cannot be opened: No such file or"):
        Driver.spi(manifest_of(design("pendulum2")), "/dev/spidev9.0")


def test_what_lacks_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spidev", None)
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(ToolError, match=r"^Python package 'spidev' is missing; install "):
        open_spi("/dev/spidev0.0")
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(ConfigError, match=r"^/dev/spidev0\.0: SPI devices are Linux's, not darwin"):
        open_spi("/dev/spidev0.0")
    with pytest.raises(ConfigError, match=r"^hertz: must be at least 1, not 0$"):
        open_spi("/dev/spidev0.0", 0)
