"""Random serial chains, for tests and benchmarks of any length."""

from __future__ import annotations

import numpy as np

from rbdgen.errors import ConfigError
from rbdgen.model.body import Body, Inertia, Limits, Placement
from rbdgen.model.joints import Continuous, Joint, Prismatic, Revolute
from rbdgen.model.robot import Robot
from rbdgen.spatial import constant_matrix, constant_vector


def _rotation(rng: np.random.Generator) -> np.ndarray:
    """A uniformly distributed rotation: from the Q of a Gaussian matrix with the signs of R (Mezzadri 2007)."""
    gaussian = rng.normal(size=(3, 3))
    q, r = np.linalg.qr(gaussian)
    signs = np.sign(np.diag(r))
    q = q * signs
    return q * np.sign(np.linalg.det(q))


def _direction(rng: np.random.Generator) -> np.ndarray:
    """A uniformly distributed unit vector."""
    direction = rng.normal(size=3)
    return direction / np.linalg.norm(direction)


def _joint(rng: np.random.Generator) -> Joint:
    direction = _direction(rng)
    x, y, z = constant_vector(direction)
    kinds = (Revolute, Revolute, Continuous, Prismatic)
    kind = kinds[int(rng.integers(4))]
    return kind((x, y, z))


def random_chain(links: int, seed: int = 0, length: float = 0.3, mass: float = 2.0) -> Robot:
    """A serial chain of ``links`` links with random joints on random axes, placements and sound inertias.

    Half the joints are revolute, a quarter each continuous and prismatic. Neighbouring joints are ``length`` metres
    apart, give or take half; a link weighs ``mass`` kilograms, give or take half, and its mass fills a random ellipsoid
    of about its length. Equal arguments make equal chains. ConfigError for less than one link, or a length or mass that
    is not positive.
    """
    if links < 1:
        raise ConfigError(f"links: must be at least 1, not {links}")
    for name, value in (("length", length), ("mass", mass)):
        if not 0.0 < value < np.inf:
            raise ConfigError(f"{name}: must be positive and finite, not {value!r}")
    rng = np.random.default_rng(seed)
    bodies = [_body(rng, i, length, mass) for i in range(links)]
    return Robot(f"chain{links}", "base", tuple(bodies))


def _body(rng: np.random.Generator, i: int, length: float, mass: float) -> Body:
    """The ``i``-th link on a random joint."""
    direction = _direction(rng)
    offset = direction * length * rng.uniform(0.5, 1.5)
    rotation = constant_matrix(_rotation(rng))
    placement = Placement(rotation, constant_vector(offset))
    inertia = _inertia(rng, length, mass)
    limits = Limits(lower=-1.0, upper=1.0, velocity=1.0, effort=10.0)
    return Body(f"link{i}", f"joint{i}", _joint(rng), i - 1, placement, inertia, limits)


def _inertia(rng: np.random.Generator, length: float, mass: float) -> Inertia:
    """A solid ellipsoid's."""
    weight = mass * rng.uniform(0.5, 1.5)
    axes = length * rng.uniform(0.1, 0.4, 3)
    rotation = _rotation(rng)
    along_axes = np.diag(axes**2)
    second = rotation @ along_axes @ rotation.T
    second = second * weight / 5.0
    rotational = np.trace(second) * np.eye(3) - second
    com = length * rng.uniform(-0.5, 0.5, 3)
    return Inertia.from_com(weight, com, rotational)
