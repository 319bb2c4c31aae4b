"""A lean core's special unit: it looks up sines, cosines and reciprocals, of which lanes make the rest, and finds where
a number's highest bit is. It has no multiplier, and few registers: a call's argument stands still while its words leave
one after the other, at the times of :mod:`rbdgen.machines.engine.core`."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.memory import Memory

from rbdgen.ir.number_formats import Format
from rbdgen.ir.ops.reciprocals import reciprocal_table
from rbdgen.ir.ops.sines import sine_table
from rbdgen.machines.engine.core import ANGLE_POINT, LEAN_INVERSE, LEAN_SINES, SIGNED, Core
from rbdgen.machines.engine.special import LEAN_ADDRESS_BITS, TABLE_BITS
from rbdgen_hw.engine.special import COARSEST, LOST, rounded, unit_ports
from rbdgen_hw.library import SharedComponent
from rbdgen_hw.logic import registered, selected

ENTRY = Format(TABLE_BITS, ANGLE_POINT)
"""Of sines and of reciprocals."""


class LeanUnit(SharedComponent):
    """Takes an ``argument`` with a ``call`` in one cycle, and no other in the cycles in which that one's words leave.
    ``inverse``: a positive number, or any whose sign is asked for where ``shift`` is not zero; else an angle in quarter
    turns. ``result`` has its words at their times, ``lost`` says so many cycles later that a number has no inverse."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.module_name = f"lean_special_{core.width}"
        super().__init__(unit_ports(core))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.m = m
        self.held = Signal(signed(self.core.width), reset_less=True)
        is_inverse, is_sign = Signal(), Signal()
        with m.If(self.call):
            m.d.sync += [
                self.held.eq(self.argument),
                is_inverse.eq(self.inverse),
                is_sign.eq(self.shift.any()),
            ]
        # the cycle of the call that is under way
        self.at: list[Value] = [self.call]
        for k in range(LEAN_INVERSE[-1]):
            self.at.append(registered(m, self.at[-1], f"at_{k + 1}"))
        # one table: a call needs the sines or the reciprocals
        self.address = Signal(LEAN_ADDRESS_BITS + 1)
        self.entry = self._table()
        sines, inverse = self._sines(), self._inverse(is_inverse & ~is_sign)
        m.d.comb += self.address.eq(
            Cat(Mux(is_inverse, self.mantissa_at, self.angle_at), is_inverse)
        )
        words = []
        for times, found, chosen in (
            (LEAN_SINES, sines, ~is_inverse),
            (LEAN_INVERSE, inverse, is_inverse & ~is_sign),
            ((SIGNED,), [self._sign()], is_inverse & is_sign),
        ):
            for time, word in zip(times, found, strict=True):
                words.append((self.at[time] & chosen, word))
        strobes, values = zip(*words, strict=True)
        m.d.comb += self.result.eq(selected(strobes, values))
        return m

    def _table(self) -> Value:
        """The entry of the table, a cycle after its address: sines, and behind them reciprocals."""
        bits = LEAN_ADDRESS_BITS
        contents = [*sine_table(bits, ENTRY), *reciprocal_table(bits, ENTRY)]
        width = max(contents).bit_length()
        attributes = {"ram_style": "block"}
        table = Memory(shape=width, depth=len(contents), init=contents, attrs=attributes)
        self.m.submodules.table = table
        port = table.read_port()
        self.m.d.comb += port.addr.eq(self.address)
        # all entries are positive
        return Cat(port.data, Const(0, 1)).as_signed()

    def _sines(self) -> list[Value]:
        """Sine and cosine of the middle of an angle's interval, and the rest."""
        m, bits = self.m, LEAN_ADDRESS_BITS
        below = ANGLE_POINT - bits
        # the cosine is the sine a quarter ahead, for which the table is read a cycle later
        ahead = self.at[LEAN_SINES[1] - 1]
        quadrant = (self.held[ANGLE_POINT : ANGLE_POINT + 2] + ahead)[:2]
        self.angle_at = self.held[below:ANGLE_POINT] ^ quadrant[0].replicate(bits)
        entry = self.entry
        minus = registered(m, quadrant[1], "minus")
        # one carry chain: without its sign turned, plus one
        turned = (entry ^ minus.replicate(len(entry)).as_signed()) + minus
        value = turned[: len(entry)].as_signed()
        rest = Cat(self.held[: below - 1], ~self.held[below - 1]).as_signed()
        return [value, value, rest]

    def _inverse(self, called: Value) -> list[Value]:
        """The reciprocal of the middle of a mantissa's interval, the power of two, and the distance from the middle."""
        m, core, bits = self.m, self.core, LEAN_ADDRESS_BITS
        top = core.width - 2
        mantissa, place = self._normal()
        below = top - bits
        self.mantissa_at = mantissa[below:top]
        power = Signal(core.width)
        for k in range(core.width):
            m.d.comb += power[k].eq(place == core.power_point - k)
        small = place <= core.power_point - (core.width - 1)
        nothing = self.held[-1] | ~self.held[:-1].any()
        m.d.comb += self.lost.eq(self.at[LOST] & called & (nothing | small))
        rest = Cat(mantissa[: below - 1], ~mantissa[below - 1]).as_signed()
        return [self.entry, power.as_signed(), rounded(rest, top - ANGLE_POINT)]

    def _sign(self) -> Value:
        """1 or -1."""
        above = self.held[-1].replicate(self.core.width - ANGLE_POINT - 1)
        return Cat(Const(0, ANGLE_POINT), Const(1, 1), above).as_signed()

    def _normal(self) -> tuple[Value, Value]:
        """The argument moved left until its highest bit is in the highest place, and the place where that was, from the
        second cycle after a call on. One that is not positive is taken for the smallest one."""
        m = self.m
        bits = self.core.width - 1
        negative, nothing = self.held[-1], ~self.held[:-1].any()
        lowest = self.held[0] & ~negative | negative | nothing
        word: Value = Cat(lowest, self.held[1:-1] & (~negative).replicate(bits - 1))
        moved: list[Value] = []
        for step in [1 << k for k in reversed(range((bits - 1).bit_length()))]:
            if step == COARSEST:
                word = registered(m, word, "coarse", reset_less=True)
                moved = [registered(m, z, f"moved_{k}", True) for k, z in enumerate(moved)]
            empty = ~word[bits - step :].any()
            word = Mux(empty, (word << step)[:bits], word)
            moved.append(empty)
        distance = Cat(*reversed(moved))
        return word, (bits - 1 - distance)[: len(distance)]
