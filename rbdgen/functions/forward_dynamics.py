"""Forward dynamics: ``fd``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rbdgen.algo.aba import aba
from rbdgen.algo.plucker import transforms
from rbdgen.algo.rnea import joint_placements
from rbdgen.functions.inverse_dynamics import rnea
from rbdgen.functions.mass_matrix import crba, minverse
from rbdgen.functions.quantities import (
    DA_DQ,
    DA_DV,
    MINV,
    TAU,
    A,
    Q,
    V,
    articulates,
    checked_motion,
    given_base,
    given_wrenches,
    vector_entries,
)
from rbdgen.functions.record import Function, Need, Pinocchio, Slope
from rbdgen.model.robot import Robot
from rbdgen.numeric.batch import Entries as Evaluated
from rbdgen.numeric.batch import RootMotion, evaluate, require_positive_definite
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
    # ABA divides by pivots without a check: the state is named here
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
    batch, operands = checked_motion(robot, q, f_ext, root, v=v, tau=tau)
    if inverse is None:
        return evaluate(_aba, robot, False, [(robot.nv,)], batch, operands)[0]
    checked = operands[2]
    assert checked is not None
    rest = checked - rnea(robot, q, v, np.zeros_like(checked), f_ext, root=root)
    return (inverse @ rest[..., None])[..., 0]


RECORDS = (
    Function(
        name="fd",
        code=1,
        summary="forward dynamics",
        operands=(Q, V, TAU),
        results=(A,),
        needs=frozenset({Need.TORQUE, Need.ACCELERATION}),
        trace=lambda trace: {A.name: trace.acceleration()},
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
