"""Inverse kinematics by damped least squares: a step of all joints that brings frames nearer to where they are wanted.

With the frames' Jacobians J in their own directions, their errors e, weights W by row and damping δ, a step is

    Δq = (W J)ᵀ (W J Jᵀ W + δ 1)⁻¹ W e

(Wampler 1986; Nakamura & Hanafusa 1986, where δ is λ²). An error is [Rᵀ (p* − p), ½ vee(Rᵀ R* − R*ᵀ R)]: the way to go,
and the axis to turn about times the sine of the angle, for which no angle is formed. It is Pinocchio's ``log6`` but for
terms of second order in the angle, and points the same way up to half a turn, where it vanishes. A long way is cut to
``longest`` along each of the base's axes: what is far away is beyond the linear step anyhow.

Errors are submodule ``Ke_i`` of the frame's body, weighted rows ``Kw_i`` and their products ``Ka_i``; the matrix is
taken apart in ``Kf_i`` and its solution found in ``Ki_i``; a joint's step is ``Kq_i`` of its body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rbdgen.algo.factorisation import Elimination, dof_bodies
from rbdgen.algo.following import Entries
from rbdgen.algo.frames import Kinematics
from rbdgen.algo.operational_space import Row, rows_of
from rbdgen.algo.rnea import CYCLES
from rbdgen.algo.step import Integration
from rbdgen.model.joints import JointPlacement
from rbdgen.spatial import (
    Enter,
    Matrix,
    Scalar,
    Vector,
    absolute,
    add,
    anywhere,
    dot,
    matvec,
    mul,
    sub,
    transpose,
    vsub,
)

AXES = 6
"""Rows of a frame."""


@dataclass(frozen=True)
class Target:
    """Where a frame is to be: ``rotation`` R* (3×3) and ``position`` p* (3, m), both in the base's coordinates, and the
    ``weights`` of its rows (6): [linear, angular] along and about the frame's own axes."""

    rotation: Matrix
    position: Vector
    weights: Vector


def clamped(x: Scalar, lower: float, upper: float) -> Scalar:
    """``x``, or the nearer bound where it is beyond."""
    # no comparison: (|x − l| − |x − u| + l + u) / 2
    above = absolute(sub(x, lower))
    below = absolute(sub(x, upper))
    both = add(sub(above, below), lower + upper)
    return mul(0.5, both)


def frame_error(place: JointPlacement, target: Target, longest: float) -> Vector:
    """e (6) of a frame at ``place``, in its own directions."""
    whole = vsub(target.position, place.translation)
    way = tuple(clamped(x, -longest, longest) for x in whole)
    inward = transpose(place.rotation)
    columns = transpose(target.rotation)

    def turned(i: int, j: int) -> Scalar:
        # entry (i, j) of Rᵀ R*: those on the diagonal are not needed
        return dot(inward[i], columns[j])

    error = list(matvec(inward, way))
    for _, j, k in CYCLES:
        twice = sub(turned(k, j), turned(j, k))
        error.append(mul(0.5, twice))
    return tuple(error)


def damped_step(
    found: Kinematics,
    targets: Sequence[Target],
    damping: float,
    longest: float,
    enter: Enter = anywhere,
) -> Vector:
    """Δq (nv) from frames whose reference is ``local``."""
    rows: list[Row] = []
    errors: list[Scalar] = []
    plain = rows_of(found, [range(AXES)] * len(targets))
    for k, target in enumerate(targets):
        body = found.frames[k].body
        with enter("Ke", body):
            error = frame_error(found.places[k], target, longest)
        with enter("Kw", body):
            first = AXES * k
            own = plain[first : first + AXES]
            for row, weight, e in zip(own, target.weights, error, strict=True):
                entries = {dof: mul(weight, x) for dof, x in row.entries.items()}
                rows.append(Row(entries, body))
                errors.append(mul(weight, e))
    solved = _solved(rows, errors, damping, enter)
    step: list[Scalar] = []
    for dof, body in enumerate(dof_bodies(found.robot)):
        with enter("Kq", body):
            column = tuple(row.entries.get(dof, 0.0) for row in rows)
            step.append(dot(column, solved))
    return tuple(step)


def _solved(rows: Sequence[Row], right: Sequence[Scalar], damping: float, enter: Enter) -> Vector:
    """(J Jᵀ + δ 1)⁻¹ times a vector, from the rows of J."""
    matrix: Entries = {}
    for i, row in enumerate(rows):
        with enter("Ka", row.body):
            for j, other in enumerate(rows[: i + 1]):
                # frames on different branches have no degree of freedom in common
                common = [dof for dof in row.entries if dof in other.entries]
                one = tuple(row.entries[dof] for dof in common)
                product = dot(one, tuple(other.entries[dof] for dof in common))
                matrix[i, j] = add(product, damping) if i == j else product
    bodies = [row.body for row in rows]
    # a chain: each row couples with all before it
    along = Elimination(range(-1, len(rows) - 1), bodies, enter, ("Kf", "Ki"))
    return along.solve(along.factorise(matrix), right)


def stepped(integration: Integration, q: Vector, step: Vector) -> Vector:
    """q (nq) after a step of the joints (nv), which stay within the limits that they have."""
    moved = list(integration.moved(q, step))
    for body, own, dofs in integration.robot.independent:
        lower = body.limits.lower
        upper = body.limits.upper
        if lower is None or upper is None:
            continue
        if "unit" in body.joint.kinds:
            continue
        with integration.of_entry(dofs.start):
            for k in range(own.start, own.stop):
                moved[k] = clamped(moved[k], lower, upper)
    return tuple(moved)
