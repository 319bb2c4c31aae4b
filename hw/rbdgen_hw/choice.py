"""The choice of a value by the phase: multiplexers before shared operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from amaranth.hdl import Cat, Const, Module, Shape, ShapeLike, Signal, Value


def choose(m: Module, phase: Value, cases: Iterable[tuple[Iterable[int], Value]], shape: ShapeLike, name: str) -> Value:
    """The value whose phases (disjoint lists) contain ``phase``; any value in phases that are not listed.

    Values that occur more than once are one input of the multiplexer, constants are another together, and the most
    frequent input needs no comparison.
    """
    values: dict[int, Value] = {}
    phases: dict[int, list[int]] = {}
    constants: dict[int, int] = {}
    for wanted, value in cases:
        if isinstance(value, Const):
            constants |= dict.fromkeys(wanted, value.value)
        else:
            values.setdefault(id(value), value)
            phases.setdefault(id(value), []).extend(wanted)
    if constants:
        table = _table(m, phase, constants, shape, f"{name}_constant")
        values[id(table)], phases[id(table)] = table, list(constants)
    if len(values) == 1:
        return next(iter(values.values()))
    chosen = Signal(shape, name=name)
    rarest_first = sorted(values, key=lambda key: len(phases[key]))
    with m.Switch(phase):
        for key in rarest_first[:-1]:
            with m.Case(*sorted(phases[key])):
                m.d.comb += chosen.eq(values[key])
        with m.Default():
            m.d.comb += chosen.eq(values[rarest_first[-1]])
    return chosen


def _table(m: Module, phase: Value, constants: Mapping[int, int], shape: ShapeLike, name: str) -> Value:
    """Constants by phase, as logic: synthesis makes poor multiplexers of constants."""
    if len(set(constants.values())) == 1:
        return Const(next(iter(constants.values())), shape)
    chosen = Signal(shape, name=name)
    bits = []
    for k in range(len(chosen)):
        ones = [phase == p for p, value in sorted(constants.items()) if value >> k & 1]
        bits.append(Cat(*ones).any() if len(ones) < len(constants) else Const(1))
    m.d.comb += chosen.eq(Cat(*bits).as_signed() if Shape.cast(shape).signed else Cat(*bits))
    return chosen
