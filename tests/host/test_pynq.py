"""The driver for PYNQ, against a stand-in for PYNQ whose DMA leads to the model of a device."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

from rbdgen.errors import LinkError, ToolError
from rbdgen.host.pynq import open_pynq
from rbdgen.protocol.registers import VERSION, Register
from rbdgen_sim.dma import DmaModel
from rbdgen_sim.mixed import check_mixed
from rbdgen_sim.noise import manifest_of, model
from tests.conftest import design

FUNCTIONS = ("id", "m", "did")


class Buffer(np.ndarray):
    """What ``pynq.allocate`` returns."""

    freed = 0

    def freebuffer(self) -> None:
        Buffer.freed += 1


class Channel:
    """One direction of AMD's DMA: a transfer is started, then waited for."""

    def __init__(self) -> None:
        self.buffer: np.ndarray | None = None

    def transfer(self, buffer: np.ndarray) -> None:
        assert self.buffer is None
        self.buffer = buffer

    def wait(self) -> None:
        assert self.buffer is not None
        self.buffer = None


def fake(monkeypatch: pytest.MonkeyPatch, version: int = VERSION) -> list[str]:
    """Install the stand-in; the bitstreams that are loaded."""
    d = design("pendulum2", functions=FUNCTIONS, ii=4)
    known, dma, loaded = manifest_of(d), DmaModel(model(d)), []
    words = np.frombuffer(known.identity, "<u4")
    registers = {Register.VERSION: version} | {
        Register.IDENTITY + 4 * k: int(w) for k, w in enumerate(words)
    }

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
        accelerator=types.SimpleNamespace(read=lambda address: registers[address]),
    )
    module = types.ModuleType("pynq")
    module.Overlay = lambda path: loaded.append(path) or overlay  # type: ignore[attr-defined]
    module.allocate = lambda shape, dtype: np.zeros(shape, dtype).view(Buffer)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pynq", module)
    return loaded


def test_tasks_go_through_the_dma(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = fake(monkeypatch)
    d = design("pendulum2", functions=FUNCTIONS, ii=4)
    Buffer.freed = 0
    with open_pynq(manifest_of(d), "design.bit", batch=40) as device:
        check_mixed(d, device, 200, 1)
    assert loaded == ["design.bit"]
    assert Buffer.freed >= 2


def test_another_bitstream_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch)
    with pytest.raises(LinkError, match=r"^device: holds design .*, not f{32} "):
        open_pynq(manifest_of(design("pendulum2"), "f" * 64), "design.bit")
    fake(monkeypatch, version=7)
    with pytest.raises(
        LinkError, match=r"^device: has registers of version 7, this host knows version 1; build"
    ):
        open_pynq(manifest_of(design("pendulum2")), "design.bit")


def test_without_pynq_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynq", None)
    with pytest.raises(
        ToolError, match=r"^Python package 'pynq' is missing; use a board's PYNQ image"
    ):
        open_pynq(manifest_of(design("pendulum2")), "design.bit")
