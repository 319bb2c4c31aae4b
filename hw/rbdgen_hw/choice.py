"""The choice of a value by the phase: multiplexers before shared operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from amaranth.hdl import Cat, Const, Module, Mux, Shape, ShapeLike, Signal, Value

from rbdgen_hw.logic import or_of
from rbdgen_hw.phases import Phases


def choose(
    m: Module,
    phases: Phases,
    cases: Iterable[tuple[Iterable[int], Value]],
    shape: ShapeLike,
    name: str,
) -> Value:
    """The value in whose phases (disjoint lists) the pipelines are; any value in phases that are not listed.

    Values that occur more than once are one input of the multiplexer, constants are another together. Each input has a
    register that says when it is chosen.
    """
    values: dict[int, Value] = {}
    phases_of: dict[int, list[int]] = {}
    constants: dict[int, int] = {}
    for wanted, value in cases:
        if isinstance(value, Const):
            constants |= dict.fromkeys(wanted, value.value)
        else:
            key = id(value)
            values.setdefault(key, value)
            phases_of.setdefault(key, []).extend(wanted)
    if not values:
        return _constant(phases, constants, list(constants), shape)
    if not constants and len(values) == 1:
        return next(iter(values.values()))
    chosen = Signal(shape, name=name)
    if not constants and len(values) == 2:
        # one of two needs no choice of its own, which leaves an input of every look-up table free
        by_time = sorted(values, key=lambda key: len(phases_of[key]))
        rare, frequent = by_time
        choice = phases.during(phases_of[rare])
        either = Mux(choice, values[rare], values[frequent])
        m.d.comb += chosen.eq(either)
        return chosen
    terms: list[Value] = []
    for key, value in values.items():
        choice = phases.during(phases_of[key])
        terms.append(Mux(choice, value, 0))
    if constants:
        every = range(phases.ii)
        terms.append(_constant(phases, constants, every, shape))
    m.d.comb += chosen.eq(or_of(terms))
    return chosen


def _constant(
    phases: Phases, constants: Mapping[int, int], within: Iterable[int], shape: ShapeLike
) -> Value:
    """Constants by phase, bit by bit from registers; zero in other phases, as far as they are ``within``."""
    every = set(within)
    different = set(constants.values())
    if every == set(constants) and len(different) == 1:
        return Const(different.pop(), shape)
    cast = Shape.cast(shape)
    bits = []
    for k in range(cast.width):
        ones = {phase for phase, value in constants.items() if value >> k & 1}
        bits.append(_constant_bit(phases, ones, every))
    word = Cat(*bits)
    return word.as_signed() if cast.signed else word


def _constant_bit(phases: Phases, ones: set[int], every: set[int]) -> Value:
    """A bit that is high in the phases ``ones``; a register only where it differs in ``every`` phase."""
    if not ones:
        return Const(0, 1)
    if ones == every:
        return Const(1, 1)
    return phases.during(ones)
