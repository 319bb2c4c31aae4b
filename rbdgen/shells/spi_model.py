"""The model of a board's SPI port before that of a shell behind a byte link, in this process.

Neither has time: what a shell answers to the bytes of a transaction comes in the next one.
"""

from __future__ import annotations

from typing import ClassVar

from rbdgen.host.transport import Transport
from rbdgen.protocol.frames import FILLER


class SpiModel:
    """A ``shell`` as a device on a host's SPI bus (:class:`rbdgen.host.spi.SpiBus`)."""

    in_process: ClassVar[bool] = True

    def __init__(self, shell: Transport) -> None:
        self.shell = shell
        self.waiting = bytearray()

    def transfer(self, data: bytes) -> bytes:
        """A transaction: these bytes to the device, as many from it."""
        count = len(data)
        sent = bytes(self.waiting[:count])
        del self.waiting[:count]
        self.shell.write(data)
        self.waiting += self.shell.read()
        return sent + bytes([FILLER]) * (count - len(sent))

    def close(self) -> None:
        """Let go of the shell."""
        self.shell.close()
