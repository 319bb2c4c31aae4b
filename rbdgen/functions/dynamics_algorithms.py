"""The algorithms of dynamics: inverse and forward dynamics, the mass matrix, derivatives.

By kind a text takes the traced program and
``inverse_dynamics``: nothing more; it gives τ (nv).
``forward_dynamics``: torques less those of no acceleration; it gives accelerations by degree of freedom.
``mass_matrix``: whether M is wanted, whether M⁻¹ is, and whether M is solved with; it gives a :class:`TakenApart`.
``derivative``: motions and wrenches summed towards the base; it gives ∂τ/∂q and ∂τ/∂v.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rbdgen.algo.cfa import constraint_forces
from rbdgen.algo.chain import Chain, sparing_scan
from rbdgen.algo.composite import MassMatrix, derivatives
from rbdgen.algo.factorisation import Factors, symmetric_product
from rbdgen.algo.hybrid import hybrid_accelerations
from rbdgen.algo.mminvgen import mminvgen
from rbdgen.algo.odd_even import elimination_order
from rbdgen.algo.plucker import transforms
from rbdgen.algo.rnea import Motion, Wrench, inward_sweep
from rbdgen.algo.rnea_derivatives import rnea_derivatives
from rbdgen.algo.scans import scan_mass_matrix, scan_rnea
from rbdgen.errors import UnsupportedError, short
from rbdgen.functions.algorithms import Algorithm
from rbdgen.functions.record import Entries, TracedProgram
from rbdgen.spatial import Scalar, Vector

Triangle = dict[tuple[int, int], Scalar]
"""Entries of a lower triangle."""


@dataclass(frozen=True)
class TakenApart:
    """M and, as far as they are wanted and an algorithm gives them, M⁻¹ (lower triangles) and the factors of M."""

    mass: Triangle
    inverse: Triangle
    factors: Factors | None


class DynamicsProgram(TracedProgram, Protocol):
    """A program as these texts see it: what a function is traced with, and what lies behind that."""

    @property
    def chain(self) -> Chain:
        """Rotations, offsets and joint axes of a serial chain in the base's coordinates."""
        ...

    @property
    def inertias_and_mass(self) -> tuple[list[Any], MassMatrix]:
        """Composite inertias and M."""
        ...

    def wrenches(self) -> list[Wrench]:
        """Wrenches that the bodies' motions take."""
        ...

    def mass_text(self) -> Triangle:
        """M by composite bodies, or as the algorithm of forward dynamics has it."""
        ...

    @property
    def taken_apart(self) -> TakenApart:
        """M, and what is found by it."""
        ...


def scan_levels(links: int) -> int:
    """Joins one after the other of a scan over ``links``."""

    def join(before: int, after: int, _: int) -> int:
        return 1 + max(before, after)

    return max(sparing_scan([0] * links, join))


def elimination_levels(links: int) -> int:
    """Levels of odd-even elimination of ``links`` block rows."""
    return len(elimination_order(links))


def _composite(
    trace: DynamicsProgram, motions: list[Motion], totals: list[Wrench]
) -> tuple[Entries, Entries]:
    inertias, mass = trace.inertias_and_mass
    v, base = trace.operand("v"), trace.root_motion()
    found = derivatives(
        trace.robot, trace.placements(), v, base, motions, totals, inertias, mass, trace.enter
    )
    return found.by_position, found.by_velocity


def _columns(
    trace: DynamicsProgram, motions: list[Motion], totals: list[Wrench]
) -> tuple[Entries, Entries]:
    placed = transforms(trace.robot, trace.placements(), trace.enter)
    return rnea_derivatives(trace.robot, placed, trace.operand("v"), motions, totals, trace.enter)


def _ldl(trace: DynamicsProgram, wanted: bool, inverse: bool, solved: bool) -> TakenApart:
    mass = trace.mass_text()
    if not inverse and not solved:
        return TakenApart(mass, {}, None)
    factors = trace.along().factorise(mass)
    return TakenApart(mass, trace.along().inverse(factors) if inverse else {}, factors)


def _mminvgen(trace: DynamicsProgram, wanted: bool, inverse: bool, solved: bool) -> TakenApart:
    robot = trace.robot
    followers = [body.joint_name for body in robot.bodies if body.mimic]
    if (inverse or solved) and followers:
        # a joint that moves several bodies cannot be taken out of articulated ones
        raise UnsupportedError(
            f"mass-matrix mminvgen: joint {short(followers[0])} follows another, which articulated bodies do not; "
            "use mass-matrix ldl"
        )
    placed = transforms(robot, trace.placements(), trace.enter)
    mass, inverted = mminvgen(robot, placed, wanted, inverse or solved, trace.enter)
    return TakenApart(mass, inverted, None)


def _recursive(trace: DynamicsProgram) -> Vector:
    v, a = trace.operand("v"), trace.operand("a")
    tau, _ = inward_sweep(trace.robot, trace.placements(), v, a, trace.wrenches(), trace.enter)
    return tau


def _scan(trace: DynamicsProgram) -> Vector:
    v, a = trace.operand("v"), trace.operand("a")
    forces = trace.forces()
    return scan_rnea(trace.robot, trace.chain, v, a, forces, trace.enter, trace.root_motion())


def _by_mass_matrix(trace: DynamicsProgram, rest: Sequence[Scalar]) -> Mapping[int, Scalar]:
    held = trace.taken_apart
    # solving by factors spares the inverse
    if held.factors is not None:
        return dict(enumerate(trace.along().solve(held.factors, rest)))
    columns = [dict(enumerate(rest))]
    return symmetric_product(trace.robot, held.inverse, columns, trace.enter)[0]


def _scan_mass(trace: DynamicsProgram) -> Triangle:
    return scan_mass_matrix(trace.robot, trace.chain, trace.enter)


def _hybrid(trace: DynamicsProgram, rest: Sequence[Scalar]) -> Mapping[int, Scalar]:
    placed = transforms(trace.robot, trace.placements(), trace.enter)
    return dict(enumerate(hybrid_accelerations(trace.robot, placed, tuple(rest), trace.enter)))


def _constraint_forces(trace: DynamicsProgram, rest: Sequence[Scalar]) -> Mapping[int, Scalar]:
    # forces of constraints need what each link itself resists, which regrouping does not keep
    held = constraint_forces(trace.whole(), trace.placements(), trace.enter)
    return dict(enumerate(held.accelerations(tuple(rest), trace.enter)))


ALGORITHMS = (
    Algorithm(
        "derivative",
        "composite",
        "from composite bodies (after Singh, Russell & Wensing 2022)",
        _composite,
    ),
    Algorithm(
        "derivative",
        "columns",
        "column by column (Carpentier & Mansard 2018)",
        _columns,
        calibratable=False,
        moving_base=False,
    ),
    Algorithm(
        "mass_matrix",
        "ldl",
        "composite bodies, then the branch-sparse factors of M (Featherstone 2005)",
        _ldl,
        factored=True,
    ),
    Algorithm(
        "mass_matrix",
        "mminvgen",
        "M and its inverse in one algorithm (Yang, Chen & Han 2023)",
        _mminvgen,
        calibratable=False,
    ),
    Algorithm(
        "inverse_dynamics",
        "recursive",
        "from link to link (Luh, Walker & Paul 1980)",
        _recursive,
    ),
    Algorithm(
        "inverse_dynamics",
        "scan",
        "by prefix sums, in logarithmic depth; serial chains (after Yang, Wu & Pan 2016)",
        _scan,
        serial=True,
        levels=scan_levels,
    ),
    Algorithm(
        "forward_dynamics",
        "factors",
        "by the mass matrix and its factors, or by its inverse",
        _by_mass_matrix,
        factored=True,
    ),
    Algorithm(
        "forward_dynamics",
        "jsiia",
        "the same, with M by prefix sums; serial chains (Yang, Wu & Pan 2016)",
        _by_mass_matrix,
        serial=True,
        levels=scan_levels,
        factored=True,
        mass=_scan_mass,
        needs={"mass_matrix": "ldl"},
        # the factors of M remain a sequence of pivots: it answers no sooner than they do
        comparison=True,
    ),
    Algorithm(
        "forward_dynamics",
        "hybrid",
        "by articulated bodies, accelerations by a scan; serial chains (Yang, Wu & Pan 2016)",
        _hybrid,
        serial=True,
        levels=scan_levels,
        # a link's inertia, or the inverse of it, is a constant
        calibratable=False,
        needs={"mass_matrix": "ldl"},
    ),
    Algorithm(
        "forward_dynamics",
        "cfa",
        "by constraint forces, in logarithmic depth; serial chains (Fijany, Sharf & D'Eleuterio 1995)",
        _constraint_forces,
        serial=True,
        levels=elimination_levels,
        calibratable=False,
        needs={"mass_matrix": "ldl"},
    ),
)
