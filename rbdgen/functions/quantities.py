"""The vectors and matrices of tasks and results: shapes, symmetry and units. Their one home.

A function of its own file may bring quantities of its own (:mod:`rbdgen.functions.record`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rbdgen.ir.number_formats import Format
from rbdgen.model.robot import Robot, coordinate_names, dof_names
from rbdgen.protocol.identifiers import sanitize


@dataclass(frozen=True)
class Quantity:
    """A vector or matrix of tasks or results.

    ``shape``: of one state, of numbers and of the words of :func:`dimensions`, which stand for the robot's.
    ``symmetric``: only the lower triangle is transferred. ``limits``: the declared range of an operand's words that no
    joint has, and where there are ``scales``, one word after the other in units of these. ``whole``: its values are
    whole numbers. ``definite``: positive definite. ``format``: of words that are no signals of the pipelines, whatever
    the word length.
    """

    name: str
    shape: tuple[int | str, ...]
    unit: str
    text: str
    symmetric: bool = False
    format: Format | None = None
    limits: tuple[float, float] | None = None
    scales: tuple[float, ...] = (1.0,)
    whole: bool = False
    definite: bool = False

    def size(self, robot: Robot) -> tuple[int, ...]:
        """The shape for ``robot``."""
        known = dimensions(robot)
        return tuple(known[n] if isinstance(n, str) else n for n in self.shape)


def dimensions(robot: Robot) -> dict[str, int]:
    """What the words of shapes stand for: coordinates, degrees of freedom, those of a state (q, v), bodies; frames and
    the rows of all their Jacobians; contacts, the rows of all that are held, those that are free, and by contact each
    of these for each of those."""
    return {
        "nq": robot.nq,
        "nv": robot.nv,
        "nx": 2 * robot.nv,
        "bodies": len(robot.bodies),
        "frames": len(robot.task_frames),
        "frame_rows": 6 * len(robot.task_frames),
        "contacts": len(robot.contacts),
        "contact_rows": sum(contact.rows for contact in robot.contacts),
        "contact_free_rows": sum(len(contact.free_axes) for contact in robot.contacts),
        "contact_slopes": sum(contact.rows * len(contact.free_axes) for contact in robot.contacts),
    }


AXES = {3: ("x", "y", "z"), 6: ("x", "y", "z", "rx", "ry", "rz")}
"""Names of the entries of vectors and of linear and angular parts."""


def labels(robot: Robot, dimension: int | str, joints: Sequence[str]) -> list[str]:
    """Names for the entries along a dimension of a shape, by the names of the bodies' ``joints``."""
    if isinstance(dimension, int):
        return list(AXES.get(dimension, map(str, range(dimension))))
    if dimension == "nq":
        return coordinate_names(robot, joints)
    dofs = dof_names(robot, joints)
    if dimension == "nv":
        return dofs
    if dimension == "nx":
        return [f"{part}_{dof}" for part in "qv" for dof in dofs]
    if dimension.startswith("contact"):
        return _contact_labels(robot, dimension)
    plain = list(sanitize([frame.name for frame in robot.task_frames]).values())
    if dimension != "frame_rows":
        return plain
    found = []
    for name in plain:
        found += [f"{name}_{axis}" for axis in AXES[6]]
    return found


def _contact_labels(robot: Robot, dimension: str) -> list[str]:
    """Names for the contacts, or for what of their motions is held, free, or both."""
    plain = list(sanitize([contact.frame.name for contact in robot.contacts]).values())
    if dimension == "contacts":
        return plain
    found = []
    for name, contact in zip(plain, robot.contacts, strict=True):
        held = [AXES[6][axis] for axis in contact.axes]
        free = [AXES[6][axis] for axis in contact.free_axes]
        parts = {
            "contact_rows": held,
            "contact_free_rows": free,
            "contact_slopes": [f"{one}_{other}" for one in free for other in held],
        }
        found += [f"{name}_{part}" for part in parts[dimension]]
    return found


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
STEPS = Quantity(
    "steps", (1,), "1", "number of steps", format=COUNT, limits=(1, COUNT.maximum), whole=True
)
M = Quantity("m", ("nv", "nv"), "kg·m², kg·m, kg", "mass matrix", symmetric=True, definite=True)
MINV = Quantity(
    "minv",
    ("nv", "nv"),
    "1/(kg·m²), 1/(kg·m), 1/kg",
    "inverse of the mass matrix",
    symmetric=True,
    definite=True,
)
DTAU_DQ = Quantity("dtau_dq", ("nv", "nv"), "N·m/rad, …", "∂τ/∂q, row: torque")
DTAU_DV = Quantity("dtau_dv", ("nv", "nv"), "N·m·s/rad, …", "∂τ/∂v, row: torque")
DA_DQ = Quantity("da_dq", ("nv", "nv"), "1/s², …", "∂a/∂q, row: acceleration")
DA_DV = Quantity("da_dv", ("nv", "nv"), "1/s, …", "∂a/∂v, row: acceleration")
Q_END = Quantity("q_end", ("nq",), "rad, m", "positions after the last step")
V_END = Quantity("v_end", ("nv",), "rad/s, m/s", "velocities after the last step")
