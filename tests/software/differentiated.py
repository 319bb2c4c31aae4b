"""What the tests of wrappers for JAX and torch share: robots, states, and derivatives to compare with."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from rbdgen import Robot, compile, golden, load_robot
from rbdgen.model.joints import Continuous, FreeFlyer
from rbdgen.software.compiled import Compiled
from tests.chains import jointed

INVERSE = ("id", "m", "did")
FORWARD = ("fd", "minv", "dfd")
ROBOTS = ("pendulum2", "ur5", "floating")
ALSO_FORWARD = ("pendulum2", "floating")
"""Robots whose forward dynamics are compiled as well."""
STATES = 5
STEP = 1e-5


@lru_cache
def robot(name: str) -> Robot:
    if name == "floating":
        return jointed({0: FreeFlyer(), 1: Continuous((0.6, 0.0, -0.8))}, 2)
    return load_robot(name)


@lru_cache
def compiled(name: str) -> Compiled:
    more = FORWARD if name in ALSO_FORWARD else ()
    return compile(robot(name), INVERSE + more)


@lru_cache
def states(name: str) -> tuple[np.ndarray, ...]:
    """q, v, a and τ."""
    own = robot(name)
    q, v, a = golden.random_states(own, golden.declared_ranges(own), STATES, 3)
    return q, v, a, golden.rnea(own, q, v, a)


def same(found: object, expected: np.ndarray, tolerance: float = 1e-12) -> None:
    """Equal within a share of the largest entry."""
    array = np.asarray(found, float)
    assert array.shape == expected.shape
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    np.testing.assert_allclose(array, expected, rtol=0, atol=tolerance * scale)


def rates(name: str, q: np.ndarray) -> np.ndarray:
    """How coordinates (nq) change along each velocity: (nq, nv), by differences along the manifold."""
    own = robot(name)
    columns = []
    for unit in STEP * np.eye(own.nv):
        ahead, behind = (golden.integrate(own, q, way) for way in (unit, -unit))
        columns.append((ahead - behind) / (2 * STEP))
    return np.stack(columns, axis=-1)


def unit_parts(name: str) -> list[slice]:
    """Where vectors of unit length are in q."""
    found = []
    for body, own, _ in robot(name).independent:
        part = body.joint.unit_part
        if part.stop > part.start:
            found.append(slice(own.start + part.start, own.start + part.stop))
    return found


def projected(name: str, q: np.ndarray) -> np.ndarray:
    """Coordinates whose vectors have been brought to unit length."""
    q = q.copy()
    for part in unit_parts(name):
        q[..., part] /= np.linalg.norm(q[..., part], axis=-1, keepdims=True)
    return q
