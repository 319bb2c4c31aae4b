"""What tests of the host library share: designs, states, what the driver answers, and a line that changes bytes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from rbdgen import Design
from rbdgen.functions.registry import common
from rbdgen.host.driver import Answers, Driver, Tasks
from rbdgen.host.manifest import Manifest
from rbdgen.host.transport import Transport
from rbdgen.protocol.frames import Deframer, frame_bytes
from rbdgen.shells.shell import ShellModel
from tests.conftest import design
from tests.host.native import (
    Answer,
)

QUICK = {"quiet": 0.03}
"""Seconds of silence, where the other end answers at once or never."""
Request = tuple[str, dict[str, np.ndarray]]


def everything() -> Design:
    return design("pendulum2", functions=common(), ii=4)


def calibratable() -> Design:
    return design("pendulum2", functions=("id", "m"), ii=4, calibratable=True)


def request(manifest: Manifest, function: str, count: int, seed: int = 1) -> Request:
    """States between and now and then a little outside the declared limits of each operand, no words of the format."""
    random = np.random.default_rng(seed)
    operands = {}
    for vector in manifest.operand_vectors[function]:
        operands[vector] = np.zeros((count, *manifest.shapes[vector].size))
    words = manifest.tasks.functions[function].operands
    for entry, word in zip(manifest.operands[function], words, strict=True):
        low, high = (word.format.real(np.array(code)) for code in word.codes)
        values = random.uniform(low, high, count)
        values[random.random(count) < 0.01] *= 1.5
        if entry.vector == "steps":
            values = random.integers(-1, 5, count)
        operands[entry.vector][(slice(None), *entry.index)] = values
    for vector, values in operands.items():
        for part in manifest.shapes[vector].unit_vectors:
            unit = values[:, part.first : part.first + part.size]
            unit /= np.linalg.norm(unit, axis=-1, keepdims=True)
    return function, operands


def requests(manifest: Manifest, count: int) -> list[Request]:
    """States of every function, others for another count."""
    names = enumerate(manifest.tasks.functions)
    return [request(manifest, name, count, 100 * count + k) for k, name in names]


def same(answer: Answer, expected: list[Answers]) -> None:
    """AssertionError unless the library answered as the driver did."""
    assert (answer.status, answer.message) == (0, "")
    for flags, values, driver in zip(answer.flags, answer.values, expected, strict=True):
        assert np.array_equal(flags, driver.flags)
        assert values.keys() == driver.values.keys()
        for vector, got in values.items():
            assert got.tobytes() == driver.values[vector].tobytes(), vector


def by_driver(shell: Transport, manifest: Manifest, asked: list[Request]) -> list[Answers]:
    with Driver.open(manifest, shell) as device:
        return device.solve([Tasks(*one) for one in asked])


@contextmanager
def within(seconds: float) -> Iterator[None]:
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < seconds


class Wire:
    """A transport to ``shell`` that lets ``change`` the bytes that the device says, or the frames that it hears."""

    def __init__(
        self,
        shell: ShellModel,
        say: Callable[[bytes], bytes] = lambda data: data,
        hear: Callable[[list[bytes]], list[bytes]] = lambda frames: frames,
    ) -> None:
        self.shell, self.say, self.hear = shell, say, hear
        self.heard: list[bytes] = []
        self.said: list[int] = []
        """Kinds of the frames that the device sent."""
        self.deframer, self.own = Deframer(1 << 16), Deframer(1 << 16)

    def write(self, data: bytes) -> None:
        frames = [frame_bytes(f.kind, f.payload) for f in self.deframer.feed(data)]
        self.heard += frames
        self.shell.write(b"".join(self.hear(frames)))

    def read(self) -> bytes:
        data = self.shell.read()
        self.said += [frame.kind for frame in self.own.feed(data)]
        return self.say(data) if data else b""

    def close(self) -> None:
        pass
