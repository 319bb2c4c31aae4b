# amaranth: UnusedElaboratable=no
"""A core of an engine: its intake, its datapath and its results, which do what a sequencer tells them."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.memories import Memories
from rbdgen.machines.engine.program import HEADER, LAST_WORD, WORD
from rbdgen.protocol.loading import CONSTANT
from rbdgen.protocol.tasks import FLAG_BITS, FUNCTION_BITS, Flag
from rbdgen_hw.engine.datapath import Datapath
from rbdgen_hw.engine.intake import HEAD, Intake
from rbdgen_hw.engine.issue import TASKS, beat
from rbdgen_hw.engine.loading import LOAD
from rbdgen_hw.engine.sequencer import STARTED
from rbdgen_hw.fifo import BypassFifo
from rbdgen_hw.library import SharedComponent, forward, instantiate
from rbdgen_hw.logic import delayed, registered

AGED = 3
"""Cycles for which a task waits at least: what is looked up for its function is there then."""


class EngineCore(SharedComponent):
    """A core. Streams have a header or a word in each beat, as the protocol has them; ``last`` goes with the last beat
    of a result. ``offers`` a task of function ``code``; ``ready``: of the ``choice``, and there is room for the words
    that it ``needs``; ``start`` takes what is ready. ``relay``: it is so many cycles behind the ``beat``."""

    def __init__(self, core: Core, image: Memories, relay: int = 0) -> None:
        self.core = core
        self.image = image
        self.relay = relay
        self.module_name = "core"
        results = Signal(range(core.results + 1)).shape()
        super().__init__(
            {
                "i": In(stream.Signature(core.width)),
                "o": Out(stream.Signature(core.width)),
                "last": Out(1),
                "between": Out(1),
                "reading": Out(1),
                "idle": Out(1),
                "offers": Out(1),
                "code": Out(FUNCTION_BITS),
                "choice": In(FUNCTION_BITS),
                "needs": In(results),
                "ready": Out(1),
                "start": In(1),
                "beat": In(beat(core)),
                "load": In(LOAD),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.m = m
        core = self.core
        self.intake = Intake(core, self.image)
        self.datapath = Datapath(core, self.image.banks)
        instantiate(m, platform, "intake", self.intake)
        instantiate(m, platform, "datapath", self.datapath)
        # a lean core that is alone tells nobody where a result ends
        self.tells = not core.lean or self.relay > 0
        self.results = BypassFifo(core.width + self.tells, core.results, block=True)
        instantiate(m, platform, "results", self.results)
        told = self.beat.as_value()
        for k in range(self.relay):
            told = registered(m, told, f"beat_{k}")
        self.now = beat(core)(told)
        loading = self.load.on & (self.load.target == CONSTANT)
        forward(m, self.i, self.intake.i)
        m.d.comb += [
            self.intake.load.eq(self.load),
            self.between.eq(self.intake.between),
            self.reading.eq(self.intake.reading),
            self.datapath.issue.eq(self.now.issue),
            self.datapath.load.eq(loading),
            self.datapath.load_bank.eq(self.load.address[: core.bank_bits]),
            self.datapath.load_address.eq(self.load.address[core.bank_bits :]),
            self.datapath.load_data.eq(self.load.data[: core.width]),
        ]
        self._start()
        self._take()
        self._send()
        return m

    def _start(self) -> None:
        """Offer the next task; take it where it starts, or where there is no such function and none is under way."""
        m, core = self.m, self.core
        self.head = self.intake.head
        offered, taken = self.intake.waiting, self.intake.taken
        # beside what is looked up for it, so that starting it does not wait for the comparison
        same = registered(m, self.head.code == self.choice, "same")
        aged = offered
        for k in range(AGED):
            aged = registered(m, aged & offered & ~taken, f"aged_{k}")
        free = Signal(range(core.results + 1), init=core.results)
        # one more than a task of the choice needs, so that there is some for the answer to one of no function as well
        has_room = registered(m, free > self.needs, "has_room")
        # tasks that started and are not answered in full
        under_way = Signal(range(TASKS + 2))
        self.starts, self.refuse, self.answered = Signal(), Signal(), Signal()
        m.d.comb += [
            self.offers.eq(offered & self.head.known),
            self.code.eq(self.head.code),
            self.ready.eq(self.offers & aged & has_room & same),
            self.starts.eq(self.start & self.ready),
            self.refuse.eq(offered & aged & ~self.head.known & (under_way == 0) & has_room),
            taken.eq(self.starts | self.refuse),
            self.idle.eq((under_way == 0) & ~offered),
        ]
        m.d.sync += under_way.eq(under_way + self.starts - self.answered)
        # a cycle late, which only makes less room than there is
        leaves = registered(m, self.o.valid & self.o.ready, "leaves")
        started = registered(m, self.starts, "started")
        refused = registered(m, self.refuse, "refused")
        needed = registered(
            m,
            self.needs,
            "needed",
            reset_less=True,
        )
        m.d.sync += free.eq(free + leaves - Mux(started, needed, refused))

    def _take(self) -> None:
        """Which tasks began, by number; and the words of the one that begins."""
        m, now = self.m, self.now
        begins = delayed(
            m,
            self.starts,
            STARTED + self.relay,
            "begins_",
        )
        head = delayed(
            m,
            self.head.as_value()[:-1],
            STARTED + self.relay,
            "head_",
        )
        valid = Signal(TASKS)
        number = Signal(TASKS)
        m.d.comb += number.eq(1 << now.begins)
        with m.If(now.first):
            kept = Mux(now.fresh, 0, valid & ~number)
            m.d.sync += valid.eq(kept | Mux(begins, number, 0))
        self.valid = valid
        heads = Memory(shape=len(head), depth=TASKS, init=[])
        m.submodules.heads = heads
        writing, self.reading = heads.write_port(), heads.read_port(domain="comb")
        m.d.comb += [
            writing.en.eq(begins),
            writing.addr.eq(now.begins),
            writing.data.eq(head),
            self.reading.addr.eq(now.sender),
            self.intake.next.eq(now.take & valid.bit_select(now.number, 1)),
        ]
        flags = Signal(TASKS)
        fresh = Mux(begins, number, 0)
        m.d.sync += flags.eq((flags & ~fresh) | self.datapath.lost)
        self.flags = flags
        word = registered(
            m,
            self.intake.word,
            "operand_1",
            reset_less=True,
        )
        m.d.comb += self.datapath.operand.eq(
            registered(
                m,
                word,
                "operand_2",
                reset_less=True,
            )
        )

    def _send(self) -> None:
        """Headers and words into the FIFO of results."""
        m, now = self.m, self.now
        sends = self.valid.bit_select(now.sender, 1)
        own = HEAD(Cat(self.reading.data, 1))
        lost = self.flags.bit_select(now.sender, 1)
        overflow = Mux(lost, Const(int(Flag.OVERFLOW), FLAG_BITS), 0)
        outside = Mux(own.outside, Const(int(Flag.RANGE), FLAG_BITS), 0)
        answer = Cat(own.code, own.tag, overflow | outside)
        refused = Cat(self.head.code, self.head.tag, Const(int(Flag.FUNCTION), FLAG_BITS))
        header = registered(
            m,
            Mux(self.refuse, refused, answer),
            "header",
            reset_less=True,
        )
        is_header = registered(m, (sends & (now.send == HEADER)) | self.refuse, "is_header")
        ends_words = now.send == LAST_WORD
        # beside a header: whether no word follows
        place = now.issue.lanes[-1].y_address if self.core.lean else now.issue.send_address
        alone = (now.send == HEADER) & place[0]
        is_last = sends & (ends_words | alone)
        is_word = registered(m, sends & ((now.send == WORD) | ends_words), "is_word")
        ends = registered(m, is_last | self.refuse, "ends")
        m.d.comb += [
            self.answered.eq(is_last),
            self.results.w_en.eq(is_header | is_word),
            self.results.w_data.eq(
                Cat(Mux(is_header, header, self.datapath.sent.as_unsigned()), ends)
            ),
            self.o.valid.eq(self.results.r_rdy),
            self.o.payload.eq(self.results.r_data[: self.core.width]),
            self.last.eq(self.results.r_data[-1] if self.tells else 0),
            self.results.r_en.eq(self.o.valid & self.o.ready),
        ]
