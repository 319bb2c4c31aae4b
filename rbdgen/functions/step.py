"""One step of time with its Jacobians: ``step``, what a model-predictive controller asks at every knot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rbdgen.algo.factorisation import both_triangles
from rbdgen.algo.step import (
    EULER,
    Given,
    Integration,
    Linear,
    Step,
    euler_step,
    runge_kutta_step,
    semi_implicit_step,
)
from rbdgen.errors import ConfigError, UnsupportedError
from rbdgen.functions.algorithms import chosen, usual
from rbdgen.functions.derivatives import FORWARD_DYNAMICS
from rbdgen.functions.mass_matrix import crba
from rbdgen.functions.quantities import (
    MINV,
    TAU,
    A,
    Q,
    Quantity,
    V,
    checked_motion,
    given_base,
    given_wrenches,
    vector_entries,
)
from rbdgen.functions.record import Entries, Function, Need, Settings, TracedProgram, by_golden
from rbdgen.functions.roll_out import check_integration, check_method
from rbdgen.model.rigid_motions import FARTHEST_TURN, ROUNDING, Functions, series
from rbdgen.model.robot import Robot
from rbdgen.numeric.batch import Entries as Evaluated
from rbdgen.numeric.batch import RootMotion, evaluate, require_positive_definite
from rbdgen.spatial import Vector

Q_NEXT = Quantity("q_next", ("nq",), "rad, m", "positions after a step")
V_NEXT = Quantity("v_next", ("nv",), "rad/s, m/s", "velocities after a step")
BY_STATE = Quantity("dx_dx", ("nx", "nx"), "1, s, 1/s", "A: ∂(q⁺, v⁺)/∂(q, v), row: what changes")
BY_TORQUE = Quantity("dx_dtau", ("nx", "nv"), "rad/(N·m), …", "B: ∂(q⁺, v⁺)/∂τ, row: what changes")
Variant = tuple[str, float]
"""Integrator and time step."""
MARGIN = 2.0
"""Factor on the turns in a step at the states that ranges are found at, for joints that turn farther."""
MADE_OF = ("derivative", "mass_matrix")
"""The kinds of algorithms of which a step takes the usual ones."""


def check(robot: Robot, settings: Settings) -> None:
    """UnsupportedError for what :func:`rbdgen.functions.roll_out.check_integration` refuses, and for other algorithms
    than the usual ones of :data:`MADE_OF`."""
    check_integration(settings)
    for kind in MADE_OF:
        given, taken = chosen(kind, settings), usual(kind)
        if given is not taken:
            raise UnsupportedError(
                f"{given.asked}: step is made with {taken.name}; use that, or leave out step"
            )


def turn(robot: Robot, v: Sequence[float] | np.ndarray) -> float:
    """Largest turn of joints with coordinates of unit length in a second, at velocities ``v`` (nv): rad."""
    farthest = 0.0
    for body, _, own in robot.independent:
        # plain angles and lengths are added: no series that could leave its range
        if "unit" not in body.joint.kinds:
            continue
        axes = np.array(body.joint.angular_subspace)
        rates = np.linalg.norm(axes, axis=1) * v[own]
        farthest = max(farthest, float(np.linalg.norm(rates)))
    return farthest


def _made(given: Given, variant: Variant, q: Vector, v: Vector) -> Step:
    integrator, h = variant
    return (euler_step if integrator == EULER else runge_kutta_step)(given, q, v, h)


def _text(
    robot: Robot,
    variant: Variant,
    q: Vector,
    v: Vector,
    tau: Vector,
    f: Vector | None,
    root: Vector | None,
) -> Sequence[Evaluated]:
    # any state may be asked for, and float64's own precision is expected
    functions = series(FARTHEST_TURN, ROUNDING)
    given = Given(robot, tau, given_base(robot, root), given_wrenches(f), functions)
    made = _made(given, variant, q, v)
    return tuple(_named(made).values())


def _named(made: Step) -> dict[str, Any]:
    """The results by name."""
    return {
        Q_NEXT.name: vector_entries(made.position),
        V_NEXT.name: vector_entries(made.velocity),
        BY_STATE.name: made.by_state,
        BY_TORQUE.name: made.by_torque,
    }


def step(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    f_ext: np.ndarray | None = None,
    *,
    root: RootMotion | None = None,
    integrator: str = "euler",
    time_step: float = 1e-3,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The state after ``time_step`` seconds at constant ``tau``, and the discrete dynamics' Jacobians.

    ``integrator``: ``euler`` (semi-implicit) or ``rk4`` (the classical Runge-Kutta method); all else as
    :func:`rbdgen.golden.forward_dynamics`. Returns q⁺ (..., nq), v⁺ (..., nv), A = ∂(q⁺, v⁺)/∂(q, v) (..., 2 nv, 2 nv)
    and B = ∂(q⁺, v⁺)/∂τ (..., 2 nv, nv), of q in the tangent space (:func:`rbdgen.golden.integrate`). ConfigError for a
    time step in which a joint without limits, or a floating base, turns by more than 2π, SingularityError where M is
    not positive definite. Source: :mod:`rbdgen.algo.step`."""
    check_method(integrator, time_step)
    batch, operands = checked_motion(robot, q, f_ext, root, v=v, tau=tau)
    require_positive_definite(robot, crba(robot, q))
    shapes = [quantity.size(robot) for quantity in (Q_NEXT, V_NEXT, BY_STATE, BY_TORQUE)]
    variant = integrator, float(time_step)
    position, velocity, by_state, by_torque = evaluate(
        _text, robot, variant, shapes, batch, operands
    )
    # the faster of the step's two ends, joint by joint
    fastest = np.maximum(np.abs(v), np.abs(velocity)).reshape(-1, robot.nv).max(axis=0, initial=0)
    if turn(robot, fastest) * time_step > FARTHEST_TURN:
        raise ConfigError(
            f"time_step: a joint turns by {turn(robot, fastest) * time_step:.3g} rad in {time_step:g} s, which is more "
            "than a whole turn; give a smaller one"
        )
    return position, velocity, by_state, by_torque


def _traced(trace: TracedProgram) -> Mapping[str, Entries]:
    settings = trace.settings
    base, forces = trace.root_motion(), trace.forces()
    functions = _functions(trace)
    tau = trace.operand(TAU.name)
    given = Given(trace.robot, tau, base, forces, functions, trace.enter, trace.rest())
    variant = settings.integrator, settings.time_step
    return _named(_made(given, variant, trace.operand(Q.name), trace.operand(V.name)))


def _traced_second(trace: TracedProgram) -> Mapping[str, Entries]:
    """A semi-implicit step by the acceleration and M⁻¹ of a first pass."""
    h = trace.settings.time_step
    integration = Integration(trace.robot, _functions(trace), trace.enter)
    scaled = []
    for entries in (*trace.acceleration_derivatives(), trace.given_matrix(MINV.name)):
        plain = {(i, j): x for (i, j), x in entries.items()}
        # times h, as a step in one pass makes them
        scaled.append(integration.scaled(h, plain))
    by_position, by_velocity, inverse = scaled
    now = Linear(trace.operand(A.name), by_position, by_velocity, both_triangles(inverse))
    return _named(
        semi_implicit_step(integration, now, trace.operand(Q.name), trace.operand(V.name), h)
    )


def _beside(step: Function, settings: Settings, others: Sequence[Function]) -> Function:
    """A semi-implicit step beside derivatives goes through their program, with their first pass; else it is one pass,
    which answers sooner."""
    derived = any(Need.GRADIENT in other.needs for other in others)
    if settings.integrator != EULER or not derived:
        return step
    return replace(
        step,
        needs=frozenset({Need.GRADIENT}),
        first_pass=FORWARD_DYNAMICS,
        trace=_traced_second,
    )


def _functions(trace: TracedProgram) -> Functions:
    """The functions of how far a joint turns: for a processor as the reference has them."""
    if trace.software:
        return series(FARTHEST_TURN, ROUNDING)
    return series(_farthest(trace))


def _farthest(trace: TracedProgram) -> float:
    """Largest turn of joints in a step at the states that ranges are found at, and some more: rad."""
    robot = trace.robot
    if not any("unit" in body.joint.kinds for body, _, _ in robot.independent):
        return 0.0
    _, velocity, _, _ = trace.reached(by_golden(step, (Q, V, TAU)))
    fastest = np.max(np.abs(velocity), axis=0)
    return MARGIN * turn(robot, fastest) * trace.settings.time_step


RECORDS = (
    Function(
        name="step",
        code=19,
        summary="one step of time with its Jacobians",
        operands=(Q, V, TAU),
        results=(Q_NEXT, V_NEXT, BY_STATE, BY_TORQUE),
        needs=frozenset({Need.TORQUE, Need.FACTORS}),
        trace=_traced,
        golden=step,
        check=check,
        uses=frozenset({"integrator", "time_step"}),
        beside=_beside,
    ),
)
