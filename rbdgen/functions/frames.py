"""Frames by name: where they are, their Jacobians, and how they accelerate: ``fk``, ``jac`` and ``acc``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rbdgen.algo.frames import LOCAL, REFERENCES, Kinematics
from rbdgen.algo.rnea import Motion, base_motion, joint_placements, outward_sweep
from rbdgen.errors import UnsupportedError
from rbdgen.functions.quantities import AXES, Q, Quantity, V
from rbdgen.functions.record import Entries, Function, Need, Pinocchio, Settings, TracedProgram
from rbdgen.model.joints import JointPlacement
from rbdgen.model.robot import Robot
from rbdgen.numeric.batch import Entries as Evaluated
from rbdgen.numeric.batch import argument, choice, configuration, evaluate
from rbdgen.spatial import Vector

ROTATION = Quantity("rotation", ("frames", 3, 3), "1", "frames' directions, a column each")
POSITION = Quantity("position", ("frames", 3), "m", "frames' origins")
JACOBIAN = Quantity("jacobian", ("frames", 6, "nv"), "m/rad, 1, …", "frames' Jacobians")
DRIFT = Quantity(
    "drift", ("frames", 6), "m/s², rad/s²", "frames' spatial accelerations while joints do not"
)
CLASSICAL = Quantity(
    "classical", ("frames", 3), "m/s²", "the linear part of their classical accelerations"
)
REFERENCE = frozenset({"reference"})
"""The option that functions of frames' motions have a use for."""


def check_frames(robot: Robot, settings: Settings) -> None:
    """UnsupportedError for a robot without frames."""
    need_frames(robot)


def need_frames(robot: Robot) -> None:
    """UnsupportedError for a robot without frames."""
    if not robot.task_frames:
        raise UnsupportedError(
            f"robot {robot.name!r}: has no frames; give --frame LINK, or with_frames(robot, {{LINK: ()}})"
        )


def check_still(robot: Robot, settings: Settings) -> None:
    """UnsupportedError for a base that moves as tasks say: accelerations are relative to one that stands still."""
    if settings.moving_base:
        raise UnsupportedError(
            "moving-base: frames' accelerations are relative to a base that stands still; leave it out"
        )


def _check_accelerations(robot: Robot, settings: Settings) -> None:
    need_frames(robot)
    check_still(robot, settings)


def kinematics(trace: TracedProgram) -> Kinematics:
    """The frames that all functions of a program share."""
    robot = trace.robot
    # fk, jac and acc of one accelerator place their frames once
    return trace.shared(
        "frames",
        lambda: Kinematics(
            robot, trace.placements(), robot.task_frames, trace.settings.reference, trace.enter
        ),
    )


def still_motions(robot: Robot, joints: list[JointPlacement], v: Vector) -> list[Motion]:
    """Motions of the bodies at joint velocities ``v`` (nv) while those do not change."""
    still = (0.0,) * robot.nv
    base = base_motion(robot.gravity)
    return outward_sweep(robot, joints, v, still, base=base)[0]


def _placements(robot: Robot, variant: str, q: Vector) -> Sequence[Evaluated]:
    found = Kinematics(robot, joint_placements(robot, q), robot.task_frames, variant)
    return _place_entries(found)


def _place_entries(found: Kinematics) -> tuple[dict[Any, Any], dict[Any, Any]]:
    rotations: dict[Any, Any] = {}
    positions: dict[Any, Any] = {}
    for k, place in enumerate(found.places):
        for i, row in enumerate(place.rotation):
            rotations |= {(k, i, j): x for j, x in enumerate(row)}
        positions |= {(k, i): x for i, x in enumerate(place.translation)}
    return rotations, positions


def _jacobians(robot: Robot, variant: str, q: Vector) -> Sequence[Evaluated]:
    found = Kinematics(robot, joint_placements(robot, q), robot.task_frames, variant)
    return (_jacobian_entries(found),)


def _jacobian_entries(found: Kinematics) -> dict[Any, Any]:
    entries: dict[Any, Any] = {}
    for k, jacobian in enumerate(found.jacobians):
        entries |= {(k, row, dof): x for (row, dof), x in jacobian.items()}
    return entries


def _accelerations(robot: Robot, variant: str, q: Vector, v: Vector) -> Sequence[Evaluated]:
    joints = joint_placements(robot, q)
    found = Kinematics(robot, joints, robot.task_frames, variant)
    return _acceleration_entries(found, still_motions(robot, joints, v), v)


def _acceleration_entries(
    found: Kinematics, motions: Sequence[Any], v: Vector
) -> tuple[dict[Any, Any], dict[Any, Any]]:
    spatial: dict[Any, Any] = {}
    classical: dict[Any, Any] = {}
    for k, frame in enumerate(found.frames):
        whole, linear = found.acceleration(k, motions[frame.body], v)
        spatial |= {(k, row): x for row, x in enumerate(whole)}
        classical |= {(k, row): x for row, x in enumerate(linear)}
    return spatial, classical


def frame_placements(robot: Robot, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the robot's frames are, in the base's coordinates.

    ``q`` (..., nq); frames are those of :func:`rbdgen.with_frames`, in their order. Returns the frames' rotations (...,
    frames, 3, 3), into the base's coordinates, and their origins (..., frames, 3), m: Pinocchio's ``data.oMf``.
    UnsupportedError for a robot without frames, ConfigError as :func:`rbdgen.golden.rnea`.
    """
    need_frames(robot)
    q = configuration(robot, q)
    frames = len(robot.task_frames)
    shapes = [(frames, 3, 3), (frames, 3)]
    # places do not depend on the reference
    rotation, position = evaluate(_placements, robot, LOCAL, shapes, q.shape[:-1], (q,))
    return rotation, position


def frame_jacobians(robot: Robot, q: np.ndarray, *, reference: str = LOCAL) -> np.ndarray:
    """The Jacobians of the robot's frames: velocity [linear, angular] of each from v.

    ``reference``: ``local``, ``world`` or ``local_world_aligned`` (:data:`rbdgen.algo.frames.REFERENCES`), Pinocchio's
    of these names. Returns (..., frames, 6, nv); all else as :func:`rbdgen.golden.frame_placements`.
    """
    need_frames(robot)
    choice("reference", reference, tuple(REFERENCES))
    q = configuration(robot, q)
    shapes = [(len(robot.task_frames), len(AXES[6]), robot.nv)]
    return evaluate(_jacobians, robot, reference, shapes, q.shape[:-1], (q,))[0]


def frame_accelerations(
    robot: Robot, q: np.ndarray, v: np.ndarray, *, reference: str = LOCAL
) -> tuple[np.ndarray, np.ndarray]:
    """J̇ v: how the robot's frames accelerate while the joints move at ``v`` (..., nv) and do not accelerate.

    Returns the spatial accelerations (..., frames, 6), [linear, angular], as Pinocchio's ``getFrameAcceleration``, and
    the linear part of the classical ones (..., frames, 3), as ``getFrameClassicalAcceleration``; gravity is not among
    them. All else as :func:`rbdgen.golden.frame_jacobians`.
    """
    need_frames(robot)
    choice("reference", reference, tuple(REFERENCES))
    q = configuration(robot, q)
    batch = q.shape[:-1]
    v = argument("v", v, (robot.nv,), batch)
    frames = len(robot.task_frames)
    shapes = [(frames, 6), (frames, 3)]
    spatial, classical = evaluate(_accelerations, robot, reference, shapes, batch, (q, v))
    return spatial, classical


def _traced_places(trace: TracedProgram) -> Mapping[str, Entries]:
    rotations, positions = _place_entries(kinematics(trace))
    return {ROTATION.name: rotations, POSITION.name: positions}


def _traced_accelerations(trace: TracedProgram) -> Mapping[str, Entries]:
    found = kinematics(trace)
    spatial, classical = _acceleration_entries(found, trace.motions(), trace.operand(V.name))
    return {DRIFT.name: spatial, CLASSICAL.name: classical}


RECORDS = (
    Function(
        name="fk",
        code=10,
        summary="forward kinematics: where frames are",
        operands=(Q,),
        results=(ROTATION, POSITION),
        needs=frozenset({Need.PLACEMENT}),
        trace=_traced_places,
        golden=frame_placements,
        pinocchio=Pinocchio("framesForwardKinematics", ("q",)),
        forced=False,
        based=False,
        check=check_frames,
    ),
    Function(
        name="jac",
        code=11,
        summary="Jacobians of frames",
        operands=(Q,),
        results=(JACOBIAN,),
        needs=frozenset({Need.PLACEMENT}),
        trace=lambda trace: {JACOBIAN.name: _jacobian_entries(kinematics(trace))},
        golden=frame_jacobians,
        forced=False,
        based=False,
        check=check_frames,
        uses=REFERENCE,
    ),
    Function(
        name="acc",
        code=12,
        summary="accelerations of frames while joints have none",
        operands=(Q, V),
        results=(DRIFT, CLASSICAL),
        needs=frozenset({Need.TORQUE}),
        trace=_traced_accelerations,
        golden=frame_accelerations,
        forced=False,
        based=False,
        check=_check_accelerations,
        uses=REFERENCE,
    ),
)
