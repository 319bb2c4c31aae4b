"""Links between a board and its host: bits each way, bytes around a packet, and a board's addresses on a network."""

from __future__ import annotations

import ipaddress
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from rbdgen.errors import ConfigError, short
from rbdgen.protocol.datagrams import BODY_BYTES, DEFAULT_PORT, OVERHEAD_BYTES, padded
from rbdgen.protocol.frames import FLAG_BYTES, FRAME_BYTES, SPECIAL_BYTES, STATUS_BYTES
from rbdgen.protocol.registers import stream_bits
from rbdgen.protocol.tasks import Packing, TaskFormat

PREAMBLE_BYTES = 8
MAC_BYTES = 14
IP_BYTES = 20
UDP_BYTES = 8
FCS_BYTES = 4
GAP_BYTES = 12
SHORTEST_FRAME = 60
"""Bytes of a frame from its MAC addresses on, without its check sum."""
AROUND_BYTES = PREAMBLE_BYTES + MAC_BYTES + IP_BYTES + UDP_BYTES + FCS_BYTES + GAP_BYTES
"""Bytes of the wire's time around a UDP payload that is not short."""
GIGABIT = 125e6
"""Bytes a second."""


def frame_time(payload: int) -> int:
    """Bytes of the wire's time that a UDP payload of so many bytes takes."""
    frame = max(MAC_BYTES + IP_BYTES + UDP_BYTES + payload, SHORTEST_FRAME)
    return PREAMBLE_BYTES + frame + FCS_BYTES + GAP_BYTES


def wire_bytes(packet: int) -> float:
    """Bytes of the wire's time that a packet of so many bytes takes, in datagrams as full as its like make them."""
    size = padded(packet)
    together = BODY_BYTES // size
    # every datagram pays for its headers, and the wire for its gaps
    around = OVERHEAD_BYTES + AROUND_BYTES
    if together:
        return size + around / together
    datagrams = -(-size // BODY_BYTES)
    return size + datagrams * around


def alone_bytes(packet: int) -> int:
    """The same of a packet by itself."""
    whole, rest = divmod(padded(packet), BODY_BYTES)
    bodies = [*[BODY_BYTES] * whole, *([rest] if rest else [])]
    return sum(frame_time(body + OVERHEAD_BYTES) for body in bodies)


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
    """A link by which tasks and results come, called ``name`` in sentences: so many ``gigabits`` a second each way, or
    so many bits in each cycle of the accelerator's clock (``cycle``). ``left_out``: what of it the figures do not
    count."""

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

    def alone_bits(self, tasks: TaskFormat, function: str) -> Ways:
        """Bits on the link before a lone task of a function is whole in the device, and behind its result until that is
        whole at the host."""
        return self.task_bits(tasks, function)

    def alone_seconds(
        self, tasks: TaskFormat, function: str, latency: float, megahertz: float
    ) -> float:
        """Seconds from a call of one task to its result, which takes so many cycles of such a clock in the device."""
        bits = self.alone_bits(tasks, function)
        cycles = (bits.into + bits.out) / self.bits_per_cycle(megahertz) + latency
        return cycles / (1e6 * megahertz)

    def interval(self, tasks: TaskFormat, function: str, megahertz: float) -> float:
        """Cycles of a clock from task to task of a function that it allows: whichever of its two ways takes longer."""
        bits = self.task_bits(tasks, function)
        return max(bits.into, bits.out) / self.bits_per_cycle(megahertz)


def framed_bytes(packet: int) -> float:
    """Bytes of a frame around a packet of so many bytes, of which some are escaped, the mean over many of them."""
    return (packet + FRAME_BYTES) * (1 + SPECIAL_BYTES / 256) + FLAG_BYTES


@dataclass(frozen=True)
class Bytes(Link):
    """A link of bytes, each of so many ``symbol`` bits: packets are in frames (:mod:`rbdgen.protocol.frames`), of whose
    bytes some are escaped."""

    symbol: int = SYMBOL_BITS

    def packet_bits(self, packing: Packing, values: int) -> float:
        return self.symbol * framed_bytes(packing.packet_bytes(values))

    def alone_bits(self, tasks: TaskFormat, function: str) -> Ways:
        # a hello goes out behind the task, and its answer proves the result
        bits = self.task_bits(tasks, function)
        answer = STATUS_BYTES + FRAME_BYTES + FLAG_BYTES
        return Ways(bits.into, bits.out + self.symbol * answer)


@dataclass(frozen=True)
class Streams(Link):
    """Beats of an AXI stream, which go as they are, a power of two wide (:mod:`rbdgen.protocol.registers`)."""

    def packet_bits(self, packing: Packing, values: int) -> float:
        return packing.beats(values) * stream_bits(packing) / packing.lanes


@dataclass(frozen=True)
class Datagrams(Link):
    """Datagrams of UDP over Ethernet, each with as many packets as it has room for; a longer packet goes on in
    further ones (:mod:`rbdgen.protocol.links`)."""

    def packet_bits(self, packing: Packing, values: int) -> float:
        return 8 * wire_bytes(packing.packet_bytes(values))

    def alone_bits(self, tasks: TaskFormat, function: str) -> Ways:
        f = tasks.functions[function]
        packets = (tasks.task, len(f.operands)), (tasks.result, len(f.results))
        return Ways(*(8 * alone_bytes(own.packet_bytes(count)) for own, count in packets))


def serial_line(baud: int) -> Link:
    """A serial line of so many bits per second."""
    return Bytes(
        f"a serial line of {baud / 1e6:g} Mbaud",
        "the adapter's and the driver's own time, hellos between many tasks, frames that are sent again",
        gigabits=baud / 1e9,
    )


def spi_bus(hertz: int) -> Link:
    """An SPI bus of so many bits per second each way."""
    return Bytes(
        f"SPI at {hertz / 1e6:g} MHz",
        "gaps between the host's transactions and its own time, hellos between many tasks, frames that are sent again",
        gigabits=hertz / 1e9,
        symbol=8,
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
    "zynq7-port": Streams(
        "the processor's port of 64 bits",
        "gaps between bursts, the processor's calls and copies",
        cycle=64,
    ),
}
"""Links by the names that boards have for them (``link`` in ``board.toml``)."""
USUAL = ("serial", "gigabit-ethernet", "pcie3-x16")
"""Links that are shown of an accelerator that is for no board."""


def get_link(name: Any) -> Link:
    """The link of that name. ConfigError for one that is not known."""
    found = LINKS.get(name) if isinstance(name, str) else None
    if found is None:
        raise ConfigError(f"link {short(name)}: unknown; known links: {', '.join(LINKS)}")
    return found


DEFAULT_ADDRESS = "192.168.1.50"
LOCAL = 0x02
"""Of a MAC address's first byte: it is administered locally, and is no vendor's."""
GROUP = 0x01
"""Of a MAC address's first byte: it is one of many stations."""
MAC_ADDRESS_BYTES = 6
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")


@dataclass(frozen=True)
class Station:
    """A board's IPv4 ``address`` and ``mac`` address as numbers, the first byte highest, and its UDP ``port``."""

    address: int
    mac: int
    port: int = DEFAULT_PORT

    def as_dict(self) -> dict[str, str | int]:
        """As reports have it."""
        return {"address": self.address_text, "port": self.port, "mac": self.mac_text}

    @property
    def address_text(self) -> str:
        """The IPv4 address as people write it."""
        return str(ipaddress.IPv4Address(self.address))

    @property
    def mac_text(self) -> str:
        """The MAC address as people write it."""
        return self.mac.to_bytes(MAC_ADDRESS_BYTES, "big").hex(":")


@dataclass(frozen=True)
class Addresses:
    """Addresses as they are given: an IPv4 ``address``, and a ``mac`` address or none. ConfigError for one that no
    single station can have."""

    address: str = DEFAULT_ADDRESS
    mac: str | None = None

    def __post_init__(self) -> None:
        read_address(self.address)
        if self.mac is not None:
            read_mac(self.mac)

    def station(self, identity: bytes) -> Station:
        """The station of a design of this ``identity``, from which it has a MAC address where none is given."""
        # boards with two designs differ in it, and the same design keeps it from build to build
        mac = own_mac(identity) if self.mac is None else read_mac(self.mac)
        return Station(read_address(self.address), mac)


def own_mac(identity: bytes) -> int:
    """A MAC address for a design: locally administered, and the same whenever it is built."""
    # vendors' addresses have that bit clear: ours collide with none of them
    first = identity[0] & ~GROUP | LOCAL
    return int.from_bytes(bytes([first]) + identity[1:MAC_ADDRESS_BYTES], "big")


def read_address(text: str) -> int:
    """An IPv4 address of one station, as a number."""
    try:
        found = ipaddress.IPv4Address(text)
    except ValueError:
        raise ConfigError(
            f"ip: {text!r} is no IPv4 address; give four numbers such as {DEFAULT_ADDRESS}"
        ) from None
    several = found.is_multicast or found.is_unspecified or found.is_reserved
    if several or found.is_loopback or int(found) & 0xFF in (0, 0xFF):
        raise ConfigError(
            f"ip: {text} is no address of a single station; give one such as {DEFAULT_ADDRESS}"
        )
    return int(found)


def read_mac(text: str) -> int:
    """A MAC address of one station, as a number."""
    if not _MAC.fullmatch(text.lower()):
        raise ConfigError(
            f"mac: {text!r} is no MAC address; give six bytes in hexadecimal such as 02:00:00:00:00:01"
        )
    data = bytes.fromhex(text.replace(":", ""))
    if data[0] & GROUP or not any(data):
        raise ConfigError(
            f"mac: {text} is no address of a single station; the first byte must be even, such as 02"
        )
    return int.from_bytes(data, "big")
