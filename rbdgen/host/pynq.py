"""The accelerator on a Zynq board under PYNQ: DMA for tasks and results, registers for who it is; or an engine, which
has registers only.

``open_pynq("manifest.json", "bitstream.bit")`` is a :class:`rbdgen.host.driver.Driver` like any other, and
``open_engine("bitstream.bit")`` a :class:`rbdgen.host.engine.Engine`, to load robots into.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rbdgen.errors import LinkError, ToolError
from rbdgen.host.driver import Driver
from rbdgen.host.engine import Engine
from rbdgen.host.exchanges import DEFAULT_SECONDS, Progress, Watch
from rbdgen.host.manifest import ManifestSource, known_manifest
from rbdgen.host.stream_link import DEFAULT_BATCH, StreamLink
from rbdgen.protocol.registers import Register


class PynqRegisters:
    """The registers ``accelerator`` of an overlay; a :class:`rbdgen.host.register_link.RegisterDevice`."""

    def __init__(self, overlay: Any) -> None:
        self.accelerator = overlay.accelerator

    def read_register(self, address: int) -> int:
        """The register at ``address``."""
        return self.accelerator.read(address)

    def write_register(self, address: int, value: int) -> None:
        """Write the register at ``address``."""
        self.accelerator.write(address, value)

    def close(self) -> None:
        """Nothing: the overlay stays."""


class PynqDma(PynqRegisters):
    """The DMA engine ``dma`` and the registers ``accelerator`` of an overlay that ``rbdgen build`` made; a
    :class:`rbdgen.host.stream_link.StreamDevice`. ``seconds``: how long no result may leave during a transfer."""

    def __init__(self, pynq: Any, overlay: Any, seconds: float = DEFAULT_SECONDS) -> None:
        super().__init__(overlay)
        self.pynq, self.dma = pynq, overlay.dma
        self.seconds = seconds
        self.buffers: dict[str, Any] = {}

    def transfer(self, data: bytes, size: int) -> bytes:
        """Send the beats ``data``, and receive ``size`` bytes of beats."""
        out, back = self._buffer("out", len(data)), self._buffer("back", size)
        out[:] = np.frombuffer(data, np.uint8)
        channels = {"recvchannel": back, "sendchannel": out}
        # receiving begins first: results may come before all tasks are sent
        for name, buffer in channels.items():
            with _named(name):
                getattr(self.dma, name).transfer(buffer)
        for name in reversed(channels):
            self._wait(name)
        return bytes(back)

    def _wait(self, name: str) -> None:
        """Wait for a channel. PYNQ's own waiting has no limit, and is only begun when there is nothing to wait for: it
        knows what went wrong, and what to do with the buffer."""
        channel = getattr(self.dma, name)
        watch = Watch(self.seconds)
        left = None
        while channel.running and not channel.error and not channel.idle:
            results = self.read_register(Register.RESULTS)
            if results != left:
                left = results
                watch.again()
            if watch.over:
                # the engine may still reach its buffers: they are never given back
                self.buffers = {}
                raise LinkError(
                    f"device: no result left for {self.seconds:g} s during a transfer ({name}); load its bitstream "
                    "again"
                )
        with _named(name):
            channel.wait()

    def _buffer(self, name: str, size: int) -> Any:
        """Memory that the DMA can reach; kept for the next transfer of the same size."""
        kept = self.buffers.get(name)
        if kept is None or len(kept) != size:
            # contiguous memory is scarce on these boards: one buffer for each direction at a time
            if kept is not None:
                kept.freebuffer()
            kept = self.buffers[name] = self.pynq.allocate(shape=(size,), dtype=np.uint8)
        return kept

    def close(self) -> None:
        """Give the buffers back."""
        for buffer in self.buffers.values():
            buffer.freebuffer()
        self.buffers = {}


@contextlib.contextmanager
def _named(channel: str) -> Iterator[None]:
    """PYNQ's errors of a DMA channel as what they are."""
    try:
        yield
    except RuntimeError as error:
        raise LinkError(f"device: {channel}: {error}; load its bitstream again") from None


def open_pynq(
    manifest: ManifestSource,
    bitstream: Path | str,
    batch: int = DEFAULT_BATCH,
    progress: Progress = lambda done, total: None,
    seconds: float = DEFAULT_SECONDS,
    flags: str = "warn",
) -> Driver:
    """Load ``bitstream`` and drive it; ``batch`` tasks per transfer, in which no result may be ``seconds`` away;
    ``flags``: what is done about flagged tasks.

    ToolError without PYNQ; ConfigError for a manifest that cannot be read; LinkError for another design's bitstream.
    """
    pynq = _package()
    known = known_manifest(manifest)
    dma = PynqDma(pynq, pynq.Overlay(str(bitstream)), seconds)
    return Driver(known, StreamLink(known, dma, batch), progress, flags)


def open_engine(bitstream: Path | str, seconds: float = DEFAULT_SECONDS) -> Engine:
    """Load the ``bitstream`` of a board's engine (``rbdgen flash``): the engine, without a program. No result may be
    ``seconds`` away.

    ToolError without PYNQ; LinkError for a bitstream of another kind or version.
    """
    pynq = _package()
    return Engine.registers(PynqRegisters(pynq.Overlay(str(bitstream))), seconds)


def _package() -> Any:
    """PYNQ's package."""
    try:
        return importlib.import_module("pynq")
    except ModuleNotFoundError:
        raise ToolError(
            "Python package 'pynq' is missing; use a board's PYNQ image, https://www.pynq.io"
        ) from None
