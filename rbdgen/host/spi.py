"""A device behind SPI: the host clocks it, and every byte that is sent brings one back.

Frames are those of a serial line (:mod:`rbdgen.protocol.frames`). Where either side has nothing to say it sends flags,
which stand between frames and mean nothing.
"""

from __future__ import annotations

import sys
from typing import Protocol

from rbdgen.errors import ConfigError, LinkError
from rbdgen.host.exchanges import Watch
from rbdgen.host.transport import DEFAULT_TIMEOUT
from rbdgen.installation import optional_module
from rbdgen.protocol.frames import FILLER

DEFAULT_HERTZ = 10_000_000
"""Of the clock: a quarter of a small device's."""
BLOCK = 1024
"""Bytes that are sent in one transaction, at most: a quarter of what Linux's driver takes."""
POLL = 64
"""Bytes for which a device is asked at once: a short answer, and no more of the bus's time than a task of an arm."""
MODE = 0
_FILLER = bytes([FILLER])


class SpiBus(Protocol):
    """A device on an SPI bus of the host's."""

    def transfer(self, data: bytes) -> bytes:
        """Send these bytes in one transaction; as many that came meanwhile. OSError if the bus fails."""
        ...

    def close(self) -> None:
        """Let go of the device."""
        ...


class SpiDevice:
    """A device by its file, such as ``/dev/spidev0.0``, as Linux has it."""

    def __init__(self, path: str, hertz: int = DEFAULT_HERTZ) -> None:
        if not sys.platform.startswith("linux"):
            raise ConfigError(
                f"{path}: SPI devices are Linux's, not {sys.platform}'s; use a serial line or UDP"
            )
        spidev = optional_module("spidev", "spi")
        self.device = spidev.SpiDev()
        try:
            self.device.open_path(path)
            self.device.mode = MODE
            self.device.max_speed_hz = hertz
        except OSError as error:
            self.device.close()
            raise LinkError(
                f"{path}: cannot be opened: {error.strerror or error}; enable the computer's SPI bus, and name the "
                "device's file"
            ) from None

    def transfer(self, data: bytes) -> bytes:
        """See :class:`SpiBus`."""
        return bytes(self.device.xfer2(list(data)))

    def close(self) -> None:
        """See :class:`SpiBus`."""
        self.device.close()


class SpiTransport:
    """A transport over an SPI ``bus``, called ``name``; ``timeout``: seconds for which it is asked before it counts as
    silent."""

    def __init__(self, bus: SpiBus, name: str, timeout: float = DEFAULT_TIMEOUT) -> None:
        self.bus, self.name, self.timeout = bus, name, timeout
        self.in_process = bool(getattr(bus, "in_process", False))
        self.came = bytearray()
        self.amid = False
        """Whether the last byte that came was a frame's, so that a flag behind it means something."""

    def write(self, data: bytes) -> None:
        for start in range(0, len(data), BLOCK):
            self._transfer(data[start : start + BLOCK])

    def read(self) -> bytes:
        watch = Watch(self.timeout)
        while not self.came:
            self._transfer(_FILLER * POLL)
            if watch.over:
                break
        data = bytes(self.came)
        self.came.clear()
        return data

    def close(self) -> None:
        self.bus.close()

    def _transfer(self, data: bytes) -> None:
        try:
            found = self.bus.transfer(data)
        except OSError as error:
            raise LinkError(
                f"{self.name}: {error.strerror or error}; check the wires and the computer's SPI bus"
            ) from None
        # nothing but flags is silence, unless one of them ends a frame
        if self.amid or found.strip(_FILLER):
            self.came += found
            self.amid = not found.endswith(_FILLER)


def open_spi(path: str, hertz: int = DEFAULT_HERTZ) -> SpiTransport:
    """The transport to a device's file. ConfigError on another system than Linux and without ``spidev``, LinkError
    where it cannot be opened."""
    if hertz < 1:
        raise ConfigError(f"hertz: must be at least 1, not {hertz}")
    return SpiTransport(SpiDevice(path, hertz), path)
