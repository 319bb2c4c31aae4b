# amaranth: UnusedElaboratable=no
"""Words of results, and statuses, into datagrams: one of two places in a buffer is filled while the other is sent."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.crc.catalog import CRC32_ISO_HDLC
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, Signature

from rbdgen.protocol.datagrams import (
    BODY_BYTES,
    DATAGRAM_VERSION,
    MAGIC,
    OVERHEAD_BYTES,
    STATUS_BYTES,
    WORD_BYTES,
    Kind,
)
from rbdgen.protocol.tasks import TaskFormat
from rbdgen_hw.library import SharedComponent
from rbdgen_hw.shells.datagram_receiver import ADDRESS_BITS, LENGTH_BITS, OWNER, PORT_BITS
from rbdgen_hw.shells.gearbox import WORD_BITS
from rbdgen_hw.shells.lengths import results_of

PATIENCE = 1024
"""Cycles without a further result, after which those that there are are sent."""
PLACES = 2
MOST_WORDS = BODY_BYTES // WORD_BYTES
"""Of a body."""
PLACE_WORDS = 1 << MOST_WORDS.bit_length()
STATUS_WORDS = STATUS_BYTES // WORD_BYTES
HEAD_WORDS = 3

OUTGOING = Signature(
    {
        "valid": Out(1),
        "ready": In(1),
        "last": Out(1),
        "data": Out(WORD_BITS),
        "address": Out(ADDRESS_BITS),
        "port": Out(PORT_BITS),
        "length": Out(LENGTH_BITS),
    }
)
"""Datagrams to send, from their source: ``address``, ``port`` and ``length`` in bytes are for the whole datagram."""
ASKER = Signature({"nonce": Out(WORD_BITS), "address": Out(ADDRESS_BITS), "port": Out(PORT_BITS)})
"""Who asked for a status."""


class DatagramSender(SharedComponent):
    """``i``: words of results, ``last`` with the last one of each. What there is of whole results is sent when
    ``flush`` is high. When ``ask`` is, and nothing else is kept, ``status`` is, and ``told`` strobes; it goes to
    ``asker``, which stays until ``answering`` is low. ``number`` is that of the next datagram of results, from 0 again
    when another session begins, which it must not unless ``idle``: nothing is kept. ``o``: datagrams."""

    module_name = "datagram_sender"

    def __init__(self, tasks: TaskFormat) -> None:
        self.packets = results_of(tasks)
        super().__init__(
            {
                "i": In(stream.Signature(WORD_BITS)),
                "last": In(1),
                "flush": In(1),
                "ask": In(1),
                "told": Out(1),
                "answering": Out(1),
                "status": In(8 * STATUS_BYTES),
                "asker": In(ASKER),
                "owner": In(OWNER),
                "begin": In(1),
                "number": Out(WORD_BITS),
                "idle": Out(1),
                "o": Out(OUTGOING),
                **self.packets.ports,
            }
        )

    def elaborate(self, platform: object) -> Module:
        return SenderBuilder(self).build()


class SenderBuilder:
    """Writes the module of a sender, ``ports``."""

    def __init__(self, ports: DatagramSender) -> None:
        self.ports = ports
        self.m = m = Module()
        # what is read was written long before: synthesis need not care what comes of both at once
        attributes = {"ram_style": "block", "no_rw_check": 1}
        m.submodules.buffer = buffer = Memory(
            shape=WORD_BITS, depth=PLACES * PLACE_WORDS, init=[], attrs=attributes
        )
        m.submodules.checksum = self.crc = CRC32_ISO_HDLC(WORD_BITS).create()
        self.write, self.read = buffer.write_port(), buffer.read_port()
        # of each place: whether it is full, how many words, its marks, whether it is a status
        self.full = [Signal(name=f"full{k}") for k in range(PLACES)]
        self.counts = [Signal(range(MOST_WORDS + 1), name=f"count{k}") for k in range(PLACES)]
        self.marks = [Signal(2, name=f"marks{k}") for k in range(PLACES)]
        self.statuses = [Signal(name=f"status{k}") for k in range(PLACES)]
        # which is filled, which is sent, and the one that is filled: whether it is free, its words, its first mark
        self.filled, self.sent = Signal(), Signal()
        self.free, self.fill, self.begins = Signal(), Signal(range(MOST_WORDS + 1)), Signal()
        # a place is closed, as a status, or freed
        self.close, self.close_status, self.freed = Signal(), Signal(), Signal()
        # amid a packet
        self.inside = Signal()
        self.word, self.there = Signal(WORD_BITS, reset_less=True), Signal()

    def build(self) -> Module:
        """The module."""
        ports, m = self.ports, self.m
        m.d.comb += self.free.eq(~_of(self.full, self.filled))
        self._fill()
        self._keep_places()
        self._send()
        with m.If(ports.begin):
            m.d.sync += ports.number.eq(0)
        empty = (self.fill == 0) & ~self.there & ~ports.i.valid
        m.d.sync += ports.idle.eq(empty & ~self.full[0] & ~self.full[1])
        return m

    def _fill(self) -> None:
        """Words and statuses go into the place that is filled."""
        m, ports = self.m, self.ports
        packets = ports.packets
        size = packets.found(m, ports, ports.i.payload, packets.padded_words, "size")
        last = Signal()
        # where a packet would end, if it begins here
        behind, waited = Signal.like(size), Signal(range(PATIENCE + 1))
        writes, index = Signal(), Signal(range(STATUS_WORDS))
        word, there = self.word, self.there
        takes = ~there | writes
        m.d.comb += ports.i.ready.eq(takes)
        with m.If(takes):
            m.d.sync += [
                there.eq(ports.i.valid),
                word.eq(ports.i.payload),
                last.eq(ports.last),
                behind.eq(size),
            ]
        begins = ~self.inside
        unfit = begins & (self.fill + behind > MOST_WORDS)
        crowded = (self.fill != 0) & unfit
        full = self.fill == MOST_WORDS
        patient = waited != PATIENCE
        lets_go = (self.fill != 0) & ~self.inside & (ports.flush | ~patient)
        m.d.comb += [
            self.write.addr.eq(Cat(self.fill, self.filled)),
            self.write.data.eq(word),
        ]
        with m.If(patient):
            m.d.sync += waited.eq(waited + 1)
        with m.FSM() as fsm:
            with m.State("RESULTS"), m.If(self.free):
                with m.If(there & (crowded | full)):
                    m.d.comb += self.close.eq(1)
                with m.Elif(there):
                    m.d.comb += writes.eq(1)
                    m.d.sync += [
                        self.fill.eq(self.fill + 1),
                        self.inside.eq(~last),
                        waited.eq(0),
                    ]
                    with m.If(self.fill == 0):
                        m.d.sync += self.begins.eq(begins)
                with m.Elif(lets_go):
                    m.d.comb += self.close.eq(1)
                with m.Elif(ports.ask & (self.fill == 0)):
                    m.d.sync += index.eq(0)
                    m.next = "STATUS"
            with m.State("STATUS"):
                m.d.comb += self.write.data.eq(ports.status.word_select(index, WORD_BITS))
                m.d.sync += [
                    index.eq(index + 1),
                    self.fill.eq(self.fill + 1),
                ]
                with m.If(index == STATUS_WORDS - 1):
                    m.next = "TOLD"
            with m.State("TOLD"):
                m.d.comb += [
                    ports.told.eq(1),
                    self.close_status.eq(1),
                ]
                m.next = "RESULTS"
        m.d.comb += self.write.en.eq(writes | fsm.ongoing("STATUS"))

    def _keep_places(self) -> None:
        """Keep what is known of a place when it is closed."""
        m, ports = self.m, self.ports
        ends = ~self.inside
        marks = Cat(self.begins, ends)
        with m.If(self.close | self.close_status):
            m.d.sync += [
                self.filled.eq(~self.filled),
                self.fill.eq(0),
            ]
        with m.If(self.close):
            m.d.sync += ports.number.eq(ports.number + 1)
        for k in range(PLACES):
            with m.If((self.close | self.close_status) & (self.filled == k)):
                m.d.sync += [
                    self.full[k].eq(1),
                    self.counts[k].eq(self.fill),
                    self.marks[k].eq(Mux(self.close_status, 0, marks)),
                    self.statuses[k].eq(self.close_status),
                ]
            with m.If(self.freed & (self.sent == k)):
                m.d.sync += self.full[k].eq(0)
        with m.If(self.close_status):
            m.d.sync += ports.answering.eq(1)
        with m.Elif(self.freed & _of(self.statuses, self.sent)):
            m.d.sync += ports.answering.eq(0)

    def _send(self) -> None:
        """A place that is full is sent: head, body, check sum."""
        m, ports = self.m, self.ports
        o = ports.o
        status = Signal()
        count, marks, number = Signal(range(MOST_WORDS + 1)), Signal(2), Signal(WORD_BITS)
        position, index = Signal(range(HEAD_WORDS + 1)), Signal(range(MOST_WORDS + 1))
        word, valid, closes = Signal(WORD_BITS, reset_less=True), Signal(), Signal()
        left = Signal(range(MOST_WORDS + 1))
        moves = ~valid | o.ready
        kind = Mux(status, Const(Kind.HELLO, 8), Const(Kind.TASKS, 8))
        first = Cat(
            kind,
            Const(DATAGRAM_VERSION, 8),
            marks,
            Const(0, 6),
            Const(MAGIC, 8),
        )
        address = Mux(status, ports.asker.address, ports.owner.address)
        port = Mux(status, ports.asker.port, ports.owner.port)
        m.d.comb += [
            self.crc.data.eq(word),
            self.crc.valid.eq(valid & o.ready & ~closes),
            o.valid.eq(valid | closes),
            o.last.eq(closes),
            o.data.eq(Mux(closes, self.crc.crc, word)),
            self.read.en.eq(1),
        ]
        m.d.sync += [
            o.address.eq(address),
            o.port.eq(port),
            o.length.eq(Cat(Const(0, 2), count) + OVERHEAD_BYTES),
        ]
        # the memory is read a word ahead
        m.d.comb += self.read.addr.eq(Cat(index, self.sent))
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.crc.start.eq(1)
                m.d.sync += [
                    position.eq(0),
                    index.eq(0),
                    status.eq(_of(self.statuses, self.sent)),
                    count.eq(_of(self.counts, self.sent)),
                    marks.eq(_of(self.marks, self.sent)),
                    left.eq(_of(self.counts, self.sent)),
                ]
                with m.If(_of(self.full, self.sent)):
                    m.next = "ADDRESS"
            with m.State("ADDRESS"):
                m.next = "HEAD"
            with m.State("HEAD"), m.If(moves):
                m.d.sync += [
                    valid.eq(1),
                    position.eq(position + 1),
                ]
                with m.Switch(position):
                    with m.Case(0):
                        m.d.sync += word.eq(first)
                    with m.Case(1):
                        m.d.sync += word.eq(ports.owner.session)
                    with m.Default():
                        m.d.sync += word.eq(Mux(status, ports.asker.nonce, number))
                        m.next = "BODY"
            with m.State("BODY"), m.If(moves):
                m.d.comb += self.read.addr.eq(Cat((index + 1)[: len(index)], self.sent))
                m.d.sync += [
                    word.eq(self.read.data),
                    index.eq(index + 1),
                    left.eq(left - 1),
                ]
                with m.If(left == 1):
                    m.next = "REST"
            with m.State("REST"), m.If(o.ready):
                m.d.sync += [
                    valid.eq(0),
                    closes.eq(1),
                ]
                m.next = "CHECK"
            with m.State("CHECK"), m.If(o.ready):
                m.d.comb += self.freed.eq(1)
                m.d.sync += [
                    closes.eq(0),
                    self.sent.eq(~self.sent),
                    number.eq(number + ~status),
                ]
                m.next = "IDLE"
        with m.If(ports.begin):
            m.d.sync += number.eq(0)


def _of(values: Sequence[Signal], place: Signal) -> Value:
    """That of a place."""
    return Mux(place, values[1], values[0])
