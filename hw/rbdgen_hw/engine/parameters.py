# amaranth: UnusedElaboratable=no
"""Loading parameters: tasks that do so are kept from an engine's cores, and write the constants that parameters are.

Such a task waits until all before it are answered. A reset brings the nominal values back, which memories keep.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.loading import ADDRESS_BITS, COLUMN_BITS, CONSTANT, TARGET_BITS
from rbdgen.protocol.tasks import (
    CALIBRATE,
    FLAG_BITS,
    FUNCTION_BITS,
    NUMBER_BITS,
    TAG_BITS,
    Flag,
    TaskFormat,
)
from rbdgen_hw.engine.loading import LOAD
from rbdgen_hw.library import SharedComponent, forward

SETTLED = 16
"""Cycles without a task and a result in the engine, after which none is on its way through a FIFO."""
NOMINAL, LOWER, UPPER = range(3)
"""What is known of a parameter, by its place in a table of four words each."""


class ParameterLoader(SharedComponent):
    """Between the streams ``i`` and ``o`` and those of cores, ``tasks`` and ``results``. ``first``: a header comes
    next; ``idle``: cores have no task. ``load`` writes into memories."""

    module_name = "parameters"

    def __init__(self, tasks: TaskFormat, core: Core, nominal: tuple[int, ...]) -> None:
        self.format = tasks
        self.core = core
        self.nominal = nominal
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

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.m = m
        self.number = Signal(NUMBER_BITS)
        self.place = Signal(2)
        self.given = Signal(signed(self.core.width))
        self.tag = Signal(TAG_BITS)
        self.legal = Signal()
        self._table()
        self._steps()
        return m

    def _table(self) -> None:
        """What is known of all parameters; ``known`` is that of the ``number`` and ``place`` of the cycle before."""
        m = self.m
        init: list[int] = []
        for word, nominal in zip(self.format.parameters, self.nominal, strict=True):
            # the fourth word of each is none
            init += [nominal, *word.codes, 0]
        table = Memory(shape=signed(self.core.width), depth=len(init), init=init)
        m.submodules.table = table
        reading = table.read_port()
        self.known = reading.data
        m.d.comb += reading.addr.eq(Cat(self.place, self.number))

    def _steps(self) -> None:
        """What is done, step by step."""
        m, lanes = self.m, self.format.task.lanes
        beat = self.i.payload
        keep = beat[self.format.task.lane_bits - 1] if lanes > 1 else Const(1)
        loads = self.first & keep & (beat[:FUNCTION_BITS] == CALIBRATE)
        last = len(self.format.parameters) - 1
        quiet = Signal(range(SETTLED + 1))
        with m.If(~self.idle | self.results.valid):
            m.d.sync += quiet.eq(0)
        with m.Elif(quiet != SETTLED):
            m.d.sync += quiet.eq(quiet + 1)
        forward(m, self.results, self.o)
        m.d.comb += self.tasks.payload.eq(beat)
        # one assignment of all of it: parts of it would be constant processes, which Verilog never runs
        on, data = Signal(), Signal(COLUMN_BITS)
        m.d.comb += self.load.as_value().eq(
            Cat(on, Const(CONSTANT, TARGET_BITS), self._address(), data)
        )
        with m.FSM():
            with m.State("RESTORE"):
                m.next = "RESTORED"
            with m.State("RESTORED"):
                m.d.comb += [on.eq(1), data.eq(self.known)]
                m.d.sync += self.number.eq(self.number + 1)
                m.next = "RESTORE"
                with m.If(self.number == last):
                    m.next = "PASS"
            with m.State("PASS"):
                m.d.comb += [
                    self.tasks.valid.eq(self.i.valid & ~loads),
                    self.i.ready.eq(self.tasks.ready | loads),
                ]
                m.d.sync += [
                    self.tag.eq(beat[FUNCTION_BITS : FUNCTION_BITS + TAG_BITS]),
                    self.place.eq(LOWER),
                ]
                with m.If(self.i.valid & loads):
                    m.next = "NUMBER"
            with m.State("NUMBER"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += self.number.eq(beat[:NUMBER_BITS])
                with m.If(self.i.valid):
                    m.next = "VALUE"
            with m.State("VALUE"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += self.given.eq(beat[: self.core.width].as_signed())
                with m.If(self.i.valid):
                    m.d.sync += quiet.eq(0)
                    m.next = "WAIT"
            with m.State("WAIT"), m.If(quiet == SETTLED):
                m.d.sync += [
                    self.legal.eq((self.number <= last) & (self.given >= self.known)),
                    self.place.eq(UPPER),
                ]
                m.next = "UPPER"
            with m.State("UPPER"):
                m.next = "COMPARE"
            with m.State("COMPARE"):
                m.d.sync += self.legal.eq(self.legal & (self.given <= self.known))
                m.next = "ANSWER"
            with m.State("ANSWER"):
                flags = Mux(self.legal, 0, Const(int(Flag.RANGE), FLAG_BITS))
                header = Cat(Const(CALIBRATE, FUNCTION_BITS), self.tag, flags)
                answers = self.format.result
                answer = Signal(answers.row_bits)
                m.d.comb += answer.eq(header)
                if lanes > 1:
                    m.d.comb += answer[answers.lane_bits - 1].eq(1)
                m.d.comb += [
                    on.eq(self.legal & self.o.ready),
                    data.eq(self.given),
                    self.o.valid.eq(1),
                    self.o.payload.eq(answer),
                ]
                with m.If(self.o.ready):
                    m.next = "PASS"

    def _address(self) -> Value:
        """Where a parameter stands: constants go from bank to bank, and parameters are the first of them."""
        core = self.core
        within = (core.banks - 1).bit_length()
        bank = Cat(self.number[:within], Const(0, core.bank_bits - within))
        place = Cat(bank, self.number[within:])
        return Cat(place, Const(0, ADDRESS_BITS - len(place)))
