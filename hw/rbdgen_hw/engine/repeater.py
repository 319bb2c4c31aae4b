# amaranth: UnusedElaboratable=no
"""Tasks that repeat: a step's results go back into the core, in front of what stays of the task, until its last step.

Tasks circle in the order in which they came: results of the core are those of the one that was sent longest ago. One
that would end before another of an earlier task waits until it does not, so that order is kept. Tasks of other
functions wait until none circles, as they would stand between results that go back and the room that they need.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from rbdgen.functions.quantities import COUNT
from rbdgen.machines.engine.core import CIRCLING, Core
from rbdgen.machines.engine.loading import REPEATS
from rbdgen.machines.engine.memories import Memories
from rbdgen.protocol.tasks import FLAG_BITS, FUNCTION_BITS, HEADER_BITS, TAG_BITS, Flag
from rbdgen_hw.engine.loading import LOAD, Routines
from rbdgen_hw.fifo import BypassFifo
from rbdgen_hw.library import SharedComponent, instantiate

HEADER = data.StructLayout({"code": FUNCTION_BITS, "tag": TAG_BITS, "flags": FLAG_BITS})
STEPS_BITS = COUNT.width - 1
"""Bits of a number of steps, which is not negative."""
CIRCLER = data.StructLayout(
    {"left": STEPS_BITS, "flags": FLAG_BITS, "fresh": 1, "number": range(CIRCLING)}
)
"""A task that circles: steps that are left to it, this one included, the flags of those before, whether this one is its
first, and its number."""


class Repeater(SharedComponent):
    """Between the streams ``i`` and ``o`` and those of a core, ``tasks`` and ``results``. ``between``, ``reading`` and
    ``last`` are those of a core, and ``own_between`` and so on the core's; ``idle``: no task is here or circles."""

    def __init__(self, core: Core, image: Memories) -> None:
        self.core = core
        self.image = image
        self.module_name = f"repeater_{core.width}x{core.kept}"
        words = stream.Signature(core.width)
        super().__init__(
            {
                "i": In(words),
                "between": Out(1),
                "reading": Out(1),
                "tasks": Out(words),
                "own_between": In(1),
                "own_reading": In(1),
                "results": In(words),
                "own_last": In(1),
                "o": Out(words),
                "last": Out(1),
                "idle": Out(1),
                "load": In(LOAD),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.m = m
        core = self.core
        m.submodules.routines = self.routines = Routines(core, REPEATS, self.image)
        m.d.comb += self.routines.load.eq(self.load)
        self.fresh = BypassFifo(core.width, core.words, block=True)
        self.kept = BypassFifo(core.width, core.kept, block=True)
        self.circlers = BypassFifo(CIRCLER.size, CIRCLING)
        for name in ("fresh", "kept", "circlers"):
            instantiate(m, platform, name, getattr(self, name))
        # a task from outside: its header, how its function repeats, and its number of steps
        self.header = Signal(HEADER)
        self.routine = Signal(self.routines.layout)
        self.steps = Signal(STEPS_BITS)
        # whether it waits to go to the core: all of it, or as it comes
        self.whole, self.passing = Signal(), Signal()
        self.sent = Signal()
        # those that circle: how many, which function, and of the one that came last its number and its steps left
        self.count = Signal(range(CIRCLING + 1))
        self.circling = Signal(self.routines.layout)
        self.code = Signal(FUNCTION_BITS)
        self.newest = Signal(range(CIRCLING))
        self.longest = Signal(STEPS_BITS)
        # words of a task that ended, still to be dropped
        self.dropping = Signal(core.address_bits + 1)
        self._take()
        self._answer()
        self._send()
        return m

    def _take(self) -> None:
        """Tasks from outside: those that repeat are taken whole."""
        m = self.m
        beat = self.i.payload
        number = Signal(self.core.address_bits + 1)
        routine = self.routine
        m.d.comb += [
            self.routines.code.eq(self.header.code),
            self.fresh.w_data.eq(beat),
        ]
        own_first = self.own_between & ~self.own_reading
        steps = beat[:STEPS_BITS]
        too_few = (steps == 0) | beat[STEPS_BITS : COUNT.width].any()
        with m.FSM(name="outside"):
            with m.State("HEADER"):
                m.d.comb += [
                    self.between.eq(1),
                    self.i.ready.eq(1),
                    self.idle.eq((self.count == 0) & (self.dropping == 0)),
                ]
                m.d.sync += Cat(self.header).eq(beat)
                with m.If(self.i.valid):
                    m.next = "ASK"
            with m.State("ASK"):
                m.d.comb += [self.between.eq(1), self.reading.eq(1)]
                m.d.sync += [routine.eq(self.routines.entry), number.eq(0)]
                m.next = "OFFER"
                with m.If(self.routines.entry.counts != 0):
                    m.next = "TAKE"
            with m.State("OFFER"):
                m.d.comb += [self.between.eq(1), self.reading.eq(1), self.passing.eq(1)]
                with m.If(self.sent):
                    m.next = "PASS"
            with m.State("PASS"):
                m.d.comb += [
                    self.between.eq(self.own_between),
                    self.reading.eq(self.own_reading),
                    self.i.ready.eq(self.tasks.ready & ~own_first),
                ]
                with m.If(own_first):
                    m.next = "HEADER"
            with m.State("TAKE"):
                m.d.comb += [self.i.ready.eq(1), self.fresh.w_en.eq(self.i.valid)]
                with m.If(self.i.valid):
                    m.d.sync += number.eq(number + 1)
                    with m.If(number + 1 == routine.moving + routine.counts):
                        # less than one is told by its range, and counts as one
                        m.d.sync += self.steps.eq(Mux(too_few, 1, steps))
                    with m.If(number + 1 == routine.moving + routine.staying):
                        m.next = "WHOLE"
            with m.State("WHOLE"):
                m.d.comb += [self.between.eq(1), self.whole.eq(1)]
                with m.If(self.sent):
                    m.next = "HEADER"

    def _answer(self) -> None:
        """Results: those of last steps, and of tasks that do not repeat, leave."""
        m = self.m
        at_header = Signal(init=1)
        self.result = HEADER(self.results.payload[:HEADER_BITS])
        self.circler = CIRCLER(self.circlers.r_data)
        circles = at_header & (self.count != 0) & (self.result.code == self.code)
        is_last = self.circler.left == 1
        # of later steps what is outside its range is no operand
        told = Mux(self.circler.fresh, ~0, int(Flag.OVERFLOW))
        self.flags = self.circler.flags | (self.result.flags & told)
        self.returns, ends = Signal(), Signal()
        # whether words go back, or those that stay are read
        self.returning, self.keeping = Signal(), Signal()
        m.d.comb += [
            self.returns.eq(self.results.valid & circles & ~is_last),
            ends.eq(circles & is_last),
        ]
        goes = self.o.valid & self.o.ready
        answer = Cat(self.result.code, self.result.tag, self.flags)
        m.d.comb += [
            # one that ends waits for what others do with what stays
            self.o.valid.eq(
                self.results.valid
                & ~self.returning
                & ~self.returns
                & ~(ends & (self.keeping | (self.dropping != 0)))
            ),
            self.o.payload.eq(Mux(ends, answer, self.results.payload)),
            self.last.eq(self.own_last),
        ]
        self.ended = Signal()
        m.d.comb += self.ended.eq(goes & ends)
        taken = self.results.valid & self.results.ready
        with m.If(taken):
            m.d.sync += at_header.eq(self.own_last)
        with m.If(self.ended):
            m.d.sync += self.dropping.eq(self.circling.staying)
        with m.Elif(self.dropping != 0):
            m.d.sync += self.dropping.eq(self.dropping - 1)

    def _send(self) -> None:
        """Tasks to the core: those that return before those that are new."""
        m, core = self.m, self.core
        own_first = self.own_between & ~self.own_reading
        new = Signal()
        left = Signal(core.address_bits + 1)
        goes = self.tasks.valid & self.tasks.ready
        entry = Signal(CIRCLER)
        comes, returned = Signal(), Signal()
        room = (self.count == 0) | (
            (self.count != CIRCLING)
            & (self.code == self.header.code)
            & (self.steps >= self.longest)
        )
        stays = Mux(new, self.fresh.r_data, self.kept.r_data)
        moves = Mux(new, self.fresh.r_data, self.results.payload)
        m.d.comb += [
            self.tasks.payload.eq(self.i.payload),
            self.results.ready.eq(self.o.valid & self.o.ready),
            self.kept.w_data.eq(stays),
            self.kept.r_en.eq(self.dropping != 0),
            self.circlers.w_data.eq(entry),
            self.circlers.w_en.eq(comes | returned),
            self.circlers.r_en.eq(self.ended | returned),
        ]
        m.d.sync += self.count.eq(self.count + comes - self.ended)
        with m.FSM(name="inside"):
            with m.State("FREE"), m.If(own_first):
                with m.If(self.returns & (self.dropping == 0)):
                    m.d.sync += new.eq(0)
                    m.next = "RETURN"
                with m.Elif(self.whole & room):
                    m.d.sync += new.eq(1)
                    m.next = "BEGIN"
                with m.Elif(self.passing & (self.count == 0)):
                    m.next = "PASS"
            with m.State("PASS"):
                m.d.comb += [
                    self.tasks.payload.eq(self.header.as_value()),
                    self.tasks.valid.eq(1),
                    self.sent.eq(self.tasks.ready),
                ]
                with m.If(self.tasks.ready):
                    m.next = "PASSING"
            with m.State("PASSING"):
                m.d.comb += self.tasks.valid.eq(self.i.valid & ~own_first)
                with m.If(own_first):
                    m.next = "FREE"
            with m.State("BEGIN"):
                m.d.comb += [
                    self.tasks.payload.eq(Cat(self.header.code, self.header.tag)),
                    self.tasks.valid.eq(1),
                    entry.left.eq(self.steps),
                    entry.fresh.eq(1),
                    entry.number.eq(self.newest + 1),
                    comes.eq(self.tasks.ready),
                ]
                m.d.sync += left.eq(self.routine.moving)
                with m.If(self.tasks.ready):
                    m.d.sync += [
                        self.circling.eq(self.routine),
                        self.code.eq(self.header.code),
                        self.newest.eq(self.newest + 1),
                        self.longest.eq(self.steps),
                    ]
                    m.next = "MOVE"
            with m.State("RETURN"):
                m.d.comb += [
                    self.returning.eq(1),
                    self.tasks.payload.eq(Cat(self.result.code, self.result.tag)),
                    self.tasks.valid.eq(1),
                    self.results.ready.eq(self.tasks.ready),
                    entry.left.eq(self.circler.left - 1),
                    entry.flags.eq(self.flags),
                    entry.number.eq(self.circler.number),
                    returned.eq(self.tasks.ready),
                ]
                m.d.sync += left.eq(self.circling.moving)
                with m.If(self.tasks.ready):
                    with m.If(self.circler.number == self.newest):
                        m.d.sync += self.longest.eq(self.circler.left - 1)
                    m.next = "MOVE"
            with m.State("MOVE"):
                m.d.comb += [
                    self.returning.eq(~new),
                    self.tasks.payload.eq(moves),
                    self.tasks.valid.eq(new | self.results.valid),
                    self.results.ready.eq(Mux(new, self.o.valid & self.o.ready, self.tasks.ready)),
                    self.fresh.r_en.eq(new & goes),
                ]
                with m.If(goes):
                    m.d.sync += left.eq(left - 1)
                    with m.If(left == 1):
                        m.d.sync += left.eq(self.circling.staying)
                        m.next = "STAY"
            with m.State("STAY"):
                m.d.comb += [
                    self.keeping.eq(~new),
                    self.tasks.payload.eq(stays),
                    self.tasks.valid.eq(1),
                    self.kept.w_en.eq(goes),
                    self.fresh.r_en.eq(new & goes),
                    self.kept.r_en.eq((self.dropping != 0) | (goes & ~new)),
                ]
                with m.If(goes):
                    m.d.sync += left.eq(left - 1)
                    with m.If(left == 1):
                        m.d.comb += self.sent.eq(new)
                        m.next = "FREE"
