"""An equivalent robot that is cheaper to compute: the same τ for every q, v, a, with fewer constants.

Three exact changes, none of which the joint-space dynamics can see:

- **Frames**: a body's frame may turn so that a skew joint axis becomes z, and may slide along a revolute axis
  (anywhere, for a joint that does not turn) so that offsets between joints become zero.
- **Regrouping** (Gautier & Khalil 1990; Khalil & Dombre, *Modeling, Identification and Control of Robots*, chapter
  9): a mass distribution that the joint's motion leaves in place can belong to the parent just as well. For a revolute
  joint this is any distribution on the axis (mass, first moment along it, and second moment along it: three parameters
  become zero), for a joint that does not turn the second moment (six), for a ball joint a mass at its centre.
- What reaches the base has no effect at all.

A regrouped body need not be one that can exist (its mass is usually zero); the robot as a whole is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from rbdgen.model.joint import Joint
from rbdgen.model.robot import Body, Inertia, Placement, Robot
from rbdgen.spatial import IDENTITY3, constant_matrix, constant_vector

ZERO_TOLERANCE = 1e-6
"""When choosing frames, a length or moment below this (metres and kilograms) counts as zero: URDFs have rounding
noise."""
SNAP_TOLERANCE = 1e-13
"""What is left of an entry that was cancelled exactly, relative to the largest; such entries become zero."""


@dataclass(frozen=True)
class EquivalentRobot:
    """``robot``, and for each body its new frame's placement in the original body frame."""

    robot: Robot
    frames: tuple[Placement, ...]


def _inverse(placement: Placement) -> Placement:
    r = np.array(placement.rotation).T
    return Placement(constant_matrix(r), constant_vector(-r @ np.array(placement.translation)))


def _directions(columns: tuple[tuple[float, ...], ...]) -> np.ndarray:
    """The columns that are not zero, as rows."""
    rows = np.array(columns, float).reshape(-1, 3)
    return rows[np.any(rows != 0.0, axis=1)]


def _axis(joint: Joint) -> np.ndarray | None:
    """The one axis that a joint turns about; None where it turns about none or several."""
    turns = _directions(joint.angular_subspace)
    return turns[0] / np.linalg.norm(turns[0]) if np.linalg.matrix_rank(turns) == 1 else None


def kept_in_place(joint: Joint) -> np.ndarray:
    """Which entries of a pseudo-inertia (4×4) act on the parent as they act on the body, whatever the joint does.

    The axis that the joint turns about, if it is one, must be a coordinate axis.
    """
    turns, slides = (len(_directions(c)) > 0 for c in (joint.angular_subspace, joint.linear_subspace))
    kept, axis = np.zeros((4, 4), bool), _axis(joint)
    if not turns:
        kept[:3, :3] = True
    elif axis is not None:
        k = int(np.argmax(np.abs(axis)))
        kept[k, k] = True
        if not slides:
            kept[np.ix_([k, 3], [k, 3])] = True
    elif not slides:
        kept[3, 3] = True
    return kept


def _snapped(values: np.ndarray) -> np.ndarray:
    return np.where(np.abs(values) > SNAP_TOLERANCE * max(1.0, np.max(np.abs(values))), values, 0.0)


def reframed(robot: Robot, frames: tuple[Placement, ...]) -> Robot:
    """``robot`` with each body's frame replaced; a frame may differ only by what commutes with its joint's motion,
    or by a rotation when the joint's axis turns with it (see :func:`_aligned`)."""
    bodies = []
    for body, frame in zip(robot.bodies, frames, strict=True):
        outer = Placement() if body.parent < 0 else _inverse(frames[body.parent])
        placed = outer @ body.placement @ frame
        placed = Placement(
            constant_matrix(_snapped(np.array(placed.rotation))),
            constant_vector(_snapped(np.array(placed.translation))),
        )
        joint = body.joint
        axis = getattr(joint, "axis", None)
        if axis is not None:
            axis = np.array(frame.rotation).T @ np.array(axis)
            joint = replace(joint, axis=constant_vector(_snapped(axis)))  # type: ignore[call-arg]
        inertia = body.inertia.expressed_in(_inverse(frame))
        bodies.append(replace(body, placement=placed, joint=joint, inertia=inertia))
    return replace(robot, bodies=tuple(bodies))


def _aligned(body: Body) -> Placement:
    """The turn that brings a skew axis to z; coordinate axes, of either sign, stay."""
    axis = np.array(getattr(body.joint, "axis", (0.0, 0.0, 1.0)))
    if np.count_nonzero(axis) == 1:
        return Placement()
    helper = np.eye(3)[np.argmin(np.abs(axis))]
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    return Placement(constant_matrix(np.stack([x, np.cross(axis, x), axis], axis=1)))


def regrouped(robot: Robot) -> Robot:
    """``robot`` with all that a joint's motion leaves in place moved to the parent. Axes must be coordinate axes."""
    inertias = [b.inertia for b in robot.bodies]
    for i in reversed(range(len(robot.bodies))):
        body = robot.bodies[i]
        pseudo = inertias[i].pseudo
        moved = np.where(kept_in_place(body.joint), pseudo, 0.0)
        inertias[i] = Inertia.from_pseudo(_snapped(pseudo - moved))
        if body.parent >= 0:
            inertias[body.parent] += Inertia.from_pseudo(moved).expressed_in(body.placement)
    return replace(robot, bodies=tuple(replace(b, inertia=n) for b, n in zip(robot.bodies, inertias, strict=True)))


def constants_needed(robot: Robot) -> int:
    """Estimate of the constant multiplications: non-zero offsets and moments, weighted by how often RNEA meets them."""
    cost = 0
    for body in regrouped(robot).bodies:
        sigma = np.abs(np.array(body.inertia.second_moment)) > ZERO_TOLERANCE
        cost += 5 * int(np.count_nonzero(np.abs(body.placement.translation) > ZERO_TOLERANCE))
        cost += 5 * int(np.count_nonzero(np.abs(body.inertia.first_moment) > ZERO_TOLERANCE))
        cost += 2 * int(np.count_nonzero(np.diag(sigma))) + 3 * int(np.count_nonzero(np.triu(sigma, 1)))
        cost += 3 * (body.inertia.mass > ZERO_TOLERANCE)
    return cost


def _slides(robot: Robot, i: int) -> Iterator[np.ndarray]:
    """Moves of body ``i``'s origin that could make an entry zero."""
    body = robot.bodies[i]
    rotation = np.array(body.placement.rotation)
    offsets = [(rotation, -np.array(body.placement.translation))]
    offsets += [(np.eye(3), np.array(robot.bodies[c].placement.translation)) for c in robot.children[i]]
    if not len(_directions(body.joint.angular_subspace)):
        yield from (m.T @ target for m, target in offsets)
        if body.inertia.mass > 0:
            yield np.array(body.inertia.first_moment) / body.inertia.mass
        return
    axis = _axis(body.joint)
    if axis is None:
        return
    for matrix, target in offsets:
        direction = matrix @ axis
        for x, t in zip(direction, target, strict=True):
            if abs(x) > 0.1 and abs(t) > ZERO_TOLERANCE:
                yield t / x * axis


def equivalent(robot: Robot) -> EquivalentRobot:
    """The cheapest equivalent robot that a descent over single moves of origins finds; deterministic."""
    frames = [_aligned(body) for body in robot.bodies]
    current = reframed(robot, tuple(frames))
    cost = constants_needed(current)
    improved = True
    while improved:
        improved = False
        for i in range(len(robot.bodies)):
            for slide in _slides(current, i):
                step = [Placement()] * len(robot.bodies)
                step[i] = Placement(IDENTITY3, constant_vector(slide))
                candidate = reframed(current, tuple(step))
                if (candidate_cost := constants_needed(candidate)) < cost:
                    current, cost, improved = candidate, candidate_cost, True
                    frames[i] = frames[i] @ step[i]
                    break
    return EquivalentRobot(regrouped(current), tuple(frames))
