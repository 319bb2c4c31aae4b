"""Links: what tasks and results come by, and what a task and a result cost there. The one home of their figures.

A link is described by how many bits it moves each way, and by what it adds to a packet. The figures are modelled: they
follow from the protocol, and leave out what each link says in ``left_out``. What goes to the device and what comes back
do not get in each other's way on any of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from rbdgen.errors import ConfigError, short
from rbdgen.protocol.frames import FLAG_BYTES, FRAME_BYTES, SPECIAL_BYTES
from rbdgen.protocol.registers import stream_bits
from rbdgen.protocol.tasks import Packing, TaskFormat
from rbdgen.protocol.wire import wire_bytes

SYMBOL_BITS = 10
"""Bits of a byte on a serial line: a start bit and a stop bit are around it."""


@dataclass(frozen=True)
class Ways:
    """Something of both directions of a link, for a task: ``into`` the device, and ``out`` of it for its result."""

    into: float
    out: float

    @property
    def longer(self) -> str:
        """The direction that takes longer: ``in`` or ``out``."""
        return "in" if self.into >= self.out else "out"


@dataclass(frozen=True)
class Link(ABC):
    """What tasks and results come by, called ``name`` in sentences: so many ``gigabits`` a second each way, or so many
    bits in each cycle of the accelerator's clock (``cycle``). ``left_out``: what of it the figures do not count."""

    name: str
    left_out: str
    gigabits: float = 0.0
    cycle: int = 0

    @abstractmethod
    def packet_bits(self, packing: Packing, values: int) -> float:
        """Bits on the link for a packet of a header and so many values, the mean over many of them one after
        another."""

    def bits_per_cycle(self, megahertz: float) -> float:
        """Bits each way in a cycle of a clock."""
        return self.cycle or 1e3 * self.gigabits / megahertz

    def task_bits(self, tasks: TaskFormat, function: str) -> Ways:
        """Bits on the link for a task of a function, and for its result."""
        f = tasks.functions[function]
        return Ways(
            self.packet_bits(tasks.task, len(f.operands)),
            self.packet_bits(tasks.result, len(f.results)),
        )

    def rates(self, tasks: TaskFormat, function: str, megahertz: float) -> Ways:
        """Tasks of a function per second, and results, that it moves beside an accelerator of such a clock."""
        bits = self.task_bits(tasks, function)
        per_second = 1e6 * megahertz * self.bits_per_cycle(megahertz)
        return Ways(per_second / bits.into, per_second / bits.out)

    def interval(self, tasks: TaskFormat, function: str, megahertz: float) -> float:
        """Cycles of a clock from task to task of a function that it allows: whichever of its two ways takes longer."""
        bits = self.task_bits(tasks, function)
        return max(bits.into, bits.out) / self.bits_per_cycle(megahertz)


@dataclass(frozen=True)
class SerialLine(Link):
    """A serial line: packets are in frames (:mod:`rbdgen.protocol.frames`), of whose bytes some are escaped."""

    def packet_bits(self, packing: Packing, values: int) -> float:
        inside = packing.packet_bytes(values) + FRAME_BYTES
        return SYMBOL_BITS * (inside * (1 + SPECIAL_BYTES / 256) + FLAG_BYTES)


@dataclass(frozen=True)
class Streams(Link):
    """Beats of an AXI stream, which go as they are, a power of two wide (:mod:`rbdgen.protocol.registers`)."""

    def packet_bits(self, packing: Packing, values: int) -> float:
        return packing.beats(values) * stream_bits(packing) / packing.lanes


@dataclass(frozen=True)
class Datagrams(Link):
    """Datagrams of UDP over Ethernet, each with as many packets as it has room for; a longer packet goes on in
    further ones (:mod:`rbdgen.protocol.wire`)."""

    def packet_bits(self, packing: Packing, values: int) -> float:
        return 8 * wire_bytes(packing.packet_bytes(values))


def serial_line(baud: int) -> Link:
    """A serial line of so many bits per second."""
    return SerialLine(
        f"a serial line of {baud / 1e6:g} Mbaud",
        "the adapter's and the driver's own time, hellos, frames that are sent again",
        gigabits=baud / 1e9,
    )


LINKS: dict[str, Link] = {
    "serial": serial_line(3_000_000),
    "gigabit-ethernet": Datagrams(
        "Gigabit Ethernet",
        "the host's network stack, datagrams that are sent again",
        gigabits=1.0,
    ),
    "pcie3-x16": Streams(
        "PCI Express 3.0 x16",
        "what PCI Express's own packets and descriptors take (10 to 25%), the host's calls and copies",
        # 16 lanes of 8 GT/s, 128 of 130 bits
        gigabits=126.03,
    ),
    "zynq-port": Streams(
        "the processor's port",
        "gaps between bursts, the processor's calls and copies",
        # port HP0: 128 bits each way in a cycle of the accelerator's clock
        cycle=128,
    ),
}
"""Links by the names that boards have for them (``link`` in ``board.toml``)."""
USUAL = ("serial", "gigabit-ethernet", "pcie3-x16")
"""What is shown of an accelerator that is for no board."""


def get_link(name: Any) -> Link:
    """The link of that name. ConfigError for one that is not known."""
    found = LINKS.get(name) if isinstance(name, str) else None
    if found is None:
        raise ConfigError(f"link {short(name)}: unknown; known links: {', '.join(LINKS)}")
    return found
