# amaranth: UnusedElaboratable=no
"""Loading parameters: tasks that do so write the constants that parameters are, of a program that is there from the
beginning. A reset brings the nominal values back, which memories keep."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Mux, Signal, Value, signed
from amaranth.lib.memory import Memory

from rbdgen.machines.engine.core import Core
from rbdgen.protocol.loading import ADDRESS_BITS, CONSTANT
from rbdgen.protocol.tasks import CALIBRATE, FLAG_BITS, NUMBER_BITS, Flag, TaskFormat
from rbdgen_hw.engine.loader import Loader

NOMINAL, LOWER, UPPER = range(3)
"""What is known of a parameter, by its place in a table of four words each."""


class ParameterLoader(Loader):
    """Writes parameters whose ``nominal`` raw values are these."""

    module_name = "parameters"
    initial = "RESTORE"

    def __init__(self, tasks: TaskFormat, core: Core, nominal: tuple[int, ...]) -> None:
        super().__init__(tasks, CALIBRATE)
        self.core = core
        self.nominal = nominal

    def prepare(self) -> None:
        """What is known of all parameters; ``known`` is that of the ``number`` and ``place`` of the cycle before."""
        m = self.m
        self.number = Signal(NUMBER_BITS)
        self.place = Signal(2)
        self.given = Signal(signed(self.core.width))
        self.legal = Signal()
        init: list[int] = []
        for word, nominal in zip(self.format.parameters, self.nominal, strict=True):
            # the fourth word of each is none
            init += [nominal, *word.codes, 0]
        table = Memory(shape=signed(self.core.width), depth=len(init), init=init)
        m.submodules.table = table
        reading = table.read_port()
        self.known = reading.data
        m.d.comb += [
            reading.addr.eq(Cat(self.place, self.number)),
            self.target.eq(CONSTANT),
            self.address.eq(self._address()),
        ]

    def states(self) -> None:
        m, beat = self.m, self.i.payload
        last = len(self.format.parameters) - 1
        with m.State("RESTORE"):
            m.next = "RESTORED"
        with m.State("RESTORED"):
            m.d.comb += [self.on.eq(1), self.data.eq(self.known)]
            m.d.sync += self.number.eq(self.number + 1)
            m.next = "RESTORE"
            with m.If(self.number == last):
                m.next = "PASS"
        with m.State("BEGIN"):
            m.d.comb += self.i.ready.eq(1)
            m.d.sync += [self.number.eq(beat[:NUMBER_BITS]), self.place.eq(LOWER)]
            with m.If(self.i.valid):
                m.next = "VALUE"
        with m.State("VALUE"):
            m.d.comb += self.i.ready.eq(1)
            m.d.sync += self.given.eq(beat[: self.core.width].as_signed())
            with m.If(self.i.valid):
                m.next = "WAIT"
        with m.State("WAIT"), m.If(self.settled()):
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
            self.answer(Mux(self.legal, 0, Const(int(Flag.RANGE), FLAG_BITS)))
            m.d.comb += [self.on.eq(self.legal & self.o.ready), self.data.eq(self.given)]
            with m.If(self.o.ready):
                m.next = "PASS"

    def _address(self) -> Value:
        """Where a parameter stands: constants go from bank to bank, and parameters are the first of them."""
        core = self.core
        within = (core.banks - 1).bit_length()
        bank = Cat(self.number[:within], Const(0, core.bank_bits - within))
        place = Cat(bank, self.number[within:])
        return Cat(place, Const(0, ADDRESS_BITS - len(place)))
