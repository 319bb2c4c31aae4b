"""What the tests of algorithms for serial chains share: a snake, chains of mixed joints, and texts in numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rbdgen import Robot, golden, with_frames
from rbdgen.algo.chain import Chain, chain
from rbdgen.algo.rnea import joint_placements
from rbdgen.model import (
    Body,
    Continuous,
    Cylindrical,
    FreeFlyer,
    Helical,
    Inertia,
    Joint,
    Limits,
    Placement,
    Prismatic,
    Revolute,
    Spherical,
    parse_urdf,
)
from rbdgen.model.load import snake_urdf
from rbdgen.spatial import constant_matrix, constant_vector

LENGTHS = (1, 2, 3, 5, 8, 17, 32, 128)
"""Numbers of links: small ones, powers of two, and numbers that are none."""
STATES = 4
LENGTH, MASS = 0.3, 2.0
"""Of a random chain's links on average: m and kg."""


def snake(links: int) -> Robot:
    """Links of 0.1 m whose joints turn in z and y, one after the other."""
    return parse_urdf(snake_urdf(links).encode(), "snake", "snake", "fixed")


def jointed(links: Mapping[int, Joint], count: int = 5) -> Robot:
    """A snake of ``count`` links with other joints at some of them."""
    robot = snake(count)
    bodies = list(robot.bodies)
    for i, joint in links.items():
        bodies[i] = replace(bodies[i], joint=joint)
    return replace(robot, bodies=tuple(bodies))


def random_chain(links: int, seed: int = 0) -> Robot:
    """A serial chain with random joints on random axes, placements and sound inertias; half of the joints are revolute,
    a quarter each continuous and prismatic. Neighbouring joints are :data:`LENGTH` apart and a link weighs
    :data:`MASS`, give or take half, and its mass fills a random ellipsoid of about its length."""
    rng = np.random.default_rng(seed)
    bodies = [_body(rng, i) for i in range(links)]
    return Robot(f"chain{links}", "base", tuple(bodies))


def _body(rng: np.random.Generator, i: int) -> Body:
    """The ``i``-th link on a random joint."""
    offset = _direction(rng) * LENGTH * rng.uniform(0.5, 1.5)
    placement = Placement(constant_matrix(_rotation(rng)), constant_vector(offset))
    limits = Limits(lower=-1.0, upper=1.0, velocity=1.0, effort=10.0)
    inertia = _inertia(rng)
    return Body(f"link{i}", f"joint{i}", _joint(rng), i - 1, placement, inertia, limits)


def _joint(rng: np.random.Generator) -> Joint:
    x, y, z = constant_vector(_direction(rng))
    kinds = (Revolute, Revolute, Continuous, Prismatic)
    return kinds[int(rng.integers(4))]((x, y, z))


def _inertia(rng: np.random.Generator) -> Inertia:
    """A solid ellipsoid's."""
    weight = MASS * rng.uniform(0.5, 1.5)
    along_axes = np.diag((LENGTH * rng.uniform(0.1, 0.4, 3)) ** 2)
    rotation = _rotation(rng)
    second = rotation @ along_axes @ rotation.T * weight / 5.0
    com = LENGTH * rng.uniform(-0.5, 0.5, 3)
    return Inertia.from_com(weight, com, np.trace(second) * np.eye(3) - second)


def _direction(rng: np.random.Generator) -> np.ndarray:
    """A uniformly distributed unit vector."""
    direction = rng.normal(size=3)
    return direction / np.linalg.norm(direction)


def _rotation(rng: np.random.Generator) -> np.ndarray:
    """A uniformly distributed rotation: from the Q of a Gaussian matrix with the signs of R (Mezzadri 2007)."""
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q * np.sign(np.linalg.det(q))


def revolute_chain(links: int, seed: int = 4) -> Robot:
    """A random chain with revolute joints only."""
    robot = random_chain(links, seed)
    joint = Revolute((0.0, 0.6, 0.8))
    return replace(robot, bodies=tuple(replace(body, joint=joint) for body in robot.bodies))


def mixed_chain() -> Robot:
    """Seven links on joints of one and of several degrees of freedom."""
    robot = random_chain(7, seed=11)
    z = (0.0, 0.0, 1.0)
    joints = {0: FreeFlyer(), 2: Spherical(), 3: Helical(z, 0.2), 5: Cylindrical(z)}
    bodies = list(robot.bodies)
    for i, joint in joints.items():
        bodies[i] = replace(bodies[i], joint=joint)
    return replace(robot, bodies=tuple(bodies))


TURNED = (0.1, -0.2, 0.3, 0.3, -0.5, 0.9)
"""A place on a link, aligned with nothing."""


def tipped(robot: Robot) -> Robot:
    """With a frame at its end."""
    return with_frames(robot, {f"tip={robot.bodies[-1].name}": TURNED})


def forward_error(
    accelerations: Callable[[Robot, np.ndarray, np.ndarray], np.ndarray], links: int
) -> float:
    """How far what an algorithm makes of a random chain's q and τ − C (n, nv) is from the golden model."""
    robot = random_chain(links, seed=links)
    q, v, tau = random_states(robot)
    rest = tau - golden.nonlinear_effects(robot, q, v)
    return error(accelerations(robot, q, rest), golden.forward_dynamics(robot, q, v, tau))


def random_states(robot: Robot, seed: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q (n, nq), v and a (n, nv)."""
    rng = np.random.default_rng(seed)
    q = [body.joint.random(rng, STATES, -1.0, 1.0) for body in robot.bodies]
    shape = STATES, robot.nv
    return np.concatenate(q, axis=-1), rng.uniform(-1, 1, shape), rng.uniform(-1, 1, shape)


def scalars(x: np.ndarray) -> tuple[Any, ...]:
    """An array (n, k) as k scalars."""
    return tuple(x.T)


def stacked(x: tuple[Any, ...]) -> np.ndarray:
    """The array (n, k) of k scalars."""
    return np.stack([np.broadcast_to(s, STATES) for s in x], axis=-1)


def placed(robot: Robot, q: np.ndarray) -> Chain:
    """The chain at ``q`` (n, nq)."""
    return chain(robot, joint_placements(robot, scalars(q)))


def error(value: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, relative to the largest value."""
    return float(np.max(np.abs(value - expected)) / np.max(np.abs(expected)))
