"""The accelerator on a Zynq board under PYNQ: DMA for tasks and results, registers for who it is.

``open_pynq("manifest.json", "bitstream.bit")`` is a :class:`rbdgen.host.driver.Driver` like any other.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np

from rbdgen.errors import LinkError, ToolError
from rbdgen.host.beats import DEFAULT_BATCH, StreamLink, check_identity
from rbdgen.host.driver import Driver
from rbdgen.host.link import Progress
from rbdgen.host.manifest import Manifest, read_manifest
from rbdgen.protocol.registers import IDENTITY_WORDS, VERSION, Register


class PynqDma:
    """The DMA engine ``dma`` and the registers ``accelerator`` of an overlay that ``rbdgen build`` made."""

    def __init__(self, pynq: Any, overlay: Any) -> None:
        self.pynq, self.dma, self.accelerator = pynq, overlay.dma, overlay.accelerator
        self.buffers: dict[str, Any] = {}

    def transfer(self, data: bytes, size: int) -> bytes:
        """Send the beats ``data``, and receive ``size`` bytes of beats."""
        out, back = self._buffer("out", len(data)), self._buffer("back", size)
        out[:] = np.frombuffer(data, np.uint8)
        self.dma.recvchannel.transfer(back)
        self.dma.sendchannel.transfer(out)
        self.dma.sendchannel.wait()
        self.dma.recvchannel.wait()
        return bytes(back)

    def _buffer(self, name: str, size: int) -> Any:
        """Memory that the DMA can reach; kept for the next transfer of the same size."""
        kept = self.buffers.get(name)
        if kept is None or len(kept) != size:
            if kept is not None:
                kept.freebuffer()
            kept = self.buffers[name] = self.pynq.allocate(shape=(size,), dtype=np.uint8)
        return kept

    def read(self) -> bytes:
        return b""

    def write(self, data: bytes) -> None:
        raise LinkError("device: has no byte link; use its streams")

    def close(self) -> None:
        for buffer in self.buffers.values():
            buffer.freebuffer()
        self.buffers = {}


def open_pynq(
    manifest: Manifest | Path | str,
    bitstream: Path | str,
    batch: int = DEFAULT_BATCH,
    progress: Progress = lambda done, total: None,
) -> Driver:
    """Load ``bitstream`` and drive it; ``batch`` tasks per transfer.

    ToolError without PYNQ; ConfigError for a manifest that cannot be read; LinkError for another design's bitstream.
    """
    try:
        pynq: Any = importlib.import_module("pynq")
    except ModuleNotFoundError:
        raise ToolError(
            "Python package 'pynq' is missing; use a board's PYNQ image, https://www.pynq.io"
        ) from None
    if not isinstance(manifest, Manifest):
        manifest = read_manifest(Path(manifest))
    dma = PynqDma(pynq, pynq.Overlay(str(bitstream)))
    found = dma.accelerator.read(Register.VERSION)
    if found != VERSION:
        raise LinkError(
            f"device: has registers of version {found}, this host knows version {VERSION}; build the bitstream with "
            "this version of rbdgen"
        )
    words = [dma.accelerator.read(Register.IDENTITY + 4 * k) for k in range(IDENTITY_WORDS)]
    check_identity(words, manifest.identity, manifest.name)
    return Driver(manifest, StreamLink(manifest.tasks, dma.transfer, dma, batch), progress)
