"""The choice of a value by the phase: multiplexers before shared operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Shape, ShapeLike, Signal, Value

from rbdgen_hw.phases import Phases


def choose(
    m: Module, phases: Phases, cases: Iterable[tuple[Iterable[int], Value]], shape: ShapeLike, name: str
) -> Value:
    """The value in whose phases (disjoint lists) the pipelines are; any value in phases that are not listed.

    Values that occur more than once are one input of the multiplexer, constants are another together. Each input has a
    register that says when its turn is.
    """
    values: dict[int, Value] = {}
    turns: dict[int, list[int]] = {}
    constants: dict[int, int] = {}
    for wanted, value in cases:
        if isinstance(value, Const):
            constants |= dict.fromkeys(wanted, value.value)
        else:
            values.setdefault(id(value), value)
            turns.setdefault(id(value), []).extend(wanted)
    if not values:
        return _constant(phases, constants, list(constants), shape)
    if not constants and len(values) == 1:
        return next(iter(values.values()))
    chosen = Signal(shape, name=name)
    if not constants and len(values) == 2:
        # one of two needs no choice of its own, which leaves an input of every look-up table free
        rare, frequent = sorted(values, key=lambda key: len(turns[key]))
        m.d.comb += chosen.eq(Mux(phases.during(turns[rare]), values[rare], values[frequent]))
        return chosen
    terms: list[Value] = [Mux(phases.during(turns[key]), value, 0) for key, value in values.items()]
    if constants:
        terms.append(_constant(phases, constants, range(phases.ii), shape))
    m.d.comb += chosen.eq(reduce(or_, terms))
    return chosen


def _constant(phases: Phases, constants: Mapping[int, int], within: Iterable[int], shape: ShapeLike) -> Value:
    """Constants by phase, bit by bit from registers; zero in other phases, as far as they are ``within``."""
    every = set(within)
    if every == set(constants) and len(set(constants.values())) == 1:
        return Const(next(iter(constants.values())), shape)
    bits: list[Value] = []
    for k in range(Shape.cast(shape).width):
        ones = {p for p, value in constants.items() if value >> k & 1}
        bits.append(Const(int(bool(ones)), 1) if ones in (set(), every) else phases.during(ones))
    return Cat(*bits).as_signed() if Shape.cast(shape).signed else Cat(*bits)
