"""States of a robot at which its loops are closed: a configuration near a given one, and random ones.

A configuration is found by Levenberg-Marquardt steps on the loops' gaps, along the manifolds of the joints; velocities
are those of a given one that open no loop. Gaps are angles here, where hardware has their sines
(:mod:`rbdgen.algo.loops`), so that a frame that is turned over is far from where it belongs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rbdgen.algo.loops import LoopKinematics
from rbdgen.algo.rnea import joint_placements
from rbdgen.errors import ConfigError, UnsupportedError, listed, nearest, short
from rbdgen.model.body import LINEAR_AXES, Loop
from rbdgen.model.ranges import InputRanges, integrate, neutral, random_states
from rbdgen.model.robot import Robot
from rbdgen.numeric.batch import Entries, configuration, evaluate
from rbdgen.spatial import Enter, Vector, anywhere

CLOSED, SOUGHT = 1e-10, 1e-13
"""rad, or of the robot's reach: gaps that are smaller are closed, and are no longer made smaller."""
ROUNDED = 1e-6
"""rad, or of its reach: gaps that files leave, which round their numbers."""
STEPS = 100
"""Steps in which a configuration is found, or is given up."""
FIRST_DAMPING, LEAST_DAMPING = 1e-3, 1e-18
"""Of a step, relative to the square of the Jacobian's largest singular value."""
NEGLECTED = 1e-9
"""Below this share of the largest, a singular value of the Jacobian counts as zero."""
STRAYS = (0.03, 0.1, 0.3, 0.3, 1.0, 1.0)
"""rad, or of its reach: by so much joints are moved at random, one time after the other, where loops do not close."""
DRIFT = 0.01
"""rad, or of its reach, and of the fastest velocity: by so much joints stray from states at which loops are closed."""
TRIED = 64
"""Random configurations from which a closed one is looked for, before there is none."""


def loop_kinematics(
    robot: Robot, joints: Sequence[Any], enter: Enter = anywhere
) -> list[LoopKinematics]:
    """Of the robot's loops."""
    return [LoopKinematics(robot, joints, loop, enter) for loop in robot.loops]


def need_loops(robot: Robot) -> None:
    """UnsupportedError for a robot without loops."""
    if not robot.loops:
        raise UnsupportedError(
            f"robot {robot.name!r}: has no loops; give --loop A:B, or with_loops(robot, ['A:B'])"
        )


def _closure_text(robot: Robot, variant: None, q: Vector) -> Sequence[Entries]:
    """Offsets, turns, and Jacobians of all six axes, by loop."""
    offsets: dict[Any, Any] = {}
    turns: dict[Any, Any] = {}
    jacobians: dict[Any, Any] = {}
    for k, found in enumerate(loop_kinematics(robot, joint_placements(robot, q))):
        offsets |= {(k, i): x for i, x in enumerate(found.offset)}
        for i, row in enumerate(found.turn):
            turns |= {(k, i, j): x for j, x in enumerate(row)}
        jacobians |= {(k, *entry): x for entry, x in found.jacobian.items()}
    return offsets, turns, jacobians


def gaps_and_jacobians(robot: Robot, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The loops' gaps (..., rows) at ``q`` (..., nq), in m and rad, and their Jacobians (..., rows, nv)."""
    count = len(robot.loops)
    shapes = [(count, 3), (count, 3, 3), (count, 6, robot.nv)]
    offset, turn, jacobian = evaluate(_closure_text, robot, None, shapes, q.shape[:-1], (q,))
    gaps: list[np.ndarray] = []
    rows: list[np.ndarray] = []
    for k, loop in enumerate(robot.loops):
        axes = list(loop.axes)
        both = np.concatenate([offset[..., k, :], _angles(loop, turn[..., k, :, :])], axis=-1)
        gaps.append(-both[..., axes])
        rows.append(jacobian[..., k, axes, :])
    return np.concatenate(gaps, axis=-1), np.concatenate(rows, axis=-2)


def _angles(loop: Loop, turn: np.ndarray) -> np.ndarray:
    """By how much a loop's second frame is turned in its first (..., 3), rad about each axis, from R (..., 3, 3)."""
    held = loop.angular_axes
    if len(held) == LINEAR_AXES - 1:
        (free,) = {0, 1, 2} - set(held)
        sines = np.cross(np.eye(3)[free], turn[..., :, free])
        cosine = turn[..., free, free]
        # turned over, any axis that is held will do
        spare = np.broadcast_to(np.eye(3)[held[0]], sines.shape)
    else:
        odd = turn - np.swapaxes(turn, -1, -2)
        sines = np.stack([odd[..., 2, 1], odd[..., 0, 2], odd[..., 1, 0]], axis=-1) / 2
        cosine = (np.trace(turn, axis1=-2, axis2=-1) - 1) / 2
        # of half a turn, the longest column of R + 1 is along the axis
        even = turn + np.eye(3)
        longest = np.argmax(np.linalg.norm(even, axis=-2), axis=-1)
        spare = np.take_along_axis(even, longest[..., None, None], axis=-1)[..., 0]
        spare = spare / np.linalg.norm(spare, axis=-1, keepdims=True)
    size = np.linalg.norm(sines, axis=-1)
    angle = np.arctan2(size, cosine)
    along = np.where(
        (size > 1e-12)[..., None], sines / np.where(size > 0, size, 1.0)[..., None], spare
    )
    return angle[..., None] * along


def close_loops(
    robot: Robot,
    q: np.ndarray,
    joints: Sequence[str] | None = None,
    *,
    ranges: InputRanges | None = None,
) -> np.ndarray:
    """A configuration near ``q`` (..., nq) at which all loops are closed, to 1e-10 rad and of the robot's reach.

    Only the ``joints`` of these names move (default: all), and stay inside ``ranges``, if there are any. What the loops
    leave free moves as little as it must. UnsupportedError for a robot without loops; ConfigError for a joint that
    there is not, and where no configuration is found: begin elsewhere, or let more joints move."""
    need_loops(robot)
    q = configuration(robot, q)
    moving = _moving(robot, joints)
    found, gap = _closed(robot, q, ranges, moving)
    rng = np.random.default_rng(robot.nv)
    # where joints are in line no small step closes anything: from a little beside that it may
    for stray in STRAYS:
        if not np.any(gap > CLOSED):
            break
        beside = rng.uniform(-stray, stray, (*gap.shape, robot.nv)) * _units(robot) * moving
        tried, left = _closed(robot, integrate(robot, q, beside), ranges, moving)
        better = (left <= CLOSED) & (gap > CLOSED)
        found = np.where(better[..., None], tried, found)
        gap = np.where(better, left, gap)
    if np.any(gap > CLOSED):
        state = np.unravel_index(int(np.argmax(gap)), gap.shape)
        at = f" at state {', '.join(map(str, state))}" if state else ""
        raise ConfigError(
            f"loops of robot {robot.name!r}: do not close{at}: {_widest(robot, found[state])}; begin nearer to where "
            "they do, let more joints move, or mend the frames' places"
        )
    return found


def _moving(robot: Robot, joints: Sequence[str] | None) -> np.ndarray:
    """Which degrees of freedom (nv) move."""
    if joints is None:
        return np.ones(robot.nv, bool)
    chosen = np.zeros(robot.nv, bool)
    own = {body.joint_name: part for body, _, part in robot.independent}
    for joint in joints:
        if joint not in own:
            raise ConfigError(
                f"joints: no joint {short(joint)} of {robot.name!r} moves by itself; {nearest(joint, own)}"
            )
        chosen[own[joint]] = True
    return chosen


def _closed(
    robot: Robot, q: np.ndarray, ranges: InputRanges | None, moving: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Configurations (..., nq) near ``q``, and the largest gap (...) that is left at each, rad or of the reach."""
    batch = q.shape[:-1]
    q = q.reshape(-1, robot.nq)
    if ranges is not None:
        q = _inside(robot, ranges, q)
    damping = np.full(len(q), FIRST_DAMPING)
    gap, rows = _scaled(robot, q)
    for _ in range(STEPS):
        open_ = np.max(np.abs(gap), axis=-1) > SOUGHT
        if not np.any(open_):
            break
        # those that are closed stay as they are
        own = np.flatnonzero(open_)
        # both times: a step of rounding would move what must stay
        change = _step(rows[own] * moving, gap[own], damping[own]) * moving
        tried = integrate(robot, q[own], change)
        if ranges is not None:
            tried = _inside(robot, ranges, tried)
        nearer, slopes = _scaled(robot, tried)
        better = np.sum(nearer**2, axis=-1) < np.sum(gap[own] ** 2, axis=-1)
        taken = own[better]
        q[taken], gap[taken], rows[taken] = tried[better], nearer[better], slopes[better]
        factor = np.where(better, 0.1, 10.0)
        damping[own] = np.clip(damping[own] * factor, LEAST_DAMPING, 1e6)
    left = np.max(np.abs(gap), axis=-1)
    return q.reshape(*batch, robot.nq), left.reshape(batch)


def _scaled(robot: Robot, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gaps and Jacobians, in rad and of the robot's reach: all are of one size then, whatever the robot's."""
    gap, rows = gaps_and_jacobians(robot, q)
    axes = np.array([axis for loop in robot.loops for axis in loop.axes])
    size = np.where(axes < LINEAR_AXES, robot.reach, 1.0)
    return gap / size, rows / size[:, None]


def _units(robot: Robot) -> np.ndarray:
    """What motions of a size are by degree of freedom (nv): a rad, or the robot's reach where nothing turns."""
    units = np.ones(robot.nv)
    for body, _, part in robot.independent:
        turns = np.any(np.array(body.joint.angular_subspace, float), axis=-1)
        units[part] = np.where(turns, 1.0, robot.reach)
    return units


def _step(rows: np.ndarray, gap: np.ndarray, damping: np.ndarray) -> np.ndarray:
    """The damped step (n, nv) by which gaps become smaller."""
    left, sizes, right = np.linalg.svd(rows, full_matrices=False)
    largest = np.max(sizes, axis=-1, keepdims=True)
    kept = sizes > NEGLECTED * largest
    softened = sizes**2 + damping[:, None] * largest**2
    inverse = np.where(kept, sizes / np.where(kept, softened, 1.0), 0.0)
    along = np.einsum("nij,ni->nj", left, gap)
    return -np.einsum("nji,nj->ni", right, inverse * along)


def _inside(robot: Robot, ranges: InputRanges, q: np.ndarray) -> np.ndarray:
    """``q`` (n, nq) with the coordinates that are no parts of unit vectors inside their ranges."""
    kinds: list[str] = []
    for body, _, _ in robot.independent:
        kinds += body.joint.kinds
    bounded = np.array([kind != "unit" for kind in kinds])
    return np.where(bounded, np.clip(q, ranges.q_lower, ranges.q_upper), q)


def closed_states(
    robot: Robot, ranges: InputRanges, q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Positions (n, nq) and velocities (n, nv) inside ``ranges``, near these, at which the loops are closed and stay
    so; those of a robot without loops as they are. Where none is found near one, another state of these stands for it.
    UnsupportedError where there is none at all."""
    if not robot.loops or not len(q):
        return q, v
    moving = np.ones(robot.nv, bool)
    q, gap = _closed(robot, np.array(q, float), ranges, moving)
    good = gap <= CLOSED
    if not np.any(good):
        # of a few states none may be near a closed one
        more, _, _ = random_states(robot, ranges, TRIED, 1)
        more, gap = _closed(robot, more, ranges, moving)
        if not np.any(gap <= CLOSED):
            raise UnsupportedError(
                f"robot {robot.name!r}: its loops close nowhere in the declared ranges; at the neutral configuration "
                f"{_widest(robot, neutral(robot))}; mend the frames' places, or widen the ranges of its joints"
            )
        q = np.resize(more[gap <= CLOSED], q.shape)
        good = np.ones(len(q), bool)
    stands_for = np.arange(len(q))
    # each of the others is used as often
    stands_for[~good] = np.resize(np.flatnonzero(good), int(np.sum(~good)))
    q, v = q[stands_for], v[stands_for]
    _, rows = gaps_and_jacobians(robot, q)
    kept = v - _along(rows, v)
    # what the loops carry along may be faster than it is declared
    most = np.array(ranges.v_max)
    excess = np.max(np.abs(kept) / most, axis=-1, keepdims=True)
    return q, kept / np.maximum(excess, 1.0)


def nearly_closed_states(
    robot: Robot, ranges: InputRanges, q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """States as of :func:`closed_states`, from which each joint strays a little: as drift, rounding and what a sensor
    says have it, so that gaps have a size by which they can be judged."""
    if not robot.loops or not len(q):
        return q, v
    q, v = closed_states(robot, ranges, q, v)
    rng = np.random.default_rng([len(q), robot.nv])
    q = integrate(robot, q, rng.uniform(-DRIFT, DRIFT, v.shape) * _units(robot))
    strayed = rng.uniform(-DRIFT, DRIFT, v.shape) * ranges.v_max
    most = np.array(ranges.v_max)
    return _inside(robot, ranges, q), np.clip(v + strayed, -most, most)


def _along(rows: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The part of velocities ``v`` (n, nv) by which gaps change."""
    _, sizes, right = np.linalg.svd(rows, full_matrices=False)
    kept = sizes > NEGLECTED * np.max(sizes, axis=-1, keepdims=True)
    parts = np.einsum("nij,nj->ni", right, v) * kept
    return np.einsum("nij,ni->nj", right, parts)


def _widest(robot: Robot, q: np.ndarray) -> str:
    """In words, which loop is open most at ``q`` (nq), and by how much."""
    gap, _ = gaps_and_jacobians(robot, q)
    said, widest, first = "", -1.0, 0
    for loop in robot.loops:
        own = gap[first : first + loop.rows]
        first += loop.rows
        linear = [x for axis, x in zip(loop.axes, own, strict=True) if axis < LINEAR_AXES]
        angular = [x for axis, x in zip(loop.axes, own, strict=True) if axis >= LINEAR_AXES]
        if np.max(np.abs(own)) <= widest:
            continue
        widest = float(np.max(np.abs(own)))
        parts = []
        if linear:
            parts.append(f"{np.linalg.norm(linear):.3g} m")
        if angular:
            parts.append(f"{np.linalg.norm(angular):.3g} rad")
        said = f"loop {loop.name} is open by {' and '.join(parts)}"
    return said


def loop_notes(robot: Robot, functions: Sequence[str]) -> tuple[str, ...]:
    """Lines on loops, if there are any: those that are not closed at the neutral configuration, and ``functions`` of
    the robot without them."""
    if not robot.loops:
        return ()
    notes = []
    at = neutral(robot)
    gap, _ = _scaled(robot, at)
    if np.max(np.abs(gap)) > ROUNDED:
        notes.append(
            f"at the neutral configuration {_widest(robot, at)}; rbdgen.close_loops finds where it is closed, or mend "
            "its frames' places"
        )
    if functions:
        names = listed([loop.name for loop in robot.loops])
        notes.append(f"of the tree without its loops, {names}: {', '.join(functions)}")
    return tuple(notes)
