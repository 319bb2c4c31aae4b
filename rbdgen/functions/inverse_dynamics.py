"""Inverse dynamics and its parts at rest: ``id``, ``nle`` and ``g``.

In hardware all three are one pipeline: an operand that a task does not bring is zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rbdgen.algo.rnea import rnea as rnea_text
from rbdgen.functions.quantities import (
    DTAU_DQ,
    DTAU_DV,
    TAU,
    A,
    M,
    Q,
    V,
    checked_motion,
    given_base,
    given_wrenches,
    vector_entries,
)
from rbdgen.functions.record import Entries, Function, Need, Pinocchio, Slope, TracedProgram
from rbdgen.model.robot import Robot
from rbdgen.numeric.batch import Entries as Evaluated
from rbdgen.numeric.batch import RootMotion, configuration, evaluate
from rbdgen.spatial import Vector


def _rnea(
    robot: Robot,
    composite: bool,
    q: Vector,
    v: Vector,
    a: Vector,
    f: Vector | None,
    root: Vector | None,
) -> Sequence[Evaluated]:
    return (
        vector_entries(rnea_text(robot, q, v, a, given_wrenches(f), base=given_base(robot, root))),
    )


def rnea(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    f_ext: np.ndarray | None = None,
    *,
    root: RootMotion | None = None,
) -> np.ndarray:
    """Inverse dynamics τ = ID(q, v, a, f_ext), gravity included.

    ``q`` (..., nq), ``v`` and ``a`` (..., nv), ``f_ext`` (..., bodies, 6): external forces on the bodies in joint
    order, each [force, moment] about and in the body's joint frame, as Pinocchio's. Any equal leading shape. ``root``:
    how the base moves. Returns (..., nv). ConfigError for a wrong shape, a value that is not finite, or cosine and sine
    or a quaternion that are not of unit length. Source: Featherstone 2008, chapter 5, in the form of
    :mod:`rbdgen.algo.rnea`.
    """
    batch, operands = checked_motion(robot, q, f_ext, root, v=v, a=a)
    # both families have one text, and therefore one recording
    return evaluate(_rnea, robot, True, [(robot.nv,)], batch, operands)[0]


def nonlinear_effects(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    f_ext: np.ndarray | None = None,
    *,
    root: RootMotion | None = None,
) -> np.ndarray:
    """The torques C(q, v) v + g(q) that hold without any acceleration: ID(q, v, 0, f_ext).

    Arguments and ConfigError as :func:`rnea`. Returns (..., nv). Source: Featherstone 2008, section 1.2.
    """
    q = configuration(robot, q)
    still = np.zeros((*q.shape[:-1], robot.nv))
    return rnea(robot, q, v, still, f_ext, root=root)


def generalized_gravity(
    robot: Robot, q: np.ndarray, *, root: RootMotion | None = None
) -> np.ndarray:
    """The torques g(q) that hold the robot still against gravity, and against ``root`` where the base moves:
    ID(q, 0, 0).

    Arguments and ConfigError as :func:`rnea`. Returns (..., nv).
    """
    q = configuration(robot, q)
    still = np.zeros((*q.shape[:-1], robot.nv))
    return rnea(robot, q, still, still, root=root)


def _traced(trace: TracedProgram) -> Mapping[str, Entries]:
    return {TAU.name: vector_entries(trace.torque())}


BY_POSITION = Slope(Q.name, "did", DTAU_DQ.name)
BY_VELOCITY = Slope(V.name, "did", DTAU_DV.name)
BY_ACCELERATION = Slope(A.name, "m", M.name)

RECORDS = (
    Function(
        name="id",
        code=0,
        summary="inverse dynamics",
        operands=(Q, V, A),
        results=(TAU,),
        needs=frozenset({Need.TORQUE}),
        trace=_traced,
        golden=rnea,
        pinocchio=Pinocchio("rnea", ("q", "v", "a"), "rneaInParallel"),
        slopes=(BY_POSITION, BY_VELOCITY, BY_ACCELERATION),
        common=True,
    ),
    Function(
        name="nle",
        code=8,
        summary="nonlinear effects: inverse dynamics without acceleration",
        operands=(Q, V),
        results=(TAU,),
        needs=frozenset({Need.TORQUE}),
        trace=_traced,
        golden=nonlinear_effects,
        pinocchio=Pinocchio("nonLinearEffects", ("q", "v")),
        slopes=(BY_POSITION, BY_VELOCITY),
    ),
    Function(
        name="g",
        code=9,
        summary="gravity torques: inverse dynamics at rest",
        operands=(Q,),
        results=(TAU,),
        needs=frozenset({Need.TORQUE}),
        trace=_traced,
        golden=generalized_gravity,
        pinocchio=Pinocchio("computeGeneralizedGravity", ("q",)),
        slopes=(BY_POSITION,),
        forced=False,
    ),
)
