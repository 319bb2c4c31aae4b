"""What the tests of algorithms for serial chains share: a snake, chains of mixed joints, and texts in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bench.snake import snake_urdf
from rbdgen import Robot
from rbdgen.algo.chain import Chain, chain
from rbdgen.algo.rnea import joint_placements
from rbdgen.model import Cylindrical, FreeFlyer, Helical, Joint, Spherical, parse_urdf
from rbdgen.parallel import random_chain

LENGTHS = (1, 2, 3, 5, 8, 17, 32, 128)
"""Numbers of links: small ones, powers of two, and numbers that are none."""
STATES = 4


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


def mixed_chain() -> Robot:
    """Seven links on joints of one and of several degrees of freedom."""
    robot = random_chain(7, seed=11)
    z = (0.0, 0.0, 1.0)
    joints = {0: FreeFlyer(), 2: Spherical(), 3: Helical(z, 0.2), 5: Cylindrical(z)}
    bodies = list(robot.bodies)
    for i, joint in joints.items():
        bodies[i] = replace(bodies[i], joint=joint)
    return replace(robot, bodies=tuple(bodies))


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
