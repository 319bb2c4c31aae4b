"""Random serial chains, for tests and benchmarks of any length."""

from __future__ import annotations

import numpy as np

from rbdgen.errors import ConfigError
from rbdgen.model.joints import Continuous, Joint, Prismatic, Revolute
from rbdgen.model.robot import Body, Inertia, Limits, Placement, Robot
from rbdgen.spatial import constant_matrix, constant_vector


def _rotation(rng: np.random.Generator) -> np.ndarray:
    """A uniformly distributed rotation: from the Q of a Gaussian matrix with the signs of R (Mezzadri 2007)."""
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q * np.sign(np.linalg.det(q))


def _joint(rng: np.random.Generator) -> Joint:
    direction = rng.normal(size=3)
    direction /= np.linalg.norm(direction)
    x, y, z = constant_vector(direction)
    kind = (Revolute, Revolute, Continuous, Prismatic)[int(rng.integers(4))]
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
    bodies = []
    for i in range(links):
        direction = rng.normal(size=3)
        offset = direction / np.linalg.norm(direction) * length * rng.uniform(0.5, 1.5)
        placement = Placement(constant_matrix(_rotation(rng)), constant_vector(offset))
        weight = mass * rng.uniform(0.5, 1.5)
        axes = length * rng.uniform(0.1, 0.4, 3)
        turn = _rotation(rng)
        spread = turn @ np.diag(axes**2) @ turn.T * weight / 5.0  # second moment of a solid ellipsoid
        rotational = np.trace(spread) * np.eye(3) - spread
        inertia = Inertia.from_com(weight, rng.uniform(-0.5, 0.5, 3) * length, rotational)
        limits = Limits(lower=-1.0, upper=1.0, velocity=1.0, effort=10.0)
        bodies.append(Body(f"link{i}", f"joint{i}", _joint(rng), i - 1, placement, inertia, limits))
    return Robot(f"chain{links}", "base", tuple(bodies))
