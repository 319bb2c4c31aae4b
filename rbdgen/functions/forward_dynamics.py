"""Forward dynamics: ``fd``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rbdgen.algo.aba import aba
from rbdgen.algo.plucker import transforms
from rbdgen.algo.rnea import joint_placements
from rbdgen.functions.inverse_dynamics import rnea
from rbdgen.functions.mass_matrix import crba, minverse
from rbdgen.functions.operands import (
    METHODS,
    articulates,
    checked_forces,
    checked_root,
    given_base,
    given_wrenches,
    vector_entries,
)
from rbdgen.functions.quantities import DA_DQ, DA_DV, MINV, TAU, A, Q, V
from rbdgen.functions.record import Entries, Function, Need, Pinocchio, Slope, TracedProgram
from rbdgen.model.robot import Robot
from rbdgen.numeric.arguments import (
    RootMotion,
    argument,
    configuration,
    require_positive_definite,
)
from rbdgen.numeric.batch import Entries as Evaluated
from rbdgen.numeric.batch import evaluate
from rbdgen.spatial import Vector


def _aba(
    robot: Robot,
    composite: bool,
    q: Vector,
    v: Vector,
    tau: Vector,
    f: Vector | None,
    root: Vector | None,
) -> Sequence[Evaluated]:
    placed = transforms(robot, joint_placements(robot, q))
    return (
        vector_entries(aba(robot, placed, v, tau, given_wrenches(f), base=given_base(robot, root))),
    )


def forward_dynamics(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    f_ext: np.ndarray | None = None,
    *,
    root: RootMotion | None = None,
    method: str = "composite",
) -> np.ndarray:
    """Forward dynamics a = FD(q, v, τ, f_ext), gravity included.

    ``tau`` (..., nv); all else and ConfigError as :func:`rbdgen.golden.rnea`. Returns (..., nv). SingularityError where
    M is not positive definite. Sources: the articulated-body algorithm, Featherstone 2008, table 7.1 (``textbook``,
    :mod:`rbdgen.algo.aba`), and M⁻¹ (τ − ID(q, v, 0, f_ext))."""
    if not articulates(robot, method):
        return acceleration_of(robot, q, v, tau, f_ext, root, minverse(robot, q, method=method))
    require_positive_definite(robot, crba(robot, q))
    return acceleration_of(robot, q, v, tau, f_ext, root, None)


def acceleration_of(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    f_ext: np.ndarray | None,
    root: RootMotion | None,
    inverse: np.ndarray | None,
) -> np.ndarray:
    """Forward dynamics by M⁻¹ where it is given, else by ABA."""
    q = configuration(robot, q)
    batch = q.shape[:-1]
    v, tau = (argument(name, x, (robot.nv,), batch) for name, x in (("v", v), ("tau", tau)))
    if inverse is not None:
        rest = tau - rnea(robot, q, v, np.zeros_like(tau), f_ext, root=root)
        return (inverse @ rest[..., None])[..., 0]
    forces, moving = checked_forces(robot, f_ext, batch), checked_root(robot, root, batch)
    return evaluate(_aba, robot, False, [(robot.nv,)], batch, (q, v, tau, forces, moving))[0]


def _traced(trace: TracedProgram) -> Mapping[str, Entries]:
    return {A.name: trace.acceleration()}


RECORDS = (
    Function(
        name="fd",
        code=1,
        summary="forward dynamics",
        operands=(Q, V, TAU),
        results=(A,),
        needs=frozenset({Need.TORQUE, Need.ACCELERATION}),
        trace=_traced,
        reference=lambda robot, s, settings, method: (
            forward_dynamics(
                robot, s.q, s.v, s.tau, s.f_ext, root=s.root, method=method or METHODS[0]
            ),
        ),
        golden=forward_dynamics,
        pinocchio=Pinocchio("aba", ("q", "v", "tau"), "abaInParallel"),
        slopes=(
            Slope(Q.name, "dfd", DA_DQ.name),
            Slope(V.name, "dfd", DA_DV.name),
            Slope(TAU.name, "minv", MINV.name),
        ),
        common=True,
    ),
)
