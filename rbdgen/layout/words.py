"""The words of tasks and results: operands and results one by one, with names, indices and declared ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rbdgen.algo.frames import LOCAL
from rbdgen.errors import UnsupportedError
from rbdgen.functions import registry
from rbdgen.functions.quantities import BASE, BEGIN, F_EXT, SUM, WEIGHTS, Quantity, labels
from rbdgen.functions.record import Function
from rbdgen.layout.torques import BOTH, HEADROOM
from rbdgen.model.ranges import InputRanges
from rbdgen.model.robot import Robot, coordinate_names, dof_names
from rbdgen.protocol.identifiers import unused

ZERO_TOLERANCE = 1e-12
"""An entry of M⁻¹ that stays below this share of the root of its two joints' largest on the diagonal, which bounds it
whatever their units, is zero for the robot's structure, and no operand."""
BASE_ANGULAR_VELOCITY, BASE_ANGULAR_ACCELERATION, BASE_ACCELERATION = 10.0, 20.0, 30.0
"""Declared range of a given base motion: rad/s, rad/s² and, gravity included, m/s²."""

FORCE_LIMIT, MOMENT_LIMIT = 100.0, 20.0
"""Declared range of each component of an external force, N and N·m, where no other is asked for."""


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


@dataclass(frozen=True)
class TraceOptions:
    """What to trace: ``functions`` by the algorithms ``derivative``, ``mass_matrix``, ``inverse_dynamics``,
    ``forward_dynamics`` and ``operational_space`` (:data:`rbdgen.functions.algorithms.FAMILIES`); ``forces``: with
    external forces as operands, up to ``force_limit`` (N) and ``moment_limit`` (N·m) per component;
    ``moving_base``: with the base's motion as operands; ``with_inverse``: ``dfd`` returns M⁻¹ as well;
    ``calibratable``: with the inertial parameters as operands that are loaded once; ``integrator`` and
    ``time_step`` (s) of roll-outs; the ``reference`` of frames' motions and the ``constraint_damping`` of their
    inverse inertia, the ``contact_rate`` (1/s) of contacts; ``programs``: whether the derivatives are a program of
    their own (``two``) or parts of the only one; ``ranges``: where states of functions that take torques come from
    (:data:`rbdgen.layout.torques.RANGES`).
    """

    functions: tuple[str, ...] = ("id",)
    derivative: str = "composite"
    mass_matrix: str = "ldl"
    inverse_dynamics: str = "recursive"
    forward_dynamics: str = "factors"
    operational_space: str = "factors"
    forces: bool = False
    moving_base: bool = False
    with_inverse: bool = False
    calibratable: bool = False
    integrator: str = "euler"
    time_step: float = 1e-3
    reference: str = LOCAL
    constraint_damping: float = 0.0
    contact_rate: float = 0.0
    programs: str = "two"
    ranges: str = BOTH
    force_limit: float = FORCE_LIMIT
    moment_limit: float = MOMENT_LIMIT

    @property
    def records(self) -> tuple[Function, ...]:
        """The functions' records."""
        return registry.made(self.functions, self)

    @property
    def quantities(self) -> dict[str, Quantity]:
        """The vectors and matrices of the functions' tasks and results, by name."""
        quantities: list[Quantity] = []
        for f in self.records:
            quantities += [*f.operands, *f.results]
            if f.extra and getattr(self, f.extra.option):
                quantities.append(f.extra.quantity)
            if self.forces and f.forced:
                quantities.append(F_EXT)
            if self.moving_base and f.based:
                quantities.append(BASE)
        return {q.name: q for q in quantities}

    @property
    def takes_inverse(self) -> bool:
        """Whether a function computes M⁻¹, or takes it."""
        return any(f.takes_inverse for f in self.records)

    @property
    def repeated(self) -> Function | None:
        """The function whose tasks go through their program again and again, where there is one."""
        return next((f for f in self.records if f.repeat), None)

    @property
    def two_passes(self) -> tuple[str, ...]:
        """The functions that have a first pass, which is the same of all of them."""
        return tuple(f.name for f in self.records if f.first_pass)

    @property
    def weights(self) -> tuple[tuple[float, float], ...]:
        """c and b of each evaluation of a step of the function that repeats; none where there is no such function."""
        repeated = self.repeated
        if repeated is None or repeated.repeat is None:
            return ()
        return repeated.repeat.weights(self)

    @property
    def weighted(self) -> bool:
        """Whether a step has several evaluations."""
        return len(self.weights) > 1

    def operand_vectors(self, function: str) -> tuple[str, ...]:
        """The operands of a function in the order of the words; external forces and the base's motion follow the
        joints' vectors, matrices come last."""
        record = registry.function(function)
        vectors = [q.name for q in record.operands if len(q.shape) == 1]
        matrices = [q.name for q in record.operands if len(q.shape) > 1]
        if self.forces and record.forced:
            vectors.append(F_EXT.name)
        if self.moving_base and record.based:
            vectors.append(BASE.name)
        return (*vectors, *matrices)

    def result_vectors(self, function: str) -> tuple[str, ...]:
        """The groups of result words of a function, in their order: its results, and the further one that an option
        asks for."""
        record = registry.function(function)
        groups = tuple(q.name for q in record.results)
        extra = self.extra_of(function)
        return (*groups, extra) if extra else groups

    def returned(self, function: str) -> tuple[str, ...]:
        """The vectors and matrices that a function returns, also those that are zero for a robot and have no words."""
        record = registry.function(function)
        names = [q.name for q in record.results]
        if record.extra and self.extra_of(function):
            names.append(record.extra.quantity.name)
        return tuple(names)

    def extra_of(self, function: str) -> str | None:
        """The group of words that a function returns beyond its results; None where no option asks for one."""
        extra = registry.function(function).extra
        return extra.group if extra and getattr(self, extra.option) else None


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
    words: list[Word] = []
    for index in np.ndindex(quantity.size(robot)):
        parts = [known[k] for k, known in zip(index, names, strict=True)]
        scale = quantity.scales[len(words) % len(quantity.scales)]
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
