"""Facts for automatic differentiation of compiled functions: which function computes which derivative, and how changes
of coordinates are velocities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rbdgen.errors import ConfigError, UnsupportedError
from rbdgen.functions.record import Function, Slope
from rbdgen.layout.trace_options import TraceOptions
from rbdgen.model.robot import Robot
from rbdgen.spatial import Vector, dot, mul, reciprocal, transpose


@dataclass(frozen=True)
class Source:
    """Where a derivative comes from: a compiled ``function``, by its own name, and the number of its ``result``."""

    function: str
    result: int


def sources(settings: TraceOptions, record: Function, wanted: Sequence[str]) -> dict[str, Source]:
    """Where the derivatives of a function with respect to operands come from, of the functions in ``settings``.
    UnsupportedError for an operand with respect to which none is known, ConfigError naming the functions that are to be
    compiled too."""
    slopes = {slope.operand: slope for slope in record.slopes}
    found: dict[str, Source] = {}
    missing: list[str] = []
    for operand in wanted:
        if operand not in slopes:
            raise UnsupportedError(
                f"{record.method}: its derivative with respect to {operand} is not known; keep {operand} constant, or "
                "approximate it by differences"
            )
        # one that is computed anyway may return it as well, as that of forward dynamics does the inverse
        anyway = [source.function for source in found.values()]
        source = _source(settings, record, slopes[operand], anyway)
        if source is None:
            missing.append(slopes[operand].function)
        else:
            found[operand] = source
    if missing:
        names = " and ".join(dict.fromkeys(missing))
        raise ConfigError(
            f"{record.method}: its derivative with respect to {', '.join(wanted)} needs {names}; compile that too"
        )
    return found


def _source(
    settings: TraceOptions, record: Function, slope: Slope, anyway: Sequence[str]
) -> Source | None:
    """The first compiled function that returns a slope."""
    others = [other.function for other in record.slopes]
    for name in (*anyway, slope.function, *others):
        if name not in settings.functions:
            continue
        returned = settings.returned(name)
        if slope.result in returned:
            return Source(name, returned.index(slope.result))
    return None


def turns(robot: Robot) -> bool:
    """Whether coordinates are not velocities' integrals: then they have a vector of unit length among them."""
    kinds = [body.joint.kinds for body, _, _ in robot.independent]
    return any("unit" in own for own in kinds)


def velocity(robot: Robot, q: Vector, rates: Vector) -> Vector:
    """The velocity (nv) at which coordinates ``q`` change by ``rates`` (nq each), less what leads off unit length: the
    pseudo-inverse of :meth:`rbdgen.model.joints.Coordinates.rates`, over abstract scalars."""
    found: list[Any] = []
    for body, own, _ in robot.independent:
        columns = transpose(body.joint.rates(q[own]))
        for column in columns:
            along = dot(column, rates[own])
            found.append(mul(_weight(column), along))
    return tuple(found)


def gradient(robot: Robot, q: Vector, by_velocity: Vector) -> Vector:
    """A gradient with respect to coordinates (nq), of one with respect to velocities (nv): :func:`velocity`,
    transposed."""
    found: list[Any] = []
    for body, own_q, own_v in robot.independent:
        matrix = body.joint.rates(q[own_q])
        weighted = []
        for column, x in zip(transpose(matrix), by_velocity[own_v], strict=True):
            weighted.append(mul(_weight(column), x))
        for row in matrix:
            found.append(dot(row, tuple(weighted)))
    return tuple(found)


def _weight(column: Vector) -> Any:
    """One over a column's squared length; columns are at right angles."""
    square = dot(column, column)
    return reciprocal(square)
