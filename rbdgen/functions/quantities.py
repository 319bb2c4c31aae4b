"""The vectors and matrices of tasks and results: shapes, symmetry and units, and their values at states.

This is their one home; a function of its own file may bring quantities of its own (:mod:`rbdgen.functions.record`).
Operands that golden functions share are checked here, and made scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np

from rbdgen.algo.rnea import Motion, Wrench, base_motion, moving_base, wrenches
from rbdgen.ir.number_formats import Format
from rbdgen.model.body import PARAMETERS
from rbdgen.model.robot import Robot, coordinate_names, dof_names
from rbdgen.numeric.batch import RootMotion, argument, choice, configuration
from rbdgen.protocol.identifiers import sanitize
from rbdgen.spatial import Scalar, Vector, cross, vadd


@dataclass(frozen=True)
class Quantity:
    """A vector or matrix of tasks or results.

    ``shape``: of one state, of numbers and of the words of :func:`dimensions`, which stand for the robot's.
    ``symmetric``: only the lower triangle is transferred. ``limits``: the declared range of an operand's words that no
    joint has, and where there are ``scales``, one word after the other in units of these; ``measure``: of the robot's,
    what the scales are multiples of. ``whole``: its values are whole numbers. ``definite``: positive definite.
    ``format``: of words that are no signals of the pipelines, whatever the word length.
    """

    name: str
    shape: tuple[int | str, ...]
    unit: str
    text: str
    symmetric: bool = False
    format: Format | None = None
    limits: tuple[float, float] | None = None
    scales: tuple[float, ...] = (1.0,)
    measure: Callable[[Robot], float] | None = None
    whole: bool = False
    definite: bool = False

    def size(self, robot: Robot) -> tuple[int, ...]:
        """The shape for ``robot``."""
        known = dimensions(robot)
        return tuple(known[n] if isinstance(n, str) else n for n in self.shape)

    def scaled(self, robot: Robot) -> tuple[float, ...]:
        """The scales for ``robot``."""
        if self.measure is None:
            return self.scales
        measured = self.measure(robot)
        return tuple(measured * scale for scale in self.scales)


def dimensions(robot: Robot) -> dict[str, int]:
    """Sizes by the words of shapes: coordinates, degrees of freedom, those of a state (q, v), bodies and their
    inertial parameters; frames and the rows of all their Jacobians; contacts, the rows of all that are held, those that
    are free, and by contact each of these for each of those; rows of loops, and those of contacts and loops."""
    contact_rows = sum(contact.rows for contact in robot.contacts)
    loop_rows = sum(loop.rows for loop in robot.loops)
    return {
        "nq": robot.nq,
        "nv": robot.nv,
        # in the tangent space q has as many entries as v
        "nx": 2 * robot.nv,
        "bodies": len(robot.bodies),
        "parameters": len(PARAMETERS) * len(robot.bodies),
        "frames": len(robot.task_frames),
        "frame_rows": 6 * len(robot.task_frames),
        "contacts": len(robot.contacts),
        "contact_rows": contact_rows,
        "contact_free_rows": sum(len(contact.free_axes) for contact in robot.contacts),
        "contact_slopes": sum(contact.rows * len(contact.free_axes) for contact in robot.contacts),
        "loop_rows": loop_rows,
        "held_rows": contact_rows + loop_rows,
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
    if dimension == "parameters":
        links = sanitize([body.name for body in robot.bodies]).values()
        return [f"{link}_{parameter}" for link in links for parameter in PARAMETERS]
    if dimension == "loop_rows":
        return _loop_labels(robot)
    if dimension == "held_rows":
        return _contact_labels(robot, "contact_rows") + _loop_labels(robot)
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


def _loop_labels(robot: Robot) -> list[str]:
    """Names for the axes along which the loops hold their frames."""
    plain = list(sanitize([loop.name for loop in robot.loops]).values())
    found = []
    for name, loop in zip(plain, robot.loops, strict=True):
        found += [f"{name}_{AXES[6][axis]}" for axis in loop.axes]
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


@dataclass(frozen=True)
class States:
    """n states: ``q`` (n, nq), ``v`` and ``a`` (n, nv), ``f_ext`` (n, bodies, 6) or None, ``tau`` (n, nv), ``minv``
    (n, nv, nv) or None, ``base`` (n, 9) or None, ``parameters`` (n, k) or None; of functions that repeat, the number of
    ``steps`` (n, 1) and the ``weights`` c and b (n, 2) of an evaluation, or None. ``free`` (n,): which torques are any
    within their limits, while others are those of the motion; None where all are the motion's. ``others``: values
    (n, …) of the operands whose range is declared with them, by name."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    f_ext: np.ndarray | None
    tau: np.ndarray
    minv: np.ndarray | None
    base: np.ndarray | None = None
    parameters: np.ndarray | None = None
    steps: np.ndarray | None = None
    weights: np.ndarray | None = None
    free: np.ndarray | None = None
    others: Mapping[str, np.ndarray] = field(default_factory=dict)

    def vector(self, quantity: str, index: tuple[int, ...]) -> np.ndarray:
        """One entry's values (n,). Where a step of a roll-out began, and its sum, are about where it is now."""
        stands_for = {WEIGHTS: "weights"}
        stands_for |= {vector + kind: vector for vector in ("q", "v") for kind in (BEGIN, SUM)}
        # declared ranges come first: a function may bring a quantity of any name
        values = self.others.get(quantity)
        if values is None:
            values = getattr(self, stands_for.get(quantity, quantity))
        return values[(slice(None), *index)]

    def part(self, chosen: slice | np.ndarray) -> States:
        """Some of the states."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "others"}
        taken = {name: x[chosen] for name, x in given.items() if x is not None}
        others = {name: x[chosen] for name, x in self.others.items()}
        return replace(self, **taken, others=others)

    @property
    def root(self) -> RootMotion | None:
        """The base's motion as the golden functions take it: the speed of its origin has no effect."""
        if self.base is None:
            return None
        still = np.zeros((len(self.base), 3))
        # the golden model takes all six, of which hardware needs no linear one
        velocity = np.concatenate([still, self.base[:, :3]], axis=1)
        acceleration = np.concatenate([self.base[:, 6:], self.base[:, 3:6]], axis=1)
        return RootMotion(velocity, acceleration, still)


METHODS = ("composite", "textbook")
"""The families of algorithms."""


def articulates(robot: Robot, method: str) -> bool:
    """Whether a method inverts M by articulated bodies. A joint that moves several bodies cannot be taken out of them:
    where one follows another, both methods invert M by its factors."""
    return choice("method", method, METHODS) == "textbook" and robot.unreduced is robot


def checked_forces(
    robot: Robot, f_ext: np.ndarray | None, batch: tuple[int, ...]
) -> np.ndarray | None:
    """``f_ext`` (..., bodies, 6), checked."""
    return None if f_ext is None else argument("f_ext", f_ext, (len(robot.bodies), 6), batch)


def given_wrenches(f: Vector | None) -> tuple[Wrench, ...] | None:
    """External forces as wrenches, where there are any."""
    return None if f is None else wrenches(f)


def checked_root(
    robot: Robot, root: RootMotion | None, batch: tuple[int, ...]
) -> np.ndarray | None:
    """Velocity, acceleration and gravity of the base (..., 15)."""
    if root is None:
        return None
    gravity = np.broadcast_to(robot.gravity, (*batch, 3)) if root.gravity is None else root.gravity
    parts = (
        ("velocity", root.velocity, 6),
        ("acceleration", root.acceleration, 6),
        ("gravity", gravity, 3),
    )
    return np.concatenate(
        [argument(f"root.{name}", x, (size,), batch) for name, x, size in parts], axis=-1
    )


def given_base(robot: Robot, root: Vector | None) -> Motion:
    """The base's motion from the 15 scalars of :func:`checked_root`."""
    if root is None:
        return base_motion(robot.gravity)
    omega = root[3:6]
    # the origin accelerates by ω × v more than the spatial acceleration says
    return moving_base(omega, root[9:12], vadd(root[6:9], cross(omega, root[0:3])), root[12:15])


def vector_entries(x: Vector) -> dict[tuple[int, ...], Scalar]:
    """A vector's entries by index."""
    return {(i,): value for i, value in enumerate(x)}


def checked_motion(
    robot: Robot,
    q: np.ndarray,
    f_ext: np.ndarray | None,
    root: RootMotion | None,
    **vectors: np.ndarray,
) -> tuple[tuple[int, ...], tuple[np.ndarray | None, ...]]:
    """The leading shape, and a text's operands: q, ``vectors`` (..., nv) by name, external forces and the base's
    motion, checked in this order."""
    q = configuration(robot, q)
    batch = q.shape[:-1]
    own = [argument(name, x, (robot.nv,), batch) for name, x in vectors.items()]
    return batch, (q, *own, checked_forces(robot, f_ext, batch), checked_root(robot, root, batch))
