"""C statements of fixed-point kernels: 64-bit integers, bit for bit as :mod:`rbdgen.ir.ops` has it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from rbdgen.ir.exactness import moved
from rbdgen.ir.graph import Node
from rbdgen.ir.number_formats import BITS, Format
from rbdgen.ir.ops.reciprocals import reciprocal_table
from rbdgen.ir.ops.sines import sine_table
from rbdgen.software.blocks import Block
from rbdgen.software.fixed_program import FixedStraight
from rbdgen.software.program import Straight
from rbdgen.software.statements import Statements


def whole(x: int) -> str:
    """A constant."""
    return f"INT64_C({x})"


def shifted(x: str, places: int) -> str:
    """``x`` moved so many places to the left; to the right where that is negative."""
    if places == 0:
        return x
    return f"rbd_left({x}, {places})" if places > 0 else f"({x} >> {min(-places, BITS)})"


def dropped(x: str, drop: int, rounds: bool, largest: int) -> str:
    """``x``, of at most the ``largest`` raw value, without its lowest ``drop`` bits, however many: rounded half up or
    cut."""
    if not drop:
        return x
    if not rounds:
        return f"(({x}) >> {min(drop, BITS)})"
    if drop < BITS and (largest + (1 << (drop - 1))).bit_length() <= BITS:
        return f"(({x} + {whole(1 << (drop - 1))}) >> {drop})"
    # half of the last place is, or makes the sum, longer than 64 bits
    return f"((({x} >> {min(drop - 1, BITS)}) + 1) >> 1)"


class FixedStatements(Statements):
    """C statements for the nodes of one block, in fixed point. ``lost`` gathers the bits that overflows lost."""

    longest = 200
    language = "C in fixed point"

    def __init__(
        self, straight: Straight, block: Block, kinds: Mapping[str, str], slots: str = "LOCAL"
    ) -> None:
        super().__init__(straight, block, kinds, slots)
        assert isinstance(straight, FixedStraight)
        self.fixed = straight.fixed
        self.conversions = straight.conversions
        self.lifts: dict[int, str] = {}

    def begin(self) -> list[str]:
        """Nothing is lost yet."""
        return ["RBD_REAL lost = 0;"] if self.checks else []

    def end(self) -> list[str]:
        """Lines that note what was lost."""
        return ["RBD_LOCAL(checks, rbd_lost) |= lost;"] if self.checks else []

    @staticmethod
    def expressions() -> Collection[str]:
        """The operations that there is C for."""
        return EXPRESSIONS

    def constant(self, i: int, node: Node) -> str:
        """A constant's raw value."""
        return whole(int(self.fixed.formats[i].quantise(node.attr)))

    def expression(self, i: int, node: Node, args: Sequence[str]) -> str:
        """An operation's raw value."""
        exact = EXPRESSIONS[node.op](self, i, node, args)
        return self._rounded(i, node, exact) if node.operation.rounds else exact

    def _rounded(self, i: int, node: Node, exact: str) -> str:
        """An exact result, rounded and saturated."""
        low = node.operation.taken_off(self.fixed, i, node)
        drop = self.fixed.dropped_bits(i) - low
        _, _, largest = self.fixed.exact(i)
        exact = dropped(exact, drop, i not in self.fixed.truncated, largest >> low)
        if not self.fixed.may_overflow(i):
            return exact
        return self._fitted(self.name(i), exact, self.fixed.formats[i], self.fixed.saturates)

    def _fitted(self, name: str, exact: str, fmt: Format, saturates: bool) -> str:
        """An exact result in a format, which it may be too large for."""
        self.lines.append(f"const RBD_REAL {name}_exact = {exact};")
        self.checks.add("lost")
        fit = "rbd_saturated" if saturates else "rbd_wrapped"
        value = f"{fit}({name}_exact, {whole(fmt.minimum)}, {whole(fmt.maximum)})"
        self.lines.append(f"const RBD_REAL {name}_fitted = {value};")
        # bits that differ, without a branch: zero where it fits
        self.lines.append(f"lost |= {name}_exact ^ {name}_fitted;")
        return f"{name}_fitted"

    def given(self, i: int, node: Node, args: Sequence[str]) -> str:
        """Operands and constants are no expressions: see :meth:`value`."""
        raise AssertionError(node.op)

    def unchanged(self, i: int, node: Node, args: Sequence[str]) -> str:
        """The argument: only the binary point moves, or bits are dropped."""
        return args[0]

    def magnitude(self, i: int, node: Node, args: Sequence[str]) -> str:
        """|x|."""
        return f"rbd_magnitude({args[0]})"

    def sign(self, i: int, node: Node, args: Sequence[str]) -> str:
        """1, or -1 of what is negative."""
        one = 1 << self.fixed.formats[i].frac
        return f"({args[0]} < 0 ? {whole(-one)} : {whole(one)})"

    def rescale(self, i: int, node: Node, args: Sequence[str]) -> str:
        """A number moved by the places that normalise another."""
        return f"rbd_left({args[0]}, {self._lift(node.args[1], args[1])})"

    def sum(self, i: int, node: Node, args: Sequence[str]) -> str:
        """The sum of a node's terms, all at one binary point; of a product too long for 64 bits without its low
        bits."""
        if i in self.fixed.constants:
            return f"{args[0]} * {whole(self.fixed.constants[i].mantissa)}"
        if self.fixed.is_product(i):
            low = self.fixed.split(*node.args)
            # where no other bits are dropped, the low ones must be rounded as they are taken off
            half = self.fixed.half(i) if low == self.fixed.dropped_bits(i) else 0
            return _product_without(low, args[0], args[1], half)
        frac = self.fixed.exact(i)[0]
        fracs = [self.fixed.formats[a].frac for a in node.args]
        terms: list[str] = []
        for k, sign in enumerate(node.terms.products):
            one, other = args[2 * k : 2 * k + 2]
            low = self.fixed.split(*node.args[2 * k : 2 * k + 2])
            product = _product_without(low, one, other)
            places = frac - fracs[2 * k] - fracs[2 * k + 1] + low
            terms += ["+" if sign > 0 else "-", shifted(product, places)]
        for k, sign in enumerate(node.terms.addends, node.terms.factors):
            terms += ["+" if sign > 0 else "-", shifted(args[k], frac - fracs[k])]
        text = " ".join(terms)
        return f"({text.removeprefix('+ ')})"

    def _lift(self, source: int, x: str) -> str:
        """By how many places the highest bit of ``x`` moves to the highest of its format."""
        # normalising a number and moving others by it share this
        if source not in self.lifts:
            top = self.fixed.formats[source].width - 2
            self.lifts[source] = f"lift{len(self.lifts)}"
            self.lines.append(f"const RBD_REAL {self.lifts[source]} = rbd_lift({x}, {top});")
        return self.lifts[source]

    def normalise(self, i: int, node: Node, args: Sequence[str]) -> str:
        """A number moved into [1, 2); what is not positive overflows."""
        (x,) = args
        source = node.args[0]
        lift = self._lift(source, x)
        self.checks.add("lost")
        self.lines.append(f"lost |= {x} > 0 ? 0 : 1;")
        drop = self.fixed.formats[source].width - 2 - self.fixed.formats[i].frac
        return shifted(f"rbd_left({x} > 0 ? {x} : 1, {lift})", -drop)

    def residual(self, i: int, node: Node, args: Sequence[str]) -> str:
        """Rest of a number that an address leaves."""
        step = self._below(node)
        return f"({args[0]} & {whole((1 << step) - 1)}) - {whole(1 << (step - 1))}"

    def reciprocal(self, i: int, node: Node, args: Sequence[str]) -> str:
        """Entry of a table of reciprocals."""
        fmt = self.fixed.formats[i]
        name = self._table("reciprocals", node.attr, fmt, reciprocal_table(node.attr, fmt))
        return f"{name}[({args[0]} >> {self._below(node)}) & {(1 << node.attr) - 1}]"

    def sine(self, i: int, node: Node, args: Sequence[str]) -> str:
        """Entry of a table of sines, in the quadrant of the angle."""
        return self._sinusoid(i, node, args[0], "")

    def cosine(self, i: int, node: Node, args: Sequence[str]) -> str:
        """The same, a quarter of a turn ahead."""
        return self._sinusoid(i, node, args[0], f" + {1 << node.attr}")

    def _sinusoid(self, i: int, node: Node, x: str, ahead: str) -> str:
        fmt = self.fixed.formats[i]
        name = self._table("sines", node.attr, fmt, sine_table(node.attr, fmt))
        place = f"{self.name(i)}_place"
        self.lines.append(f"const RBD_REAL {place} = ({x} >> {self._below(node)}){ahead};")
        self.lines.append(
            f"const RBD_REAL {place}_value = {name}[rbd_mirrored({place}, {node.attr})];"
        )
        return f"{place} & {2 << node.attr} ? -{place}_value : {place}_value"

    def _below(self, node: Node) -> int:
        """Bits of an argument below the address."""
        return self.fixed.formats[node.args[0]].frac - node.attr

    def _table(self, kind: str, bits: int, fmt: Format, values: tuple[int, ...]) -> str:
        """The name of a table."""
        name = f"{kind}_{bits}_{fmt}".replace(".", "_")
        self.tables[name] = values
        return name

    def left(self, place: tuple[str, int], i: int) -> str:
        """Value for a place: converted, where another format is there."""
        value = self.value(i)
        if place not in self.conversions:
            return value
        source, target = self.conversions[place]
        drop = source.frac - target.frac
        half = 1 << (drop - 1) if drop > 0 else 0
        exact = dropped(value, drop, True, source.maximum) if drop > 0 else shifted(value, -drop)
        # where no number of the source's format can be too large, nothing is checked
        ends = [moved(x + half, -drop) for x in (source.minimum, source.maximum)]
        if target.minimum <= ends[0] and ends[1] <= target.maximum:
            return exact
        # what a pass is handed is saturated, even where the graph itself wraps around
        return self._fitted(f"left{len(self.lines)}", exact, target, True)


def _product_without(low: int, a: str, b: str, half: int = 0) -> str:
    """floor((a b + half) / 2^low), of which the product may be longer than 64 bits."""
    if not low:
        return f"{a} * {b}"
    added = f" + {whole(half)}" if half else ""
    part = f"{a} * ({b} & {whole((1 << low) - 1)}){added}"
    return f"({a} * ({b} >> {low}) + (({part}) >> {low}))"


EXPRESSIONS = {
    "input": FixedStatements.given,
    "const": FixedStatements.given,
    "sum": FixedStatements.sum,
    "shift": FixedStatements.unchanged,
    "round": FixedStatements.unchanged,
    "abs": FixedStatements.magnitude,
    "sign": FixedStatements.sign,
    "table_sin": FixedStatements.sine,
    "table_cos": FixedStatements.cosine,
    "table_reciprocal": FixedStatements.reciprocal,
    "residual": FixedStatements.residual,
    "normalise": FixedStatements.normalise,
    "rescale": FixedStatements.rescale,
}
"""C of every operation of fixed-point graphs: exact results of those that are rounded."""
