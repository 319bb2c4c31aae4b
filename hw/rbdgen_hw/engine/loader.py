# amaranth: UnusedElaboratable=no
"""What stands before an engine's cores and keeps packets that write into it from them, whatever these are.

Such a packet waits until all tasks before it are answered, and is answered by a header.
"""

from __future__ import annotations

from abc import abstractmethod

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from rbdgen.protocol.loading import ADDRESS_BITS, DATA_BITS, TARGET_BITS
from rbdgen.protocol.tasks import FUNCTION_BITS, TAG_BITS, TaskFormat
from rbdgen_hw.engine.cores import EngineCores
from rbdgen_hw.engine.loading import LOAD
from rbdgen_hw.library import SharedComponent, forward

SETTLED = 16
"""Cycles without a task and a result in the engine, after which none is on its way through a FIFO."""


class Loader(SharedComponent):
    """Between the streams ``i`` and ``o`` and those of cores, ``tasks`` and ``results``. ``first``: a header comes
    next; ``idle``: cores have no task. ``load`` writes into memories. Subclasses say which ``code`` packets have, and
    add states to the machine that takes them, from ``BEGIN`` on, which ends in ``PASS``."""

    def __init__(self, tasks: TaskFormat, code: int) -> None:
        self.format = tasks
        self.code = code
        beats, answers = (stream.Signature(p.row_bits) for p in (tasks.task, tasks.result))
        super().__init__(
            {
                "i": In(beats),
                "tasks": Out(beats),
                "results": In(answers),
                "o": Out(answers),
                "first": In(1),
                "idle": In(1),
                "load": Out(LOAD),
            }
        )

    def stand_before(
        self, outside: Module, cores: EngineCores, i: stream.Interface, o: stream.Interface
    ) -> None:
        """In ``outside``, connect this loader with the ``cores`` that it loads, and with the streams around both."""
        forward(outside, i, self.i)
        forward(outside, self.tasks, cores.i)
        forward(outside, cores.o, self.results)
        forward(outside, self.o, o)
        outside.d.comb += [
            self.first.eq(cores.first),
            self.idle.eq(cores.idle),
            cores.load.eq(self.load),
        ]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.m = m
        self.tag = Signal(TAG_BITS)
        # what is written: where, and whether
        self.on = Signal()
        self.target, self.address = Signal(TARGET_BITS), Signal(ADDRESS_BITS)
        self.data = Signal(DATA_BITS)
        # one assignment of all of it: parts of it would be constant processes, which Verilog never runs
        m.d.comb += self.load.as_value().eq(Cat(self.on, self.target, self.address, self.data))
        # so many cycles in which nothing is under way
        self.quiet = Signal(range(SETTLED + 1))
        with m.If(~self.idle | self.results.valid):
            m.d.sync += self.quiet.eq(0)
        with m.Elif(self.quiet != SETTLED):
            m.d.sync += self.quiet.eq(self.quiet + 1)
        forward(m, self.results, self.o)
        m.d.comb += self.tasks.payload.eq(self.i.payload)
        self.prepare()
        with m.FSM(init=self.initial):
            self.states()
            with m.State("PASS"):
                self._pass()
        return m

    initial = "PASS"
    """The state after a reset."""

    def prepare(self) -> None:
        """Whatever stands beside the machine."""

    @abstractmethod
    def states(self) -> None:
        """The states of the machine but for ``PASS``."""

    def settled(self) -> Value:
        """Whether all tasks before were answered."""
        return self.quiet == SETTLED

    def _pass(self) -> None:
        """Tasks go to the cores, until such a packet comes."""
        m, lanes = self.m, self.format.task.lanes
        beat = self.i.payload
        keep = beat[self.format.task.lane_bits - 1] if lanes > 1 else Const(1)
        loads = self.first & keep & (beat[:FUNCTION_BITS] == self.code)
        m.d.comb += [
            self.tasks.valid.eq(self.i.valid & ~loads),
            self.i.ready.eq(self.tasks.ready | loads),
        ]
        m.d.sync += self.tag.eq(beat[FUNCTION_BITS : FUNCTION_BITS + TAG_BITS])
        with m.If(self.i.valid & loads):
            # what its words are waited for may be soon
            m.d.sync += self.quiet.eq(0)
            m.next = "BEGIN"

    def answer(self, flags: Value, told: Value | None = None) -> None:
        """Offer an answer: a header with these flags, and what is ``told`` above it."""
        m, answers = self.m, self.format.result
        header = [Const(self.code, FUNCTION_BITS), self.tag, flags]
        answer = Signal(answers.row_bits)
        m.d.comb += answer.eq(Cat(*header, *([told] if told is not None else [])))
        if answers.lanes > 1:
            m.d.comb += answer[answers.lane_bits - 1].eq(1)
        m.d.comb += [self.o.valid.eq(1), self.o.payload.eq(answer)]
