"""What tests of datagrams share: devices in simulated time, slow ones, ones with long packets, and bad networks."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import numpy as np

from rbdgen import Design
from rbdgen.emulation import bit_true_datagrams, manifest_of
from rbdgen.host.datagram_link import HostEnd
from rbdgen.host.driver import Driver
from rbdgen.host.udp import DatagramLink, connect
from rbdgen.ir.number_formats import Format
from rbdgen.protocol.packets import read_results, task_packets
from rbdgen.protocol.tasks import FunctionFormat, OperandWord, Packing, ResultWord, TaskFormat
from rbdgen.shells.datagram_shell import Address, DatagramShell
from rbdgen_sim.faults import Faults, FaultyPort

KINDS = ("lost", "doubled", "late", "damaged", "strangers")
WORD = Format(18, 0)


def with_check_sum(data: bytes) -> bytes:
    """A datagram of any words, all but the last of it."""
    return data + crc32(data).to_bytes(4, "little")


def faults(share: float, seed: int, kinds: Sequence[str] = KINDS) -> Faults:
    """One direction in which each of these ``kinds`` happens to so many of the datagrams."""
    return Faults(**dict.fromkeys(kinds, share), seed=seed)


def faulty(shell: DatagramShell, share: float, seed: int) -> FaultyPort:
    """A way to ``shell`` with all faults in both directions."""
    return FaultyPort(shell, faults(share, 2 * seed), faults(share, 2 * seed + 1))


def over(port: FaultyPort, d: Design, **limits: Any) -> Driver:
    """The driver of a design behind ``port``."""
    return Driver(manifest_of(d), connect(port, manifest_of(d), **limits))


def bit_true_over(d: Design, share: float = 0.0, seed: int = 0, **limits: Any) -> Driver:
    """The driver in front of the bit-true model of a design."""
    return over(faulty(bit_true_datagrams(d), share, seed), d, **limits)


def end_of(device: Driver) -> HostEnd:
    """The driver's end of the link."""
    assert isinstance(device.link, DatagramLink)
    return device.link.end


class SlowShell(DatagramShell):
    """Does part of what it has to at each reading, and takes more meanwhile: its status tells what it took since the
    HELLO that it answers, as hardware's may."""

    random = np.random.default_rng(0)

    def receive(self, data: bytes, sender: Address) -> None:
        self.take(data, sender)

    def outgoing(self) -> list[tuple[bytes, Address]]:
        self.advance(int(self.random.integers(0, len(self.queue) + 1)))
        if self.random.random() < 0.5:
            self._finish()
        output, self.output = self.output, []
        return output


def slow_bit_true(d: Design, seed: int) -> SlowShell:
    """The bit-true model of a design, at work for a while."""
    model = bit_true_datagrams(d)
    shell = SlowShell(model.identity, model.tasks, model.compute, model.load, model.forget)
    shell.random = np.random.default_rng(seed)
    return shell


def _function(name: str, code: int, takes: int, gives: int) -> FunctionFormat:
    operands = [OperandWord(f"x{k}", WORD, (-(1 << 17), (1 << 17) - 1)) for k in range(takes)]
    results = [ResultWord(f"y{k}", WORD) for k in range(gives)]
    return FunctionFormat(name, code, tuple(operands), tuple(results))


LONG = TaskFormat(
    {
        "short": _function("short", 0, 3, 1),
        "grows": _function("grows", 1, 20, 3000),
        "shrinks": _function("shrinks", 2, 2500, 7),
        "fills": _function("fills", 3, 646, 646),
        "long": _function("long", 4, 1200, 1200),
    },
    Packing((18, 18)),
    Packing((18, 18)),
)
"""Packets of a few bytes, of about one datagram, and of up to five."""


def _repeated(function: str, raw: Sequence[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
    """Results that are the operands, again and again, with their own number added."""
    count = len(LONG.functions[function].results)
    values = [raw[k % len(raw)] ^ k for k in range(count)]
    return values, np.zeros(len(raw[0]), bool)


def long_shell() -> DatagramShell:
    """A device that computes what ``LONG`` has."""
    return DatagramShell(bytes(range(16)), LONG, _repeated)


def check_long(port: FaultyPort, count: int, seed: int) -> Any:
    """``count`` tasks of any length over ``port``: AssertionError unless all answers are right. The counters."""
    known: Any = SimpleNamespace(identity=bytes(range(16)), tasks=LONG, name="long")
    random = np.random.default_rng(seed)
    packets, expected = [], []
    for name in random.choice([*LONG.functions], count).tolist():
        f = LONG.functions[name]
        raw = random.integers(-(1 << 17), 1 << 17, (1, len(f.operands)))
        packets += task_packets(LONG, name, raw)
        values, _ = _repeated(name, [*raw.T])
        expected.append((name, np.array(values).ravel()))
    link = connect(port, known)
    for (name, values), packet in zip(expected, link.exchange(packets), strict=True):
        assert packet is not None
        rows = np.frombuffer(packet, np.uint8)[None]
        assert np.array_equal(np.array(read_results(LONG, name, rows).values).ravel(), values)
    return link.counters
