"""A transport that damages what goes through it, and devices made of a design's bit-true model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rbdgen import Design
from rbdgen.host.manifest import Manifest, manifest_from
from rbdgen.host.shell import ShellModel
from rbdgen.host.transport import Transport
from rbdgen.report.design import manifest

DIGEST = "0123456789abcdef" * 4
"""A Verilog file's, of no file in particular."""


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


def manifest_of(design: Design, digest: str = DIGEST) -> Manifest:
    """The manifest as a host reads it."""
    return manifest_from(json.loads(json.dumps(manifest(design, digest, "0"))))


def model(design: Design) -> ShellModel:
    """A device in this process that answers by the design's bit-true model."""
    held: dict[str, int] = {}

    def compute(
        function: str, raw: Sequence[np.ndarray]
    ) -> tuple[Sequence[np.ndarray], np.ndarray]:
        loaded = {name: np.full(len(raw[0]), value) for name, value in held.items()}
        answer = design.run(function, raw, loaded)
        return answer.values, answer.overflow

    def load(number: int, value: int) -> None:
        held[known.tasks.parameters[number].name] = value

    known = manifest_of(design)
    return ShellModel(known.identity, known.tasks, compute, load, held.clear)
