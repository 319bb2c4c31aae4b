"""A transport that damages what goes through it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rbdgen.host.transport import Transport


@dataclass
class Noise:
    """Of the bytes in either direction the share ``rate`` is altered, dropped, or joined by a random one."""

    inner: Transport
    rate: float
    seed: int = 0

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        self.faults = 0

    def damage(self, data: bytes) -> bytes:
        """``data`` as it comes out; counts the ``faults``."""
        result, start = bytearray(), 0
        for offset in np.flatnonzero(self.random.random(len(data)) < self.rate):
            self.faults += 1
            result += data[start:offset]
            start = int(offset) + 1
            extra = int(self.random.integers(256))
            match int(self.random.integers(3)):
                case 0:
                    result.append(data[offset] ^ int(self.random.integers(1, 256)))
                case 1:
                    pass
                case _:
                    result += bytes([extra, data[offset]])
        return bytes(result + data[start:])

    def write(self, data: bytes) -> None:
        """Write what is left of ``data``."""
        self.inner.write(self.damage(data))

    def read(self) -> bytes:
        """What is left of what came."""
        data = self.inner.read()
        damaged = self.damage(data)
        # a reading that lost all its bytes is not silence
        return damaged if damaged or not data else self.read()

    def close(self) -> None:
        """Close the transport inside."""
        self.inner.close()
