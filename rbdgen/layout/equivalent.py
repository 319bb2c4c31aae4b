"""An equivalent robot that is cheaper to compute: the same τ for every q, v, a, with fewer constants.

Three exact changes, none of which the joint-space dynamics can see:

- **Frames**: a body's frame may turn so that a skew joint axis becomes z, and may slide along a revolute axis
  (anywhere,
  for a prismatic joint) so that offsets between joints become zero.
- **Regrouping** (Gautier & Khalil 1990; Khalil & Dombre, *Modeling, Identification and Control of Robots*, chapter
  9): a
  mass distribution that the joint's motion leaves in place can belong to the parent just as well. For a revolute
  joint this is any distribution on the axis (mass, first moment along it, and second moment along it: three parameters
  become zero), for a prismatic joint the second moment (six).
- What reaches the base has no effect at all.

A regrouped body need not be one that can exist (its mass is usually zero); the robot as a whole is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from rbdgen.model.joints import Prismatic
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


def _axis(body: Body) -> np.ndarray:
    return np.array(body.joint.axis)  # type: ignore[attr-defined]


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
        axis = np.array(frame.rotation).T @ _axis(body)
        joint = replace(body.joint, axis=constant_vector(_snapped(axis)))  # type: ignore[call-arg]
        inertia = body.inertia.expressed_in(_inverse(frame))
        bodies.append(replace(body, placement=placed, joint=joint, inertia=inertia))
    return replace(robot, bodies=tuple(bodies))


def _aligned(body: Body) -> Placement:
    """The turn that brings a skew axis to z; coordinate axes, of either sign, stay."""
    axis = _axis(body)
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
        pseudo, k = inertias[i].pseudo, int(np.argmax(np.abs(_axis(body))))
        moved = np.zeros((4, 4))
        if isinstance(body.joint, Prismatic):
            moved[:3, :3] = pseudo[:3, :3]
        else:
            places = np.ix_([k, 3], [k, 3])
            moved[places] = pseudo[places]
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
    if isinstance(body.joint, Prismatic):
        yield from (m.T @ target for m, target in offsets)
        if body.inertia.mass > 0:
            yield np.array(body.inertia.first_moment) / body.inertia.mass
        return
    axis = _axis(body)
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
