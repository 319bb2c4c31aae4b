"""The driver for PYNQ, against a stand-in for PYNQ whose DMA leads to the model of a device."""

from __future__ import annotations

import sys
import time
import types

import numpy as np
import pytest

from rbdgen.emulation import bit_true_shell, manifest_of
from rbdgen.errors import LinkError, ToolError
from rbdgen.host.pynq import open_pynq
from rbdgen.protocol.registers import VERSION, Register
from rbdgen_sim.axi import DmaModel
from rbdgen_sim.comparison import check_mixed
from tests.conftest import design

FUNCTIONS = ("id", "m", "did")


class Buffer(np.ndarray):
    """What ``pynq.allocate`` returns."""

    freed = 0

    def freebuffer(self) -> None:
        Buffer.freed += 1


class Channel:
    """One direction of AMD's DMA: a transfer is started, and looked at until it is over. ``held``: it never is."""

    running = True
    held = False

    def __init__(self) -> None:
        self.buffer: np.ndarray | None = None
        self.error = 0

    def transfer(self, buffer: np.ndarray) -> None:
        if self.buffer is not None:
            raise RuntimeError("DMA channel not idle")
        self.buffer = buffer

    @property
    def idle(self) -> bool:
        return not self.held

    def wait(self) -> None:
        assert self.buffer is not None
        assert self.idle
        if self.error:
            raise RuntimeError("DMA Decode Error (invalid address)")
        self.buffer = None


def fake(monkeypatch: pytest.MonkeyPatch, version: int = VERSION) -> list[str]:
    """Install the stand-in; the bitstreams that are loaded."""
    loaded, _, _ = overlay_of(monkeypatch, version)
    return loaded


def overlay_of(
    monkeypatch: pytest.MonkeyPatch, version: int = VERSION
) -> tuple[list[str], DmaModel, types.SimpleNamespace]:
    """The same; with the model of the device, and the overlay."""
    d = design("pendulum2", functions=FUNCTIONS, ii=4)
    dma, loaded = DmaModel(bit_true_shell(d)), []
    dma.registers |= {Register.VERSION: version, Register.RESULTS: 0}

    class Receive(Channel):
        pass

    class Send(Channel):
        def wait(self) -> None:
            assert self.buffer is not None
            assert receive.buffer is not None
            answer = dma.transfer(bytes(self.buffer), len(receive.buffer))
            receive.buffer[:] = np.frombuffer(answer, np.uint8)
            super().wait()

    receive, send = Receive(), Send()
    overlay = types.SimpleNamespace(
        dma=types.SimpleNamespace(recvchannel=receive, sendchannel=send),
        accelerator=types.SimpleNamespace(read=dma.read_register, write=dma.write_register),
    )
    module = types.ModuleType("pynq")
    module.Overlay = lambda path: loaded.append(path) or overlay  # type: ignore[attr-defined]
    module.allocate = lambda shape, dtype: np.zeros(shape, dtype).view(Buffer)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pynq", module)
    return loaded, dma, overlay


def test_tasks_go_through_the_dma(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = fake(monkeypatch)
    d = design("pendulum2", functions=FUNCTIONS, ii=4)
    Buffer.freed = 0
    with open_pynq(manifest_of(d), "design.bit", batch=40) as device:
        check_mixed(d, device, 200, 1)
    assert loaded == ["design.bit"]
    assert Buffer.freed >= 2


def test_a_transfer_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    _, dma, overlay = overlay_of(monkeypatch)
    d = design("pendulum2", functions=FUNCTIONS, ii=4)
    device = open_pynq(manifest_of(d), "design.bit", seconds=0.2)
    Buffer.freed = 0
    looked = 0

    def results(address: int) -> int:
        nonlocal looked
        looked += address == Register.RESULTS
        # results leave for a while: no limit begins before the last one
        time.sleep(0.01)
        return min(looked, 30) if address == Register.RESULTS else dma.registers[address]

    overlay.dma.recvchannel.held = True
    overlay.accelerator.read = results
    begun = time.monotonic()
    with pytest.raises(
        LinkError,
        match=r"^device: no result left for 0\.2 s during a transfer \(recvchannel\); load",
    ):
        device.crba(np.zeros((3, 2)))
    assert 0.45 < time.monotonic() - begun < 3
    # an engine that may still write keeps its memory
    device.link.close()
    assert Buffer.freed == 0
    with pytest.raises(LinkError, match=r"^device: recvchannel: DMA channel not idle; load its"):
        device.crba(np.zeros((3, 2)))
    device.close()
    with pytest.raises(LinkError, match=r"^device: is closed; open it again$"):
        device.crba(np.zeros((3, 2)))


def test_errors_of_the_dma_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, overlay = overlay_of(monkeypatch)
    d = design("pendulum2", functions=FUNCTIONS, ii=4)
    device = open_pynq(manifest_of(d), "design.bit")
    overlay.dma.recvchannel.error = 0x40
    with pytest.raises(LinkError, match=r"^device: recvchannel: DMA Decode Error .*; load its bit"):
        device.crba(np.zeros((3, 2)))


def test_another_bitstream_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch)
    with pytest.raises(LinkError, match=r"^device: holds design [0-9a-f]{32}, not [0-9a-f]{32} "):
        open_pynq(manifest_of(design("pendulum2"), "f" * 64), "design.bit")
    fake(monkeypatch, version=7)
    with pytest.raises(
        LinkError, match=r"^device: has registers of version 7, this host knows version 2; build"
    ):
        open_pynq(manifest_of(design("pendulum2")), "design.bit")


def test_without_pynq_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynq", None)
    with pytest.raises(
        ToolError, match=r"^Python package 'pynq' is missing; use a board's PYNQ image"
    ):
        open_pynq(manifest_of(design("pendulum2")), "design.bit")
