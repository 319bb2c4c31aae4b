"""Arithmetic operators: each rounds and saturates exactly as :mod:`rbdgen.ir.interpret` does.

One component per operation; its formats are its parameters and its module's name. ``overflow`` exists only where the
formats allow the result to saturate. All are combinational unless said otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rbdgen.ir.fixed import Constant, Format, reciprocal_table, sine_table
from rbdgen_hw.library import Shape


@dataclass(frozen=True)
class Rounding:
    """From an exact value with binary point ``frac`` to ``result``; ``saturates`` says whether it can overflow.

    ``truncates``: bits are dropped instead of rounded half up. ``wraps``: what overflows is cut instead of saturated.
    """

    frac: int
    result: Format
    saturates: bool
    truncates: bool = False
    wraps: bool = False

    @property
    def drop(self) -> int:
        """Bits rounded away."""
        return self.frac - self.result.frac


def _finish(m: Module, exact: Value, rounding: Rounding, y: Signal, overflow: Signal | None) -> None:
    """Round ``exact`` by ``rounding`` into ``y``, saturating into ``overflow``."""
    fmt, drop = rounding.result, rounding.drop
    if drop and rounding.truncates:
        rounded = Signal(signed(max(len(exact) - drop, fmt.width)), name="rounded")
        m.d.comb += rounded.eq(exact >> drop)
    elif drop:
        rounded = Signal(signed(max(len(exact) + 1 - drop, fmt.width)), name="rounded")
        m.d.comb += rounded.eq((exact + (1 << (drop - 1))) >> drop)
    else:
        rounded = Signal(signed(max(len(exact), fmt.width)), name="rounded")
        m.d.comb += rounded.eq(exact)
    if overflow is None:
        m.d.comb += y.eq(rounded)
        return
    negative = rounded[-1]
    limit = Mux(negative, Const(fmt.minimum, signed(fmt.width)), Const(fmt.maximum, signed(fmt.width)))
    m.d.comb += [
        # the value fits where all bits from the result's sign bit upwards are equal
        overflow.eq(rounded[fmt.width - 1 :] != negative.replicate(len(rounded) - fmt.width + 1)),
        y.eq(rounded if rounding.wraps else Mux(overflow, limit, rounded[: fmt.width].as_signed())),
    ]


def _outputs(result: Format, saturates: bool) -> dict:
    ports = {"y": Out(signed(result.width))}
    if saturates:
        ports["overflow"] = Out(1)
    return ports


class Sum(Shape):
    """y = a + b, a − b or, with one argument, −a or a itself (``op``: add, sub, neg, round).

    Of an add, the arguments in the positions ``signed_args`` have signs of their own: it subtracts a where ``minus_a``
    is high, b where ``minus_b`` is, never both at once. Equal up to a common move of all binary points, two sums are
    one shape.
    """

    clocked = False

    def __init__(
        self, op: str, args: tuple[Format, ...], rounding: Rounding, signed_args: tuple[int, ...] = ()
    ) -> None:
        self.op, self.rounding = op, rounding
        self.places = tuple(rounding.frac - f.frac for f in args)
        self.minus = tuple("ab"[position] for position in signed_args)
        words = [f"{f.width}l{places}" for f, places in zip(args, self.places, strict=True)]
        label = "".join([op, *(f"_minus{side}" for side in self.minus)])
        self.shape_name = "_".join([label, *words, _rounding_label(rounding)])
        super().__init__(
            dict(zip("ab", (In(signed(f.width)) for f in args), strict=False))
            | {f"minus_{side}": In(1) for side in self.minus}
            | _outputs(rounding.result, rounding.saturates)
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        terms = [getattr(self, n) << places for n, places in zip("ab", self.places, strict=False)]
        exact = {
            "add": lambda: self._added(terms),
            "sub": lambda: terms[0] - terms[1],
            "neg": lambda: -terms[0],
            "round": lambda: terms[0],
        }
        _finish(m, exact[self.op](), self.rounding, self.y, getattr(self, "overflow", None))
        return m

    def _added(self, terms: list[Value]) -> Value:
        """The sum of two terms. What is subtracted is inverted, and the one that this lacks is carried in: there is
        one adder whatever the signs."""
        if not self.minus:
            return terms[0] + terms[1]
        flags = {side: getattr(self, f"minus_{side}") for side in self.minus}
        a, b = (
            term ^ flags[side].replicate(len(term)).as_signed() if side in flags else term
            for side, term in zip("ab", terms, strict=True)
        )
        carry = Cat(*flags.values()).any()
        return (Cat(1, a).as_signed() + Cat(carry, b).as_signed()) >> 1


class Product(Shape):
    """The exact product p = a · b, with ``cycles`` registers behind it."""

    def __init__(self, a: int, b: int, cycles: int) -> None:
        self.cycles = cycles
        self.clocked = cycles > 0
        self.shape_name = f"product_{a}x{b}" + (f"_r{cycles}" if cycles else "")
        super().__init__({"a": In(signed(a)), "b": In(signed(b)), "p": Out(signed(a + b))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        value: Value = self.a * self.b
        for k in range(self.cycles):
            stage = Signal(signed(len(self.p)), name=f"p{k}", reset_less=True)
            m.d.sync += stage.eq(value)
            value = stage
        m.d.comb += self.p.eq(value)
        return m


class Round(Shape):
    """y = the exact value x, ``width`` bits, rounded and saturated."""

    clocked = False

    def __init__(self, width: int, rounding: Rounding) -> None:
        self.rounding = rounding
        self.shape_name = f"round_{width}_{_rounding_label(rounding)}"
        super().__init__({"x": In(signed(width))} | _outputs(rounding.result, rounding.saturates))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        _finish(m, self.x, self.rounding, self.y, getattr(self, "overflow", None))
        return m


class Scale(Shape):
    """y = a · constant, as shifts and adds of the constant's canonical signed digits in a balanced tree. ``stages``:
    the tree's levels between registers; one stage is combinational."""

    def __init__(self, arg: Format, constant: Constant, rounding: Rounding, stages: tuple[int, ...] = ()) -> None:
        self.constant, self.rounding, self.stages = constant, rounding, stages
        self.clocked = len(stages) > 1
        registers = "_r" + "".join(map(str, stages)) if self.clocked else ""
        self.shape_name = f"scale_{arg.width}_by{constant.mantissa}_{_rounding_label(rounding)}{registers}"
        super().__init__({"a": In(signed(arg.width))} | _outputs(rounding.result, rounding.saturates))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        terms = [(sign, place, self.a) for sign, place in sorted(self.constant.digits, key=lambda digit: digit[1])]
        cuts, level = set(accumulate(self.stages[:-1])), 0
        while len(terms) > 1:
            pairs = [_join(terms[k], terms[k + 1]) for k in range(0, len(terms) - 1, 2)]
            terms, level = pairs + terms[len(pairs) * 2 :], level + 1
            if level in cuts:
                terms = [(sign, place, _register(m, value)) for sign, place, value in terms]
        sign, place, value = terms[0]
        exact = Signal(signed(len(self.a) + self.constant.mantissa.bit_length() + 1))
        m.d.comb += exact.eq((value if sign > 0 else -value) << place)
        _finish(m, exact, self.rounding, self.y, getattr(self, "overflow", None))
        return m


def _register(m: Module, value: Value) -> Signal:
    """``value``, one clock later."""
    register = Signal(value.shape(), name="stage", reset_less=True)
    m.d.sync += register.eq(value)
    return register


def _join(low: tuple[int, int, Value], high: tuple[int, int, Value]) -> tuple[int, int, Value]:
    """The sum of two terms (sign, place, value), each sign · value · 2^place, ``low`` having the lower place.

    The low term is never what is subtracted, so that its bits below the high one need no adder.
    """
    sign, place, value = low
    moved = high[2] << (high[1] - place)
    return sign, place, value + moved if high[0] == sign else value - moved


class SineTable(Shape):
    """Sine and cosine of an angle's table interval, ``cycles`` clocks later: one quarter-wave memory with two read
    ports, and registers behind it if that is more than one.

    ``place`` is the angle in intervals of 2^−address_bits quarter turns, taken modulo four quarters.
    """

    def __init__(self, address_bits: int, fmt: Format, cycles: int = 1) -> None:
        self.address_bits, self.fmt, self.cycles = address_bits, fmt, cycles
        self.shape_name = f"sine_table_{address_bits}_{_label(fmt)}_{cycles}"
        super().__init__(
            {
                "place": In(unsigned(address_bits + 2)),
                "sine": Out(signed(fmt.width)),
                "cosine": Out(signed(fmt.width)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = self.address_bits
        table = sine_table(bits, self.fmt)
        m.submodules.table = memory = _rom(self.fmt.width - 1, table)
        cosine_place = Signal(bits + 2)
        m.d.comb += cosine_place.eq(self.place + (1 << bits))
        for place, y in ((self.place, self.sine), (cosine_place, self.cosine)):
            port = memory.read_port()
            negative = _later(m, place[bits + 1], self.cycles)
            size = Cat(_later(m, port.data, self.cycles - 1), Const(0, 1)).as_signed()
            m.d.comb += [
                port.addr.eq(Mux(place[bits], ~place[:bits], place[:bits])),
                port.en.eq(1),
                y.eq(Mux(negative, -size, size)),
            ]
        return m


class ReciprocalTable(Shape):
    """Reciprocal of the middle of a table interval of [1, 2), ``cycles`` clocks later; ``place`` is the interval's
    number."""

    def __init__(self, address_bits: int, fmt: Format, cycles: int = 1) -> None:
        self.address_bits, self.fmt, self.cycles = address_bits, fmt, cycles
        self.shape_name = f"reciprocal_table_{address_bits}_{_label(fmt)}_{cycles}"
        super().__init__({"place": In(unsigned(address_bits)), "reciprocal": Out(signed(fmt.width))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        table = reciprocal_table(self.address_bits, self.fmt)
        m.submodules.table = memory = _rom(self.fmt.width - 1, table)
        port = memory.read_port()
        data = _later(m, port.data, self.cycles - 1)
        m.d.comb += [port.addr.eq(self.place), port.en.eq(1), self.reciprocal.eq(Cat(data, Const(0, 1)))]
        return m


def _rom(width: int, words: Sequence[int]) -> Memory:
    """A table in block memory: made of logic, as synthesis would a short one, it would add its levels to the way to its
    place, which the schedule gives a whole cycle."""
    return Memory(shape=unsigned(width), depth=len(words), init=words, attrs={"ram_style": "block"})


def _later(m: Module, value: Value, cycles: int) -> Value:
    """``value`` so many clocks later."""
    for k in range(cycles):
        held = Signal(len(value), name=f"later{k}", reset_less=True)
        m.d.sync += held.eq(value)
        value = held
    return value


def _aligned(m: Module, x: Value, width: int, value: Value, length: int, cycles: int) -> Value:
    """``value`` (``length`` bits) moved left by as many places as leading zeros stand below the sign of ``x``, so many
    ``cycles`` (0 or 1) later.

    ``x`` has ``width`` bits; as a negative or zero x is treated 1. Logarithmic: one multiplexer per power of two, with
    registers behind half of them.
    """
    top = Signal(width - 1, name="top")
    m.d.comb += top.eq(Mux(x > 0, x[: width - 1], 1))
    bits = max((width - 2).bit_length(), 1)
    levels = [k for k in reversed(range(bits)) if 1 << k <= width - 2]
    for number, k in enumerate(levels):
        step = 1 << k
        if cycles and number == len(levels) // 2:
            top, value = _register(m, top), _register(m, value)
        empty = Signal(name=f"empty{step}")
        next_top = Signal(width - 1, name=f"top{step}")
        next_value = Signal(signed(length), name=f"moved{step}")
        m.d.comb += [
            empty.eq(top[width - 1 - step :] == 0),
            next_top.eq(Mux(empty, top << step, top)),
            next_value.eq(Mux(empty, value << step, value)),
        ]
        top, value = next_top, next_value
    return value


class Normalise(Shape):
    """y = a moved by a power of two into [1, 2), cut to ``result``; ``overflow`` where a is not positive; both
    ``cycles`` (0 or 1) later."""

    def __init__(self, arg: Format, result: Format, cycles: int = 0) -> None:
        self.arg, self.result, self.cycles = arg, result, cycles
        self.clocked = cycles > 0
        self.shape_name = f"normalise_{arg.width}_{result.width}" + "_r" * cycles
        super().__init__({"a": In(signed(arg.width)), "y": Out(signed(result.width)), "overflow": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        width = self.arg.width
        positive, empty = Signal(signed(width)), self.a <= 0
        m.d.comb += [self.overflow.eq(_later(m, empty, self.cycles)), positive.eq(Mux(empty, 1, self.a))]
        aligned = _aligned(m, self.a, width, positive, width, self.cycles)
        drop = width - 2 - self.result.frac
        m.d.comb += self.y.eq(aligned >> drop if drop > 0 else aligned << -drop)
        return m


class Rescale(Shape):
    """y = a times the power of two that normalises b, rounded and saturated, ``cycles`` (0 or 1) later."""

    def __init__(self, arg: Format, scale: Format, rounding: Rounding, cycles: int = 0) -> None:
        self.arg, self.scale, self.rounding, self.cycles = arg, scale, rounding, cycles
        self.clocked = cycles > 0
        self.shape_name = f"rescale_{arg.width}_{scale.width}_{_rounding_label(rounding)}" + "_r" * cycles
        super().__init__(
            {"a": In(signed(arg.width)), "b": In(signed(scale.width))} | _outputs(rounding.result, rounding.saturates)
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        exact = Signal(signed(self.arg.width + self.scale.width - 2))
        m.d.comb += exact.eq(_aligned(m, self.b, self.scale.width, self.a, len(exact), self.cycles))
        _finish(m, exact, self.rounding, self.y, getattr(self, "overflow", None))
        return m


def _rounding_label(rounding: Rounding) -> str:
    """A rounding in a module's name: 3to18 rounds 3 bits away and leaves 18, 3cut18 drops them; it saturates or wraps
    around where it says so."""
    how = "cut" if rounding.truncates and rounding.drop else "to"
    limit = ("wrap" if rounding.wraps else "sat") if rounding.saturates else ""
    return f"{rounding.drop}{how}{rounding.result.width}{limit}"


def _label(fmt: Format) -> str:
    """A format in a module's name: s18p12 is 18 bits with 12 behind the point."""
    return f"s{fmt.width}p{fmt.frac}".replace("-", "m")
