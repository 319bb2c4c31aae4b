# amaranth: UnusedElaboratable=no
"""A core's intake: tasks word by word, each compared with its declared limits, until whole ones wait to be started."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rbdgen.machines.engine.core import ROOM, WAITING, Core
from rbdgen.machines.engine.memories import Memories
from rbdgen.protocol.loading import LIMIT
from rbdgen.protocol.tasks import FUNCTION_BITS, TAG_BITS
from rbdgen_hw.engine.loading import LOAD, Routines
from rbdgen_hw.fifo import BypassFifo
from rbdgen_hw.library import SharedComponent, instantiate
from rbdgen_hw.logic import any_of, delayed, registered

COMPARING = 3
"""Cycles from taking a word to that in which it is compared with its upper limit, one before with its lower one."""
HEAD = data.StructLayout({"code": FUNCTION_BITS, "tag": TAG_BITS, "outside": 1, "known": 1})
"""A task that waits: its function's code, its tag, whether an operand is outside its declared range, and whether there
is such a function."""


class Intake(SharedComponent):
    """Takes a header or a word in every second cycle. ``head`` is the next whole task, if ``waiting``, until ``taken``;
    of its words the first is on ``word`` until ``next``. ``between``: a header comes next;
    ``reading``: that is not known yet."""

    def __init__(self, core: Core, image: Memories) -> None:
        self.core = core
        self.image = image
        self.module_name = f"intake_{core.width}x{core.words}_{core.limits}"
        super().__init__(
            {
                "i": In(stream.Signature(core.width)),
                "between": Out(1),
                "reading": Out(1),
                "waiting": Out(1),
                "head": Out(HEAD),
                "taken": In(1),
                "word": Out(core.width),
                "next": In(1),
                "load": In(LOAD),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.m = m
        self.words = BypassFifo(self.core.width, self.core.waiting, block=True)
        instantiate(m, platform, "words", self.words)
        # whoever starts tasks knows that their words are there; only whether there is room is to be counted
        level = Signal(range(self.core.waiting + 1))
        comes = registered(m, self.words.w_en, "comes")
        goes = registered(m, self.words.r_en, "goes")
        m.d.sync += level.eq(level + comes - goes)
        self.room = registered(m, level < self.core.waiting - ROOM, "room")
        m.submodules.queue = self.queue = SyncFIFO(width=HEAD.size, depth=WAITING)
        m.submodules.routines = self.routines = Routines(self.core, 0, self.image)
        m.d.comb += self.routines.load.eq(self.load)
        self._take()
        self._offer()
        return m

    def _offer(self) -> None:
        """The next task, and the next word."""
        m = self.m
        m.d.comb += [
            self.waiting.eq(self.queue.r_rdy),
            self.head.eq(self.queue.r_data),
            self.queue.r_en.eq(self.taken),
            self.word.eq(self.words.r_data),
            self.words.r_en.eq(self.next),
        ]

    def _take(self) -> None:
        """A task's words go into a FIFO, a beat every second cycle, while each is compared with its limits; when the
        last one was compared the task waits. One of no function waits as well, for its answer."""
        m, core = self.m, self.core
        left = Signal(core.address_bits + 1)
        at_header, at_last = Signal(init=1), Signal()
        head = Signal(HEAD)
        number = Signal(core.limit_bits)
        beat = self.i.payload
        routine = self.routines.entry
        taken = self.i.valid & self.i.ready
        code = head.code
        if core.lean:
            # it is there when the header has been taken
            code = Mux(taken & at_header, beat[:FUNCTION_BITS], head.code)
        m.d.comb += self.routines.code.eq(code)
        is_word = taken & ~at_header
        with m.If(taken & at_header):
            m.d.sync += [
                head.code.eq(beat[:FUNCTION_BITS]),
                head.tag.eq(beat[FUNCTION_BITS : FUNCTION_BITS + TAG_BITS]),
                head.outside.eq(0),
            ]
        # what follows is found in the cycle in which no beat is taken
        just_taken = registered(m, taken, "just_taken")
        operands = Mux(routine.known, routine.operands, 0)
        with m.If(just_taken):
            with m.If(at_header):
                m.d.sync += [
                    head.known.eq(routine.known),
                    left.eq(operands),
                    number.eq(routine.limits),
                    at_header.eq(operands == 0),
                    at_last.eq(operands == 1),
                ]
            with m.Else():
                m.d.sync += [
                    left.eq(left - 1),
                    number.eq(number + 1),
                    at_header.eq(at_last),
                    at_last.eq(left == 2),
                ]
        ends = just_taken & Mux(at_header, operands == 0, at_last)
        ended = [ends]
        compared = [is_word]
        for k in range(COMPARING):
            compared.append(registered(m, compared[-1], f"compared_{k}"))
        for k in range(COMPARING - 1):
            ended.append(registered(m, ended[-1], f"ended_{k}"))
        outside = self._outside(is_word, number)
        outside &= compared[-2] | compared[-1]
        with m.If(outside):
            m.d.sync += head.outside.eq(1)
        whole = Signal(HEAD)
        m.d.comb += [whole.eq(head), whole.outside.eq(head.outside | outside)]
        busy = just_taken | any_of(ended[1:])
        m.d.comb += [
            self.i.ready.eq(~busy & self.queue.w_rdy & (at_header | self.room)),
            self.words.w_en.eq(is_word),
            self.words.w_data.eq(beat),
            self.queue.w_en.eq(ended[-1]),
            self.queue.w_data.eq(whole),
            self.between.eq(at_header),
            self.reading.eq(just_taken),
        ]

    def _outside(self, taken: Value, number: Value) -> Value:
        """Whether the word that was taken so many cycles ago is below its lower limit, and a cycle later whether it is
        above its upper one."""
        m, core = self.m, self.core
        limits = Memory(shape=core.bound_bits, depth=2 * core.limits, init=self.image.limits)
        m.submodules.limits = limits
        writing, reading = limits.write_port(), limits.read_port()
        is_upper = registered(m, taken, "is_upper")
        m.d.comb += [
            writing.en.eq(self.load.on & (self.load.target == LIMIT)),
            writing.addr.eq(self.load.address),
            writing.data.eq(self.load.data[: core.bound_bits]),
            reading.addr.eq(Cat(is_upper, number)),
        ]
        held = Signal(signed(core.width))
        with m.If(taken):
            m.d.sync += held.eq(self.i.payload.as_signed())
        compared = registered(
            m,
            held,
            "compared_word",
            reset_less=True,
        )
        limit = registered(
            m,
            reading.data.as_signed(),
            "limit",
            reset_less=True,
        )
        upper_now = delayed(
            m,
            is_upper,
            COMPARING - 1,
            "upper_",
        )
        return (compared < limit) ^ upper_now
