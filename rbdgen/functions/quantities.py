"""The vectors and matrices of tasks and results: shapes, symmetry and units. Their one home.

A function of its own file may bring quantities of its own (:mod:`rbdgen.functions.record`).
"""

from __future__ import annotations

from dataclasses import dataclass

from rbdgen.ir.fixed import Format
from rbdgen.model.robot import Robot


@dataclass(frozen=True)
class Quantity:
    """A vector or matrix of tasks or results.

    ``shape``: of one state, of numbers and of the words ``nq``, ``nv`` and ``bodies``, which stand for the robot's.
    ``symmetric``: only the lower triangle is transferred. ``format``: of words that are no signals of the pipelines,
    whatever the word length; ``limits`` is their declared range then.
    """

    name: str
    shape: tuple[int | str, ...]
    unit: str
    text: str
    symmetric: bool = False
    format: Format | None = None
    limits: tuple[float, float] | None = None

    def size(self, robot: Robot) -> tuple[int, ...]:
        """The shape for ``robot``."""
        known = {"nq": robot.nq, "nv": robot.nv, "bodies": len(robot.bodies)}
        return tuple(known[n] if isinstance(n, str) else n for n in self.shape)


BEGIN, SUM = "0", "s"
"""Behind a vector's name, of operands that only steps of several evaluations have: where the step began, ``q0``, and
the sum so far, ``qs``."""
WEIGHTS = "rk"
"""Operand vector of an evaluation's weights c and b."""
COUNT = Format(16, 0)
"""Format of numbers of steps."""

Q = Quantity("q", ("nq",), "rad, m", "positions")
V = Quantity("v", ("nv",), "rad/s, m/s", "velocities")
A = Quantity("a", ("nv",), "rad/s², m/s²", "accelerations")
TAU = Quantity("tau", ("nv",), "N·m, N", "joint torques and forces")
F_EXT = Quantity(
    "f_ext", ("bodies", 6), "N, N·m", "external forces and moments in the bodies' frames"
)
BASE = Quantity(
    "base",
    (9,),
    "rad/s, rad/s², m/s²",
    "motion of the base in its own frame: angular velocity, angular acceleration, acceleration less gravity",
)
STEPS = Quantity("steps", (1,), "1", "number of steps", format=COUNT, limits=(1, COUNT.maximum))
M = Quantity("m", ("nv", "nv"), "kg·m², kg·m, kg", "mass matrix", symmetric=True)
MINV = Quantity("minv", ("nv", "nv"), "1/(kg·m²), …", "inverse of the mass matrix", symmetric=True)
DTAU_DQ = Quantity("dtau_dq", ("nv", "nv"), "N·m/rad, …", "∂τ/∂q, row: torque")
DTAU_DV = Quantity("dtau_dv", ("nv", "nv"), "N·m·s/rad, …", "∂τ/∂v, row: torque")
DA_DQ = Quantity("da_dq", ("nv", "nv"), "1/s², …", "∂a/∂q, row: acceleration")
DA_DV = Quantity("da_dv", ("nv", "nv"), "1/s, …", "∂a/∂v, row: acceleration")
Q_END = Quantity("q_end", ("nq",), "rad, m", "positions after the last step")
V_END = Quantity("v_end", ("nv",), "rad/s, m/s", "velocities after the last step")
