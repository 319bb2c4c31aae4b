# amaranth: UnusedElaboratable=no
"""Loading programs: packets that write into an engine's memories (:mod:`rbdgen.protocol.loading`), and a directory of
what is there, which hosts keep. A reset forgets all functions and what the directory has."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Mux, Signal
from amaranth.lib.memory import Memory

from rbdgen.protocol.loading import (
    ADDRESS_BITS,
    BLOCK,
    COUNT_BITS,
    DIRECTORY,
    DIRECTORY_WORDS,
    HIGH_BITS,
    LOW_BITS,
    PARTS,
    READ,
    ROUTINE,
    TARGET_BITS,
    TOLD_BITS,
)
from rbdgen.protocol.tasks import FLAG_BITS, LOAD, LOAD_WORDS, Flag, TaskFormat
from rbdgen_hw.checksum import stepped
from rbdgen_hw.engine.loader import Loader

FUNCTION_ADDRESSES = LOAD * PARTS
"""Addresses of entries of all functions; the code behind them is that of these packets themselves."""


class ProgramLoader(Loader):
    """Checks packets bit by bit as they come, keeps what they write until it is known to be right, and writes it."""

    module_name = "programs"
    initial = "CLEAR"

    def __init__(self, tasks: TaskFormat) -> None:
        super().__init__(tasks, LOAD)

    def prepare(self) -> None:
        """The words of a packet, and the directory."""
        m = self.m
        self.number = Signal(range(LOAD_WORDS + 1))
        self.word, self.bits = Signal(LOW_BITS), Signal(range(LOW_BITS + 1))
        self.crc = Signal(LOW_BITS)
        self.legal = Signal()
        self.kind, self.count = Signal(TARGET_BITS), Signal(COUNT_BITS)
        self.place = Signal(ADDRESS_BITS)
        self.high = Signal(BLOCK * HIGH_BITS)
        self.at = Signal(COUNT_BITS)
        self.clears = Signal()
        kept = Memory(shape=LOW_BITS, depth=BLOCK, init=[])
        directory = Memory(shape=TOLD_BITS, depth=DIRECTORY_WORDS, init=[])
        m.submodules.kept, m.submodules.directory = kept, directory
        self.keeping, low = kept.write_port(), kept.read_port()
        listing, told = directory.write_port(), directory.read_port()
        self.told = told.data
        words = self.number - 2
        m.d.comb += [
            self.keeping.addr.eq(words[:COUNT_BITS]),
            self.keeping.data.eq(self.word),
            low.addr.eq(self.at),
            self.target.eq(self.kind),
            self.address.eq(self.place),
            self.data.eq(Mux(self.clears, 0, Cat(low.data, self.high[:HIGH_BITS]))),
            listing.addr.eq(self.place[: len(listing.addr)]),
            listing.data.eq(self.data[:TOLD_BITS]),
            listing.en.eq(self.on & (self.kind == DIRECTORY)),
            told.addr.eq(self.place[: len(told.addr)]),
        ]

    def states(self) -> None:
        m = self.m
        with m.State("CLEAR"):
            # memories may hold anything then, and what was being written is not whole
            m.d.sync += self.kind.eq(Mux(self.kind == ROUTINE, DIRECTORY, ROUTINE))
            functions = (self.kind == ROUTINE) & (self.place < FUNCTION_ADDRESSES)
            m.d.comb += [self.clears.eq(1), self.on.eq(functions | (self.kind == DIRECTORY))]
            with m.If(self.kind == DIRECTORY):
                m.d.sync += self.place.eq(self.place + 1)
                with m.If(self.place == DIRECTORY_WORDS - 1):
                    m.next = "PASS"
        with m.State("BEGIN"):
            m.d.sync += [self.number.eq(0), self.crc.eq(~0), self.at.eq(0)]
            m.next = "TAKE"
        with m.State("TAKE"):
            m.d.comb += self.i.ready.eq(1)
            m.d.sync += [self.word.eq(self.i.payload[:LOW_BITS]), self.bits.eq(0)]
            with m.If(self.i.valid):
                m.next = "KEEP"
        with m.State("KEEP"):
            self._keep()
        with m.State("CHECK"):
            # a bit in each cycle: links bring words no faster
            m.d.sync += [
                self.crc.eq(stepped(self.crc, self.word[:1])),
                self.word.eq(self.word[1:]),
                self.bits.eq(self.bits + 1),
            ]
            with m.If(self.bits == LOW_BITS - 1):
                m.next = "TAKE"
        with m.State("WAIT"), m.If(self.settled()):
            m.next = "FETCH"
            with m.If(~self.legal | (self.kind == READ)):
                m.next = "ANSWER"
        with m.State("FETCH"):
            m.next = "WRITE"
        with m.State("WRITE"):
            m.d.comb += self.on.eq(1)
            m.d.sync += [
                self.place.eq(self.place + 1),
                self.high.eq(self.high[HIGH_BITS:]),
                self.at.eq(self.at + 1),
            ]
            m.next = "FETCH"
            with m.If(self.at == self.count):
                m.next = "ANSWER"
        with m.State("ANSWER"):
            flags = Mux(self.legal, 0, Const(int(Flag.RANGE), FLAG_BITS))
            self.answer(flags, Mux(self.legal & (self.kind == READ), self.told, 0))
            with m.If(self.o.ready):
                m.next = "PASS"

    def _keep(self) -> None:
        """Keep a word as what it is; the last one says whether the others are right."""
        m = self.m
        m.d.sync += self.number.eq(self.number + 1)
        m.next = "CHECK"
        with m.If(self.number == 0):
            m.d.sync += Cat(self.place, self.kind, self.count).eq(self.word)
        with m.Elif(self.number == 1):
            m.d.sync += self.high.eq(self.word)
        with m.Elif(self.number == LOAD_WORDS - 1):
            m.d.sync += self.legal.eq(self.word == ~self.crc)
            m.next = "WAIT"
        with m.Else():
            m.d.comb += self.keeping.en.eq(1)
