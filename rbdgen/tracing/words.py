"""The words of tasks and results: operands and results one by one, with names, indices and declared ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rbdgen.errors import UnsupportedError
from rbdgen.functions.quantities import BASE, BEGIN, F_EXT, SUM, WEIGHTS, Quantity, labels
from rbdgen.model.ranges import InputRanges
from rbdgen.model.robot import Robot, coordinate_names, dof_names
from rbdgen.protocol.identifiers import unused
from rbdgen.tracing.torques import HEADROOM
from rbdgen.tracing.trace_options import TraceOptions

ZERO_TOLERANCE = 1e-12
"""An entry of M⁻¹ that stays below this share of the root of its two joints' largest on the diagonal, which bounds it
whatever their units, is zero for the robot's structure, and no operand."""
BASE_ANGULAR_VELOCITY, BASE_ANGULAR_ACCELERATION, BASE_ACCELERATION = 10.0, 20.0, 30.0
"""Declared range of a given base motion: rad/s, rad/s² and, gravity included, m/s²."""


@dataclass(frozen=True)
class Word:
    """One operand or result: ``name`` (a legal identifier), which vector or matrix and where in it, and, for operands,
    the declared range."""

    name: str
    vector: str
    index: tuple[int, ...]
    lower: float = 0.0
    upper: float = 0.0

    @property
    def magnitude(self) -> float:
        """Largest declared magnitude."""
        return max(abs(self.lower), abs(self.upper))


def _symmetric(
    names: Sequence[str], vector: str, limits: Sequence[float] | np.ndarray
) -> tuple[Word, ...]:
    words: list[Word] = []
    for name, x in zip(names, limits, strict=True):
        limit = float(x)
        index = (len(words),)
        words.append(Word(f"{vector}_{name}", vector, index, -limit, limit))
    return tuple(words)


def operand_words(
    robot: Robot,
    ranges: InputRanges,
    options: TraceOptions,
    joints: Sequence[str],
    links: Sequence[str],
    torques: Sequence[float],
    minv: np.ndarray | None,
) -> dict[str, tuple[Word, ...]]:
    """The words of every operand. ``joints`` and ``links`` are identifiers; ``torques`` (nv) are the largest,
    ``minv`` (n, nv, nv) are samples. UnsupportedError for an operand that no states are known of."""
    dofs = dof_names(robot, joints)
    # of all operands that there may be; those that nothing takes are dropped after tracing
    words = {"q": _position_words(robot, ranges, joints)}
    words["v"] = _symmetric(dofs, "v", ranges.v_max)
    words["a"] = _symmetric(dofs, "a", ranges.a_max)
    words["tau"] = _symmetric(dofs, "tau", torques)
    if options.forces:
        words[F_EXT.name] = _force_words(robot, options, links)
    if options.moving_base:
        words[BASE.name] = _base_words()
    words |= _declared_words(robot, options, joints)
    if options.weighted:
        words |= _evaluation_words(options, words)
    if minv is not None:
        words["minv"] = _inverse_words(robot, dofs, minv)
    for f in options.records:
        for quantity in f.operands:
            if quantity.name not in words:
                raise UnsupportedError(
                    f"function {f.name!r}: no states are known of its operand {quantity.name!r}; operands are "
                    f"{', '.join(words)}"
                )
    return words


def _position_words(robot: Robot, ranges: InputRanges, joints: Sequence[str]) -> tuple[Word, ...]:
    words = []
    for k, name in enumerate(coordinate_names(robot, joints)):
        lower = ranges.q_lower[k]
        upper = ranges.q_upper[k]
        words.append(Word(f"q_{name}", "q", (k,), lower, upper))
    return tuple(words)


def _force_words(robot: Robot, options: TraceOptions, links: Sequence[str]) -> tuple[Word, ...]:
    limits = dict.fromkeys(("fx", "fy", "fz"), options.force_limit)
    limits |= dict.fromkeys(("nx", "ny", "nz"), options.moment_limit)
    words = []
    for i in range(len(robot.bodies)):
        for k, (axis, limit) in enumerate(limits.items()):
            name = f"f_ext_{links[i]}_{axis}"
            words.append(Word(name, F_EXT.name, (i, k), -limit, limit))
    return tuple(words)


def _base_words() -> tuple[Word, ...]:
    limits = np.repeat([BASE_ANGULAR_VELOCITY, BASE_ANGULAR_ACCELERATION, BASE_ACCELERATION], 3)
    names = [f"{part}{axis}" for part in ("w", "dw", "a") for axis in "xyz"]
    return _symmetric(names, BASE.name, limits)


def _declared_words(
    robot: Robot, options: TraceOptions, joints: Sequence[str]
) -> dict[str, tuple[Word, ...]]:
    """Words of operands whose range is declared with them."""
    words: dict[str, tuple[Word, ...]] = {}
    for f in options.records:
        for quantity in f.operands:
            if quantity.limits is not None:
                words[quantity.name] = _quantity_words(robot, quantity, joints)
    return words


def _quantity_words(robot: Robot, quantity: Quantity, joints: Sequence[str]) -> tuple[Word, ...]:
    assert quantity.limits is not None
    if quantity.shape == (1,):
        return (Word(quantity.name, quantity.name, (0,), *quantity.limits),)
    names = [labels(robot, dimension, joints) for dimension in quantity.shape]
    scales = quantity.scaled(robot)
    words: list[Word] = []
    for index in np.ndindex(quantity.size(robot)):
        parts = [known[k] for k, known in zip(index, names, strict=True)]
        # repeated over the entries as samples have it, by ``np.resize``
        scale = scales[len(words) % len(scales)]
        lower, upper = (scale * limit for limit in quantity.limits)
        words.append(Word("_".join([quantity.name, *parts]), quantity.name, index, lower, upper))
    return tuple(words)


def _evaluation_words(
    options: TraceOptions, words: dict[str, tuple[Word, ...]]
) -> dict[str, tuple[Word, ...]]:
    """Words that only steps of several evaluations have."""
    more = {}
    for vector in ("q", "v"):
        for kind in (BEGIN, SUM):
            new = vector + kind
            own = []
            for word in words[vector]:
                # only the first: a joint's name may hold the vector's
                name = word.name.replace(vector, new, 1)
                own.append(replace(word, name=name, vector=new))
            more[new] = tuple(own)
    limits = [max(column) for column in zip(*options.weights, strict=True)]
    more[WEIGHTS] = _symmetric(("c", "b"), WEIGHTS, limits)
    return more


def _inverse_words(robot: Robot, dofs: Sequence[str], minv: np.ndarray) -> tuple[Word, ...]:
    largest = HEADROOM * np.max(np.abs(minv), axis=0)
    roots = np.sqrt(np.diag(largest))
    words = []
    taken: set[str] = set()
    for i in range(robot.nv):
        for j in range(i + 1):
            limit = float(largest[i, j])
            if limit > ZERO_TOLERANCE * roots[i] * roots[j]:
                name = unused(f"minv_{dofs[i]}_{dofs[j]}", taken)
                words.append(Word(name, "minv", (i, j), -limit, limit))
    return tuple(words)
