# amaranth: UnusedElaboratable=no
"""Datagrams from UDP into a buffer that keeps only those that are whole, of the session and in order.

What is kept stands in the buffer as records: a word that says what follows, then bodies of TASKS or a request for a
status. A record of TASKS ends with a packet. One whose last packet goes on in another datagram is passed on when that
has come, and skipped when another came instead.
"""

from __future__ import annotations

from enum import IntEnum

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.crc.catalog import CRC32_ISO_HDLC
from amaranth.lib.wiring import In, Out, Signature

from rbdgen.errors import ConfigError
from rbdgen.protocol.datagrams import (
    DATAGRAM_VERSION,
    MAGIC,
    MOST_BYTES,
    OVERHEAD_BYTES,
    STATUS_BYTES,
    WORD_BYTES,
    Kind,
    Mark,
    padded,
)
from rbdgen.protocol.tasks import TaskFormat
from rbdgen_hw.fifo import offer, ring_memory
from rbdgen_hw.library import SharedComponent
from rbdgen_hw.shells.gearbox import WORD_BITS
from rbdgen_hw.shells.lengths import tasks_of

COUNTERS = ("accepted", "damaged", "overrun", "rejected", "repeated")
"""In the order of a status."""
COUNTER_BITS = 32
ADDRESS_BITS = 32
PORT_BITS = 16
LENGTH_BITS = 16
KIND_BITS = 2
COUNT_BITS = 14
"""Of a record's first word: its kind, how many words of TASKS follow, and a port or the session's number."""
HELLO_WORDS = 3
"""Of a record behind its first word: session, nonce, address."""
MOST_WORDS = MOST_BYTES // WORD_BYTES
LEAST_WORDS = OVERHEAD_BYTES // WORD_BYTES
HEAD_WORDS = LEAST_WORDS - 1
"""Words before a body."""
REQUEST_WORDS = LEAST_WORDS + STATUS_BYTES // WORD_BYTES
"""Of a request for a status: as many as the answer has."""


class Record(IntEnum):
    """Layout of a record in the buffer."""

    SKIP = 0
    TASKS = Kind.TASKS
    HELLO = Kind.HELLO
    OPEN = Kind.OPEN


INCOMING = Signature(
    {
        "valid": Out(1),
        "ready": In(1),
        "last": Out(1),
        "data": Out(WORD_BITS),
        "error": Out(1),
        "address": Out(ADDRESS_BITS),
        "port": Out(PORT_BITS),
        "length": Out(LENGTH_BITS),
    }
)
"""Datagrams that came, from their source: ``address`` and ``port`` are the sender's and ``length`` is in bytes, all for
the whole datagram; with ``last``, ``error`` says that it did not come whole."""
OWNER = Signature(
    {
        "session": Out(WORD_BITS),
        "address": Out(ADDRESS_BITS),
        "port": Out(PORT_BITS),
        "number": Out(PORT_BITS),
    }
)
"""The session that there is, whose it is, and how many there were; a session of 0 is none."""


class DatagramReceiver(SharedComponent):
    """``i``: datagrams. ``o``: words of records. ``owner`` is the session; ``begin`` strobes when another one does,
    which it must not while a datagram is ``judged``. ``expected`` is the number of the next TASKS, ``heard`` strobes
    when something of the owner was accepted. ``pending``: something was kept that has not left. ``depth``: words of
    the buffer, a power of two."""

    module_name = "datagram_receiver"

    def __init__(self, tasks: TaskFormat, depth: int) -> None:
        if depth > 1 << COUNT_BITS:
            raise ConfigError(
                f"tasks: the longest needs a buffer of {depth * WORD_BYTES} bytes, and a link of datagrams has "
                f"{WORD_BYTES << COUNT_BITS} at most; use fewer --functions or a shorter --word"
            )
        self.packets = tasks_of(tasks)
        self.depth = depth
        counters = {name: Out(COUNTER_BITS) for name in COUNTERS}
        super().__init__(
            {
                "i": In(INCOMING),
                "o": Out(stream.Signature(WORD_BITS)),
                "owner": In(OWNER),
                "begin": In(1),
                "judged": Out(1),
                "heard": Out(1),
                "expected": Out(WORD_BITS),
                "pending": Out(1),
                **counters,
                **self.packets.ports,
            }
        )

    def elaborate(self, platform: object) -> Module:
        return ReceiverBuilder(self, platform).build()


class ReceiverBuilder:
    """Writes the module of a receiver, ``ports``."""

    def __init__(self, ports: DatagramReceiver, platform: object) -> None:
        self.ports = ports
        self.platform = platform
        self.m = m = Module()
        self.depth = depth = ports.depth
        m.submodules.checksum = self.crc = CRC32_ISO_HDLC(WORD_BITS).create()
        self.write, self.read = ring_memory(m, WORD_BITS, depth)
        # the ring: what is read, the end of what may be, of what is kept, and of what was written
        self.head, self.shown = Signal(range(depth)), Signal(range(depth))
        self.complete, self.kept = Signal(range(depth)), Signal(range(depth))
        self.tail, self.after_tail = Signal(range(depth)), Signal(range(depth))
        # the present word, its number and whether it is the last one
        self.word, self.there = Signal(WORD_BITS, reset_less=True), Signal()
        self.count, self.last = Signal(range(MOST_WORDS + 2)), Signal()
        # the datagram: its first words, where it came from
        self.kind, self.version, self.marks = Signal(8), Signal(8), Signal(8)
        self.session, self.number = Signal(WORD_BITS), Signal(WORD_BITS)
        self.address, self.port = Signal(ADDRESS_BITS), Signal(PORT_BITS)
        self.length = Signal(LENGTH_BITS)
        # damaged by what UDP or its first word says; without room; words left of a packet, and whether one begins
        self.spoilt, self.full = Signal(), Signal()
        most = padded(ports.packets.longest) // WORD_BYTES
        self.left, self.between = Signal(range(most + 1)), Signal()
        self.unfinished = Signal(range(most + 1))
        self.continues = Signal()
        self.request, self.is_tasks = Signal(), Signal()
        # whether a datagram whose first word is the present one goes on with a packet
        self.continues_now = Signal()
        # no word is taken while a datagram is judged
        self.closing = Signal()

    def build(self) -> Module:
        """The module."""
        self._take_words()
        self._keep_words()
        self._walk()
        self._judge()
        self._offer()
        return self.m

    def _take_words(self) -> None:
        """A word goes into a register; what the first ones say is kept."""
        m, i = self.m, self.ports.i
        begins = Signal(init=1)
        kind, version, marks, magic = (self.word.word_select(k, 8) for k in range(WORD_BYTES))
        m.d.comb += [
            i.ready.eq(~self.closing),
            self.crc.data.eq(self.word),
            self.crc.valid.eq(self.there),
            self.request.eq((self.kind == Kind.HELLO) | (self.kind == Kind.OPEN)),
            self.is_tasks.eq(self.kind == Kind.TASKS),
            self.continues_now.eq((kind == Kind.TASKS) & ~(marks & Mark.BEGINS).any()),
        ]
        m.d.sync += self.there.eq(i.valid & i.ready)
        with m.If(i.valid & i.ready):
            m.d.sync += [
                self.word.eq(i.data),
                self.last.eq(i.last),
                self.address.eq(i.address),
                self.port.eq(i.port),
                self.length.eq(i.length),
                self.closing.eq(i.last),
                begins.eq(i.last),
            ]
            with m.If(begins):
                m.d.sync += self.count.eq(0)
            with m.Elif(self.count != MOST_WORDS):
                m.d.sync += self.count.eq(self.count + 1)
            with m.If(i.last & i.error):
                m.d.sync += self.spoilt.eq(1)
        with m.If(self.there), m.Switch(self.count):
            with m.Case(0):
                m.d.sync += [
                    self.kind.eq(kind),
                    self.version.eq(version),
                    self.marks.eq(marks),
                ]
                with m.If(magic != MAGIC):
                    m.d.sync += self.spoilt.eq(1)
            with m.Case(1):
                m.d.sync += self.session.eq(self.word)
            with m.Case(2):
                m.d.sync += self.number.eq(self.word)

    def _keep_words(self) -> None:
        """The body goes into the buffer; of requests for a status, which have one that means nothing, places are taken
        for all that is kept of them: the head's and one more, for the address. The place of a record's first word is
        taken by a datagram's."""
        m = self.m
        first = self.count == 0
        takes = Signal()
        with m.If(first):
            m.d.comb += takes.eq(~self.continues_now)
        with m.Elif(self.count < HEAD_WORDS):
            m.d.comb += takes.eq(self.request)
        with m.Else():
            m.d.comb += takes.eq(Mux(self.request, self.count == HEAD_WORDS, ~self.last))
        m.d.comb += [
            self.write.addr.eq(self.tail),
            self.write.data.eq(self.word),
        ]
        m.d.sync += self.after_tail.eq(self.tail + 1)
        with m.If(self.there & takes):
            with m.If(self.after_tail == self.head):
                m.d.sync += self.full.eq(1)
            with m.Elif(~self.full):
                m.d.comb += self.write.en.eq(1)
                m.d.sync += [
                    self.tail.eq(self.after_tail),
                    self.after_tail.eq(self.after_tail + 1),
                ]

    def _walk(self) -> None:
        """Follow the packets of a body."""
        m = self.m
        packets = self.ports.packets
        size = packets.found(m, self.ports, self.word, packets.padded_words, "size")
        ahead = Mux(self.between, size, self.left)
        with m.If(self.there):
            with m.If(self.count == 0):
                m.d.sync += [
                    self.continues.eq(self.continues_now),
                    self.between.eq(~self.continues_now),
                    self.left.eq(self.unfinished),
                ]
            with m.Elif((self.count >= HEAD_WORDS) & ~self.last):
                m.d.sync += [
                    self.left.eq(ahead - 1),
                    self.between.eq(ahead == 1),
                ]

    def _judge(self) -> None:
        """Behind its last word a datagram is kept or dropped, in steps of a cycle each."""
        m, ports = self.m, self.ports
        owner = ports.owner
        total = self.count + 1
        # what is compared, each in a register
        undamaged, own, known, next_one, behind, walked, from_owner = (Signal() for _ in range(7))
        request, is_tasks = self.request, self.is_tasks
        distance = Signal(WORD_BITS)
        of_session = (self.session == owner.session) & (owner.session != 0)
        ends = (self.marks & Mark.ENDS).any()
        joins = ~self.continues | (self.unfinished != 0)
        sized = (total >= LEAST_WORDS) & (total <= MOST_WORDS)
        exact = self.length == Cat(Const(0, 2), total)
        verdict = Signal(len(COUNTERS))
        start, skips, word = Signal.like(self.tail), Signal(), Signal(WORD_BITS)
        with m.FSM() as fsm:
            with m.State("RECEIVE"), m.If(self.there & self.last):
                m.next = "COMPARE"
            with m.State("COMPARE"):
                m.d.sync += [
                    undamaged.eq(~self.spoilt & self.crc.match_detected & sized & exact),
                    own.eq(of_session),
                    from_owner.eq((self.address == owner.address) & (self.port == owner.port)),
                    known.eq((self.version == DATAGRAM_VERSION) & (is_tasks | request)),
                    distance.eq(self.number - ports.expected),
                    walked.eq(joins & (ends == self.between) & (total > LEAST_WORDS)),
                    skips.eq((self.kept != self.complete) & ~self.continues),
                ]
                m.next = "ORDER"
            with m.State("ORDER"):
                m.d.sync += [
                    next_one.eq(distance == 0),
                    behind.eq(distance[-1]),
                ]
                m.next = "VERDICT"
            with m.State("VERDICT"):
                in_order = next_one | ~self.continues
                fits = Mux(
                    is_tasks,
                    own & from_owner & walked & in_order,
                    total == REQUEST_WORDS,
                )
                with m.If(~undamaged):
                    m.d.comb += verdict.eq(_bit("damaged"))
                with m.Elif(known & is_tasks & own & from_owner & behind):
                    m.d.comb += verdict.eq(_bit("repeated"))
                with m.Elif(~known | ~fits):
                    m.d.comb += verdict.eq(_bit("rejected"))
                with m.Elif(self.full):
                    m.d.comb += verdict.eq(_bit("overrun"))
                with m.Else():
                    m.d.comb += verdict.eq(_bit("accepted"))
                    # who asks for a session need not be the one who has it
                    m.d.comb += ports.heard.eq(from_owner & (self.kind != Kind.OPEN))
                    m.next = "SKIP"
                with m.If(~verdict[COUNTERS.index("accepted")]):
                    m.next = "RESTART"
                m.d.sync += start.eq(self.complete)
            with m.State("SKIP"):
                # an unfinished packet that this datagram does not continue
                amount = (self.kept - self.complete - 1)[: len(self.tail)]
                m.d.comb += [
                    self.write.addr.eq(self.complete),
                    self.write.data.eq(Cat(Const(Record.SKIP, KIND_BITS), amount)),
                    self.write.en.eq(skips),
                ]
                with m.If(skips):
                    m.d.sync += [
                        self.complete.eq(self.kept),
                        start.eq(self.kept),
                        self.unfinished.eq(0),
                    ]
                m.next = "RECORD"
            with m.State("RECORD"):
                amount = (self.tail - start - 1)[: len(self.tail)]
                upper = Mux(is_tasks, owner.number, self.port)
                lower = Signal(KIND_BITS + COUNT_BITS)
                m.d.comb += [
                    lower.eq(Cat(self.kind[:KIND_BITS], amount)),
                    word.eq(Cat(lower, upper)),
                    self.write.addr.eq(start),
                    self.write.data.eq(word),
                    self.write.en.eq(1),
                ]
                m.d.sync += self.kept.eq(self.tail)
                with m.If(is_tasks):
                    m.d.sync += [
                        ports.expected.eq(self.number + 1),
                        self.unfinished.eq(Mux(self.between, 0, self.left)),
                    ]
                m.next = "ADDRESS"
            with m.State("ADDRESS"):
                m.d.comb += [
                    self.write.addr.eq(start + HELLO_WORDS),
                    self.write.data.eq(self.address),
                    self.write.en.eq(request),
                ]
                with m.If(request | self.between):
                    m.d.sync += self.complete.eq(self.kept)
                m.next = "RESTART"
            with m.State("RESTART"):
                m.d.comb += self.crc.start.eq(1)
                m.d.sync += [
                    self.tail.eq(self.kept),
                    self.after_tail.eq(self.kept + 1),
                    self.closing.eq(0),
                    self.spoilt.eq(0),
                    self.full.eq(0),
                ]
                m.next = "RECEIVE"
        m.d.comb += ports.judged.eq(~fsm.ongoing("RECEIVE"))
        m.d.sync += self.shown.eq(self.complete)
        for k, name in enumerate(COUNTERS):
            counter = getattr(ports, name)
            with m.If(verdict[k]):
                m.d.sync += counter.eq(counter + 1)
        with m.If(ports.begin):
            m.d.sync += [
                ports.expected.eq(0),
                self.unfinished.eq(0),
            ]

    def _offer(self) -> None:
        """Records leave the buffer."""
        m = self.m
        waits = offer(m, self.platform, self.read, self.head, self.shown, self.ports.o)
        kept = self.head != self.complete
        m.d.comb += self.ports.pending.eq(kept | waits | self.closing)


def _bit(counter: str) -> int:
    """A verdict: the bit of the counter of that name."""
    return 1 << COUNTERS.index(counter)
