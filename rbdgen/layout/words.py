"""The words of tasks and results: operands and results one by one, with names, places and declared ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rbdgen.layout.functions import KNOWN, ROLL_OUT
from rbdgen.layout.rollout import BEGIN, COEFFICIENTS, MOST_STEPS, SUM, WEIGHTS
from rbdgen.model.ranges import InputRanges
from rbdgen.model.robot import Robot

HEADROOM = 1.1
"""Over the largest sampled τ and M⁻¹, for the declared range of operands that follow from others."""
ZERO_TOLERANCE = 1e-12
"""An entry of M⁻¹ that stays below this share of the largest is zero for the robot's structure, and no operand."""
BASE_ANGULAR_VELOCITY, BASE_ANGULAR_ACCELERATION, BASE_ACCELERATION = 10.0, 20.0, 30.0
"""Declared range of a given base motion: rad/s, rad/s² and, gravity included, m/s²."""


INVERSE = "inverse"
"""The group of result words by which ``dfd`` returns M⁻¹; their vector is ``minv``."""


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
    """What to trace: ``functions`` by the algorithms ``derivative`` and ``mass_matrix``; ``forces``: with external
    forces as operands, up to ``force_limit`` (N) and ``moment_limit`` (N·m) per component; ``moving_base``: with the
    base's motion as operands; ``with_inverse``: ``dfd`` returns M⁻¹ as well; ``calibratable``: with the inertial
    parameters as operands that are loaded once; ``integrator`` and ``time_step`` (s) of roll-outs; ``programs``:
    whether the derivatives are a program of their own (``two``) or parts of the only one.
    """

    functions: tuple[str, ...] = ("id",)
    derivative: str = "composite"
    mass_matrix: str = "ldl"
    forces: bool = False
    moving_base: bool = False
    with_inverse: bool = False
    calibratable: bool = False
    integrator: str = "euler"
    time_step: float = 1e-3
    programs: str = "two"
    force_limit: float = 100.0
    moment_limit: float = 20.0

    @property
    def needs_inverse(self) -> bool:
        """Whether a function computes M⁻¹, or takes it."""
        return bool({"fd", "minv", "dfd", "difd", ROLL_OUT.name} & set(self.functions))

    @property
    def weighted(self) -> bool:
        """Whether there are roll-outs of several evaluations a step."""
        return ROLL_OUT.name in self.functions and len(COEFFICIENTS[self.integrator]) > 1

    def operand_vectors(self, function: str) -> tuple[str, ...]:
        """The operand vectors of a function in the order of the words; external forces and the base's motion follow
        the joints' vectors."""
        vectors = KNOWN[function].operands
        if "v" not in vectors:
            return vectors
        more = [name for name, wanted in (("f_ext", self.forces), ("base", self.moving_base)) if wanted]
        return (*(v for v in vectors if v != "minv"), *more, *(v for v in vectors if v == "minv"))

    def result_vectors(self, function: str) -> tuple[str, ...]:
        """The groups of result words of a function, in their order: its vectors, and :data:`INVERSE`."""
        return KNOWN[function].results + ((INVERSE,) if function == "dfd" and self.with_inverse else ())


def dof_names(robot: Robot, joints: Sequence[str]) -> list[str]:
    """A name for each degree of freedom: its joint's, numbered where the joint has several."""
    return [
        joints[i] if body.joint.nv == 1 else f"{joints[i]}_{k}"
        for i, body in enumerate(robot.bodies)
        for k in range(body.joint.nv)
    ]


def _symmetric(names: Sequence[str], vector: str, limits: Sequence[float] | np.ndarray) -> tuple[Word, ...]:
    return tuple(
        Word(f"{vector}_{n}", vector, (k,), -float(x), float(x))
        for k, (n, x) in enumerate(zip(names, limits, strict=True))
    )


def operand_words(
    robot: Robot,
    ranges: InputRanges,
    options: TraceOptions,
    joints: Sequence[str],
    links: Sequence[str],
    tau: np.ndarray,
    minv: np.ndarray | None,
) -> dict[str, tuple[Word, ...]]:
    """The words of every operand vector. ``joints`` and ``links`` are identifiers; ``tau`` (n, nv) and ``minv``
    (n, nv, nv) are samples of what follows from the other operands."""
    q, dofs = [], dof_names(robot, joints)
    for i, body in enumerate(robot.bodies):
        for k, part in zip(range(*robot.q_slices[i].indices(robot.nq)), body.joint.coordinate_names, strict=True):
            name = "_".join(["q", joints[i], *([part] if part else [])])
            q.append(Word(name, "q", (k,), ranges.q_lower[k], ranges.q_upper[k]))
    words = {"q": tuple(q)}
    torques = HEADROOM * np.max(np.abs(tau), axis=0)
    for vector, limits in (("v", ranges.v_max), ("a", ranges.a_max), ("tau", torques)):
        words[vector] = _symmetric(dofs, vector, limits)
    if options.forces:
        limit = [options.force_limit] * 3 + [options.moment_limit] * 3
        words["f_ext"] = tuple(
            Word(f"f_ext_{links[i]}_{axis}", "f_ext", (i, k), -limit[k], limit[k])
            for i in range(len(robot.bodies))
            for k, axis in enumerate(("fx", "fy", "fz", "nx", "ny", "nz"))
        )
    if options.moving_base:
        limit = [BASE_ANGULAR_VELOCITY] * 3 + [BASE_ANGULAR_ACCELERATION] * 3 + [BASE_ACCELERATION] * 3
        names = [f"{part}{axis}" for part in ("w", "dw", "a") for axis in "xyz"]
        words["base"] = _symmetric(names, "base", limit)
    if ROLL_OUT.name in options.functions:
        words["steps"] = (Word("steps", "steps", (0,), 1, MOST_STEPS),)
    if options.weighted:
        for vector in ("q", "v"):
            for kind in (BEGIN, SUM):
                new = vector + kind
                words[new] = tuple(replace(w, name=w.name.replace(vector, new, 1), vector=new) for w in words[vector])
        h = options.time_step
        limits = (max(column) * h for column in zip(*COEFFICIENTS[options.integrator], strict=True))
        words[WEIGHTS] = _symmetric(("c", "b"), WEIGHTS, tuple(limits))
    if minv is not None:
        largest = HEADROOM * np.max(np.abs(minv), axis=0)
        least = ZERO_TOLERANCE * np.max(largest)
        words["minv"] = tuple(
            Word(f"minv_{dofs[i]}_{dofs[j]}", "minv", (i, j), -float(largest[i, j]), float(largest[i, j]))
            for i in range(robot.nv)
            for j in range(i + 1)
            if largest[i, j] > least
        )
    return words
