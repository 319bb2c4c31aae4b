# amaranth: UnusedElaboratable=no
"""Bytes from a link into tasks: unescaping, checking, and a buffer that keeps only what is whole.

It keeps and drops what :class:`rbdgen.shells.shell.ShellModel` does; only it can run out of room, too. A link brings a
byte in many cycles: what takes few look-up tables is done bit by bit, and in registers that have time to settle.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from rbdgen.protocol.frames import (
    CRC_BYTES,
    ESCAPE,
    ESCAPE_BIT,
    FLAG,
    Kind,
    buffer_bytes,
)
from rbdgen.protocol.tasks import TaskFormat
from rbdgen_hw.checksum import CRC_BITS, stepped
from rbdgen_hw.fifo import ring_memory
from rbdgen_hw.library import SharedComponent
from rbdgen_hw.logic import registered
from rbdgen_hw.shells.lengths import tasks_of

BYTE = 8
AT_ONCE = (1, 2, 4)
"""Bits of a byte that may go into a check sum in a cycle: fewer take less logic, and longer. With all eight, registers
behind a byte would not have settled when the next one comes."""
KIND, LOW, HIGH, FIRST, REST, CHECK = range(6)
"""Which byte of a frame comes next: its kind, the low or the high one of its length, the first or another of its
payload, the first of its check sum, behind which are the other three. There is a bit for each, so that nobody needs
logic to know."""
ENDED = CHECK + CRC_BYTES
"""None: all have come. No bit is high when more have."""
ENTRY = data.StructLayout({"byte": BYTE, "last": 1, "hello": 1})
"""Of the buffer: a payload's byte, whether it is the last one, and whether the frame is a hello."""


class Receiver(SharedComponent):
    """``i``: bytes of the link, of which each is taken in 8 / ``at_once`` cycles. ``o``: the payloads of whole frames,
    byte by byte, as :data:`ENTRY`. ``accepted`` strobes for each frame that is kept, ``dropped`` for any other;
    ``quiet``: nothing waits here. How long a payload is follows from its kind and its function, whatever its frame
    says."""

    module_name = "receiver"

    def __init__(self, tasks: TaskFormat, at_once: int) -> None:
        self.packets = tasks_of(tasks)
        self.depth = buffer_bytes(tasks)
        self.at_once = at_once
        super().__init__(
            {
                "i": In(stream.Signature(BYTE)),
                "o": Out(stream.Signature(ENTRY.size)),
                "accepted": Out(1),
                "dropped": Out(1),
                "quiet": Out(1),
                **self.packets.ports,
            }
        )

    def elaborate(self, platform: object) -> Module:
        return ReceiverBuilder(self).build()


class ReceiverBuilder:
    """Writes the module of a receiver, ``ports``."""

    def __init__(self, ports: Receiver) -> None:
        self.ports = ports
        self.m = m = Module()
        self.write, self.read = ring_memory(m, ENTRY.size, ports.depth)
        # the ring: what is read, where the present frame begins, and where its next byte goes
        self.head = Signal(range(ports.depth))
        self.base = Signal(range(ports.depth))
        self.address = Signal(range(ports.depth))
        # the present frame: which byte comes, how many of its payload have come, what it is, and whether it is lost
        self.place = Signal(ENDED + 1, init=1 << KIND)
        self.count = Signal(range(ports.packets.longest + 1))
        self.hello = Signal()
        self.spoilt = Signal()
        # amid an escape; behind a frame's end, where it is judged
        self.escaping = Signal()
        self.closing = Signal()
        self.judged = Signal()
        # a byte without its escape, as long as it comes, and in the cycle in which it is taken
        self.byte = Signal(BYTE)
        self.comes = Signal()
        self.taken = Signal()

    def build(self) -> Module:
        """The module."""
        m = self.m
        differs = self._check(self._take_bytes())
        last = self._follow()
        no_room = self._keep(last)
        known = (self.byte == Kind.HELLO) | (self.byte == Kind.TASK)
        unknown = self.place[KIND] & ~known
        damaged = self.comes & differs
        refused = self.taken & (no_room | unknown)
        with m.If(self.judged):
            m.d.sync += self.spoilt.eq(0)
        with m.Elif(damaged | refused):
            m.d.sync += self.spoilt.eq(1)
        good = self.place[ENDED] & ~self.spoilt & ~self.escaping
        m.d.comb += [
            self.ports.accepted.eq(self.judged & good),
            self.ports.dropped.eq(self.judged & ~good),
        ]
        self._offer()
        return m

    def _take_bytes(self) -> Value:
        """Bytes of the link become bytes of frames; the bits that go into the check now."""
        m, ports = self.m, self.ports
        incoming, at_once = ports.i, ports.at_once
        bit = Signal(range(BYTE))
        is_flag = incoming.payload == FLAG
        is_escape = incoming.payload == ESCAPE
        begun = ~self.place[KIND] | self.escaping
        closes = is_flag & begun
        means_itself = self.escaping | ~is_escape
        inverted = Mux(self.escaping, ESCAPE_BIT, 0)
        # a flag stays for a cycle, until what is before it has settled
        passed = ~closes | self.closing
        m.d.comb += [
            self.byte.eq(incoming.payload ^ inverted),
            self.comes.eq(incoming.valid & ~is_flag & means_itself),
            self.taken.eq(self.comes & (bit == BYTE - at_once)),
            self.judged.eq(self.closing & incoming.valid),
            incoming.ready.eq(Mux(self.comes, self.taken, passed)),
        ]
        m.d.sync += self.closing.eq(incoming.valid & closes & ~self.closing)
        with m.If(self.comes):
            m.d.sync += bit.eq(bit + at_once)
        with m.If(incoming.valid & incoming.ready):
            m.d.sync += self.escaping.eq(~is_flag & ~self.comes)
        number = bit[at_once.bit_length() - 1 :]
        return self.byte.word_select(number, at_once)

    def _check(self, bits: Value) -> Value:
        """Take bits into the check sum, or, behind the payload, compare them with it: whether they differ."""
        m, at_once = self.m, self.ports.at_once
        crc = Signal(CRC_BITS, init=-1)
        checks = self.place[CHECK:ENDED].any()
        own = crc[:at_once]
        # what is the same as the lowest bits only moves the others
        given = Mux(checks, own, bits)
        with m.If(self.judged):
            m.d.sync += crc.eq(-1)
        with m.Elif(self.comes):
            m.d.sync += crc.eq(stepped(crc, given))
        return checks & (bits != ~own)

    def _follow(self) -> Value:
        """Follow the bytes of a frame; whether the next one is the last of its payload."""
        m, place = self.m, self.place
        first = self.taken & place[FIRST]
        length = self.ports.packets.kept(m, self.ports, self.byte, first, self.hello)
        last = registered(m, length.is_last(self.count), "last")
        with m.If(self.taken & (last | ~place[REST])):
            m.d.sync += place.eq(place << 1)
        with m.If(self.taken & place[KIND]):
            m.d.sync += self.hello.eq(self.byte == Kind.HELLO)
        with m.If(self.taken & (place[FIRST] | place[REST])):
            m.d.sync += self.count.eq(self.count + 1)
        with m.If(self.judged):
            m.d.sync += [
                place.eq(1 << KIND),
                self.count.eq(0),
            ]
        return last

    def _keep(self, last: Value) -> Value:
        """Keep the payload, a whole frame's for good; whether there is no room for the next byte."""
        m, place = self.m, self.place
        m.d.comb += self.address.eq(self.base + self.count)
        # a place stays free, so that a ring that is full is not taken for an empty one
        reached = registered(m, self.address == self.head, "reached")
        no_room = reached & (place[REST] | place[CHECK])
        rest = place[REST] & ~reached & ~self.spoilt
        entry = Cat(self.byte, last, self.hello)
        m.d.comb += [
            self.write.addr.eq(self.address),
            self.write.data.eq(entry),
            self.write.en.eq(self.taken & (place[FIRST] | rest)),
        ]
        with m.If(self.ports.accepted):
            m.d.sync += self.base.eq(self.address)
        return no_room

    def _offer(self) -> None:
        """Whole payloads leave the buffer."""
        m, out = self.m, self.ports.o
        fetched, there = Signal(), Signal()
        waits = self.head != self.base
        m.d.comb += [
            self.read.addr.eq(self.head),
            out.valid.eq(there),
            self.ports.quiet.eq(~waits & ~self.closing),
        ]
        # a block memory is slow to give what it read
        m.d.sync += out.payload.eq(self.read.data)
        with m.If(~there):
            m.d.sync += [
                fetched.eq(waits & ~fetched),
                there.eq(fetched),
            ]
        with m.Elif(out.ready):
            m.d.sync += [
                there.eq(0),
                self.head.eq(self.head + 1),
            ]
