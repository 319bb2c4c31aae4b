"""Roll-outs: a task that is integrated over many steps, going through forward dynamics again and again.

A step is one evaluation of the acceleration (semi-implicit Euler) or four (the classical Runge-Kutta method). After
each, results become the operands of the next: they leave by the exit ``again`` and enter once more. With k the
evaluation's velocity and acceleration, Runge-Kutta's four evaluations go to x = x₀ + c k and to s = s + b k, and the
last to x = x₀ = s. τ and external forces stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from rbdgen.errors import UnsupportedError
from rbdgen.ir.fixed import Format
from rbdgen.model.robot import Robot

AGAIN = "again"
"""The exit by which a task goes into its next evaluation."""
COEFFICIENTS = {
    "euler": ((1.0, 1.0),),
    "rk4": ((0.5, 1 / 6), (0.5, 1 / 3), (1.0, 1 / 3), (0.0, 1 / 6)),
}
"""By integrator, of each evaluation of a step: c and b in units of the time step. Euler's are built in."""
STEPS = Format(16, 0)
"""Format of the number of steps."""
MOST_STEPS = STEPS.maximum
MIDDLE, END = "mid", "end"
"""Result vectors: the operands of the next evaluation within a step are ``q_mid``, behind its end ``q_end``."""
BEGIN, SUM = "0", "s"
"""Operand vectors that only Runge-Kutta has: the step's begin ``q0``, and the sum ``qs``."""
WEIGHTS = "rk"
"""Operand vector of c and b."""


@dataclass(frozen=True)
class Carried:
    """The results that become one operand of the next evaluation: ``within`` a step, and ``behind`` its end."""

    within: str
    behind: str


def weight_table(integrator: str, time_step: float) -> tuple[tuple[float, float], ...]:
    """c and b in seconds of each evaluation of a step."""
    return tuple((c * time_step, b * time_step) for c, b in COEFFICIENTS[integrator])


def check_integrator(robot: Robot, integrator: str, time_step: float) -> None:
    """UnsupportedError for an integrator that there is not, a time step that is not positive, and a joint whose
    coordinates are not its velocity's integral."""
    if integrator not in COEFFICIENTS:
        raise UnsupportedError(f"integrator {integrator!r}: unknown; choose from {', '.join(COEFFICIENTS)}")
    if not 0 < time_step < 1:
        raise UnsupportedError(f"time-step: must be between 0 and 1 second, not {time_step:g}")
    for body in robot.bodies:
        if body.joint.nq != body.joint.nv or "unit" in body.joint.kinds:
            raise UnsupportedError(
                f"robot {robot.name!r}: joint {body.joint_name!r} ({type(body.joint).__name__.lower()}): roll-outs "
                "take joints whose q is a plain angle or length; leave out the function roll"
            )
