"""Base parameters: of the links' inertial parameters, what torques can tell, for identification.

Torques are linear in the ten parameters of each link (:func:`rbdgen.golden.joint_torque_regressor`), but not all of
these show in them: some have no effect, and of others only sums do, such as what a link's mass adds to its parent.
A smallest set of columns that spans all others is found from the base outward, so that what can belong to a parent
does (Gautier & Khalil 1990); which columns do is read off the regressor at random states by orthogonalisation, as
Gautier 1991 reads it off its QR decomposition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rbdgen.errors import ConfigError, nearest, short
from rbdgen.functions.regressors import joint_torque_regressor
from rbdgen.model.body import PARAMETERS
from rbdgen.model.ranges import integrate, neutral
from rbdgen.model.robot import Robot
from rbdgen.spatial import ZERO3

PER_COLUMN = 4
"""Rows of the regressor by column, from random states."""
FALL = 9.81
"""m/s²: an acceleration by which random motions are as quick as what falls."""
DEPENDENT = 1e-9
"""Below this share of itself, what is left of a column beside those before it is rounding. What is independent leaves
above 1e-4 for all robots that were tried, rounding below 1e-13."""
SNAPPED = 1e-9
"""Factors between columns of unit length that are smaller are rounding."""


@dataclass(frozen=True, eq=False)  # arrays have no single truth
class BaseParameters:
    """A smallest set of parameters with which a robot has all of its torques.

    ``names`` are all of its standard parameters, LINK.PARAMETER, in the order of regressors' columns. ``columns`` are
    those of the base parameters (b): each is the standard parameter of its column, and more of others. ``projection``
    (b, len(names)) makes base parameters of standard ones, π_b = P π, so that Y π = Y[..., columns] π_b.
    """

    names: tuple[str, ...]
    columns: tuple[int, ...]
    projection: np.ndarray

    @cached_property
    def groups(self) -> Mapping[str, Mapping[str, float]]:
        """By the name of a base parameter's own column the standard parameters that it is a sum of, with factors."""
        found = {}
        for column, row in zip(self.columns, self.projection, strict=True):
            found[self.names[column]] = {self.names[k]: float(row[k]) for k in np.flatnonzero(row)}
        return found

    @cached_property
    def without_effect(self) -> tuple[str, ...]:
        """The standard parameters that no torque tells anything of."""
        seen = np.any(self.projection != 0.0, axis=0)
        return tuple(name for name, there in zip(self.names, seen, strict=True) if not there)

    def regressor(self, y: np.ndarray) -> np.ndarray:
        """The base parameters' regressor (..., nv, b) from that of all parameters (..., nv, len(names))."""
        return y[..., self.columns]


def inertial_parameters(robot: Robot) -> np.ndarray:
    """π (10 bodies): the links' inertial parameters in the order of :func:`rbdgen.golden.joint_torque_regressor`."""
    return np.concatenate([body.inertia.parameters for body in robot.bodies])


def base_parameters(
    robot: Robot, bodies: Sequence[str] | None = None, *, seed: int = 0
) -> BaseParameters:
    """The base parameters of a robot, or of some of its ``bodies`` (links by name) where all others are known.

    Joints' limits do not matter: random states of ``seed`` are all over their ranges, so that the same robot has the
    same base parameters. Followers' bodies count as all others; their joints' torques are felt where their leaders
    are. With ``bodies``, regressors' columns are those of these bodies only (:func:`columns_of`). ConfigError for a
    link that is no body.
    """
    columns = columns_of(robot, bodies)
    names = [f"{body.name}.{parameter}" for body in robot.bodies for parameter in PARAMETERS]
    states = PER_COLUMN * len(columns) // robot.nv + 1
    y = joint_torque_regressor(robot, *_random_motion(robot, states, seed))
    stacked = y[..., columns].reshape(-1, len(columns))
    sizes = np.linalg.norm(stacked, axis=0)
    # a column that is zero stays so
    scales = np.where(sizes > 0.0, sizes, 1.0)
    # the triangle has the columns' lengths and angles, with fewer rows
    triangle = np.linalg.qr(stacked / scales).R
    chosen = _independent(triangle)
    projection = np.linalg.lstsq(triangle[:, chosen], triangle, rcond=None)[0]
    projection[np.abs(projection) < SNAPPED] = 0.0
    # a base parameter's own column is exactly itself
    projection[:, chosen] = np.eye(len(chosen))
    projection *= scales / scales[chosen][:, None]
    return BaseParameters(tuple(names[k] for k in columns), tuple(chosen), projection)


def columns_of(robot: Robot, bodies: Sequence[str] | None = None) -> list[int]:
    """The columns of regressors that belong to some ``bodies`` (links by name; default: all), in ascending order.
    ConfigError for a link that is no body."""
    known = [body.name for body in robot.bodies]
    wanted = known if bodies is None else bodies
    for name in wanted:
        if name not in known:
            raise ConfigError(
                f"bodies: no body {short(name)} of {robot.name!r}; {nearest(name, known)}"
            )
    per_body = len(PARAMETERS)
    return [k for k in range(per_body * len(known)) if known[k // per_body] in wanted]


def _random_motion(
    robot: Robot, count: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v and a of ``count`` states, at which weight, velocities and accelerations count about as much."""
    rng = np.random.default_rng(seed)
    lengths = np.ones(robot.nv)
    for body, _, own in robot.independent:
        turns = [axis != ZERO3 for axis in body.joint.angular_subspace]
        lengths[own] = np.where(turns, 1.0, robot.reach)
    way, speed, push = rng.normal(size=(3, count, robot.nv)) * lengths
    rate = np.sqrt(FALL / robot.reach)
    at = np.broadcast_to(neutral(robot), (count, robot.nq))
    return integrate(robot, at, 2.0 * way), rate * speed, rate**2 * push


def _independent(columns: np.ndarray) -> list[int]:
    """The columns, of unit length or zero, that are no sums of those before them."""
    basis = np.zeros((len(columns), 0))
    found = []
    for k, column in enumerate(columns.T):
        rest = column
        # twice: the first time leaves rounding of what it takes away
        for _ in range(2):
            rest = rest - basis @ (basis.T @ rest)
        size = np.linalg.norm(rest)
        if size > DEPENDENT:
            basis = np.column_stack([basis, rest / size])
            found.append(k)
    return found
