# amaranth: UnusedElaboratable=no
"""The special unit: sines and cosines, mantissas of reciprocals and powers of two, and signs, one after the other, with
one multiplier of 18 x 18 bits. Its times are those of :mod:`rbdgen.machines.engine.core`, its bits those of
:mod:`rbdgen.machines.engine.special`."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rbdgen.ir.number_formats import Format
from rbdgen.ir.ops.reciprocals import reciprocal_table
from rbdgen.ir.ops.sines import sine_table
from rbdgen.machines.engine.core import (
    ANGLE_POINT,
    COSINE,
    INVERSE_STEPS,
    MANTISSA,
    POWER,
    SIGNED,
    SINE,
    SINE_STEPS,
    STEP,
    Core,
)
from rbdgen.machines.engine.special import (
    ADDRESS_BITS,
    EXACT,
    FACTOR,
    MANTISSA_POINT,
    QUARTER,
    RECIPROCAL_POINT,
    SHORT,
    SINE_POINT,
    STEP_POINT,
    TABLE_BITS,
)
from rbdgen_hw.library import SharedComponent, instantiate
from rbdgen_hw.logic import delayed, registered, selected
from rbdgen_hw.operators import Multiplier, Rounding, Sum

PRODUCT_CYCLES = 2
COARSEST = 4
"""Places of the first move that a number makes in the second cycle, when it is moved to its highest place."""
LOST = 4
"""Cycles after a call in which it is said that there is no result."""
SIZE = 1 << ADDRESS_BITS


def rounded(value: Value, drop: int) -> Value:
    """A value without so many low bits, rounded half up."""
    return ((value >> (drop - 1)) + 1) >> 1 if drop else value


def unit_ports(core: Core) -> dict[str, Any]:
    """Ports of a special unit of any kind."""
    return {
        "argument": In(signed(core.width)),
        "call": In(1),
        "inverse": In(1),
        "shift": In(2),
        "result": Out(signed(core.width)),
        "lost": Out(1),
    }


class SpecialUnit(SharedComponent):
    """Takes an ``argument`` with a ``call`` in one cycle. ``inverse``: a positive number, or any whose sign is
    asked for where ``shift`` is not zero; else an angle in quarter turns that is moved left by ``shift`` steps.
    ``result`` has its results at their times, ``lost`` says :data:`LOST` cycles later that there is none."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.module_name = f"special_{core.width}"
        super().__init__(unit_ports(core))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.m = m
        last = max(SINE, COSINE, MANTISSA, POWER)
        self.sine_at = self._stages(self.call & ~self.inverse, last, "sines")
        signs = self.shift.any()
        self.inverse_at = self._stages(self.call & self.inverse & ~signs, last, "inverse")
        self.sign_at = self._stages(self.call & self.inverse & signs, SIGNED, "sign")
        self.argument_1 = registered(
            m,
            self.argument,
            "argument_1",
            reset_less=True,
        )
        self.multiplier = Multiplier(FACTOR, FACTOR, PRODUCT_CYCLES)
        instantiate(m, platform, "multiplier", self.multiplier)
        self.platform = platform
        self.factors: list[tuple[Value, Value, Value]] = []
        self.step = self._step()
        outcomes = [*self._sines(), *self._inverse(), self._sign()]
        strobes = [strobe for strobe, _, _ in self.factors]
        m.d.comb += [
            self.multiplier.a.eq(selected(strobes, [a for _, a, _ in self.factors])),
            self.multiplier.b.eq(selected(strobes, [b for _, _, b in self.factors])),
            self.result.eq(selected([s for s, _ in outcomes], [x for _, x in outcomes])),
        ]
        return m

    def _stages(
        self,
        call: Value,
        last: int,
        name: str,
    ) -> list[Value]:
        """For each cycle after a call whether it is that."""
        stages: list[Value] = [call]
        for k in range(last):
            stages.append(registered(self.m, stages[-1], f"{name}_{k + 1}"))
        return stages

    def _multiply(
        self,
        strobe: Value,
        a: Value,
        b: Value,
    ) -> Value:
        """Multiply two factors in a cycle; their product is there two cycles later."""
        self.factors.append((strobe, a, b))
        return self.multiplier.p

    def _held(
        self,
        value: Value,
        cycles: int,
        name: str,
    ) -> Value:
        """A value of so many cycles before."""
        return delayed(
            self.m,
            value,
            cycles,
            name,
        )

    def _table(
        self,
        name: str,
        contents: list[int],
        address: Value,
    ) -> Value:
        """The entry of a table, a cycle after its address."""
        table = Memory(shape=TABLE_BITS, depth=SIZE, init=contents, attrs={"ram_style": "block"})
        self.m.submodules[name] = table
        port = table.read_port()
        self.m.d.comb += port.addr.eq(address)
        return port.data

    def _rounded_sum(
        self,
        name: str,
        op: str,
        one: Value,
        other: Value,
        points: tuple[int, int],
        result: Format,
    ) -> Value:
        """A sum or difference of two numbers with so many bits behind the point, rounded into a register."""
        args = Format(len(one), points[0]), Format(len(other), points[1])
        # one carry chain
        made = Sum(op, args, Rounding(max(points), result, may_overflow=False))
        instantiate(self.m, self.platform, name, made)
        self.m.d.comb += [made.a.eq(one), made.b.eq(other)]
        return registered(
            self.m,
            made.y,
            f"{name}_done",
            reset_less=True,
        )

    def _step(self) -> Value:
        """The first product of either call, rounded: u."""
        drops = {ANGLE_POINT + SHORT - EXACT, MANTISSA_POINT + FACTOR - 1 - EXACT}
        (drop,) = drops
        step = rounded(self.multiplier.p >> drop, EXACT - STEP_POINT)[:FACTOR].as_signed()
        return registered(
            self.m,
            step,
            "step",
            reset_less=True,
        )

    def _sines(self) -> list[tuple[Value, Value]]:
        """Sine and cosine, with their strobes. The table is read for one after the other."""
        m = self.m
        shift = registered(m, self.shift, "shift")
        angle = Signal(signed(self.core.width))
        with m.Switch(shift):
            for code in range(4):
                with m.Case(code):
                    m.d.comb += angle.eq(self.argument_1 << code * STEP)
        below = ANGLE_POINT - ADDRESS_BITS
        own = angle[below : ANGLE_POINT + 2]
        before = registered(
            m,
            own,
            "place",
            reset_less=True,
        )
        # the cosine is the sine a quarter ahead, where quadrants are numbered one further
        is_cosine = self.sine_at[2]
        place = Mux(is_cosine, before, own)
        quadrant = (place[ADDRESS_BITS:] + is_cosine)[:2]
        index = place[:ADDRESS_BITS] ^ quadrant[0].replicate(ADDRESS_BITS)
        table = list(sine_table(ADDRESS_BITS, Format(TABLE_BITS, SINE_POINT)))
        entry = self._table("sine_table", table, index)
        entry = registered(
            m,
            entry,
            "sine_entry",
            reset_less=True,
        )
        minus = delayed(
            m,
            quadrant[1],
            2,
            "minus_",
        )
        signed_entry = Mux(minus, -entry.as_signed(), entry.as_signed())[:TABLE_BITS].as_signed()
        # the sine in the fourth cycle of a call, the cosine in the fifth
        value = registered(
            m,
            signed_entry,
            "value",
            reset_less=True,
        )
        short = rounded(value, SINE_POINT - SHORT)[:FACTOR].as_signed()
        short = registered(
            m,
            short,
            "value_short",
            reset_less=True,
        )
        ages = [value]
        for k in range(SINE_STEPS[4] + PRODUCT_CYCLES - 4):
            ages.append(
                registered(
                    m,
                    ages[-1],
                    f"value_{k + 1}",
                    reset_less=True,
                )
            )
        rest = Cat(angle[: below - 1], ~angle[below - 1]).as_signed()
        rest_2 = registered(
            m,
            rest,
            "rest",
            reset_less=True,
        )
        quarter = Const(round(QUARTER * 2**SHORT), signed(FACTOR))
        self._multiply(self.sine_at[SINE_STEPS[0]], rest_2, quarter)
        # u is there in the fifth cycle
        steps = [self.step]
        for k in range(SINE_STEPS[4] - 5):
            steps.append(
                registered(
                    m,
                    steps[-1],
                    f"step_{k + 1}",
                    reset_less=True,
                )
            )
        slopes = []
        for k, op in enumerate(("sub", "add")):
            at = SINE_STEPS[1 + k]
            # each short factor is there in the very cycle
            product = self._multiply(self.sine_at[at], steps[k], short)
            done = at + PRODUCT_CYCLES
            # for the sine's slope the cosine, which is a cycle younger
            opposite = ages[done - (5, 4)[k]]
            inner = (product >> STEP_POINT + 1 + SHORT - SINE_POINT).as_signed()
            points = SINE_POINT, SINE_POINT
            slopes.append(
                self._rounded_sum(f"slope{k}", op, opposite, inner, points, Format(FACTOR, SHORT))
            )
        outcomes = []
        for k, (op, time) in enumerate((("add", SINE), ("sub", COSINE))):
            at = SINE_STEPS[3 + k]
            ready = SINE_STEPS[1 + k] + PRODUCT_CYCLES + 1
            slope = self._held(slopes[k], at - ready, f"slope{k}_later")
            product = self._multiply(self.sine_at[at], steps[at - 5], slope)
            done = at + PRODUCT_CYCLES
            beside = ages[done - (4, 5)[k]]
            outer = (product >> STEP_POINT + SHORT - SINE_POINT).as_signed()
            result = Format(self.core.width, ANGLE_POINT)
            points = SINE_POINT, SINE_POINT
            assert done + 1 == time
            outcome = self._rounded_sum(f"outcome{k}", op, beside, outer, points, result)
            outcomes.append((self.sine_at[time], outcome))
        return outcomes

    def _sign(self) -> tuple[Value, Value]:
        """1 or -1, with its strobe."""
        negative = registered(
            self.m,
            self.argument_1[-1],
            "negative",
            reset_less=True,
        )
        above = negative.replicate(self.core.width - ANGLE_POINT - 1)
        return self.sign_at[SIGNED], Cat(Const(0, ANGLE_POINT), Const(1, 1), above).as_signed()

    def _normal(self, x: Value) -> tuple[Value, Value]:
        """A number in the cycle after a call, moved left until its highest bit is in the highest place, and the place
        where that was, two cycles later. One that is not positive is taken for the smallest one."""
        m, core = self.m, self.core
        bits = core.width - 1
        negative, nothing = x[-1], ~x[:-1].any()
        lost = negative | nothing
        word: Value = Cat(x[0] & ~negative | lost, x[1:-1] & (~negative).replicate(bits - 1))
        steps = [1 << k for k in reversed(range((bits - 1).bit_length()))]
        moved: list[Value] = []
        for step in steps:
            if step == COARSEST:
                word = registered(
                    m,
                    word,
                    "coarse",
                    reset_less=True,
                )
                moved = [
                    registered(
                        m,
                        z,
                        f"moved_{k}",
                        True,
                    )
                    for k, z in enumerate(moved)
                ]
            empty = ~word[bits - step :].any()
            word = Mux(empty, (word << step)[:bits], word)
            moved.append(empty)
        distance = Cat(*reversed(moved))
        place = (bits - 1 - distance)[: len(distance)]
        place_3 = registered(
            m,
            place,
            "place_3",
            reset_less=True,
        )
        small = place_3 <= core.power_point - (core.width - 1)
        lost_3 = delayed(
            m,
            lost,
            2,
            "lost_",
        )
        m.d.comb += self.lost.eq(self.inverse_at[LOST] & registered(m, lost_3 | small, "bad"))
        return registered(
            m,
            word,
            "normal_3",
            reset_less=True,
        ), place_3

    def _inverse(self) -> list[tuple[Value, Value]]:
        """Mantissa and power of two, with their strobes."""
        m, core = self.m, self.core
        top = core.width - 2
        normal_3, place_3 = self._normal(self.argument_1)
        power = Signal(core.width)
        for k in range(core.width):
            m.d.comb += power[k].eq(place_3 == core.power_point - k)
        power_5 = self._held(power, POWER - 3, "power_")
        below = top - ADDRESS_BITS
        contents = list(reciprocal_table(ADDRESS_BITS, Format(TABLE_BITS, RECIPROCAL_POINT)))
        entry = self._table("reciprocal_table", contents, normal_3[below:top])
        rest = Cat(normal_3[: below - 1], ~normal_3[below - 1]).as_signed()
        distance = rounded(rest, top - MANTISSA_POINT)[:FACTOR].as_signed()
        distance_5 = delayed(
            m,
            distance,
            2,
            "distance_",
        )
        found = registered(
            m,
            entry.as_signed(),
            "reciprocal_entry",
            reset_less=True,
        )
        short = rounded(found, RECIPROCAL_POINT - FACTOR + 1)[:FACTOR].as_signed()
        at = INVERSE_STEPS
        self._multiply(self.inverse_at[at[0]], distance_5, short)
        product = self._multiply(self.inverse_at[at[1]], self.step, self.step)
        square = (product >> 2 * STEP_POINT - EXACT).as_signed()
        step_9 = self._held(self.step, PRODUCT_CYCLES, "step_inverse_")
        points = STEP_POINT, EXACT
        factor = Format(FACTOR, STEP_POINT)
        change = self._rounded_sum("change", "sub", step_9, square, points, factor)
        short_10 = self._held(short, at[2] - at[0], "short_")
        product = self._multiply(self.inverse_at[at[2]], short_10, change)
        beside = self._held(found, at[2] + PRODUCT_CYCLES - at[0], "found_")
        less = (product >> FACTOR - 1 + STEP_POINT - EXACT).as_signed()
        points = RECIPROCAL_POINT, EXACT
        result = Format(core.width, ANGLE_POINT)
        mantissa = self._rounded_sum("mantissa", "sub", beside, less, points, result)
        return [
            (self.inverse_at[MANTISSA], mantissa),
            (self.inverse_at[POWER], power_5.as_signed()),
        ]
