"""Regressors: torques, energies and accelerations by the links' inertial parameters: ``regressor``, ``eregressor`` and
``dadpi``.

Parameters are ten for each body in the order of :data:`rbdgen.model.body.PARAMETERS`, Pinocchio's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rbdgen.algo.factorisation import negated_product
from rbdgen.algo.following import rates
from rbdgen.algo.regressors import energy_regressors as energies_text
from rbdgen.algo.regressors import torque_regressor
from rbdgen.algo.rnea import base_motion, joint_placements, outward_sweep
from rbdgen.errors import UnsupportedError
from rbdgen.functions.forward_dynamics import forward_dynamics
from rbdgen.functions.mass_matrix import minverse
from rbdgen.functions.quantities import (
    TAU,
    A,
    Q,
    Quantity,
    V,
    checked_motion,
    given_base,
)
from rbdgen.functions.record import Entries, Function, Need, Pinocchio, Settings, TracedProgram
from rbdgen.model.robot import Robot
from rbdgen.numeric.batch import Entries as Evaluated
from rbdgen.numeric.batch import RootMotion, argument, configuration, evaluate
from rbdgen.spatial import Vector

REGRESSOR = Quantity(
    "regressor", ("nv", "parameters"), "N·m/kg, m²/s², …", "torques by the links' parameters"
)
KINETIC = Quantity(
    "kinetic_regressor", ("parameters",), "m²/s², 1/s², …", "kinetic energy by parameters"
)
POTENTIAL = Quantity(
    "potential_regressor", ("parameters",), "m²/s², m/s²", "potential energy by parameters"
)
DA_DPI = Quantity(
    "da_dpi", ("nv", "parameters"), "1/(kg·s²), …", "accelerations' derivatives by parameters"
)


def _regressor(
    robot: Robot, variant: None, q: Vector, v: Vector, a: Vector, root: Vector | None
) -> Sequence[Evaluated]:
    joints = joint_placements(robot, q)
    motions, _ = outward_sweep(robot, joints, v, a, base=given_base(robot, root))
    return (torque_regressor(robot, joints, motions),)


def joint_torque_regressor(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    *,
    root: RootMotion | None = None,
) -> np.ndarray:
    """Y(q, v, a) with τ = Y π: the torques that move the links by these links' inertial parameters π.

    π has ten parameters for each body, in the order of ``robot.bodies``: mass, mass times centre of mass (x, y, z),
    and the rotational inertia about the body's frame (xx, xy, yy, xz, yz, zz), Pinocchio's order. What drives take,
    armature and friction, is in τ and not in Y π. Where joints follow others, followers' bodies have their parameters
    as all others, and rows are those of the joints that lead. Returns (..., nv, 10 bodies). Arguments and ConfigError
    as :func:`rbdgen.golden.rnea`. Source: :mod:`rbdgen.algo.regressors`.
    """
    batch, (q, v, a, _, given) = checked_motion(robot, q, None, root, v=v, a=a)  # pyright: ignore[reportAssignmentType]
    shapes = [REGRESSOR.size(robot)]
    return evaluate(_regressor, robot, None, shapes, batch, (q, v, a, given))[0]


def _energies(robot: Robot, variant: None, q: Vector, v: Vector) -> Sequence[Evaluated]:
    joints = joint_placements(robot, q)
    still = (0.0,) * robot.nv
    base = base_motion(robot.gravity)
    motions, _ = outward_sweep(robot, joints, v, still, base=base)
    return energies_text(robot, joints, _joint_rates(robot, v), motions)


def _joint_rates(robot: Robot, v: Vector) -> list[Vector]:
    """By body, the velocities of its joint."""
    return [rates(robot, i, v) for i in range(len(robot.bodies))]


def energy_regressors(robot: Robot, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Kinetic and potential energy by the links' inertial parameters π: E = y π.

    Parameters and arguments as :func:`joint_torque_regressor`. Returns two arrays (..., 10 bodies). Potential energy is
    zero at the base's origin; what armatures have of kinetic energy is not in y π. Source:
    :mod:`rbdgen.algo.regressors`.
    """
    q = configuration(robot, q)
    batch = q.shape[:-1]
    v = argument("v", v, (robot.nv,), batch)
    shapes = [KINETIC.size(robot), POTENTIAL.size(robot)]
    kinetic, potential = evaluate(_energies, robot, None, shapes, batch, (q, v))
    return kinetic, potential


def acceleration_parameter_derivatives(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray | None = None,
    *,
    a: np.ndarray | None = None,
    root: RootMotion | None = None,
) -> np.ndarray:
    """∂a/∂π = −M⁻¹ Y(q, v, a): how forward dynamics change with the links' inertial parameters.

    ``tau`` (..., nv), or ``a`` where that is known already; parameters and all else as :func:`joint_torque_regressor`.
    Returns (..., nv, 10 bodies). TypeError where neither or both are given, SingularityError where M is not positive
    definite.
    """
    if (tau is None) == (a is None):
        raise TypeError("acceleration_parameter_derivatives: give tau, or a")
    if a is None:
        assert tau is not None
        a = forward_dynamics(robot, q, v, tau, root=root)
    return -minverse(robot, q) @ joint_torque_regressor(robot, q, v, a, root=root)


def _traced_regressor(trace: TracedProgram) -> Mapping[str, Entries]:
    robot, joints = trace.robot, trace.placements()
    found = torque_regressor(robot, joints, trace.motions(), trace.link_frames(), trace.enter)
    return {REGRESSOR.name: found}


def _traced_energies(trace: TracedProgram) -> Mapping[str, Entries]:
    robot, joints = trace.robot, trace.placements()
    v = _joint_rates(robot, trace.operand(V.name))
    kinetic, potential = energies_text(
        robot, joints, v, trace.motions(), trace.link_frames(), trace.enter
    )
    return {KINETIC.name: kinetic, POTENTIAL.name: potential}


def _traced_derivatives(trace: TracedProgram) -> Mapping[str, Entries]:
    robot, joints = trace.robot, trace.placements()
    found = trace.acceleration()
    a = tuple(found.get((k,), 0.0) for k in range(robot.nv))
    # the program's own motions are those of tasks' accelerations, of which there are none
    motions, _ = outward_sweep(
        robot, joints, trace.operand(V.name), a, None, trace.enter, trace.root_motion()
    )
    y = torque_regressor(robot, joints, motions, trace.link_frames(), trace.enter)
    inverse = {(i, j): x for (i, j), x in trace.inverse().items()}
    return {DA_DPI.name: negated_product(robot, inverse, y, trace.enter)}


def _check_still(robot: Robot, settings: Settings) -> None:
    """UnsupportedError for a base that moves as tasks say: they do not say at what speed its origin moves."""
    if settings.moving_base:
        raise UnsupportedError(
            "moving-base: energies are relative to a base that stands still; leave it out"
        )


RECORDS = (
    Function(
        name="regressor",
        code=38,
        summary="torques by the links' inertial parameters",
        operands=(Q, V, A),
        results=(REGRESSOR,),
        needs=frozenset({Need.TORQUE}),
        trace=_traced_regressor,
        golden=joint_torque_regressor,
        pinocchio=Pinocchio("computeJointTorqueRegressor", ("q", "v", "a")),
        forced=False,
    ),
    Function(
        name="eregressor",
        code=39,
        summary="energies by the links' inertial parameters",
        operands=(Q, V),
        results=(KINETIC, POTENTIAL),
        needs=frozenset({Need.TORQUE}),
        trace=_traced_energies,
        golden=energy_regressors,
        forced=False,
        based=False,
        check=_check_still,
    ),
    Function(
        name="dadpi",
        code=40,
        summary="accelerations' derivatives by the links' inertial parameters",
        operands=(Q, V, TAU),
        results=(DA_DPI,),
        needs=frozenset({Need.TORQUE, Need.INVERSE, Need.ACCELERATION}),
        trace=_traced_derivatives,
        golden=acceleration_parameter_derivatives,
        forced=False,
    ),
)
