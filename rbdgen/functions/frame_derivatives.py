"""Jacobians of frames over time, and what forces on frames do: ``djac`` and ``dfe``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rbdgen.algo.composite import composite_inertias, mass_matrix
from rbdgen.algo.factorisation import dof_bodies, inverse_from_mass, symmetric_product
from rbdgen.algo.frame_rates import jacobian_rates
from rbdgen.algo.frames import LOCAL, REFERENCES, Kinematics
from rbdgen.algo.rnea import joint_placements
from rbdgen.algo.subtrees import Subtrees
from rbdgen.functions.frames import REFERENCE, check_frames, check_still, kinematics, need_frames
from rbdgen.functions.mass_matrix import crba
from rbdgen.functions.quantities import Q, Quantity, V
from rbdgen.functions.record import Entries, Function, Need, Settings, TracedProgram
from rbdgen.model.robot import Robot
from rbdgen.numeric.batch import Entries as Evaluated
from rbdgen.numeric.batch import (
    argument,
    choice,
    configuration,
    evaluate,
    require_positive_definite,
)
from rbdgen.spatial import Enter, Vector, anywhere, sub

RATES = Quantity(
    "djacobian", ("frames", 6, "nv"), "m/(rad·s), 1/s, …", "rates of frames' Jacobians"
)
DTAU_DF = Quantity(
    "dtau_df", ("nv", "frame_rows"), "m, 1", "∂τ/∂f of forces on frames, row: torque"
)
DA_DF = Quantity(
    "da_df", ("nv", "frame_rows"), "rad/(N·s²), …", "∂a/∂f of forces on frames, row: acceleration"
)


def check_moving_frames(robot: Robot, settings: Settings) -> None:
    """UnsupportedError for a robot without frames, and for a base that moves as tasks say."""
    check_frames(robot, settings)
    check_still(robot, settings)


def _rate_text(robot: Robot, variant: str, q: Vector, v: Vector) -> Sequence[Evaluated]:
    joints = joint_placements(robot, q)
    found = Kinematics(robot, joints, robot.task_frames, variant)
    return (_rate_entries(found, Subtrees(robot, joints), v),)


def _rate_entries(found: Kinematics, trees: Subtrees, v: Vector) -> Entries:
    entries: dict[tuple[int, ...], Any] = {}
    for k, rates in enumerate(jacobian_rates(found, trees, v)):
        entries |= {(k, *index): x for index, x in rates.items()}
    return entries


def _force_text(robot: Robot, variant: str, q: Vector) -> Sequence[Evaluated]:
    joints = joint_placements(robot, q)
    found = Kinematics(robot, joints, robot.task_frames, variant)
    mass = mass_matrix(robot, joints, composite_inertias(robot, joints)).entries
    return _force_entries(robot, found, inverse_from_mass(robot, mass), anywhere)


def _force_entries(
    robot: Robot, found: Kinematics, inverse: Mapping[Any, Any], enter: Enter
) -> tuple[Entries, Entries]:
    bodies = dof_bodies(robot)
    columns = []
    for jacobian in found.jacobians:
        rows: list[dict[int, Any]] = [{} for _ in range(6)]
        for (row, dof), x in jacobian.items():
            rows[row][dof] = x
        columns += rows
    by_torque: dict[tuple[int, ...], Any] = {}
    for row, column in enumerate(columns):
        for dof, x in column.items():
            with enter("Fj", bodies[dof]):
                by_torque[dof, row] = sub(0.0, x)
    moved: dict[tuple[int, ...], Any] = {}
    for row, product in enumerate(symmetric_product(robot, dict(inverse), columns, enter)):
        moved |= {(dof, row): x for dof, x in product.items()}
    return by_torque, moved


def frame_jacobian_rates(
    robot: Robot, q: np.ndarray, v: np.ndarray, *, reference: str = LOCAL
) -> np.ndarray:
    """J̇: the rates of the frames' Jacobians while the joints move at ``v`` (..., nv).

    Returns (..., frames, 6, nv), as Pinocchio's ``getFrameJacobianTimeVariation``. All else as
    :func:`rbdgen.golden.frame_jacobians`. Source: :mod:`rbdgen.algo.frame_rates`."""
    need_frames(robot)
    choice("reference", reference, tuple(REFERENCES))
    q = configuration(robot, q)
    v = argument("v", v, (robot.nv,), q.shape[:-1])
    shapes = [RATES.size(robot)]
    return evaluate(_rate_text, robot, reference, shapes, q.shape[:-1], (q, v))[0]


def frame_force_derivatives(
    robot: Robot, q: np.ndarray, *, reference: str = LOCAL
) -> tuple[np.ndarray, np.ndarray]:
    """What forces on the robot's frames do: ∂τ/∂f = −Jᵀ of inverse, and ∂a/∂f = M⁻¹ Jᵀ of forward dynamics.

    A force is [force, moment] in the directions and about the point of ``reference``. Returns two arrays (..., nv, 6
    frames), frame by frame. SingularityError where M is not positive definite; all else as
    :func:`rbdgen.golden.frame_jacobians`."""
    need_frames(robot)
    choice("reference", reference, tuple(REFERENCES))
    q = configuration(robot, q)
    require_positive_definite(robot, crba(robot, q))
    shapes = [DTAU_DF.size(robot), DA_DF.size(robot)]
    by_torque, moved = evaluate(_force_text, robot, reference, shapes, q.shape[:-1], (q,))
    return by_torque, moved


def _traced_rates(trace: TracedProgram) -> Mapping[str, Entries]:
    found = kinematics(trace)
    trees = trace.shared(
        "moving frames", lambda: Subtrees(trace.robot, trace.placements(), trace.enter)
    )
    return {RATES.name: _rate_entries(found, trees, trace.operand(V.name))}


def _traced_forces(trace: TracedProgram) -> Mapping[str, Entries]:
    found = kinematics(trace)
    by_torque, moved = _force_entries(trace.robot, found, trace.inverse(), trace.enter)
    return {DTAU_DF.name: by_torque, DA_DF.name: moved}


RECORDS = (
    Function(
        name="dfe",
        code=41,
        summary="derivatives by forces on frames",
        operands=(Q,),
        results=(DTAU_DF, DA_DF),
        needs=frozenset({Need.INVERSE}),
        trace=_traced_forces,
        golden=frame_force_derivatives,
        forced=False,
        based=False,
        check=check_frames,
        uses=REFERENCE,
    ),
    Function(
        name="djac",
        code=44,
        summary="rates of frames' Jacobians",
        operands=(Q, V),
        results=(RATES,),
        needs=frozenset({Need.PLACEMENT}),
        trace=_traced_rates,
        golden=frame_jacobian_rates,
        forced=False,
        based=False,
        check=check_moving_frames,
        uses=REFERENCE,
    ),
)
