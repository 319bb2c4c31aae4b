"""Roll-outs: ``roll``, a task that is integrated over many steps, going through forward dynamics again and again.

A step is one evaluation of the acceleration (semi-implicit Euler) or four (the classical Runge-Kutta method). After
each, results become the operands of the next: they leave by an exit of their own and enter once more. With k the
evaluation's velocity and acceleration, Runge-Kutta's four evaluations go to x = x₀ + c k and to s = s + b k, and the
last to x = x₀ = s. τ and external forces stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from rbdgen.algo.step import COEFFICIENTS, EULER
from rbdgen.errors import ConfigError, UnsupportedError
from rbdgen.functions.forward_dynamics import forward_dynamics
from rbdgen.functions.quantities import BEGIN, Q_END, STEPS, SUM, TAU, V_END, WEIGHTS, Q, States, V
from rbdgen.functions.record import (
    Carried,
    Entries,
    Function,
    Need,
    Repeat,
    RepeatingProgram,
    Settings,
    TracedProgram,
)
from rbdgen.model.robot import Robot
from rbdgen.numeric.batch import RootMotion, argument, choice, configuration
from rbdgen.spatial import Scalar, add, mul

Q_MIDDLE, V_MIDDLE = "q_mid", "v_mid"
"""Results that are operands of the next evaluation within a step."""


def weights(settings: Settings) -> tuple[tuple[float, float], ...]:
    """c and b in seconds of each evaluation of a step."""
    table = COEFFICIENTS[settings.integrator]
    return tuple((c * settings.time_step, b * settings.time_step) for c, b in table)


def check(robot: Robot, settings: Settings) -> None:
    """UnsupportedError for what :func:`check_integration` refuses, and for a joint whose coordinates are not its
    velocity's integral."""
    check_integration(settings)
    check_joints(robot)


def check_integration(settings: Settings) -> None:
    """UnsupportedError for an unknown integrator, and a time step that is not positive."""
    if settings.integrator not in COEFFICIENTS:
        raise UnsupportedError(
            f"integrator {settings.integrator!r}: unknown; choose from {', '.join(COEFFICIENTS)}"
        )
    if not 0 < settings.time_step < 1:
        raise UnsupportedError(
            f"time-step: must be between 0 and 1 second, not {settings.time_step:g}"
        )


def check_joints(robot: Robot) -> None:
    """UnsupportedError for a joint whose coordinates are not its velocity's integral."""
    for body in robot.bodies:
        if body.joint.nq != body.joint.nv or "unit" in body.joint.kinds:
            raise UnsupportedError(
                f"robot {robot.name!r}: joint {body.joint_name!r} ({type(body.joint).__name__.lower()}): roll takes "
                "joints whose q is a plain angle or length; leave out the function roll, or take step"
            )


def roll_out(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    steps: np.ndarray | int,
    f_ext: np.ndarray | None = None,
    *,
    root: RootMotion | None = None,
    integrator: str = "euler",
    time_step: float = 1e-3,
) -> tuple[np.ndarray, np.ndarray]:
    """The states (q, v) after ``steps`` steps of ``time_step`` seconds at constant ``tau``.

    ``q`` and ``v`` (..., nv), ``steps`` (...) whole (an accelerator takes 1 or more), ``integrator`` ``euler``
    (semi-implicit) or ``rk4``; all else as :func:`rbdgen.golden.forward_dynamics`. Returns two arrays (..., nv).
    ConfigError for a wrong shape, a number of steps that is negative or not whole, a time step that is not positive,
    and an unknown integrator; UnsupportedError for a joint whose coordinates are not its velocity's integral.
    """
    check_joints(robot)
    check_method(integrator, time_step)
    q = configuration(robot, q)
    batch = q.shape[:-1]
    v, tau = (argument(name, x, (robot.nv,), batch) for name, x in (("v", v), ("tau", tau)))
    counts = checked_steps(steps, batch)[..., None]

    def acceleration(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return forward_dynamics(robot, q, v, tau, f_ext, root=root)

    step = _euler_step if integrator == EULER else _runge_kutta_step
    for number in range(int(counts.max(initial=0))):
        moved, speed = step(acceleration, q, v, time_step)
        # tasks of one batch may be of different lengths
        going = counts > number
        q, v = np.where(going, moved, q), np.where(going, speed, v)
    return q, v


def check_method(integrator: str, time_step: float) -> None:
    """ConfigError for an unknown integrator, and a time step that is not positive."""
    choice("integrator", integrator, tuple(COEFFICIENTS))
    if not 0 < time_step < math.inf:
        raise ConfigError(f"time_step: must be above 0 seconds, not {time_step:g}")


def checked_steps(steps: np.ndarray | int, batch: tuple[int, ...]) -> np.ndarray:
    """Numbers of steps (...), from one for all or one each."""
    # one number is for all tasks
    counts = argument("steps", steps, (), batch if np.ndim(steps) else None)
    wrong = counts[(counts < 0) | (counts % 1 != 0)]
    if wrong.size:
        raise ConfigError(f"steps: must be a whole number of at least 0, not {wrong.flat[0]:g}")
    return np.broadcast_to(counts, batch)


Acceleration = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Of positions and velocities."""
State = tuple[np.ndarray, np.ndarray]
"""Positions and velocities."""


def _euler_step(acceleration: Acceleration, q: np.ndarray, v: np.ndarray, h: float) -> State:
    speed = v + h * acceleration(q, v)
    return q + h * speed, speed


def _runge_kutta_step(acceleration: Acceleration, q: np.ndarray, v: np.ndarray, h: float) -> State:
    v1, a1 = v, acceleration(q, v)
    v2, a2 = v + h / 2 * a1, acceleration(q + h / 2 * v1, v + h / 2 * a1)
    v3, a3 = v + h / 2 * a2, acceleration(q + h / 2 * v2, v + h / 2 * a2)
    v4, a4 = v + h * a3, acceleration(q + h * v3, v + h * a3)
    position = q + h / 6 * (v1 + 2 * v2 + 2 * v3 + v4)
    return position, v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


def _reference(
    robot: Robot, s: States, settings: Settings | None, method: str | None
) -> Sequence[np.ndarray]:
    assert s.steps is not None
    chosen = (
        {"integrator": settings.integrator, "time_step": settings.time_step} if settings else {}
    )
    return roll_out(robot, s.q, s.v, s.tau, s.steps[:, 0], s.f_ext, root=s.root, **chosen)


Ends = dict[str, dict[tuple[int, ...], Scalar]]
"""Values that an evaluation ends with, by result."""


def _weighted(settings: Settings) -> bool:
    """Whether a step has several evaluations."""
    return len(COEFFICIENTS[settings.integrator]) > 1


def _ends(trace: TracedProgram) -> Ends:
    if _weighted(trace.settings):
        return _runge_kutta_ends(trace)
    return _euler_ends(trace)


def _euler_ends(trace: TracedProgram) -> Ends:
    h = trace.settings.time_step
    positions, speeds = trace.operand(Q.name), trace.operand(V.name)
    accelerations = trace.acceleration()
    ends: Ends = {V_END.name: {}, Q_END.name: {}}
    for k in range(trace.robot.nv):
        with trace.enter("In", trace.body(k)):
            speed = add(speeds[k], mul(h, accelerations[k,]))
            ends[V_END.name][k,] = speed
            # semi-implicit: the position moves at the new velocity
            ends[Q_END.name][k,] = add(positions[k], mul(h, speed))
    return ends


def _runge_kutta_ends(trace: TracedProgram) -> Ends:
    speeds, accelerations = trace.operand(V.name), trace.acceleration()
    begun = {vector: trace.operand(vector + BEGIN) for vector in (V.name, Q.name)}
    summed = {vector: trace.operand(vector + SUM) for vector in (V.name, Q.name)}
    c, b = trace.operand(WEIGHTS)
    ends: Ends = {name: {} for name in (V_MIDDLE, V_END.name, Q_MIDDLE, Q_END.name)}
    for k in range(trace.robot.nv):
        rates = {V.name: accelerations[k,], Q.name: speeds[k]}
        with trace.enter("In", trace.body(k)):
            for vector, middle, end in (
                (V.name, V_MIDDLE, V_END.name),
                (Q.name, Q_MIDDLE, Q_END.name),
            ):
                rate = rates[vector]
                ends[middle][k,] = add(begun[vector][k], mul(c, rate))
                ends[end][k,] = add(summed[vector][k], mul(b, rate))
    return ends


def _traced(trace: TracedProgram) -> Mapping[str, Entries]:
    ends = _ends(trace)
    return {name: ends[name] for name in (Q_END.name, V_END.name)}


def _carried(trace: RepeatingProgram) -> Mapping[str, Carried]:
    """The state goes on, and what Runge-Kutta keeps of a step's begin; all else stays as it is."""
    ends, weighted = _ends(trace), _weighted(trace.settings)
    names = {quantity: trace.result(quantity, entries) for quantity, entries in ends.items()}
    carried: dict[str, Carried] = {}
    for constant in (TAU.name, "f_ext", "base"):
        for name in trace.operand_names(constant):
            carried[name] = Carried(trace.passed(name), trace.passed(name))
    for vector, middle, end in ((Q.name, Q_MIDDLE, Q_END.name), (V.name, V_MIDDLE, V_END.name)):
        after = names[end]
        # Euler has one evaluation: every end is a step's end
        within = names[middle] if weighted else after
        for name, inside, behind in zip(trace.operand_names(vector), within, after, strict=True):
            carried[name] = Carried(inside, behind)
        if weighted:
            for begin, behind in zip(trace.operand_names(vector + BEGIN), after, strict=True):
                carried[begin] = Carried(trace.passed(begin), behind)
            for total, behind in zip(trace.operand_names(vector + SUM), after, strict=True):
                # the sum goes on within a step, and is the next step's begin
                carried[total] = Carried(behind, behind)
    return carried


RECORDS = (
    Function(
        name="roll",
        code=7,
        summary="roll-out of many steps at a constant τ",
        operands=(Q, V, TAU, STEPS),
        results=(Q_END, V_END),
        needs=frozenset({Need.TORQUE, Need.ACCELERATION}),
        trace=_traced,
        reference=_reference,
        golden=roll_out,
        repeat=Repeat(
            count=STEPS,
            weights=weights,
            carried=_carried,
        ),
        check=check,
        uses=frozenset({"integrator", "time_step"}),
    ),
)
