"""An equivalent robot that is cheaper to compute: the same τ for every q, v, a, with fewer constants.

Three exact changes, none of which the joint-space dynamics can see:

- **Frames**: a body's frame may rotate so that a skew joint axis becomes z, and may slide along a revolute axis
  (anywhere, for a joint that does not rotate) so that offsets between joints become zero.
- **Regrouping** (Gautier & Khalil 1990; Khalil & Dombre, *Modeling, Identification and Control of Robots*, chapter
  9): a mass distribution that the joint's motion leaves in place can belong to the parent just as well. For a revolute
  joint this is any distribution on the axis (mass, first moment along it, and second moment along it: three parameters
  become zero), for a joint that does not rotate the second moment (six), for a ball joint a mass at its centre.
- What reaches the base has no effect at all.

A regrouped body need not be one that can exist (its mass is usually zero); the robot as a whole is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from rbdgen.model.body import Body, Inertia, Placement
from rbdgen.model.joint import Joint
from rbdgen.model.robot import Robot
from rbdgen.spatial import IDENTITY3, constant_matrix, constant_vector

ZERO_TOLERANCE = 1e-6
"""When choosing frames, a length or moment below this (metres and kilograms) counts as zero: URDFs have rounding
noise."""
SNAP_TOLERANCE = 1e-13
"""What is left of an entry that was cancelled exactly, relative to the largest; such entries become zero."""


@dataclass(frozen=True)
class EquivalentRobot:
    """``robot``, and for each body its new frame's placement in the original body frame. ``whole``: the robot in these
    frames whose links keep the inertias that are theirs."""

    robot: Robot
    frames: tuple[Placement, ...]
    whole: Robot


def _inverse(placement: Placement) -> Placement:
    rotation = np.array(placement.rotation).T
    translation = -rotation @ np.array(placement.translation)
    return Placement(constant_matrix(rotation), constant_vector(translation))


def _directions(columns: tuple[tuple[float, ...], ...]) -> np.ndarray:
    """The columns that are not zero, as rows."""
    rows = np.array(columns, float).reshape(-1, 3)
    nonzero = np.any(rows != 0.0, axis=1)
    return rows[nonzero]


def _axis(joint: Joint) -> np.ndarray | None:
    """The one axis that a joint rotates about; None where it rotates about none or several."""
    directions = _directions(joint.angular_subspace)
    if np.linalg.matrix_rank(directions) != 1:
        return None
    axis = directions[0]
    return axis / np.linalg.norm(axis)


def kept_in_place(joint: Joint) -> np.ndarray:
    """Which entries of a pseudo-inertia (4×4) act on the parent as they act on the body, whatever the joint does.

    The axis that the joint rotates about, if it is one, must be a coordinate axis.
    """
    rotates = len(_directions(joint.angular_subspace)) > 0
    slides = len(_directions(joint.linear_subspace)) > 0
    kept = np.zeros((4, 4), bool)
    if not rotates:
        kept[:3, :3] = True
        return kept
    axis = _axis(joint)
    if axis is not None:
        k = int(np.argmax(np.abs(axis)))
        kept[k, k] = True
        if not slides:
            both = [k, 3]
            kept[np.ix_(both, both)] = True
    elif not slides:
        kept[3, 3] = True
    return kept


def _snapped(values: np.ndarray) -> np.ndarray:
    """Values without what is left of those that were cancelled exactly."""
    sizes = np.abs(values)
    least = SNAP_TOLERANCE * max(1.0, np.max(sizes))
    return np.where(sizes > least, values, 0.0)


def _snapped_placement(placement: Placement) -> Placement:
    rotation = _snapped(np.array(placement.rotation))
    translation = _snapped(np.array(placement.translation))
    return Placement(constant_matrix(rotation), constant_vector(translation))


def reframed(robot: Robot, frames: tuple[Placement, ...]) -> Robot:
    """``robot`` with each body's frame replaced; a frame may differ only by what commutes with its joint's motion,
    or by a rotation when the joint's axis rotates with it (see :func:`_aligned`)."""
    bodies = []
    for body, frame in zip(robot.bodies, frames, strict=True):
        outer = Placement()
        if body.parent >= 0:
            outer = _inverse(frames[body.parent])
        placed = outer @ body.placement @ frame
        changed = replace(
            body,
            placement=_snapped_placement(placed),
            joint=_reframed_joint(body.joint, frame),
            inertia=body.inertia.expressed_in(_inverse(frame)),
        )
        bodies.append(changed)
    into = {i: (i, _inverse(frame)) for i, frame in enumerate(frames)} | {-1: (-1, Placement())}
    return replace(robot, bodies=tuple(bodies), **robot.carried(into))


def _reframed_joint(joint: Joint, frame: Placement) -> Joint:
    """A joint as seen from its body's new frame."""
    axis = getattr(joint, "axis", None)
    if axis is None:
        return joint
    inward = np.array(frame.rotation).T
    axis = _snapped(inward @ np.array(axis))
    return replace(joint, axis=constant_vector(axis))  # type: ignore[call-arg]


def _aligned(body: Body) -> Placement:
    """The rotation that brings a skew axis to z; coordinate axes, of either sign, stay."""
    given = getattr(body.joint, "axis", (0.0, 0.0, 1.0))
    axis = np.array(given)
    if np.count_nonzero(axis) == 1:
        return Placement()
    least = np.argmin(np.abs(axis))
    helper = np.eye(3)[least]
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    y = np.cross(axis, x)
    rotation = np.stack([x, y, axis], axis=1)
    return Placement(constant_matrix(rotation))


def regrouped(robot: Robot) -> Robot:
    """``robot`` with all that a joint's motion leaves in place moved to the parent. Axes must be coordinate axes."""
    inertias = [b.inertia for b in robot.bodies]
    for i in reversed(range(len(robot.bodies))):
        body = robot.bodies[i]
        pseudo = inertias[i].pseudo
        kept = kept_in_place(body.joint)
        moved = np.where(kept, pseudo, 0.0)
        rest = _snapped(pseudo - moved)
        inertias[i] = Inertia.from_pseudo(rest)
        if body.parent >= 0:
            added = Inertia.from_pseudo(moved)
            inertias[body.parent] += added.expressed_in(body.placement)
    bodies = []
    for body, inertia in zip(robot.bodies, inertias, strict=True):
        bodies.append(replace(body, inertia=inertia))
    return replace(robot, bodies=tuple(bodies))


def _count(values: np.ndarray | Sequence[float]) -> int:
    """How many entries do not count as zero."""
    return int(np.count_nonzero(np.abs(values) > ZERO_TOLERANCE))


def constants_needed(robot: Robot) -> int:
    """Estimate of the constant multiplications: non-zero offsets and moments, weighted by how often RNEA meets them."""
    cost = 0
    for body in regrouped(robot).bodies:
        inertia = body.inertia
        second = np.array(inertia.second_moment)
        cost += 5 * _count(body.placement.translation)
        cost += 5 * _count(inertia.first_moment)
        cost += 2 * _count(np.diag(second))
        cost += 3 * _count(np.triu(second, 1))
        cost += 3 * (inertia.mass > ZERO_TOLERANCE)
    return cost


def _slides(robot: Robot, i: int) -> Iterator[np.ndarray]:
    """Moves of body ``i``'s origin that could make an entry zero."""
    body = robot.bodies[i]
    inertia = body.inertia
    rotation = np.array(body.placement.rotation)
    own = -np.array(body.placement.translation)
    offsets = [(rotation, own)]
    for child in robot.children[i]:
        placement = robot.bodies[child].placement
        offsets.append((np.eye(3), np.array(placement.translation)))
    if not len(_directions(body.joint.angular_subspace)):
        for matrix, target in offsets:
            yield matrix.T @ target
        if inertia.mass > 0:
            yield np.array(inertia.first_moment) / inertia.mass
        return
    axis = _axis(body.joint)
    if axis is None:
        return
    for matrix, target in offsets:
        direction = matrix @ axis
        for x, t in zip(direction, target, strict=True):
            if abs(x) > 0.1 and abs(t) > ZERO_TOLERANCE:
                yield t / x * axis


def _with_move(robot: Robot, i: int, move: Placement) -> Robot:
    """``robot`` with the frame of body ``i`` moved."""
    frames = [Placement()] * len(robot.bodies)
    frames[i] = move
    return reframed(robot, tuple(frames))


@lru_cache(maxsize=8)
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
                move = Placement(IDENTITY3, constant_vector(slide))
                candidate = _with_move(current, i, move)
                candidate_cost = constants_needed(candidate)
                if candidate_cost < cost:
                    current = candidate
                    cost = candidate_cost
                    improved = True
                    frames[i] = frames[i] @ move
                    break
    return EquivalentRobot(regrouped(current), tuple(frames), current)
