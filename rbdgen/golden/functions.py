"""The golden functions: what the user calls. The algorithms are those of :mod:`rbdgen.algo`.

Two families compute everything but inverse dynamics: ``method="composite"`` are the forms that hardware is made from
(composite bodies, factors of M), ``method="textbook"`` are RNEA's derivatives in columns, CRBA, ABA and MMinvGen.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rbdgen.algo.aba import aba
from rbdgen.algo.composite import composite_inertias, derivatives, mass_matrix
from rbdgen.algo.crba import crba as crba_text
from rbdgen.algo.factorisation import inverse_from_mass
from rbdgen.algo.mminvgen import mminvgen
from rbdgen.algo.plucker import transforms
from rbdgen.algo.rnea import (
    Motion,
    Wrench,
    base_motion,
    inward_sweep,
    joint_placements,
    moving_base,
    outward_sweep,
    wrenches,
)
from rbdgen.algo.rnea import rnea as rnea_text
from rbdgen.algo.rnea_derivatives import rnea_derivatives as columns_text
from rbdgen.errors import ConfigError
from rbdgen.golden.arguments import RootMotion, argument, choice, configuration, require_positive_definite
from rbdgen.golden.batch import Entries, evaluate
from rbdgen.model.robot import Robot
from rbdgen.spatial import Vector, cross, vadd

METHODS = ("composite", "textbook")
"""The families of algorithms."""


def _forces(robot: Robot, f_ext: np.ndarray | None, batch: tuple[int, ...]) -> np.ndarray | None:
    return None if f_ext is None else argument("f_ext", f_ext, (len(robot.bodies), 6), batch)


def _wrenches(f: Vector | None) -> tuple[Wrench, ...] | None:
    return None if f is None else wrenches(f)


def _root(robot: Robot, root: RootMotion | None, batch: tuple[int, ...]) -> np.ndarray | None:
    """Velocity, acceleration and gravity of the base (..., 15)."""
    if root is None:
        return None
    gravity = np.broadcast_to(robot.gravity, (*batch, 3)) if root.gravity is None else root.gravity
    parts = (("velocity", root.velocity, 6), ("acceleration", root.acceleration, 6), ("gravity", gravity, 3))
    return np.concatenate([argument(f"root.{name}", x, (size,), batch) for name, x, size in parts], axis=-1)


def _base(robot: Robot, root: Vector | None) -> Motion:
    """The base's motion from the 15 scalars of :func:`_root`."""
    if root is None:
        return base_motion(robot.gravity)
    omega = root[3:6]
    # the origin accelerates by ω × v more than the spatial acceleration says
    return moving_base(omega, root[9:12], vadd(root[6:9], cross(omega, root[0:3])), root[12:15])


def _vector(x: Vector) -> Entries:
    return {(i,): value for i, value in enumerate(x)}


def _both_triangles(lower: Entries) -> Entries:
    return {pair: x for (i, j), x in lower.items() for pair in ((i, j), (j, i))}


def _rnea(
    robot: Robot, composite: bool, q: Vector, v: Vector, a: Vector, f: Vector | None, root: Vector | None
) -> Sequence[Entries]:
    return (_vector(rnea_text(robot, q, v, a, _wrenches(f), base=_base(robot, root))),)


def _crba(robot: Robot, composite: bool, q: Vector) -> Sequence[Entries]:
    joints = joint_placements(robot, q)
    if composite:
        return (_both_triangles(mass_matrix(robot, joints, composite_inertias(robot, joints)).entries),)
    return (_both_triangles(crba_text(robot, transforms(robot, joints))),)


def _minverse(robot: Robot, composite: bool, q: Vector) -> Sequence[Entries]:
    joints = joint_placements(robot, q)
    if composite:
        mass = mass_matrix(robot, joints, composite_inertias(robot, joints)).entries
        return (_both_triangles(inverse_from_mass(robot, mass)),)
    return (_both_triangles(mminvgen(robot, transforms(robot, joints), m=False)[1]),)


def _aba(
    robot: Robot, composite: bool, q: Vector, v: Vector, tau: Vector, f: Vector | None, root: Vector | None
) -> Sequence[Entries]:
    ways = transforms(robot, joint_placements(robot, q))
    return (_vector(aba(robot, ways, v, tau, _wrenches(f), base=_base(robot, root))),)


def _rnea_derivatives(
    robot: Robot, composite: bool, q: Vector, v: Vector, a: Vector, f: Vector | None, root: Vector | None
) -> Sequence[Entries]:
    base = _base(robot, root)
    joints = joint_placements(robot, q)
    motions, wrenches = outward_sweep(robot, joints, v, a, _wrenches(f), base=base)
    _, totals = inward_sweep(robot, joints, wrenches)
    if composite:
        inertias = composite_inertias(robot, joints)
        mass = mass_matrix(robot, joints, inertias)
        both = derivatives(robot, joints, v, base, motions, totals, inertias, mass)
        return both.by_position, both.by_velocity
    return columns_text(robot, transforms(robot, joints), v, motions, totals, base=base)


def rnea(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    f_ext: np.ndarray | None = None,
    *,
    root: RootMotion | None = None,
) -> np.ndarray:
    """Inverse dynamics τ = ID(q, v, a, f_ext), gravity included.

    ``q`` (..., nq), ``v`` and ``a`` (..., nv), ``f_ext`` (..., bodies, 6): external forces on the bodies in joint
    order, each [force, moment] about and in the body's joint frame, as Pinocchio's. Any equal leading shape. ``root``:
    how the base moves. Returns (..., nv). ConfigError for a wrong shape, a value that is not finite, or cosine and sine
    or a quaternion that are not of unit length. Source: Featherstone 2008, chapter 5, in the form of
    :mod:`rbdgen.algo.rnea`.
    """
    q = configuration(robot, q)
    batch = q.shape[:-1]
    v, a = (argument(name, x, (robot.nv,), batch) for name, x in (("v", v), ("a", a)))
    forces, moving = _forces(robot, f_ext, batch), _root(robot, root, batch)
    return evaluate(_rnea, robot, True, [(robot.nv,)], batch, (q, v, a, forces, moving))[0]


def crba(robot: Robot, q: np.ndarray, *, method: str = "composite") -> np.ndarray:
    """The mass matrix M(q), both triangles.

    ``q`` (..., nq). Returns (..., nv, nv). ConfigError as :func:`rnea`. Sources: the composite-rigid-body algorithm,
    Featherstone 2008, table 6.2 (``textbook``, :mod:`rbdgen.algo.crba`), and :mod:`rbdgen.algo.composite`.
    """
    composite = choice("method", method, METHODS) == "composite"
    q = configuration(robot, q)
    return evaluate(_crba, robot, composite, [(robot.nv, robot.nv)], q.shape[:-1], (q,))[0]


def minverse(robot: Robot, q: np.ndarray, *, method: str = "composite") -> np.ndarray:
    """The inverse M(q)⁻¹ of the mass matrix, both triangles.

    ``q`` (..., nq). Returns (..., nv, nv). ConfigError as :func:`rnea`, SingularityError where M is not positive
    definite. Sources: MMinvGen, Yang et al. 2023, algorithm 2 (``textbook``, :mod:`rbdgen.algo.mminvgen`), and the
    factors of M, Featherstone 2005 (:mod:`rbdgen.algo.factorisation`).
    """
    composite = choice("method", method, METHODS) == "composite"
    q = configuration(robot, q)
    require_positive_definite(robot, crba(robot, q))
    return evaluate(_minverse, robot, composite, [(robot.nv, robot.nv)], q.shape[:-1], (q,))[0]


def forward_dynamics(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    f_ext: np.ndarray | None = None,
    *,
    root: RootMotion | None = None,
    method: str = "composite",
) -> np.ndarray:
    """Forward dynamics a = FD(q, v, τ, f_ext), gravity included.

    ``tau`` (..., nv); all else and ConfigError as :func:`rnea`. Returns (..., nv). SingularityError where M is not
    positive definite. Sources: the articulated-body algorithm, Featherstone 2008, table 7.1 (``textbook``,
    :mod:`rbdgen.algo.aba`), and M⁻¹ (τ − ID(q, v, 0, f_ext)).
    """
    if choice("method", method, METHODS) == "composite":
        return _acceleration(robot, q, v, tau, f_ext, root, minverse(robot, q))
    require_positive_definite(robot, crba(robot, q))
    return _acceleration(robot, q, v, tau, f_ext, root, None)


def _acceleration(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    f_ext: np.ndarray | None,
    root: RootMotion | None,
    inverse: np.ndarray | None,
) -> np.ndarray:
    """Forward dynamics by M⁻¹ where it is given, else by ABA."""
    q = configuration(robot, q)
    batch = q.shape[:-1]
    v, tau = (argument(name, x, (robot.nv,), batch) for name, x in (("v", v), ("tau", tau)))
    if inverse is not None:
        rest = tau - rnea(robot, q, v, np.zeros_like(tau), f_ext, root=root)
        return (inverse @ rest[..., None])[..., 0]
    forces, moving = _forces(robot, f_ext, batch), _root(robot, root, batch)
    return evaluate(_aba, robot, False, [(robot.nv,)], batch, (q, v, tau, forces, moving))[0]


def rnea_derivatives(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    f_ext: np.ndarray | None = None,
    *,
    root: RootMotion | None = None,
    method: str = "composite",
) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives (∂τ/∂q, ∂τ/∂v) of inverse dynamics; ∂τ/∂a is M.

    Arguments and ConfigError as :func:`rnea`. Returns two arrays (..., nv, nv), row: force, column: degree of freedom.
    ∂/∂q is in the tangent space (:func:`rbdgen.golden.integrate`), f_ext constant in the bodies' frames. Sources:
    Carpentier & Mansard 2018 (``textbook``, :mod:`rbdgen.algo.rnea_derivatives`); Singh et al. 2022
    (:mod:`rbdgen.algo.composite`).
    """
    composite = choice("method", method, METHODS) == "composite"
    q = configuration(robot, q)
    batch = q.shape[:-1]
    v, a = (argument(name, x, (robot.nv,), batch) for name, x in (("v", v), ("a", a)))
    forces, moving = _forces(robot, f_ext, batch), _root(robot, root, batch)
    shape = (robot.nv, robot.nv)
    operands = (q, v, a, forces, moving)
    by_position, by_velocity = evaluate(_rnea_derivatives, robot, composite, [shape, shape], batch, operands)
    return by_position, by_velocity


def forward_dynamics_derivatives(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray | None = None,
    f_ext: np.ndarray | None = None,
    *,
    a: np.ndarray | None = None,
    minv: np.ndarray | None = None,
    root: RootMotion | None = None,
    method: str = "composite",
) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives (∂a/∂q, ∂a/∂v) of forward dynamics, −M⁻¹ times those of inverse dynamics; ∂a/∂τ is M⁻¹.

    Either ``tau`` (..., nv), and the acceleration is computed, or both ``a`` (..., nv) and ``minv`` (..., nv, nv) are
    given. All else as :func:`forward_dynamics`. Returns two arrays (..., nv, nv) as :func:`rnea_derivatives`. Source:
    Carpentier & Mansard 2018, section IV.
    """
    if (tau is None) == (a is None) or (a is None) != (minv is None):
        raise ConfigError("tau: give either tau, or both a and minv")
    batch = configuration(robot, q).shape[:-1]
    if tau is not None:
        inverse = minverse(robot, q, method=method)
        a = _acceleration(robot, q, v, tau, f_ext, root, inverse if method == "composite" else None)
    else:
        inverse = argument("minv", minv, (robot.nv, robot.nv), batch)
    assert a is not None
    by_position, by_velocity = rnea_derivatives(robot, q, v, a, f_ext, root=root, method=method)
    return -inverse @ by_position, -inverse @ by_velocity
