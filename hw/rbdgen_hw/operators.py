"""Arithmetic operators: each rounds and saturates exactly as :mod:`rbdgen.ir.ops` says.

One component per operation; its formats are its parameters and its module's name. ``overflow`` exists only where the
formats allow the result to saturate. All are combinational unless said otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Member, Out

from rbdgen.ir.constants import Addition
from rbdgen.ir.fixed import FLAG, Constant, Format
from rbdgen.ir.ops.reciprocals import reciprocal_table
from rbdgen.ir.ops.sines import sine_table
from rbdgen_hw.library import SharedComponent
from rbdgen_hw.logic import any_of, registered

SIDES = "ab"
"""Ports of an operator's arguments."""


@dataclass(frozen=True)
class Rounding:
    """From an exact value with binary point ``frac`` to ``result``; ``may_overflow`` says whether it may not fit.

    ``truncates``: bits are dropped instead of rounded half up. ``overflow``: see :class:`rbdgen.ir.fixed.FixedGraph`.
    """

    frac: int
    result: Format
    may_overflow: bool
    truncates: bool = False
    overflow: str = FLAG

    @property
    def drop(self) -> int:
        """Bits rounded away."""
        return self.frac - self.result.frac


def _finish(
    m: Module,
    exact: Value,
    rounding: Rounding,
    y: Signal,
    overflow: Signal | None,
) -> None:
    """Round ``exact`` by ``rounding`` into ``y``, saturating into ``overflow``."""
    fmt = rounding.result
    value, bits = _rounded(exact, rounding)
    # at least as long as the result, whose sign bit is looked at
    rounded = Signal(signed(max(bits, fmt.width)))
    m.d.comb += rounded.eq(value)
    if overflow is None:
        m.d.comb += y.eq(rounded)
        return
    # the value fits where all bits from the result's sign bit upwards are equal
    negative = rounded[-1]
    upper = rounded[fmt.width - 1 :]
    m.d.comb += overflow.eq(upper != negative.replicate(len(upper)))
    if rounding.overflow == FLAG:
        m.d.comb += y.eq(rounded)
        return
    lowest = Const(fmt.minimum, signed(fmt.width))
    highest = Const(fmt.maximum, signed(fmt.width))
    limit = Mux(negative, lowest, highest)
    kept = rounded[: fmt.width].as_signed()
    m.d.comb += y.eq(Mux(overflow, limit, kept))


def _rounded(exact: Value, rounding: Rounding) -> tuple[Value, int]:
    """``exact`` without the bits that ``rounding`` drops, and how many bits that needs."""
    drop = rounding.drop
    if not drop:
        return exact, len(exact)
    kept = exact >> drop
    if rounding.truncates:
        return kept, max(1, len(exact) - drop)
    # the bit below what is kept, carried in: as a sum of three, synthesis would take twice the logic;
    # where more bits are dropped than there are, that is the sign, and the result is zero
    below = exact[min(drop, len(exact)) - 1]
    return kept + below, max(1, len(exact) + 1 - drop)


def _outputs(rounding: Rounding) -> dict[str, Member]:
    """The ports of a result."""
    ports = {"y": Out(signed(rounding.result.width))}
    if rounding.may_overflow:
        ports["overflow"] = Out(1)
    return ports


class Sum(SharedComponent):
    """y = a + b, a − b or, with one argument, −a, |a| or a itself, by the name of an operation in :data:`ARITHMETIC`.

    Of an add, the arguments in the positions ``signed_args`` have signs of their own: it subtracts a where ``minus_a``
    is high, b where ``minus_b`` is, never both at once. Equal up to a common move of all binary points, two sums are
    one component.
    """

    general = True
    clocked = False

    def __init__(
        self,
        op: str,
        args: tuple[Format, ...],
        rounding: Rounding,
        signed_args: tuple[int, ...] = (),
    ) -> None:
        self.op = op
        self.rounding = rounding
        self.sides = SIDES[: len(args)]
        self.shifts = [rounding.frac - fmt.frac for fmt in args]
        """Bits by which the arguments move to have the same binary point."""
        self.minus = [SIDES[position] for position in signed_args]
        parts = [op, *(f"_minus{side}" for side in self.minus)]
        words = ["".join(parts)]
        ports: dict[str, Member] = {}
        for side, fmt, shift in zip(self.sides, args, self.shifts, strict=True):
            words.append(f"{fmt.width}l{shift}")
            ports[side] = In(signed(fmt.width))
        for side in self.minus:
            ports[f"minus_{side}"] = In(1)
        words.append(_rounding_label(rounding))
        self.module_name = "_".join(words)
        super().__init__(ports | _outputs(rounding))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        overflow = getattr(self, "overflow", None)
        _finish(m, self._exact(), self.rounding, self.y, overflow)
        return m

    def _exact(self) -> Value:
        """The sum, not rounded."""
        terms = []
        for side, shift in zip(self.sides, self.shifts, strict=True):
            terms.append(getattr(self, side) << shift)
        return self._added(terms) if self.minus else ARITHMETIC[self.op](*terms)

    def _added(self, terms: list[Value]) -> Value:
        """The sum of two terms. What is subtracted is inverted, and the one that this lacks is carried in: there is
        one adder whatever the signs."""
        carried = list(terms)
        flags = []
        for side in self.minus:
            flag = getattr(self, f"minus_{side}")
            position = SIDES.index(side)
            term = terms[position]
            inverted = flag.replicate(len(term))
            carried[position] = term ^ inverted.as_signed()
            flags.append(flag)
        a, b = carried
        carry = any_of(flags)
        twice = Cat(1, a).as_signed() + Cat(carry, b).as_signed()
        return twice >> 1


def _magnitude(x: Value) -> Value:
    """|x|: a negative number is inverted, and the one that this lacks is its sign."""
    negative = x[-1]
    inverted = x ^ negative.replicate(len(x)).as_signed()
    return inverted + negative


ARITHMETIC: dict[str, Callable[..., Value]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "neg": lambda a: -a,
    "abs": _magnitude,
    "round": lambda a: a,
}
"""Values of operations and of sums without products, by name, from arguments at one binary point."""


class Multiplier(SharedComponent):
    """The exact product p = a · b, with ``cycles`` registers behind it."""

    general = True

    def __init__(self, a: int, b: int, cycles: int) -> None:
        self.cycles = cycles
        self.clocked = cycles > 0
        registers = f"_r{cycles}" if cycles else ""
        self.module_name = f"product_{a}x{b}{registers}"
        super().__init__(
            {
                "a": In(signed(a)),
                "b": In(signed(b)),
                "p": Out(signed(a + b)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        value: Value = self.a * self.b
        for k in range(self.cycles):
            value = registered(m, value, f"p{k}", reset_less=True)
        m.d.comb += self.p.eq(value)
        return m


class Accumulate(SharedComponent):
    """y = the sum so far, of ``width`` bits, plus x or, where ``minus`` is high, less x; where ``first`` is high, of
    ``start`` instead of the sum so far. The sum so far is y of the cycle before; of one that is ``held``, of the last
    cycle in which ``keep`` was high. Of ``start`` only the bits in the mask ``starting`` are ever high."""

    general = True

    def __init__(self, width: int, starting: int, held: bool = False) -> None:
        self.width = width
        self.starting = starting
        self.held = held
        self.module_name = f"accumulate_{width}_{starting:x}{'_held' if held else ''}"
        super().__init__(
            {
                "x": In(signed(width)),
                "start": In(signed(width)),
                "first": In(1),
                "minus": In(1),
                **({"keep": In(1)} if held else {}),
                "y": Out(signed(width)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        total = Signal(signed(self.width), reset_less=True)
        start = self.start & Const(self.starting, self.width)
        before = Mux(self.first, start, total)
        inverted = self.minus.replicate(self.width)
        term = self.x ^ inverted.as_signed()
        # both with a bit more below, where the carry comes in: one adder whatever the sign
        twice = Cat(self.minus, before) + Cat(self.minus, term)
        m.d.comb += self.y.eq(twice[1:])
        following = Mux(self.keep, self.y, total) if self.held else self.y
        m.d.sync += total.eq(following)
        return m


class Round(SharedComponent):
    """y = the exact value x, ``width`` bits, rounded and saturated."""

    general = True
    clocked = False

    def __init__(self, width: int, rounding: Rounding) -> None:
        self.rounding = rounding
        self.module_name = f"round_{width}_{_rounding_label(rounding)}"
        super().__init__({"x": In(signed(width)), **_outputs(rounding)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        overflow = getattr(self, "overflow", None)
        _finish(m, self.x, self.rounding, self.y, overflow)
        return m


class Scale(SharedComponent):
    """y = a · constant, as the network of shifts and additions that the constant's ``graph`` is. ``stages``: the
    network's levels between registers; one stage is combinational."""

    def __init__(
        self,
        arg: Format,
        constant: Constant,
        rounding: Rounding,
        stages: tuple[int, ...] = (),
    ) -> None:
        self.graph = constant.graph
        self.rounding = rounding
        self.stages = stages
        self.clocked = len(stages) > 1
        registers = ""
        if self.clocked:
            registers = "_r" + "".join(map(str, stages))
        label = f"scale_{arg.width}_by{constant.mantissa}_{_rounding_label(rounding)}"
        self.module_name = f"{label}{registers}"
        super().__init__({"a": In(signed(arg.width)), **_outputs(rounding)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        multiples = _Multiples(m, self.a, self.stages)
        for k, addition in enumerate(self.graph.additions, start=1):
            level = self.graph.levels[k]
            growth = self.graph.growth(k)
            multiples.add(addition, level, growth)
        exact = multiples.result()
        overflow = getattr(self, "overflow", None)
        _finish(m, exact, self.rounding, self.y, overflow)
        return m


class _Multiples:
    """Multiples of ``argument``, each with the level of its addition, and registers between the ``stages`` of
    levels."""

    def __init__(self, m: Module, argument: Value, stages: Sequence[int]) -> None:
        self.m = m
        self.width = len(argument)
        self.cuts = list(accumulate(stages[:-1]))
        """Levels with registers behind them."""
        self.chains: list[list[Value]] = [[argument]]
        """Every value, as made and behind each of its registers."""
        self.levels = [0]

    def add(self, addition: Addition, level: int, growth: int) -> None:
        """A further value, so many bits longer than the argument."""
        low = self._before(addition.low, level)
        high = self._before(addition.high, level)
        total = _added(addition, low, high)
        number = len(self.chains)
        value = Signal(signed(self.width + growth), name=f"sum{number}")
        self.m.d.comb += value.eq(total >> addition.drop)
        self.chains.append([value])
        self.levels.append(level)

    def result(self) -> Value:
        """The last value, behind the last registers."""
        last = len(self.chains) - 1
        made = self._stage(self.levels[last])
        return self._later(last, len(self.cuts) - made)

    def _before(self, k: int, level: int) -> Value:
        """A value as an addition of this level takes it."""
        made = self._stage(self.levels[k])
        return self._later(k, self._stage(level) - made)

    def _stage(self, level: int) -> int:
        """The number of the stage that a level is in."""
        return sum(cut < level for cut in self.cuts)

    def _later(self, k: int, clocks: int) -> Value:
        """A value so many clocks later."""
        chain = self.chains[k]
        while len(chain) <= clocks:
            name = f"sum{k}_stage"
            register = registered(self.m, chain[-1], name, reset_less=True)
            chain.append(register)
        return chain[clocks]


def _added(addition: Addition, low: Value, high: Value) -> Value:
    """The sum of two values, with the bits that it drops.

    Of a sum that goes whole into another one, synthesis makes a sum of three, of twice the logic. Here none does.
    """
    shift = addition.shift
    if addition.signs[0] < 0:
        # both with a bit more below, for that
        twice = Cat(1, high << shift).as_signed() - Cat(1, low).as_signed()
        return twice >> 1
    extended = Cat(low, low[-1].replicate(shift))
    upper = low >> shift
    total = upper + high if addition.signs[1] > 0 else upper - high
    return Cat(extended[:shift], total).as_signed()


class SineTable(SharedComponent):
    """Sine and cosine of an angle's table interval, ``cycles`` clocks later: one quarter-wave memory with two read
    ports, and registers behind it if that is more than one.

    ``place`` is the angle in intervals of 2^−address_bits quarters of a full circle, taken modulo four.
    """

    general = True

    def __init__(self, address_bits: int, fmt: Format, cycles: int = 1) -> None:
        self.address_bits = address_bits
        self.fmt = fmt
        self.cycles = cycles
        self.module_name = f"sine_table_{address_bits}_{_label(fmt)}_{cycles}"
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
        quarter = 1 << bits
        cosine_place = Signal(bits + 2)
        # cos x = sin(x + π/2)
        m.d.comb += cosine_place.eq(self.place + quarter)
        self._look_up(m, memory, self.place, self.sine)
        self._look_up(m, memory, cosine_place, self.cosine)
        return m

    def _look_up(
        self,
        m: Module,
        memory: Memory,
        angle: Signal,
        y: Signal,
    ) -> None:
        """Let ``y`` be the sine of an angle in intervals: odd quarters read the table backwards, the upper two are
        negative."""
        bits = self.address_bits
        within = angle[:bits]
        backwards = angle[bits]
        port = memory.read_port()
        negative = _later(m, angle[bits + 1], self.cycles)
        data = _later(m, port.data, self.cycles - 1)
        # a quarter wave has no sign to store
        size = Cat(data, Const(0, 1)).as_signed()
        m.d.comb += [
            # the table has intervals' middles, so that mirror images are complements
            port.addr.eq(Mux(backwards, ~within, within)),
            port.en.eq(1),
            y.eq(Mux(negative, -size, size)),
        ]


class ReciprocalTable(SharedComponent):
    """Reciprocal of the middle of a table interval of [1, 2), ``cycles`` clocks later; ``place`` is the interval's
    number."""

    general = True

    def __init__(self, address_bits: int, fmt: Format, cycles: int = 1) -> None:
        self.address_bits = address_bits
        self.fmt = fmt
        self.cycles = cycles
        self.module_name = f"reciprocal_table_{address_bits}_{_label(fmt)}_{cycles}"
        super().__init__(
            {"place": In(unsigned(address_bits)), "reciprocal": Out(signed(fmt.width))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        table = reciprocal_table(self.address_bits, self.fmt)
        m.submodules.table = memory = _rom(self.fmt.width - 1, table)
        port = memory.read_port()
        data = _later(m, port.data, self.cycles - 1)
        m.d.comb += [
            port.addr.eq(self.place),
            port.en.eq(1),
            self.reciprocal.eq(Cat(data, Const(0, 1))),
        ]
        return m


def _rom(width: int, words: Sequence[int]) -> Memory:
    """A table in block memory: made of logic, as synthesis would a short one, it would add its levels to the path to
    its address, which the schedule gives a whole cycle."""
    return Memory(shape=unsigned(width), depth=len(words), init=words, attrs={"ram_style": "block"})


def _later(m: Module, value: Value, cycles: int) -> Value:
    """``value`` so many clocks later."""
    for k in range(cycles):
        value = registered(m, value.as_unsigned(), f"later{k}", reset_less=True)
    return value


def _register(m: Module, value: Value) -> Signal:
    """``value``, one clock later."""
    return registered(m, value, "stage", reset_less=True)


def _aligned(
    m: Module,
    x: Value,
    width: int,
    value: Value,
    length: int,
    cycles: int,
) -> Value:
    """``value`` (``length`` bits) moved left by as many bits as leading zeros stand below the sign of ``x``, so many
    ``cycles`` (0 or 1) later.

    ``x`` has ``width`` bits; as a negative or zero x is treated 1. Logarithmic: one multiplexer per power of two, with
    registers behind half of them.
    """
    bits = width - 1
    top = Signal(bits)
    m.d.comb += top.eq(Mux(x > 0, x[:bits], 1))
    # with a one among them, width − 1 bits have at most width − 2 leading zeros
    steps = _steps(width - 2)
    for number, step in enumerate(steps):
        if cycles and number == len(steps) // 2:
            top = _register(m, top)
            value = _register(m, value)
        empty = Signal(name=f"empty{step}")
        next_top = Signal(bits, name=f"top{step}")
        next_value = Signal(signed(length), name=f"moved{step}")
        m.d.comb += [
            empty.eq(top[bits - step :] == 0),
            next_top.eq(Mux(empty, top << step, top)),
            next_value.eq(Mux(empty, value << step, value)),
        ]
        top = next_top
        value = next_value
    return value


def _steps(most: int) -> list[int]:
    """The powers of two up to ``most``, the highest first."""
    steps = []
    step = 1
    while step <= most:
        steps.append(step)
        step *= 2
    return steps[::-1]


class Normalise(SharedComponent):
    """y = a moved by a power of two into [1, 2), cut to ``result``; ``overflow`` where a is not positive; both
    ``cycles`` (0 or 1) later."""

    general = True

    def __init__(self, arg: Format, result: Format, cycles: int = 0) -> None:
        self.arg = arg
        self.result = result
        self.cycles = cycles
        self.clocked = cycles > 0
        self.module_name = f"normalise_{arg.width}_{result.width}" + "_r" * cycles
        super().__init__(
            {
                "a": In(signed(arg.width)),
                "y": Out(signed(result.width)),
                "overflow": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        width = self.arg.width
        positive, empty = Signal(signed(width)), self.a <= 0
        m.d.comb += [
            self.overflow.eq(_later(m, empty, self.cycles)),
            positive.eq(Mux(empty, 1, self.a)),
        ]
        aligned = _aligned(m, self.a, width, positive, width, self.cycles)
        # the leading one now stands right below the sign
        drop = width - 2 - self.result.frac
        cut = aligned >> drop if drop > 0 else aligned << -drop
        m.d.comb += self.y.eq(cut)
        return m


class Rescale(SharedComponent):
    """y = a times the power of two that normalises b, rounded and saturated, ``cycles`` (0 or 1) later."""

    general = True

    def __init__(
        self,
        arg: Format,
        scale: Format,
        rounding: Rounding,
        cycles: int = 0,
    ) -> None:
        self.arg = arg
        self.scale = scale
        self.rounding = rounding
        self.cycles = cycles
        self.clocked = cycles > 0
        label = f"rescale_{arg.width}_{scale.width}_{_rounding_label(rounding)}"
        self.module_name = label + "_r" * cycles
        super().__init__(
            {
                "a": In(signed(arg.width)),
                "b": In(signed(scale.width)),
                **_outputs(rounding),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = self.arg.width + self.scale.width - 2
        exact = Signal(signed(bits))
        aligned = _aligned(m, self.b, self.scale.width, self.a, bits, self.cycles)
        m.d.comb += exact.eq(aligned)
        overflow = getattr(self, "overflow", None)
        _finish(m, exact, self.rounding, self.y, overflow)
        return m


def _rounding_label(rounding: Rounding) -> str:
    """A rounding in a module's name: 3to18 rounds 3 bits away and leaves 18, 3cut18 drops them; it saturates or wraps
    around where it says so."""
    how = "cut" if rounding.truncates and rounding.drop else "to"
    limit = ""
    if rounding.may_overflow:
        limit = "wrap" if rounding.overflow == FLAG else "sat"
    return f"{rounding.drop}{how}{rounding.result.width}{limit}"


def _label(fmt: Format) -> str:
    """A format in a module's name: s18p12 is 18 bits with 12 behind the point."""
    return f"s{fmt.width}p{fmt.frac}".replace("-", "m")
