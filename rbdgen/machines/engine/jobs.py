"""A function's work: sums as slots of a lane, and calls of the special unit.

In a slot a lane takes two values, of which it can double the first, and adds their product, sum or difference to its
accumulator. A term that stands alone, or whose point is none that the lane moves to its sum's, is a product with a
power of two, or a sum with zero where there is no such power.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from rbdgen.ir.fixed import FixedGraph
from rbdgen.machines.engine.composition import Composition
from rbdgen.machines.engine.core import (
    ANGLE_POINT,
    DISTANCES,
    EXTRACTIONS,
    LIFT,
    Core,
    aligning_point,
)
from rbdgen.machines.engine.special import INVERSE, LEAN, SIGN, SINES, is_special

PRODUCT, SUM, DIFFERENCE = "product", "sum", "difference"
"""What a lane makes of two values."""
LEAN_RESULTS = {
    LEAN + SINES: ("table_sin", "table_cos", "residual"),
    LEAN + INVERSE: ("table_reciprocal", "rescale", "round"),
    LEAN + SIGN: ("sign",),
}
"""Operations whose values a lean unit gives, by the kind of the call, in the order of their times."""


@dataclass(frozen=True)
class Value:
    """A word that a slot reads: that of a ``node``, or a ``constant``, by its raw value or as a parameter's name."""

    node: int | None = None
    constant: int | str = 0


@dataclass(frozen=True)
class Slot:
    """A cycle of a lane: ``kind`` of ``x``, ``double`` or as it is, and ``y``, moved right by ``distance``, is added
    with this ``sign``."""

    kind: str
    sign: int
    x: Value
    y: Value
    distance: int
    double: bool = False

    @property
    def values(self) -> tuple[Value, Value]:
        """Both words."""
        return self.x, self.y


@dataclass(frozen=True)
class Sum:
    """A sum: its ``node``, its ``slots`` in any order, and how many bits are dropped of it (``extraction``)."""

    node: int
    slots: tuple[Slot, ...]
    extraction: int

    @cached_property
    def reads(self) -> tuple[tuple[int, ...], ...]:
        """The nodes that each slot reads."""
        return tuple(
            tuple(v.node for v in slot.values if v.node is not None) for slot in self.slots
        )

    @cached_property
    def sources(self) -> frozenset[int]:
        """The nodes that it needs."""
        return frozenset(a for nodes in self.reads for a in nodes)


@dataclass(frozen=True)
class Call:
    """A call of the special unit: its ``kind``, the node that is its ``argument``, the nodes of its ``results``
    (None: one that nobody needs), and places by which the argument is moved left (``shift``)."""

    kind: str
    argument: int
    results: tuple[int | None, ...]
    shift: int


@dataclass(frozen=True)
class Work:
    """All that a task of a function takes. ``results`` are by word; ``inputs`` are nodes of operands in the order of
    the protocol, None where nothing needs one. A sum of a negative number copies an operand or a
    parameter."""

    composition: Composition
    sums: tuple[Sum, ...]
    calls: tuple[Call, ...]
    inputs: tuple[int | None, ...]
    results: tuple[Value, ...]

    @property
    def constants(self) -> tuple[int | str, ...]:
        """Constants that it reads, without repetition."""
        found: dict[int | str, None] = {}
        for own in self.sums:
            for slot in own.slots:
                found |= {v.constant: None for v in slot.values if v.node is None}
        found |= {v.constant: None for v in self.results if v.node is None}
        return tuple(found)

    @property
    def repeats(self) -> bool:
        """Whether it is a step of a function that repeats."""
        return self.composition.count_at is not None

    @property
    def staying(self) -> int:
        """Operands of a task that repeats which are the same in all of its steps: those behind the ones that are the
        results of the step before."""
        return len(self.inputs) - len(self.results) if self.repeats else 0

    @property
    def slots(self) -> int:
        """Slots of lanes."""
        return sum(len(own.slots) for own in self.sums)


def work_of(composition: Composition, core: Core) -> Work:
    """The work of a composition."""
    return _Worker(composition, core).work()


@dataclass(frozen=True)
class _Addend:
    """An addend of a sum: its ``sign``, the ``value`` that is read, its binary point, and whether it is doubled."""

    sign: int
    value: Value
    frac: int
    double: bool


class _Worker:
    """Turns a composition's nodes into sums and calls. Operands that stand in a memory of their own are read by the
    second port of lanes alone: where one is needed at the first, a copy is made once."""

    def __init__(self, composition: Composition, core: Core) -> None:
        self.composition = composition
        self.core = core
        self.fixed: FixedGraph = composition.fixed
        self.graph = composition.fixed.graph
        self.operands = frozenset(composition.operands)
        self.sums: list[Sum] = []
        self.copies: dict[Value, int] = {}

    def work(self) -> Work:
        """All of it."""
        graph = self.graph
        for i, node in graph:
            if node.terms.count and not is_special(node):
                self._sum(i)
        results = [self._result(graph.outputs[name]) for name in self.composition.results]
        used = {a for node in graph.nodes for a in node.args}
        inputs = []
        for name in self.composition.operands:
            # numbers of steps are in no graph
            i = graph.inputs.get(name)
            inputs.append(i if i in used or i in graph.results else None)
        calls = tuple(self._calls())
        return Work(self.composition, tuple(self.sums), calls, tuple(inputs), tuple(results))

    def _value(self, i: int) -> Value:
        node = self.graph.nodes[i]
        if node.is_const:
            return Value(constant=int(self.fixed.formats[i].quantise(node.attr)))
        if node.is_input and node.attr not in self.operands:
            return Value(constant=node.attr)
        return Value(node=i)

    def _is_input(self, value: Value) -> bool:
        if self.core.lean or value.node is None or value.node < 0:
            return False
        return self.graph.nodes[value.node].is_input

    def _copy(self, value: Value) -> Value:
        """An operand, or a parameter, as a result of a lane."""
        if value not in self.copies:
            # copies have numbers of their own, below those of nodes
            number = -1 - len(self.copies)
            self.copies[value] = number
            drop = EXTRACTIONS[0]
            one = Value(constant=1 << self.core.cut + drop)
            self.sums.append(Sum(number, (Slot(PRODUCT, 1, one, value, 0),), drop))
        return Value(node=self.copies[value])

    def _ports(self, x: Value, y: Value) -> tuple[Value, Value]:
        """Two factors as a lane's ports take them."""
        if self._is_input(x) and self._is_input(y):
            return self._copy(x), y
        return (y, x) if self._is_input(x) else (x, y)

    def _result(self, i: int) -> Value:
        value = self._value(i)
        return self._copy(value) if self._is_input(value) else value

    def _sum(self, i: int) -> None:
        fixed, core = self.fixed, self.core
        node, point = self.graph.nodes[i], fixed.points[i]
        slots = []
        for sign, *factors in node.products:
            # whichever of them is doubled: their product is
            (one, first), (other, second) = (self._doubled(a) for a in factors)
            distance = fixed.formats[one].frac + fixed.formats[other].frac - core.cut - point
            x, y = self._ports(self._value(one), self._value(other))
            distance = self._distance(i, distance)
            slots.append(Slot(PRODUCT, sign, x, y, distance, first or second))
        slots += self._addends(i, node.addends, point)
        extraction = point - fixed.formats[i].frac
        if extraction not in EXTRACTIONS:
            raise ValueError(f"node %{i}: lanes drop no {extraction} bits of a sum")
        self.sums.append(Sum(i, tuple(slots), extraction))

    @staticmethod
    def _distance(i: int, distance: int) -> int:
        if distance not in DISTANCES:
            raise ValueError(f"node %{i}: lanes move no term by {distance} places")
        return distance

    def _doubled(self, i: int) -> tuple[int, bool]:
        """A term's node as it is read, and whether it is doubled."""
        node = self.graph.nodes[i]
        return (node.args[0], True) if node.is_shift else (i, False)

    def _addends(
        self,
        i: int,
        addends: Sequence[tuple[int, int]],
        point: int,
    ) -> list[Slot]:
        """Slots of addends: two of one point together, others by themselves."""
        waiting: dict[int, list[_Addend]] = {}
        alone: list[_Addend] = []
        slots = []
        for sign, a in addends:
            source, double = self._doubled(a)
            own = _Addend(sign, self._value(source), self.fixed.formats[source].frac, double)
            if own.frac + LIFT - point not in DISTANCES:
                alone.append(own)
                continue
            partners = waiting.setdefault(own.frac, [])
            partner = next((p for p in partners if self._goes_with(p, own)), None)
            if partner is None:
                partners.append(own)
                continue
            partners.remove(partner)
            slots.append(self._pair(partner, own, own.frac + LIFT - point))
        for left in waiting.values():
            alone += left
        for own in alone:
            try:
                power = aligning_point(self.core, own.frac, point)
            except ValueError:
                # lanes double at their first port, which reads no operand
                if own.double and self._is_second(own):
                    own = replace(own, value=self._copy(own.value))
                zero = _Addend(own.sign, Value(), own.frac, double=False)
                slots.append(self._pair(own, zero, self._distance(i, own.frac + LIFT - point)))
                continue
            distance = own.frac + power - self.core.cut - point
            x, y = self._ports(Value(constant=1 << power), own.value)
            distance = self._distance(i, distance)
            slots.append(Slot(PRODUCT, own.sign, x, y, distance, own.double))
        return slots

    def _goes_with(self, one: _Addend, other: _Addend) -> bool:
        """Whether two addends of one point can be added in one slot: the first port reads no operand, and doubles."""
        first = [own for own in (one, other) if own.double or not self._is_second(own)]
        doubled = [own for own in (one, other) if own.double]
        if len(doubled) > 1 or any(self._is_second(own) for own in doubled):
            return False
        # one that is doubled needs the first port, and leaves the second to the other
        return bool(first)

    def _is_second(self, own: _Addend) -> bool:
        return self._is_input(own.value)

    def _pair(
        self,
        one: _Addend,
        other: _Addend,
        distance: int,
    ) -> Slot:
        """Two addends of one point."""
        if other.double or self._is_second(one):
            one, other = other, one
        if self._is_second(one) or other.double:
            raise ValueError("lanes read operands at their second port, and double at the first")
        kind = SUM if one.sign == other.sign else DIFFERENCE
        return Slot(kind, one.sign, one.value, other.value, distance, one.double)

    def _calls(self) -> list[Call]:
        """Calls of the special unit, in the order of their arguments."""
        graph = self.graph
        groups: dict[str, list[int]] = {}
        for i, node in graph:
            if is_special(node):
                groups.setdefault(node.owner, []).append(i)
        calls = []
        for owner, members in groups.items():
            inside = set(members)
            argument = next(
                a
                for i in members
                for a in graph.nodes[i].args
                if a not in inside and not graph.nodes[a].is_const
            )
            results: tuple[int | None, ...]
            if owner.startswith(LEAN):
                kind = next(k for k in LEAN_RESULTS if owner.startswith(k))
                shift, results = 0, self._looked_up(members, LEAN_RESULTS[kind])
            elif owner.startswith(SINES):
                results = self._sines(members)
                kind, shift = SINES, self._angle_shift(argument)
            elif owner.startswith(SIGN):
                kind, shift, results = SIGN, 0, (members[0],)
            else:
                results = self._inverse(members)
                kind, shift = INVERSE, 0
            # only results of lanes are arguments
            if graph.nodes[argument].is_input:
                copied = self._copy(self._value(argument)).node
                assert copied is not None
                argument = copied
            calls.append(Call(kind, argument, results, shift))
        return calls

    def _looked_up(
        self, members: Sequence[int], operations: Sequence[str]
    ) -> tuple[int | None, ...]:
        """The nodes of a call by their operations, None where nothing needs one."""
        by_operation = {self.graph.nodes[i].op: i for i in members}
        return tuple(by_operation.get(op) for op in operations)

    def _angle_shift(self, argument: int) -> int:
        return ANGLE_POINT - self.fixed.formats[argument].frac

    def _sines(self, members: Sequence[int]) -> tuple[int | None, int | None]:
        """The nodes of the sine and the cosine."""
        found: list[int | None] = [None, None]
        for i in members:
            node = self.graph.nodes[i]
            if len(node.args) == 3 and self.fixed.formats[i].width == self.core.width:
                table = self.graph.nodes[node.args[2]]
                found[table.op == "table_cos"] = i
        return found[0], found[1]

    def _inverse(self, members: Sequence[int]) -> tuple[int | None, int | None]:
        """The nodes of the mantissa and the power of two."""
        found: list[int | None] = [None, None]
        for i in members:
            node = self.graph.nodes[i]
            if node.op == "rescale":
                found[1] = i
            elif node.terms.count and self.fixed.formats[i].width == self.core.width:
                found[0] = i
        return found[0], found[1]
