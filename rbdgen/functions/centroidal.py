"""The centre of mass and momentum about it: ``com``, ``cmm``, ``dcmm`` and ``dcent``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rbdgen.algo.centroidal import Centroid, centroidal_derivatives
from rbdgen.algo.rnea import joint_placements
from rbdgen.algo.subtrees import Subtrees
from rbdgen.errors import UnsupportedError
from rbdgen.functions.frames import check_still
from rbdgen.functions.quantities import A, Q, Quantity, V, vector_entries
from rbdgen.functions.record import Entries, Function, Need, Pinocchio, Settings, TracedProgram
from rbdgen.model.robot import Robot
from rbdgen.numeric.batch import Entries as Evaluated
from rbdgen.numeric.batch import argument, configuration, evaluate
from rbdgen.spatial import Vector

COM = Quantity("com", (3,), "m", "centre of mass, in the base's coordinates")
COM_VELOCITY = Quantity("com_v", (3,), "m/s", "velocity of the centre of mass")
COM_JACOBIAN = Quantity("com_j", (3, "nv"), "m/rad, 1", "Jacobian of the centre of mass")
MAP = Quantity("cmm", (6, "nv"), "kg·m/rad, kg, …", "map from velocities to momentum")
MOMENTUM = Quantity("momentum", (6,), "kg·m/s, N·m·s", "momentum about the centre of mass")
RATE = Quantity("dmomentum", (6,), "N, N·m", "rate of momentum about the centre of mass")
BIAS = Quantity("dcmm_v", (6,), "N, N·m", "its part that velocities make: the map's rate times v")
DH_DQ = Quantity("dh_dq", (6, "nv"), "N·s/rad, …", "derivative of momentum by q")
DRATE_DQ = Quantity("drate_dq", (6, "nv"), "N/rad, …", "derivative of momentum's rate by q")
DRATE_DV = Quantity("drate_dv", (6, "nv"), "N·s/rad, …", "derivative of momentum's rate by v")


def check(robot: Robot, settings: Settings) -> None:
    """UnsupportedError for a robot without mass, or a base that moves as tasks say."""
    need_mass(robot)
    check_still(robot, settings)


def need_mass(robot: Robot) -> None:
    """UnsupportedError for a robot without mass, which has no centre of it."""
    if robot.mass <= 0:
        raise UnsupportedError(
            f"robot {robot.name!r}: has no mass, and so no centre of it; give its links an <inertial>"
        )


def traced_subtrees(trace: TracedProgram) -> Subtrees:
    """All of a program's functions share them; links have the inertias that are theirs."""
    return trace.shared(
        "subtrees", lambda: Subtrees(trace.whole(), trace.placements(), trace.enter)
    )


def traced_centroid(trace: TracedProgram) -> Centroid:
    """The centre of mass that functions of a program share."""
    return trace.shared("centroid", lambda: Centroid(traced_subtrees(trace)))


def _centroid(robot: Robot, q: Vector) -> Centroid:
    return Centroid(Subtrees(robot, joint_placements(robot, q)))


def _com_text(robot: Robot, variant: None, q: Vector, v: Vector) -> Sequence[Evaluated]:
    return _com_entries(_centroid(robot, q), v)


def _com_entries(found: Centroid, v: Vector) -> tuple[Entries, Entries, Entries]:
    position = vector_entries(found.position)
    return position, vector_entries(found.velocity(v)), found.jacobian


def _map_text(robot: Robot, variant: None, q: Vector, v: Vector) -> Sequence[Evaluated]:
    return _map_entries(_centroid(robot, q), v)


def _map_entries(found: Centroid, v: Vector) -> tuple[Entries, Entries]:
    return found.map, vector_entries(found.momentum(v))


def _rate_text(robot: Robot, variant: None, q: Vector, v: Vector, a: Vector) -> Sequence[Evaluated]:
    return _rate_entries(_centroid(robot, q), v, a)


def _rate_entries(found: Centroid, v: Vector, a: Vector) -> tuple[Entries, Entries]:
    still = (0.0,) * len(a)
    bias = found.rate(found.trees.moving(v, still))
    return vector_entries(found.gained(a, bias)), vector_entries(bias)


def _slope_text(
    robot: Robot, variant: None, q: Vector, v: Vector, a: Vector
) -> Sequence[Evaluated]:
    return _slope_entries(_centroid(robot, q), v, a)


def _slope_entries(found: Centroid, v: Vector, a: Vector) -> tuple[Entries, ...]:
    made = centroidal_derivatives(found, found.trees.moving(v, a))
    return made.momentum_by_position, made.rate_by_position, made.rate_by_velocity, found.map


def _evaluated(
    text: Any, robot: Robot, q: np.ndarray, results: Sequence[Quantity], **vectors: np.ndarray
) -> tuple[np.ndarray, ...]:
    """The ``results`` of a text at ``q`` and ``vectors`` (..., nv)."""
    need_mass(robot)
    q = configuration(robot, q)
    batch = q.shape[:-1]
    given = [argument(name, x, (robot.nv,), batch) for name, x in vectors.items()]
    shapes = [quantity.size(robot) for quantity in results]
    return evaluate(text, robot, None, shapes, batch, (q, *given))


def _at_rest(robot: Robot, q: np.ndarray) -> np.ndarray:
    return np.zeros((*np.shape(q)[:-1], robot.nv))


def center_of_mass(
    robot: Robot, q: np.ndarray, v: np.ndarray | None = None
) -> np.ndarray | tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The centre of mass, in the base's coordinates, m.

    ``q`` (..., nq). Returns (..., 3), as Pinocchio's ``centerOfMass``; with ``v`` (..., nv) also its velocity (..., 3)
    and its Jacobian (..., 3, nv). What does not move has no part in it. UnsupportedError for a robot without mass,
    ConfigError as :func:`rbdgen.golden.rnea`. Source: :mod:`rbdgen.algo.centroidal`."""
    results = COM, COM_VELOCITY, COM_JACOBIAN
    moving = _at_rest(robot, q) if v is None else v
    position, velocity, jacobian = _evaluated(_com_text, robot, q, results, v=moving)
    return position if v is None else (position, velocity, jacobian)


def jacobian_center_of_mass(robot: Robot, q: np.ndarray) -> np.ndarray:
    """The Jacobian of the centre of mass (..., 3, nv): its velocity from v. All else as :func:`center_of_mass`."""
    return center_of_mass(robot, q, _at_rest(robot, q))[2]


def centroidal_map(
    robot: Robot, q: np.ndarray, v: np.ndarray | None = None
) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
    """The map A from joint velocities to momentum about the centre of mass, [linear, angular] in the base's directions.

    Returns (..., 6, nv), as Pinocchio's ``ccrba``; with ``v`` (..., nv) also the momentum A v (..., 6). All else as
    :func:`center_of_mass`."""
    moving = _at_rest(robot, q) if v is None else v
    found, momentum = _evaluated(_map_text, robot, q, (MAP, MOMENTUM), v=moving)
    return found if v is None else (found, momentum)


def centroidal_momentum(robot: Robot, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Momentum about the centre of mass (..., 6). All else as :func:`centroidal_map`."""
    return centroidal_map(robot, q, v)[1]


def centroidal_momentum_time_variation(
    robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The rate of momentum about the centre of mass, A a + Ȧ v, and Ȧ v alone (..., 6 each), as Pinocchio's
    ``computeCentroidalMomentumTimeVariation`` and what ``dccrba`` gives times v: [linear, angular], N and N·m, gravity
    not among them.

    ``q`` (..., nq), ``v`` and ``a`` (..., nv). All else as :func:`center_of_mass`."""
    rate, bias = _evaluated(_rate_text, robot, q, (RATE, BIAS), v=v, a=a)
    return rate, bias


def centroidal_dynamics_derivatives(
    robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Derivatives of momentum h about the centre of mass, and of its rate: ∂h/∂q, ∂ḣ/∂q, ∂ḣ/∂v and ∂ḣ/∂a, which is A
    and ∂h/∂v as well.

    Four arrays (..., 6, nv), as Pinocchio's ``computeCentroidalDynamicsDerivatives``; ∂/∂q is in the tangent space.
    All else as :func:`centroidal_momentum_time_variation`."""
    results = DH_DQ, DRATE_DQ, DRATE_DV, MAP
    by_q, rate_by_q, rate_by_v, by_v = _evaluated(_slope_text, robot, q, results, v=v, a=a)
    return by_q, rate_by_q, rate_by_v, by_v


def _traced_com(trace: TracedProgram) -> Mapping[str, Entries]:
    position, velocity, jacobian = _com_entries(traced_centroid(trace), trace.operand(V.name))
    return {COM.name: position, COM_VELOCITY.name: velocity, COM_JACOBIAN.name: jacobian}


def _traced_map(trace: TracedProgram) -> Mapping[str, Entries]:
    found, momentum = _map_entries(traced_centroid(trace), trace.operand(V.name))
    return {MAP.name: found, MOMENTUM.name: momentum}


def _traced_rate(trace: TracedProgram) -> Mapping[str, Entries]:
    found = traced_centroid(trace)
    rate, bias = _rate_entries(found, trace.operand(V.name), trace.operand(A.name))
    return {RATE.name: rate, BIAS.name: bias}


def _traced_slopes(trace: TracedProgram) -> Mapping[str, Entries]:
    found = traced_centroid(trace)
    by_q, rate_by_q, rate_by_v, by_v = _slope_entries(
        found, trace.operand(V.name), trace.operand(A.name)
    )
    return {
        DH_DQ.name: by_q,
        DRATE_DQ.name: rate_by_q,
        DRATE_DV.name: rate_by_v,
        MAP.name: by_v,
    }


RECORDS = (
    Function(
        name="com",
        code=32,
        summary="centre of mass, its velocity and its Jacobian",
        operands=(Q, V),
        results=(COM, COM_VELOCITY, COM_JACOBIAN),
        needs=frozenset({Need.PLACEMENT}),
        trace=_traced_com,
        golden=center_of_mass,
        parts=(jacobian_center_of_mass,),
        pinocchio=Pinocchio("jacobianCenterOfMass", ("q",)),
        forced=False,
        based=False,
        check=check,
    ),
    Function(
        name="cmm",
        code=33,
        summary="momentum about the centre of mass, and its map",
        operands=(Q, V),
        results=(MAP, MOMENTUM),
        needs=frozenset({Need.PLACEMENT}),
        trace=_traced_map,
        golden=centroidal_map,
        parts=(centroidal_momentum,),
        pinocchio=Pinocchio("ccrba", ("q", "v")),
        forced=False,
        based=False,
        check=check,
    ),
    Function(
        name="dcmm",
        code=34,
        summary="rate of momentum about the centre of mass",
        operands=(Q, V, A),
        results=(RATE, BIAS),
        needs=frozenset({Need.PLACEMENT}),
        trace=_traced_rate,
        golden=centroidal_momentum_time_variation,
        pinocchio=Pinocchio("computeCentroidalMomentumTimeVariation", ("q", "v", "a")),
        forced=False,
        based=False,
        check=check,
    ),
    Function(
        name="dcent",
        code=35,
        summary="derivatives of momentum about the centre of mass, and of its rate",
        operands=(Q, V, A),
        results=(DH_DQ, DRATE_DQ, DRATE_DV, MAP),
        needs=frozenset({Need.PLACEMENT}),
        trace=_traced_slopes,
        golden=centroidal_dynamics_derivatives,
        pinocchio=Pinocchio("computeCentroidalDynamicsDerivatives", ("q", "v", "a")),
        forced=False,
        based=False,
        check=check,
    ),
)
