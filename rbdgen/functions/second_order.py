"""Second derivatives of inverse and forward dynamics, whole or summed with weights: ``d2id``, ``d2fd``, ``hid`` and
``hfd``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rbdgen.algo.rnea import Wrench, joint_placements
from rbdgen.algo.second_order import SecondOrder, Tensor, Tensors, weighted, whole
from rbdgen.algo.second_order_forward import (
    Forward,
    forward_tensors,
    forward_weighted,
    torque_weights,
)
from rbdgen.algo.subtrees import Subtrees
from rbdgen.errors import UnsupportedError
from rbdgen.functions.derivatives import FORWARD_DYNAMICS, forward_dynamics_derivatives
from rbdgen.functions.forward_dynamics import forward_dynamics
from rbdgen.functions.frames import check_still
from rbdgen.functions.mass_matrix import minverse
from rbdgen.functions.quantities import MINV, TAU, A, Q, Quantity, V, checked_motion, given_wrenches
from rbdgen.functions.record import Entries, Function, Need, Settings, TracedProgram
from rbdgen.model.robot import DRY, Robot
from rbdgen.numeric.batch import Entries as Evaluated
from rbdgen.numeric.batch import evaluate
from rbdgen.spatial import Vector

CUBE, SQUARE = ("nv", "nv", "nv"), ("nv", "nv")
TORQUES = {
    "qq": Quantity("d2tau_dqq", CUBE, "N·m/rad², …", "∂²τ/∂q∂q, first: torque", symmetric=True),
    "vv": Quantity("d2tau_dvv", CUBE, "N·m·s²/rad², …", "∂²τ/∂v∂v, first: torque", symmetric=True),
    "qv": Quantity("d2tau_dqv", CUBE, "N·m·s/rad², …", "∂²τ/∂q∂v, first: torque"),
    "aq": Quantity("d2tau_daq", CUBE, "kg·m²/rad, …", "∂²τ/∂a∂q = ∂M/∂q, first: torque"),
}
ACCELERATIONS = {
    "qq": Quantity(
        "d2a_dqq", CUBE, "1/(rad·s²), …", "∂²a/∂q∂q, first: acceleration", symmetric=True
    ),
    "vv": Quantity("d2a_dvv", CUBE, "1/rad, …", "∂²a/∂v∂v, first: acceleration", symmetric=True),
    "qv": Quantity("d2a_dqv", CUBE, "1/(rad·s), …", "∂²a/∂q∂v, first: acceleration"),
    "tq": Quantity("d2a_dtq", CUBE, "1/(kg·m²·rad), …", "∂²a/∂τ∂q = ∂M⁻¹/∂q, first: acceleration"),
}
TORQUE_SUMS = {
    "qq": Quantity("h_tau_qq", SQUARE, "N·m/rad², …", "∂²(λ·τ)/∂q∂q", symmetric=True),
    "vv": Quantity("h_tau_vv", SQUARE, "N·m·s²/rad², …", "∂²(λ·τ)/∂v∂v", symmetric=True),
    "qv": Quantity("h_tau_qv", SQUARE, "N·m·s/rad², …", "∂²(λ·τ)/∂q∂v"),
    "aq": Quantity("h_tau_aq", SQUARE, "kg·m²/rad, …", "∂²(λ·τ)/∂a∂q"),
}
ACCELERATION_SUMS = {
    "qq": Quantity("h_a_qq", SQUARE, "1/(rad·s²), …", "∂²(λ·a)/∂q∂q", symmetric=True),
    "vv": Quantity("h_a_vv", SQUARE, "1/rad, …", "∂²(λ·a)/∂v∂v", symmetric=True),
    "qv": Quantity("h_a_qv", SQUARE, "1/(rad·s), …", "∂²(λ·a)/∂q∂v"),
    "tq": Quantity("h_a_tq", SQUARE, "1/(kg·m²·rad), …", "∂²(λ·a)/∂τ∂q"),
}
WEIGHTS = Quantity(
    "multiplier", ("nv",), "1", "weights λ of what is summed over", limits=(-1.0, 1.0)
)


def check(robot: Robot, settings: Settings) -> None:
    """UnsupportedError for dry friction, and a base that moves as tasks say."""
    need_smooth(robot)
    check_still(robot, settings)


def need_smooth(robot: Robot) -> None:
    """UnsupportedError for dry friction, whose slope has an edge where a joint turns round."""
    if robot.friction == DRY:
        raise UnsupportedError(
            f"robot {robot.name!r}: dry friction has no second derivative at rest; give --friction viscous"
        )


def _second(trees: Subtrees, v: Vector, a: Vector, forces: Sequence[Wrench] | None) -> SecondOrder:
    # a base that accelerates against gravity is as good as one in a field
    against = tuple(0.0 - g for g in trees.robot.gravity)
    moving = trees.moving(v, a, against)
    return SecondOrder(moving, moving.forces(forces))


def _entries(tensors: Mapping[str, Tensor], results: Mapping[str, Quantity]) -> list[Evaluated]:
    """All entries, in the order of ``results``."""
    found = whole(tensors)
    return [found[kind] for kind in results]


def _named(tensors: Mapping[str, Tensor], results: Mapping[str, Quantity]) -> Mapping[str, Entries]:
    """The entries that are sent, by result."""
    return {quantity.name: tensors[kind] for kind, quantity in results.items()}


def _second_at(robot: Robot, q: Vector, v: Vector, a: Vector, f: Vector | None) -> SecondOrder:
    trees = Subtrees(robot, joint_placements(robot, q))
    return _second(trees, v, a, given_wrenches(f))


def _tensor_text(
    robot: Robot, variant: None, q: Vector, v: Vector, a: Vector, f: Vector | None
) -> Sequence[Evaluated]:
    return _entries(Tensors(_second_at(robot, q, v, a, f)).build(), TORQUES)


def _sum_text(
    robot: Robot,
    variant: None,
    q: Vector,
    v: Vector,
    a: Vector,
    weights: Vector,
    f: Vector | None,
) -> Sequence[Evaluated]:
    return _entries(weighted(_second_at(robot, q, v, a, f), weights), TORQUE_SUMS)


def _known(robot: Robot, *matrices: Vector) -> Forward:
    """Of ∂a/∂q, ∂a/∂v and M⁻¹, row by row."""
    n = robot.nv
    places = [(i, j) for i in range(n) for j in range(n)]
    by_position, by_velocity, inverse = (dict(zip(places, x, strict=True)) for x in matrices)
    lower = {(i, j): x for (i, j), x in inverse.items() if i >= j}
    return Forward(by_position, by_velocity, lower)


def _forward_tensor_text(
    robot: Robot, variant: None, q: Vector, v: Vector, a: Vector, *given: Vector | None
) -> Sequence[Evaluated]:
    *matrices, f = given
    torques = Tensors(_second_at(robot, q, v, a, f)).build()
    known = _known(robot, *(x for x in matrices if x is not None))
    return _entries(forward_tensors(robot, torques, known), ACCELERATIONS)


def _forward_sum_text(
    robot: Robot,
    variant: None,
    q: Vector,
    v: Vector,
    a: Vector,
    weights: Vector,
    *given: Vector | None,
) -> Sequence[Evaluated]:
    *matrices, f = given
    known = _known(robot, *(x for x in matrices if x is not None))
    inner = torque_weights(robot, weights, known.inverse)
    torques = weighted(_second_at(robot, q, v, a, f), inner)
    return _entries(forward_weighted(robot, torques, known), ACCELERATION_SUMS)


Four = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _shapes(robot: Robot, results: Mapping[str, Quantity]) -> list[tuple[int, ...]]:
    return [quantity.size(robot) for quantity in results.values()]


def rnea_second_order_derivatives(
    robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray, f_ext: np.ndarray | None = None
) -> Four:
    """Second derivatives of inverse dynamics: ∂²τ/∂q∂q, ∂²τ/∂v∂v, ∂²τ/∂q∂v and ∂²τ/∂a∂q = ∂M/∂q.

    Arguments and ConfigError as :func:`rbdgen.golden.rnea`. Returns four arrays (..., nv, nv, nv) with the torque first
    and then what it is differentiated by, in the order above, as Pinocchio's ``ComputeRNEASecondOrderDerivatives``: the
    last index is that of the change of a first derivative. By q it is in the tangent space, where those by the turns of
    one joint of several degrees of freedom depend on their order. UnsupportedError for dry friction. Source:
    :mod:`rbdgen.algo.second_order`."""
    need_smooth(robot)
    batch, operands = checked_motion(robot, q, f_ext, None, v=v, a=a)
    qq, vv, qv, aq = evaluate(
        _tensor_text, robot, None, _shapes(robot, TORQUES), batch, operands[:-1]
    )
    return qq, vv, qv, aq


def rnea_hessians(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    multiplier: np.ndarray,
    f_ext: np.ndarray | None = None,
) -> Four:
    """Second derivatives of Σ λ_i τ_i, at the cost of first ones: what a Newton step takes.

    ``multiplier`` λ (..., nv). Returns four arrays (..., nv, nv), those of :func:`rnea_second_order_derivatives` summed
    over torques. All else as there."""
    need_smooth(robot)
    batch, operands = checked_motion(robot, q, f_ext, None, v=v, a=a, multiplier=multiplier)
    qq, vv, qv, aq = evaluate(
        _sum_text, robot, None, _shapes(robot, TORQUE_SUMS), batch, operands[:-1]
    )
    return qq, vv, qv, aq


def _with_slopes(
    robot: Robot, q: np.ndarray, v: np.ndarray, tau: np.ndarray, f_ext: np.ndarray | None
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The acceleration; ∂a/∂q, ∂a/∂v and M⁻¹."""
    a = forward_dynamics(robot, q, v, tau, f_ext)
    inverse = minverse(robot, q)
    slopes = forward_dynamics_derivatives(robot, q, v, None, f_ext, a=a, minv=inverse)
    return a, [*slopes, inverse]


def forward_second_order_derivatives(
    robot: Robot, q: np.ndarray, v: np.ndarray, tau: np.ndarray, f_ext: np.ndarray | None = None
) -> Four:
    """Second derivatives of forward dynamics: ∂²a/∂q∂q, ∂²a/∂v∂v, ∂²a/∂q∂v and ∂²a/∂τ∂q = ∂M⁻¹/∂q.

    Arguments as :func:`rbdgen.golden.forward_dynamics`, results as of :func:`rnea_second_order_derivatives`.
    SingularityError where M is not positive definite. Source: :mod:`rbdgen.algo.second_order_forward`."""
    need_smooth(robot)
    a, slopes = _with_slopes(robot, q, v, tau, f_ext)
    batch, (*given, forces, _) = checked_motion(robot, q, f_ext, None, v=v, a=a)
    operands = *given, *slopes, forces
    qq, vv, qv, tq = evaluate(
        _forward_tensor_text, robot, None, _shapes(robot, ACCELERATIONS), batch, operands
    )
    return qq, vv, qv, tq


def forward_dynamics_hessians(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    multiplier: np.ndarray,
    f_ext: np.ndarray | None = None,
) -> Four:
    """Second derivatives of Σ λ_i a_i.

    ``multiplier`` λ (..., nv). Returns four arrays (..., nv, nv), those of :func:`forward_second_order_derivatives`
    summed over accelerations. All else as there."""
    need_smooth(robot)
    a, slopes = _with_slopes(robot, q, v, tau, f_ext)
    batch, (*given, forces, _) = checked_motion(
        robot, q, f_ext, None, v=v, a=a, multiplier=multiplier
    )
    operands = *given, *slopes, forces
    qq, vv, qv, tq = evaluate(
        _forward_sum_text, robot, None, _shapes(robot, ACCELERATION_SUMS), batch, operands
    )
    return qq, vv, qv, tq


def _traced_second(trace: TracedProgram) -> SecondOrder:
    def make() -> SecondOrder:
        # torques do not know what inertia is regrouped
        trees = Subtrees(trace.robot, trace.placements(), trace.enter)
        return _second(trees, trace.operand(V.name), trace.operand(A.name), trace.forces())

    return trace.shared("second order", make)


def _traced_tensors(trace: TracedProgram) -> dict[str, Tensor]:
    return trace.shared("tensors", lambda: Tensors(_traced_second(trace)).build())


def _traced_forward(trace: TracedProgram) -> Forward:
    by_position, by_velocity = trace.acceleration_derivatives()
    inverse = trace.given_matrix(MINV.name)
    return Forward(dict(by_position), dict(by_velocity), inverse)


def _traced_torque_tensors(trace: TracedProgram) -> Mapping[str, Entries]:
    return _named(_traced_tensors(trace), TORQUES)


def _traced_torque_sums(trace: TracedProgram) -> Mapping[str, Entries]:
    weights = trace.operand(WEIGHTS.name)
    return _named(weighted(_traced_second(trace), weights), TORQUE_SUMS)


def _traced_acceleration_tensors(trace: TracedProgram) -> Mapping[str, Entries]:
    known = _traced_forward(trace)
    made = forward_tensors(trace.robot, _traced_tensors(trace), known, trace.enter)
    return _named(made, ACCELERATIONS)


def _traced_acceleration_sums(trace: TracedProgram) -> Mapping[str, Entries]:
    known = _traced_forward(trace)
    weights = trace.operand(WEIGHTS.name)
    inner = torque_weights(trace.robot, weights, known.inverse, trace.enter)
    torques = weighted(_traced_second(trace), inner)
    return _named(forward_weighted(trace.robot, torques, known, trace.enter), ACCELERATION_SUMS)


RECORDS = (
    Function(
        name="d2id",
        code=45,
        summary="second derivatives of inverse dynamics",
        operands=(Q, V, A),
        results=tuple(TORQUES.values()),
        needs=frozenset({Need.PLACEMENT}),
        trace=_traced_torque_tensors,
        golden=rnea_second_order_derivatives,
        based=False,
        check=check,
    ),
    Function(
        name="d2fd",
        code=46,
        summary="second derivatives of forward dynamics",
        operands=(Q, V, TAU),
        results=tuple(ACCELERATIONS.values()),
        needs=frozenset({Need.GRADIENT}),
        trace=_traced_acceleration_tensors,
        golden=forward_second_order_derivatives,
        based=False,
        first_pass=FORWARD_DYNAMICS,
        check=check,
    ),
    Function(
        name="hid",
        code=47,
        summary="second derivatives of a weighted sum of inverse dynamics",
        operands=(Q, V, A, WEIGHTS),
        results=tuple(TORQUE_SUMS.values()),
        needs=frozenset({Need.PLACEMENT}),
        trace=_traced_torque_sums,
        golden=rnea_hessians,
        based=False,
        check=check,
    ),
    Function(
        name="hfd",
        code=48,
        summary="second derivatives of a weighted sum of forward dynamics",
        operands=(Q, V, TAU, WEIGHTS),
        results=tuple(ACCELERATION_SUMS.values()),
        needs=frozenset({Need.GRADIENT}),
        trace=_traced_acceleration_sums,
        golden=forward_dynamics_hessians,
        based=False,
        first_pass=FORWARD_DYNAMICS,
        check=check,
    ),
)
