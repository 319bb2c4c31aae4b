"""Inertia of frames: ``laminv`` and ``lam``, and both times a vector: ``laminvf`` and ``lama``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rbdgen.algo.carried import SPATIAL, CarriedSpace, bodies_of, body_damping, carriers
from rbdgen.algo.composite import composite_inertias, mass_matrix
from rbdgen.algo.factorisation import Elimination, Factors, along_tree, both_triangles
from rbdgen.algo.frames import LOCAL, REFERENCES
from rbdgen.algo.operational_space import FrameInertia, OperationalSpace, rows_of
from rbdgen.algo.rnea import joint_placements
from rbdgen.errors import SingularityError, UnsupportedError
from rbdgen.functions.algorithms import chosen
from rbdgen.functions.frames import need_frames
from rbdgen.functions.mass_matrix import crba
from rbdgen.functions.quantities import Q, Quantity, vector_entries
from rbdgen.functions.record import Entries, Function, Need, Settings, Slope, TracedProgram
from rbdgen.model.body import LINEAR_AXES
from rbdgen.model.joints import JointPlacement
from rbdgen.model.ranges import declared_ranges, random_states
from rbdgen.model.robot import Robot
from rbdgen.numeric.batch import Entries as Evaluated
from rbdgen.numeric.batch import (
    argument,
    choice,
    configuration,
    evaluate,
    not_negative,
    require_positive_definite,
)
from rbdgen.spatial import Enter, Vector, anywhere

INVERSE = Quantity(
    "laminv",
    ("frame_rows", "frame_rows"),
    "1/kg, 1/(kg·m²), …",
    "inverse inertia of all frames",
    symmetric=True,
)
INERTIA = Quantity(
    "lam", ("frame_rows", "frame_rows"), "kg, kg·m², …", "inertia of all frames", symmetric=True
)
PUSH = Quantity(
    "push",
    ("frame_rows",),
    "N, N·m",
    "forces and moments on the frames",
    limits=(-1.0, 1.0),
    scales=(100.0,) * 3 + (20.0,) * 3,
)
PULL = Quantity(
    "pull",
    ("frame_rows",),
    "m/s², rad/s²",
    "accelerations of the frames",
    limits=(-1.0, 1.0),
    scales=(10.0,) * 3 + (40.0,) * 3,
)
MOVED = Quantity("moved", ("frame_rows",), "m/s², rad/s²", "accelerations of the frames")
FORCE = Quantity("force", ("frame_rows",), "N, N·m", "forces and moments on the frames")
TRIED = 16
"""States at which an inertia is tried before it is made."""
SMALLEST = 1e-9
"""Below this share of the largest eigenvalue, a matrix without units has no inverse that is of use."""
USES = frozenset({"reference", "constraint_damping", "operational_space"})


def check(robot: Robot, settings: Settings) -> None:
    """UnsupportedError for a robot without frames, and for what the chosen algorithm does not take."""
    need_frames(robot)
    chosen("operational_space", settings).text.check(robot, settings, "frame", robot.task_frames)


def _check_inertia(robot: Robot, settings: Settings) -> None:
    """UnsupportedError also where no state has an inertia."""
    check(robot, settings)
    q, _, _ = random_states(robot, declared_ranges(robot), TRIED, 1)
    found = operational_space_inverse(
        robot, q, reference=settings.reference, damping=settings.constraint_damping
    )
    # refused only where no state has an inertia: some may still be singular
    axes = _whole_frames(robot)
    if np.all(is_singular(robot, axes, found)):
        values = _eigenvalues(robot, axes, found)
        # eigenvalues ascend: the last is the largest
        rank = int(np.max(np.sum(values > SMALLEST * values[:, -1:], axis=1)))
        raise UnsupportedError(
            f"robot {robot.name!r}: its frames have {found.shape[-1]} rows, of which only {rank} can be moved on their "
            "own, so that lam has no meaning; give fewer frames, --constraint-damping, or use laminv"
        )


def mass_factors(robot: Robot, joints: list[JointPlacement]) -> tuple[Elimination, Factors]:
    """The elimination of M, and its factors."""
    mass = mass_matrix(robot, joints, composite_inertias(robot, joints)).entries
    along = along_tree(robot)
    return along, along.factorise(mass)


def _space(robot: Robot, variant: tuple[str, float], q: Vector) -> CarriedSpace:
    joints = joint_placements(robot, q)
    along, factors = mass_factors(robot, joints)
    return carried(robot, joints, along, factors, *variant, anywhere)


def carried(
    robot: Robot,
    joints: list[JointPlacement],
    along: Elimination,
    factors: Factors,
    reference: str,
    damping: float,
    enter: Enter,
) -> CarriedSpace:
    """Inertia of the robot's frames."""
    frames = robot.task_frames
    found = carriers(robot, joints, frames, reference, enter)
    bodies = bodies_of(robot, joints, frames, enter)
    rows = rows_of(bodies, [range(SPATIAL)] * len(frames))
    space = OperationalSpace(along, factors, rows, body_damping(found, damping, enter), enter)
    return CarriedSpace(space, found, enter)


def _inverses(robot: Robot, variant: tuple[str, float], q: Vector) -> Sequence[Evaluated]:
    return (both_triangles(_space(robot, variant, q).inverse),)


def _inertias(robot: Robot, variant: tuple[str, float], q: Vector) -> Sequence[Evaluated]:
    return (both_triangles(_space(robot, variant, q).inertia),)


def _moves(robot: Robot, variant: tuple[str, float], q: Vector, f: Vector) -> Sequence[Evaluated]:
    return (vector_entries(_space(robot, variant, q).acceleration(f)),)


def _forces(robot: Robot, variant: tuple[str, float], q: Vector, a: Vector) -> Sequence[Evaluated]:
    return (vector_entries(_space(robot, variant, q).force(a)),)


def _evaluated(
    text: Any,
    robot: Robot,
    q: np.ndarray,
    variant: tuple[str, float],
    vector: tuple[str, np.ndarray] | None = None,
) -> np.ndarray:
    """A text's result of the frames: a matrix, or of a ``vector`` by its name, another one. Arguments are checked."""
    need_frames(robot)
    reference, damping = variant
    choice("reference", reference, tuple(REFERENCES))
    variant = reference, not_negative("damping", damping)
    q = configuration(robot, q)
    batch = q.shape[:-1]
    rows = 6 * len(robot.task_frames)
    require_positive_definite(robot, crba(robot, q))
    if vector is None:
        return evaluate(text, robot, variant, [(rows, rows)], batch, (q,))[0]
    given = argument(*vector, (rows,), batch)
    return evaluate(text, robot, variant, [(rows,)], batch, (q, given))[0]


def _whole_frames(robot: Robot) -> list[Sequence[int]]:
    """All axes of each of the robot's frames."""
    return [range(SPATIAL)] * len(robot.task_frames)


def _eigenvalues(robot: Robot, axes: Sequence[Sequence[int]], matrices: np.ndarray) -> np.ndarray:
    """Of inverse inertias (..., n, n) of the ``axes`` of one frame after the other, without units (..., n): turning by
    a radian counts as the robot's length, and each frame's accelerations are relative to its own largest."""
    length = robot.reach
    units = [length if axis >= LINEAR_AXES else 1.0 for own in axes for axis in own]
    scaled = matrices * np.outer(units, units)
    roots = np.ones(scaled.shape[:-1])
    diagonal = np.diagonal(scaled, axis1=-2, axis2=-1)
    first = 0
    for own in axes:
        rows = slice(first, first + len(own))
        largest = np.max(diagonal[..., rows], axis=-1, keepdims=True)
        # frames of a light and a heavy link side by side are both judged by their own size
        roots[..., rows] = np.sqrt(np.where(largest > 0.0, largest, 1.0))
        first = rows.stop
    return np.linalg.eigvalsh(scaled / (roots[..., :, None] * roots[..., None, :]))


def is_singular(robot: Robot, axes: Sequence[Sequence[int]], matrices: np.ndarray) -> np.ndarray:
    """Whether inverse inertias (..., n, n) of the ``axes`` of one frame after the other are not positive definite for
    all that a float64 can tell (...), in whatever units."""
    values = _eigenvalues(robot, axes, matrices)
    return values[..., 0] <= SMALLEST * values[..., -1]


def require_regular(
    what: str, robot: Robot, axes: Sequence[Sequence[int]], matrices: np.ndarray
) -> None:
    """SingularityError naming the first that :func:`is_singular`."""
    batch = matrices.shape[:-2]
    singular = is_singular(robot, axes, matrices).ravel()
    if np.any(singular):
        state = int(np.argmax(singular))
        at = f" at state {', '.join(map(str, np.unravel_index(state, batch)))}" if batch else ""
        raise SingularityError(
            f"{what}: is singular{at}: not all rows can be moved on their own; give fewer, or a damping"
        )


def operational_space_inverse(
    robot: Robot, q: np.ndarray, *, reference: str = LOCAL, damping: float = 0.0
) -> np.ndarray:
    """The inverse inertia of the robot's frames, Λ⁻¹ = J M⁻¹ Jᵀ + ``damping`` · 1, of all frames together.

    ``q`` (..., nq); ``reference`` as in :func:`rbdgen.golden.frame_jacobians`. Returns (..., 6 frames, 6 frames).
    UnsupportedError for a robot without frames, SingularityError where M is not positive definite, ConfigError as
    :func:`rbdgen.golden.rnea`. Source: :mod:`rbdgen.algo.operational_space`."""
    return _evaluated(_inverses, robot, q, (reference, damping))


def operational_space_inertia(
    robot: Robot, q: np.ndarray, *, reference: str = LOCAL, damping: float = 0.0
) -> np.ndarray:
    """The inertia Λ of the robot's frames, the inverse of :func:`operational_space_inverse`.

    All as there; SingularityError also where that has no inverse: where a frame cannot be moved in every direction."""
    # the text of the inertia divides by pivots without a check
    regular = operational_space_inverse(robot, q, reference=reference, damping=damping)
    require_regular("frames' inertia", robot, _whole_frames(robot), regular)
    return _evaluated(_inertias, robot, q, (reference, damping))


def operational_space_acceleration(
    robot: Robot, q: np.ndarray, push: np.ndarray, *, reference: str = LOCAL, damping: float = 0.0
) -> np.ndarray:
    """Λ⁻¹ times forces ``push`` (..., 6 frames), [force, moment] of each frame: how the frames accelerate by them.

    Λ⁻¹ is not formed. All else as :func:`operational_space_inverse`."""
    return _evaluated(_moves, robot, q, (reference, damping), ("push", push))


def operational_space_force(
    robot: Robot, q: np.ndarray, pull: np.ndarray, *, reference: str = LOCAL, damping: float = 0.0
) -> np.ndarray:
    """Λ times accelerations ``pull`` (..., 6 frames), [linear, angular] of each frame: the forces that they take.

    All else as :func:`operational_space_inertia`."""
    regular = operational_space_inverse(robot, q, reference=reference, damping=damping)
    require_regular("frames' inertia", robot, _whole_frames(robot), regular)
    return _evaluated(_forces, robot, q, (reference, damping), ("pull", pull))


def _traced_space(trace: TracedProgram) -> FrameInertia | CarriedSpace:
    """The frames' inertia that all functions of a program share."""
    algorithm = chosen("operational_space", trace.settings)
    return trace.shared("operational space", lambda: algorithm.text.frames(trace))


def _traced_acceleration(trace: TracedProgram) -> Mapping[str, Entries]:
    found = _traced_space(trace).acceleration(trace.operand(PUSH.name))
    return {MOVED.name: vector_entries(found)}


def _traced_force(trace: TracedProgram) -> Mapping[str, Entries]:
    found = _traced_space(trace).force(trace.operand(PULL.name))
    return {FORCE.name: vector_entries(found)}


def _record(name: str, code: int, summary: str, takes: Quantity | None, **more: Any) -> Function:
    """A function of all frames' inertia, which it ``takes`` times a vector, if any."""
    return Function(
        name=name,
        code=code,
        summary=summary,
        operands=(Q, takes) if takes else (Q,),
        needs=frozenset({Need.FACTORS}),
        forced=False,
        based=False,
        uses=USES,
        **more,
    )


RECORDS = (
    _record(
        *("laminv", 14, "inverse inertia of frames", None),
        results=(INVERSE,),
        trace=lambda trace: {INVERSE.name: _traced_space(trace).inverse},
        golden=operational_space_inverse,
        check=check,
    ),
    _record(
        *("lam", 13, "inertia of frames", None),
        results=(INERTIA,),
        trace=lambda trace: {INERTIA.name: _traced_space(trace).inertia},
        golden=operational_space_inertia,
        check=_check_inertia,
    ),
    _record(
        *("laminvf", 16, "accelerations of frames by forces on them", PUSH),
        results=(MOVED,),
        trace=_traced_acceleration,
        golden=operational_space_acceleration,
        check=check,
        slopes=(Slope(PUSH.name, "laminv", INVERSE.name),),
    ),
    _record(
        *("lama", 17, "forces on frames for accelerations of them", PULL),
        results=(FORCE,),
        trace=_traced_force,
        golden=operational_space_force,
        check=_check_inertia,
        slopes=(Slope(PULL.name, "lam", INERTIA.name),),
    ),
)
