"""Declared input ranges, random states inside them, and steps from a state along a velocity.

Ranges come from the description's limits. Where a limit is missing or absurd, a stated default takes its place;
:func:`range_notes` names every such joint.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbdgen.errors import ConfigError, dotted, nearest, short
from rbdgen.model.body import Body, Limits
from rbdgen.model.joints import Kind
from rbdgen.model.robot import STANDARD_GRAVITY, Robot
from rbdgen.operands import number_of

REVOLUTE_RANGE = math.pi
"""rad: ± this, where limits are missing or wider than two turns either way (files write 100000 for "none")."""
PRISMATIC_RANGE = 1.0
"""m: ± this, where limits are missing or beyond 100 m; so also for the position of a mobile base."""
VELOCITY = 10.0
"""rad/s or m/s, where the limit is missing, not positive or above 100."""
ACCELERATION = 20.0
"""rad/s² or m/s²: URDF has no such limit; robots' controllers stay below this."""
WIDEST_ANGLE = 4 * math.pi
"""rad: limits beyond two turns are absurd; one turn is not, and files round 2π up."""
WIDEST_OFFSET = 100.0
"""m: limits beyond this are absurd."""
FASTEST = 100.0
"""rad/s or m/s: limits above this are absurd."""
STRONGEST = 1e5
"""N·m or N: limits above this are absurd, and above so many times what the robot's weight takes:"""
WEIGHTS = 10.0
FARTHEST = 1e6
"""rad or m: positions beyond this cannot be declared; the longest words have steps of half a thousandth there."""
NARROWEST = 1e-6
"""rad or m: ranges of positions that are narrower are those of a fixed joint."""
LEAST, MOST = 1e-6, 1e6
"""rad/s, m/s, rad/s², m/s², N·m or N: what velocities, accelerations and efforts may be declared as. Beyond, their
products have more bits than a word has for what is left of them. Those of efforts are wider for light and for heavy
robots (:class:`_Efforts`)."""
MAX_FREEDOM = 256
"""Degrees of freedom of a robot that can be compiled: of more, tracing and formats take many gigabytes."""
MAGNITUDE_KEYS = ("velocity", "acceleration", "effort")
LIMIT_KEYS = ("lower", "upper", *MAGNITUDE_KEYS)


@dataclass(frozen=True)
class InputRanges:
    """Declared ranges: ``q_lower``, ``q_upper`` (nq), and the magnitudes ``v_max``, ``a_max``, ``tau_max`` (nv). An
    effort is None where nothing declares one: then it is what motions inside the other ranges take.

    Components of unit vectors (cosine and sine, quaternions) are within ±1. A joint's velocity, acceleration and effort
    are the same for all its degrees of freedom, and limits of its position for all coordinates that are not of a unit
    vector.
    """

    q_lower: tuple[float, ...]
    q_upper: tuple[float, ...]
    v_max: tuple[float, ...]
    a_max: tuple[float, ...]
    tau_max: tuple[float | None, ...]


_DEFAULTS: dict[Kind, tuple[float, float, str]] = {
    "angle": (REVOLUTE_RANGE, WIDEST_ANGLE, "rad"),
    "length": (PRISMATIC_RANGE, WIDEST_OFFSET, "m"),
}
"""Default, widest limit and unit of a coordinate."""


@dataclass(frozen=True)
class _Resolved:
    """A joint's limits with defaults filled in: ``positions`` by coordinate of q, the other limits by key, and
    ``notes`` on what was missing or absurd."""

    positions: list[tuple[float, float]]
    limits: dict[str, float | None]
    notes: list[str]


@dataclass(frozen=True)
class _Efforts:
    """Bounds on a robot's efforts (N·m or N): declared as, from ``least`` to ``most``, and in a description up to
    ``strongest``. As of robots of human size, and of what is lighter or heavier beside what its weight is as a force
    and at the end of its reach."""

    least: float
    strongest: float
    most: float

    @classmethod
    def of(cls, robot: Robot) -> _Efforts:
        """A robot's."""
        weight = robot.mass * abs(STANDARD_GRAVITY[2])
        sizes = weight, weight * robot.reach
        # without mass there is no scale: that of a robot of human size stays
        light = min(1.0, *sizes) or 1.0
        heavy = WEIGHTS * max(sizes)
        return cls(LEAST * light, max(STRONGEST, heavy), max(MOST, heavy))


def _resolved(body: Body, efforts: _Efforts) -> _Resolved:
    limits = body.limits
    notes: list[str] = []
    by_kind: dict[Kind, tuple[float, float]] = {"unit": (-1.0, 1.0)}
    for kind, (default, widest, unit) in _DEFAULTS.items():
        if kind not in body.joint.kinds:
            continue
        position = _sensible_position(limits, widest)
        if position is None:
            position = -default, default
            notes.append(f"position ±{default:.4g} {unit}")
        by_kind[kind] = position
    velocity = limits.velocity
    # files write zero, or a huge number, where they know no limit
    if velocity is None or not LEAST <= velocity <= FASTEST:
        velocity = VELOCITY
        notes.append(f"velocity {VELOCITY:g}")
    effort = limits.effort
    # no default: torques of motions inside the other ranges are found instead
    if effort is None or not efforts.least <= effort <= efforts.strongest:
        effort = None
        notes.append("effort as motions take it")
    result = {"velocity": velocity, "acceleration": ACCELERATION, "effort": effort}
    positions = [by_kind[kind] for kind in body.joint.kinds]
    return _Resolved(positions, result, notes)


def _sensible_position(limits: Limits, widest: float) -> tuple[float, float] | None:
    """Limits of a position; None where one is missing or absurd."""
    low, high = limits.lower, limits.upper
    # equal limits would leave a joint that nothing moves
    if low is None or high is None or high - low < NARROWEST:
        return None
    if low < -widest or high > widest:
        return None
    return low, high


def range_notes(robot: Robot) -> tuple[str, ...]:
    """One line per group of joints whose limits are missing or absurd, with the defaults used."""
    groups: dict[tuple[str, ...], list[str]] = {}
    efforts = _Efforts.of(robot)
    for body, _, _ in robot.independent:
        notes = tuple(_resolved(body, efforts).notes)
        if notes:
            groups.setdefault(notes, []).append(body.joint_name)
    lines = []
    for notes, joints in groups.items():
        lines.append(
            f"limits missing or absurd at {', '.join(joints)}; assumed {', '.join(notes)} "
            "(set them under [joints] in a config)"
        )
    return tuple(lines)


def declared_ranges(
    robot: Robot, overrides: Mapping[str, Mapping[str, float]] | None = None
) -> InputRanges:
    """The robot's ranges; ``overrides`` maps joint names to any of lower, upper, velocity, acceleration, effort.

    ConfigError naming an unknown joint or key, a value that no format can hold, or reversed limits; for a drive or a
    gravity out of scale, and for a robot of more than ``MAX_FREEDOM`` degrees of freedom.
    """
    if robot.nv > MAX_FREEDOM:
        raise ConfigError(
            f"{robot.name!r}: has {robot.nv} degrees of freedom, at most {MAX_FREEDOM} can be compiled; split it, or "
            "make joints fixed"
        )
    # before anything is drawn from ranges: absurd drives would make formats of hundreds of bits
    _check_scale(robot)
    overrides = {} if overrides is None else overrides
    if not isinstance(overrides, Mapping):
        raise ConfigError(f"joints: must be a table of joints, not {short(overrides)}")
    for joint in overrides:
        if joint not in robot.joint_names:
            names = robot.joint_names
            hint = nearest(joint, names, f"joints are {', '.join(names)}")
            raise ConfigError(
                f"{dotted('joints', joint)}: {robot.name!r} has no such joint; {hint}"
            )
    for body in robot.bodies:
        if body.mimic and body.joint_name in overrides:
            raise ConfigError(
                f"{dotted('joints', body.joint_name)}: follows {body.mimic.joint!r} and has no ranges of its own; give "
                "that joint's"
            )
    q_lower, q_upper = [], []
    magnitudes: dict[str, list[Any]] = {key: [] for key in MAGNITUDE_KEYS}
    efforts = _Efforts.of(robot)
    for body, _, _ in robot.independent:
        resolved = _resolved(body, efforts)
        given = _checked(body, overrides.get(body.joint_name, {}), efforts)
        for kind, (low, high) in zip(body.joint.kinds, resolved.positions, strict=True):
            if kind != "unit":
                low = given.get("lower", low)
                high = given.get("upper", high)
                if low >= high:
                    what = f"lower must be below upper, not {low:g} and {high:g}"
                    raise ConfigError(f"joints.{body.joint_name}: {what}")
                if high - low < NARROWEST:
                    what = f"lower and upper must be at least {NARROWEST:g} apart, not {low:g} and {high:g}"
                    raise ConfigError(f"joints.{body.joint_name}: {what}; make the joint fixed")
            q_lower.append(low)
            q_upper.append(high)
        # what the user gives is never absurd: it was checked by itself
        limits = resolved.limits | given
        for key, values in magnitudes.items():
            values += [limits[key]] * body.joint.nv
    return InputRanges(tuple(q_lower), tuple(q_upper), *map(tuple, magnitudes.values()))


def _check_scale(robot: Robot) -> None:
    """ConfigError naming what of the joints' drives, or of gravity, is larger than any robot's."""
    for x in robot.gravity:
        if not abs(x) <= MOST:
            raise ConfigError(f"gravity: must be at most {MOST:g} m/s², not {x:g}")
    for body in robot.bodies:
        for name in ("armature", "damping", "friction"):
            for x in getattr(body, name):
                if not 0 <= x <= MOST:
                    raise ConfigError(
                        f"robot {robot.name!r}: joint {short(body.joint_name)}: its {name} must be 0 to {MOST:g}, "
                        f"not {x:g}"
                    )


def _checked(body: Body, overrides: Mapping[str, float], efforts: _Efforts) -> dict[str, float]:
    where = f"joints.{body.joint_name}"
    result = {}
    if not isinstance(overrides, Mapping):
        raise ConfigError(f"{where}: must be a table of limits, not {short(overrides)}")
    allowed = LIMIT_KEYS
    if set(body.joint.kinds) == {"unit"}:
        allowed = MAGNITUDE_KEYS
    for key, value in overrides.items():
        if key not in allowed:
            near = difflib.get_close_matches(key, allowed, 1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ConfigError(
                f"{dotted(where, key)}: no such limit; {hint}limits are {', '.join(allowed)}"
            )
        number = number_of(value)
        if number is None or not _finite(number):
            raise ConfigError(f"{where}.{key}: must be a finite number, not {short(value)}")
        least, most = (LEAST, MOST) if key in MAGNITUDE_KEYS else (-FARTHEST, FARTHEST)
        if key == "effort":
            least, most = efforts.least, efforts.most
        if not least <= number <= most:
            raise ConfigError(f"{where}.{key}: must be {least:g} to {most:g}, not {number:g}")
        result[key] = float(number)
    return result


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer larger than any double
        return False


def random_states(
    robot: Robot, ranges: InputRanges, count: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``count`` states uniform in ``ranges``: q (count, nq), v and a (count, nv). ConfigError for a negative seed."""
    rng = _generator(seed)
    q = _configurations(robot, ranges, count, rng)
    v = rng.uniform(-1, 1, (count, robot.nv)) * ranges.v_max
    a = rng.uniform(-1, 1, (count, robot.nv)) * ranges.a_max
    return q, v, a


def extreme_states(
    robot: Robot, ranges: InputRanges, count: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``count`` states that strain the ranges, shaped as :func:`random_states`.

    Each velocity and acceleration is at rest, at a limit, or nearer a limit than chance would have it; half of the
    positions are at an end of their range.
    """
    rng = _generator(seed)
    q = _configurations(robot, ranges, count, rng)
    for body, part, _ in robot.independent:
        for k, kind in zip(range(part.start, part.stop), body.joint.kinds, strict=True):
            if kind != "unit":
                # torques of gravity and inertia are largest where the arm is stretched, often at an end
                ends = rng.choice([ranges.q_lower[k], ranges.q_upper[k]], count)
                strained = rng.random(count) < 0.5
                q[:, k] = np.where(strained, ends, q[:, k])
    v = near_limits(rng, count, robot.nv) * ranges.v_max
    a = near_limits(rng, count, robot.nv) * ranges.a_max
    return q, v, a


def near_limits(rng: np.random.Generator, count: int, size: int) -> np.ndarray:
    """Numbers in ±1 (count, size), half of the rows in a corner or at rest, the others nearer their limits than chance
    would have them."""
    uniform = rng.uniform(-1, 1, (count, size))
    # a power below one moves mass towards ±1
    strained = np.sign(uniform) * np.abs(uniform) ** 0.3
    corner = rng.choice([-1.0, 0.0, 1.0], (count, size))
    in_corner = rng.random((count, 1)) < 0.5
    return np.where(in_corner, corner, strained)


def integrate(robot: Robot, q: np.ndarray, dv: np.ndarray) -> np.ndarray:
    """Where the velocity ``dv`` (..., nv), kept for one second, leads from ``q`` (..., nq): a step in the tangent
    space, as Pinocchio's ``integrate``. Leading shapes broadcast. ConfigError for other last dimensions."""
    q = np.asarray(q, float)
    dv = np.asarray(dv, float)
    for name, array, size in (("q", q, robot.nq), ("dv", dv, robot.nv)):
        if array.shape[-1:] != (size,):
            raise ConfigError(f"{name}: must have shape (..., {size}), not {array.shape}")
    # one state may be moved by many velocities, and the other way round
    batch = np.broadcast_shapes(q.shape[:-1], dv.shape[:-1])
    q = np.broadcast_to(q, (*batch, robot.nq))
    dv = np.broadcast_to(dv, (*batch, robot.nv))
    moved = []
    for body, own_q, own_v in robot.independent:
        moved.append(body.joint.integrate(q[..., own_q], dv[..., own_v]))
    return np.concatenate(moved, axis=-1)


def neutral(robot: Robot) -> np.ndarray:
    """The configuration (nq) in which every joint leaves its frames together."""
    return np.array([x for body, _, _ in robot.independent for x in body.joint.neutral])


def _generator(seed: int) -> np.random.Generator:
    # True is no seed, though Python counts it as 1
    whole = number_of(seed)
    if not isinstance(whole, int):
        raise ConfigError(f"seed: must be a whole number, not {short(seed)}")
    if whole < 0:
        raise ConfigError(f"seed: must not be negative, is {seed}")
    return np.random.default_rng(whole)


def _configurations(
    robot: Robot, ranges: InputRanges, count: int, rng: np.random.Generator
) -> np.ndarray:
    parts = []
    for body, own, _ in robot.independent:
        lower, upper = ranges.q_lower[own], ranges.q_upper[own]
        parts.append(body.joint.random(rng, count, lower, upper))
    return np.concatenate(parts, axis=1)
