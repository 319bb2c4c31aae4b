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
from functools import cached_property, lru_cache

import numpy as np

from rbdgen.model.body import Body, Inertia, Placement
from rbdgen.model.joints import Joint
from rbdgen.model.robot import Robot
from rbdgen.spatial import IDENTITY3, constant_matrix, constant_vector

ZERO_TOLERANCE = 1e-6
"""When choosing frames, a length, mass or moment below this share of the robot's own (:class:`_Scale`) counts as zero:
URDFs have rounding noise."""
SNAP_TOLERANCE = 1e-13
"""Largest rest of an entry that was cancelled exactly, relative to what it was the sum of; such entries become zero."""
LEAST_ROOT = 0.1
"""A root of a mass distribution along an axis counts as at least this share of the largest: turning a frame leaves a
little of what is along other axes, by rounding."""


@dataclass(frozen=True)
class EquivalentRobot:
    """``robot``, and for each body its new frame's placement in the original body frame. ``whole``: the robot in these
    frames whose links keep the inertias that are theirs."""

    robot: Robot
    frames: tuple[Placement, ...]
    whole: Robot

    @cached_property
    def link_frames(self) -> tuple[Placement, ...]:
        """Each body's original frame, placed in its new one."""
        return tuple(_inverse(frame) for frame in self.frames)


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
    """Mask of the entries of a pseudo-inertia (4×4) that act on the parent as they act on the body, whatever the joint
    does.

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


def _snapped(values: np.ndarray, sizes: np.ndarray | float) -> np.ndarray:
    """Values without what is left of those that were cancelled exactly; ``sizes`` are those of what they are sums of,
    in the values' units."""
    return np.where(np.abs(values) > SNAP_TOLERANCE * np.asarray(sizes), values, 0.0)


def _farthest(*placements: Placement) -> float:
    """The sum of the largest offsets of some placements, m."""
    return sum(float(np.max(np.abs(p.translation))) for p in placements)


def _slid(frame: Placement, slide: np.ndarray) -> Placement:
    """A frame whose origin is moved, in its own coordinates."""
    move = Placement(IDENTITY3, constant_vector(slide))
    translation = np.array((frame @ move).translation)
    return replace(
        frame, translation=constant_vector(_snapped(translation, _farthest(frame, move)))
    )


def reframed(robot: Robot, frames: Sequence[Placement]) -> Robot:
    """``robot`` with each body's frame replaced; a frame may differ only by what commutes with its joint's motion,
    or by a rotation when the joint's axis rotates with it (see :func:`_aligned`)."""
    bodies = []
    for body, frame in zip(robot.bodies, frames, strict=True):
        outer = Placement()
        if body.parent >= 0:
            outer = frames[body.parent]
        placed = _inverse(outer) @ body.placement @ frame
        rotation = _snapped(np.array(placed.rotation), 1.0)
        sizes = _farthest(outer, body.placement, frame)
        translation = _snapped(np.array(placed.translation), sizes)
        changed = replace(
            body,
            placement=Placement(constant_matrix(rotation), constant_vector(translation)),
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
    axis = _snapped(inward @ np.array(axis), 1.0)
    return replace(joint, axis=constant_vector(axis))  # type: ignore[call-arg]


def _aligned(body: Body) -> Placement:
    """The rotation that brings a skew axis to z; coordinate axes, of either sign, stay."""
    given = getattr(body.joint, "axis", (0.0, 0.0, 1.0))
    axis = np.array(given)
    if np.count_nonzero(axis) == 1:
        return Placement()
    least = np.argmin(np.abs(axis))
    # the coordinate axis least along it, so that the cross product is far from zero
    helper = np.eye(3)[least]
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    y = np.cross(axis, x)
    rotation = np.stack([x, y, axis], axis=1)
    return Placement(constant_matrix(rotation))


def _moved_roots(roots: np.ndarray, placement: Placement) -> np.ndarray:
    """The roots of a mass distribution (4,) in the outer frame of ``placement``, if nothing cancelled."""
    t = np.eye(4)
    t[:3, :3] = placement.rotation
    t[:3, 3] = placement.translation
    moved = np.abs(t) @ roots
    moved[:3] = np.maximum(moved[:3], LEAST_ROOT * np.max(moved[:3]))
    return moved


def _roots(robot: Robot, frames: Sequence[Placement]) -> list[np.ndarray]:
    """Of each body's mass distribution the roots of the pseudo-inertia's diagonal (4,) in the body's new frame: its
    entry (i, j) is the product of two, at most, and its rounding is relative to that."""
    found = []
    for body, frame in zip(robot.bodies, frames, strict=True):
        diagonal = np.abs(np.diag(body.inertia.pseudo))
        found.append(_moved_roots(np.sqrt(diagonal), _inverse(frame)))
    return found


def regrouped(robot: Robot, frames: Sequence[Placement] | None = None) -> Robot:
    """``robot`` with all that a joint's motion leaves in place moved to the parent, and with each body's frame replaced
    where there are ``frames`` (:func:`reframed`). Axes must be coordinate axes there."""
    if frames is None:
        frames = (Placement(),) * len(robot.bodies)
    roots = _roots(robot, frames)
    robot = reframed(robot, frames)
    inertias = [b.inertia for b in robot.bodies]
    # from the tips: what a body gets from its children it may hand on itself
    for i in reversed(range(len(robot.bodies))):
        body = robot.bodies[i]
        pseudo = inertias[i].pseudo
        kept = kept_in_place(body.joint)
        moved = np.where(kept, pseudo, 0.0)
        rest = _snapped(pseudo - moved, np.outer(roots[i], roots[i]))
        inertias[i] = Inertia.from_pseudo(rest)
        if body.parent >= 0:
            added = Inertia.from_pseudo(moved)
            inertias[body.parent] += added.expressed_in(body.placement)
            passed = np.where(np.diag(kept), roots[i], 0.0)
            more = _moved_roots(passed, body.placement)
            # it is the squares that are added up on the diagonal
            roots[body.parent] = np.hypot(roots[body.parent], more)
    bodies = []
    for body, inertia in zip(robot.bodies, inertias, strict=True):
        bodies.append(replace(body, inertia=inertia))
    return replace(robot, bodies=tuple(bodies))


@dataclass(frozen=True)
class _Scale:
    """The scale of a robot: its largest ``length`` (m; of an offset between joints or of a link about its frame),
    ``mass`` (kg), ``first`` moment (kg·m) and ``second`` moment (kg·m²)."""

    length: float
    mass: float
    first: float
    second: float

    @classmethod
    def of(cls, robot: Robot) -> _Scale:
        """A robot's."""
        pseudo = np.abs([body.inertia.pseudo for body in robot.bodies])
        mass = float(np.max(pseudo[:, 3, 3]))
        second = float(np.max(pseudo[:, :3, :3]))
        lengths = [_farthest(body.placement) for body in robot.bodies]
        lengths += [_farthest(frame.placement) for frame in robot.task_frames]
        if mass > 0.0:
            lengths.append(float(np.sqrt(second / mass)))
        return cls(max(lengths), mass, float(np.max(pseudo[:, :3, 3])), second)


def _count(values: np.ndarray | Sequence[float], scale: float) -> int:
    """The number of entries that do not count as zero, beside what is large."""
    return int(np.count_nonzero(np.abs(values) > ZERO_TOLERANCE * scale))


def constants_needed(
    robot: Robot, frames: Sequence[Placement] | None = None, scale: _Scale | None = None
) -> int:
    """Estimate of the constant multiplications: non-zero offsets and moments, weighted by how often RNEA meets them.
    ``frames`` as in :func:`regrouped`; ``scale``: what is large, where that is known."""
    scale = _Scale.of(robot) if scale is None else scale
    cost = 0
    for body in regrouped(robot, frames).bodies:
        inertia = body.inertia
        second = np.array(inertia.second_moment)
        cost += 5 * _count(body.placement.translation, scale.length)
        cost += 5 * _count(inertia.first_moment, scale.first)
        cost += 2 * _count(np.diag(second), scale.second)
        cost += 3 * _count(np.triu(second, 1), scale.second)
        cost += 3 * _count([inertia.mass], scale.mass)
    return cost


def _slides(robot: Robot, i: int, length: float) -> Iterator[np.ndarray]:
    """Moves of body ``i``'s origin that could make an entry zero; ``length``: what is large for the robot, m."""
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
            # along an axis nearly across the offset an origin would move far away
            if abs(x) > 0.1 and abs(t) > ZERO_TOLERANCE * length:
                yield t / x * axis


@lru_cache(maxsize=8)
def equivalent(robot: Robot) -> EquivalentRobot:
    """The cheapest equivalent robot that a descent over single moves of origins finds; deterministic."""
    frames = [_aligned(body) for body in robot.bodies]
    scale = _Scale.of(robot)
    current = reframed(robot, frames)
    cost = constants_needed(robot, frames, scale)
    improved = True
    while improved:
        improved = False
        for i in range(len(robot.bodies)):
            for slide in _slides(current, i, scale.length):
                # always from the robot's own frames, so that no rounding adds up
                candidate = list(frames)
                candidate[i] = _slid(frames[i], slide)
                candidate_cost = constants_needed(robot, candidate, scale)
                if candidate_cost < cost:
                    frames = candidate
                    current = reframed(robot, frames)
                    cost = candidate_cost
                    improved = True
                    # the slides that are left are of the robot before this one
                    break
    return EquivalentRobot(regrouped(robot, frames), tuple(frames), current)
