# amaranth: UnusedElaboratable=no
"""A multiplier that the products of a unit share, one a cycle, with the accumulator behind it.

Factors come through multiplexers that follow the phase. The product moves to the place where its sum has its binary
point, and is added to what there is of the sum, or to what that starts from. Results are bits of the accumulator, in
the cycle in which the last product is added (:mod:`rbdgen.machines.pipeline.accumulators`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from amaranth.hdl import Cat, Const, Signal, Value, signed

from rbdgen.ir.number_formats import Format
from rbdgen.machines.pipeline.accumulators import Accumulator
from rbdgen_hw.library import instantiate
from rbdgen_hw.logic import registered
from rbdgen_hw.operators import SIDES, Accumulate, Multiplier, Round, Rounding
from rbdgen_hw.pipeline.phases import choose
from rbdgen_hw.pipeline.unit_values import UnitValues, shifted

Case = tuple[list[int], Value]
"""A value, and the phases in which it is chosen."""


class SharedMultiplier:
    """Writes the multiplier ``number`` of a unit, which makes the products of ``nodes``, into the unit's module."""

    def __init__(self, unit: UnitValues, number: int, nodes: Sequence[int]) -> None:
        self.unit = unit
        self.m = unit.m
        self.nodes = nodes
        self.name = f"shared{number}"
        self.geometry = Accumulator(unit.schedule, tuple(nodes))
        last = unit.nodes[nodes[0]].owner in unit.graph.last
        self.device = unit.schedule.device
        self.cycles = self.device.product_cycles(last)
        """Cycles from factors to their product."""
        self.lag = self.cycles + self.device.aligning_cycles
        """Cycles from factors to the accumulator."""
        self.early = unit.schedule.operators.starting_cycles if self._adds() else 0
        """Cycles between what a sum starts from and the accumulator."""
        self.placed: dict[tuple[int, int, int], tuple[Value, Value]] = {}
        """Values at other places, with the values, which keeps their identities."""

    def build(self) -> None:
        """The multiplier and all that belongs to it."""
        m, unit, geometry = self.m, self.unit, self.geometry
        multiplier = Multiplier(*geometry.inputs, self.cycles)
        instantiate(m, unit.platform, f"multiplier_{self.name}", multiplier)
        for side, width in enumerate(geometry.inputs):
            letter = SIDES[side]
            cases = list(self._factors(side, width))
            factor = self._choose(cases, width, letter)
            port = getattr(multiplier, letter)
            m.d.comb += port.eq(factor)
        accumulate = Accumulate(geometry.width, geometry.starting)
        instantiate(m, unit.platform, f"accumulate_{self.name}", accumulate)
        first, minus = self._controls()
        start = self._start()
        if self.early:
            start = registered(m, start, f"{self.name}_started", reset_less=True)
        m.d.comb += [
            accumulate.x.eq(self._moved(multiplier.p)),
            accumulate.start.eq(start),
            accumulate.first.eq(unit.phases.during(first)),
            accumulate.minus.eq(unit.phases.during(minus) if minus else 0),
        ]
        self._results(accumulate.y)

    def _adds(self) -> bool:
        """Whether a sum starts from an argument."""
        return any(self.geometry.start(i).position is not None for i in self.nodes)

    def _choose(self, cases: Sequence[Case], width: int, name: str) -> Value:
        """The value of the current phase, in so many bits."""
        return choose(self.m, self.unit.phases, cases, signed(width), f"{self.name}_{name}")

    def _products(self) -> Iterator[tuple[int, int, int]]:
        """Every product: its node, its number there, and how many cycles after the node's start it is made."""
        for i in self.nodes:
            for later, k in enumerate(self.unit.schedule.orders[i]):
                yield i, k, later

    def _factors(self, side: int, width: int) -> Iterator[Case]:
        """The factors on one side, at or below the upper end of an input of ``width`` bits."""
        for i, k, later in self._products():
            position = self.unit.schedule.factors(i, k)[side]
            value = self.unit.argument(i, position)
            bits = self.unit.formats(i)[position].width
            places = width - bits - self.geometry.lifts(i, k)[side]
            yield self.unit.start_phases(i, later), self._place(value, places)

    def _place(self, value: Value, places: int, below: int = 0) -> Value:
        """A value so many places to the left, with the bits of ``below`` in them (negative: to the right); the same
        object for the same value."""
        if isinstance(value, Const):
            raw = value.value << places if places >= 0 else value.value >> -places
            return Const(raw | below, signed(max(1, len(value) + places)))
        key = id(value), places, below
        if key not in self.placed:
            self.placed[key] = _placed(value, places, below), value
        return self.placed[key][0]

    def _moved(self, product: Value) -> Value:
        """The product at the binary point of its sum."""
        cases: list[Case] = []
        later = {(i, k): cycles for i, k, cycles in self._products()}
        for places, products in self.geometry.drops.items():
            phases: list[int] = []
            for i, k in products:
                phases += self.unit.start_phases(i, later[i, k] + self.cycles)
            cases.append((phases, self._place(product, -places)))
        moved = cases[0][1]
        if len(cases) > 1:
            moved = self._choose(cases, self.geometry.width, "moved")
        if not self.device.aligning_cycles:
            return moved
        return registered(self.m, moved, f"{self.name}_aligned", reset_less=True)

    def _controls(self) -> tuple[list[int], list[int]]:
        """The phases in which a sum's first product is added, and those in which one is subtracted."""
        first: list[int] = []
        minus: list[int] = []
        for i, k, later in self._products():
            phases = self.unit.start_phases(i, later + self.lag)
            if later == 0:
                first += phases
            signs = self.geometry.signs(i, 2 * k)
            minus += _negative(phases, signs)
        return first, minus

    def _start(self) -> Value:
        """The value that the sum of the current phase starts from."""
        together: list[Case] = []
        addends: list[Case] = []
        constants: list[Case] = []
        minus: list[int] = []
        width = self.geometry.width
        for i in self.nodes:
            start = self.geometry.start(i)
            phases = self.unit.start_phases(i, self.lag - self.early)
            constant = Const(start.constant, signed(width))
            constants.append((phases, constant))
            if start.position is None:
                together.append((phases, constant))
                addends.append((phases, Const(0, signed(width))))
                continue
            minus += _negative(phases, self.geometry.signs(i, start.position))
            value = self.unit.argument(i, start.position)
            addends.append((phases, self._place(value, start.places)))
            if not self.geometry.starts_from_sum:
                together.append((phases, self._place(value, start.places, start.constant)))
        if not self.geometry.starts_from_sum:
            return self._choose(together, width, "start")
        m = self.m
        addend = Signal(signed(width), name=f"{self.name}_addend")
        m.d.comb += addend.eq(self._choose(addends, width, "added"))
        constant = self._choose(constants, width, "constant")
        negative = self.unit.phases.during(minus) if minus else Const(0, 1)
        term = addend ^ negative.replicate(width).as_signed()
        # both with a bit more below, where the carry comes in: one adder whatever the sign
        twice = Cat(negative, term) + Cat(negative, constant)
        return twice[1 : width + 1].as_signed()

    def _results(self, total: Value) -> None:
        """The bits of the sum that are results: what stands at the same places has its overflow found once."""
        unit = self.unit
        rounds: dict[tuple[int, int], Round] = {}
        places = {i: (self.geometry.tap(i), unit.fixed.formats[i].width) for i in self.nodes}
        for i in self.nodes:
            tap, width = places[i]
            if (tap, width) not in rounds:
                alike = [k for k in self.nodes if places[k] == (tap, width)]
                rounding = Rounding(
                    tap,
                    Format(width, 0),
                    may_overflow=any(map(unit.may_overflow, alike)),
                    truncates=True,
                    overflow=unit.fixed.overflow,
                )
                cut = Round(len(total), rounding)
                instantiate(self.m, unit.platform, f"cut_{self.name}_{len(rounds)}", cut)
                self.m.d.comb += cut.x.eq(total)
                rounds[tap, width] = cut
            found = rounds[tap, width]
            self.m.d.comb += unit.wires[i].eq(found.y)
            unit.overflow(i, found)


def _placed(value: Value, places: int, below: int) -> Value:
    """A value that is no constant at other places."""
    if places < 0:
        # of what is moved out altogether the sign is left
        return value[min(-places, len(value) - 1) :].as_signed()
    if not below:
        return shifted(value, places)
    return Cat(Const(below, places), value).as_signed()


def _negative(phases: Sequence[int], signs: Sequence[int]) -> list[int]:
    """Of the phases of a node's turns those in which something counts negatively."""
    return [phase for phase, sign in zip(phases, signs, strict=False) if sign < 0]
