"""Derivatives of inverse and forward dynamics: ``did``, ``dfd`` and ``difd``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rbdgen.algo.composite import composite_inertias, derivatives, mass_matrix
from rbdgen.algo.plucker import transforms
from rbdgen.algo.rnea import inward_sweep, joint_placements, outward_sweep
from rbdgen.algo.rnea_derivatives import rnea_derivatives as columns_text
from rbdgen.errors import ConfigError
from rbdgen.functions.forward_dynamics import acceleration_of
from rbdgen.functions.mass_matrix import minverse
from rbdgen.functions.quantities import (
    DA_DQ,
    DA_DV,
    DTAU_DQ,
    DTAU_DV,
    METHODS,
    MINV,
    TAU,
    A,
    Q,
    V,
    articulates,
    checked_motion,
    given_base,
    given_wrenches,
)
from rbdgen.functions.record import (
    Entries,
    Extra,
    FirstPass,
    Function,
    Need,
    Pinocchio,
    TracedProgram,
)
from rbdgen.model.robot import Robot
from rbdgen.numeric.batch import Entries as Evaluated
from rbdgen.numeric.batch import RootMotion, argument, choice, configuration, evaluate
from rbdgen.spatial import Vector

INVERSE = "inverse"
"""The group of result words by which ``dfd`` returns M⁻¹; their quantity is ``minv``."""
FORWARD_DYNAMICS = FirstPass(
    needs=frozenset({Need.TORQUE, Need.INVERSE, Need.ACCELERATION}),
    operands=(Q, V, TAU),
    hands_over=(A.name, MINV.name),
)
"""The pass before derivatives of accelerations."""


def _rnea_derivatives(
    robot: Robot,
    composite: bool,
    q: Vector,
    v: Vector,
    a: Vector,
    f: Vector | None,
    root: Vector | None,
) -> Sequence[Evaluated]:
    base = given_base(robot, root)
    joints = joint_placements(robot, q)
    motions, wrenches = outward_sweep(robot, joints, v, a, given_wrenches(f), base=base)
    _, totals = inward_sweep(robot, joints, v, a, wrenches)
    if composite:
        inertias = composite_inertias(robot, joints)
        mass = mass_matrix(robot, joints, inertias)
        both = derivatives(robot, joints, v, base, motions, totals, inertias, mass)
        return both.by_position, both.by_velocity
    return columns_text(robot, transforms(robot, joints), v, motions, totals, base=base)


def rnea_derivatives(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    f_ext: np.ndarray | None = None,
    *,
    root: RootMotion | None = None,
    method: str = "composite",
) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives (∂τ/∂q, ∂τ/∂v) of inverse dynamics; ∂τ/∂a is M.

    Arguments and ConfigError as :func:`rbdgen.golden.rnea`. Returns two arrays (..., nv, nv), row: force, column:
    degree of freedom. ∂/∂q is in the tangent space (:func:`rbdgen.golden.integrate`), f_ext constant in the bodies'
    frames. Sources: Carpentier & Mansard 2018 (``textbook``, :mod:`rbdgen.algo.rnea_derivatives`); Singh et al. 2022
    (:mod:`rbdgen.algo.composite`)."""
    composite = choice("method", method, METHODS) == "composite"
    batch, operands = checked_motion(robot, q, f_ext, root, v=v, a=a)
    shapes = [(robot.nv, robot.nv)] * 2
    by_position, by_velocity = evaluate(
        _rnea_derivatives, robot, composite, shapes, batch, operands
    )
    return by_position, by_velocity


def forward_dynamics_derivatives(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray | None = None,
    f_ext: np.ndarray | None = None,
    *,
    a: np.ndarray | None = None,
    minv: np.ndarray | None = None,
    root: RootMotion | None = None,
    method: str = "composite",
) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives (∂a/∂q, ∂a/∂v) of forward dynamics, −M⁻¹ times those of inverse dynamics; ∂a/∂τ is M⁻¹.

    Either ``tau`` (..., nv), and the acceleration is computed, or both ``a`` (..., nv) and ``minv`` (..., nv, nv) are
    given. All else as :func:`rbdgen.golden.forward_dynamics`. Returns two arrays (..., nv, nv) as
    :func:`rnea_derivatives`. Source: Carpentier & Mansard 2018, section IV."""
    # dfd and difd are one function: what is given decides
    if (tau is None) == (a is None) or (a is None) != (minv is None):
        raise ConfigError("tau: give either tau, or both a and minv")
    batch = configuration(robot, q).shape[:-1]
    if tau is not None:
        # needed twice: for the acceleration, and for the derivatives
        inverse = minverse(robot, q, method=method)
        a = acceleration_of(
            robot, q, v, tau, f_ext, root, None if articulates(robot, method) else inverse
        )
    else:
        inverse = argument("minv", minv, (robot.nv, robot.nv), batch)
    assert a is not None
    by_position, by_velocity = rnea_derivatives(robot, q, v, a, f_ext, root=root, method=method)
    return -inverse @ by_position, -inverse @ by_velocity


def _traced_torque(trace: TracedProgram) -> Mapping[str, Entries]:
    by_position, by_velocity = trace.torque_derivatives()
    return {DTAU_DQ.name: by_position, DTAU_DV.name: by_velocity}


def _traced_acceleration(trace: TracedProgram) -> Mapping[str, Entries]:
    by_position, by_velocity = trace.acceleration_derivatives()
    return {DA_DQ.name: by_position, DA_DV.name: by_velocity}


RECORDS = (
    Function(
        name="did",
        code=4,
        summary="derivatives of inverse dynamics",
        operands=(Q, V, A),
        results=(DTAU_DQ, DTAU_DV),
        needs=frozenset({Need.GRADIENT}),
        trace=_traced_torque,
        golden=rnea_derivatives,
        pinocchio=Pinocchio("computeRNEADerivatives", ("q", "v", "a")),
        common=True,
    ),
    Function(
        name="dfd",
        code=5,
        summary="derivatives of forward dynamics",
        operands=(Q, V, TAU),
        results=(DA_DQ, DA_DV),
        needs=frozenset({Need.GRADIENT}),
        trace=_traced_acceleration,
        golden=forward_dynamics_derivatives,
        pinocchio=Pinocchio("computeABADerivatives", ("q", "v", "tau")),
        common=True,
        first_pass=FORWARD_DYNAMICS,
        extra=Extra(
            option="with_inverse",
            group=INVERSE,
            quantity=MINV,
            source=MINV.name,
            reference=lambda robot, s: minverse(robot, s.q),
        ),
    ),
    Function(
        name="difd",
        code=6,
        summary="derivatives of forward dynamics, given a and the inverse",
        operands=(Q, V, A, MINV),
        results=(DA_DQ, DA_DV),
        needs=frozenset({Need.GRADIENT}),
        trace=_traced_acceleration,
        golden=forward_dynamics_derivatives,
        common=True,
    ),
)
