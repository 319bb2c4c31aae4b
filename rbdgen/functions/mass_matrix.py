"""The mass matrix and its inverse: ``m`` and ``minv``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rbdgen.algo.composite import composite_inertias, mass_matrix
from rbdgen.algo.crba import crba as crba_text
from rbdgen.algo.factorisation import both_triangles, inverse_from_mass
from rbdgen.algo.mminvgen import mminvgen
from rbdgen.algo.plucker import transforms
from rbdgen.algo.rnea import joint_placements
from rbdgen.functions.quantities import METHODS, MINV, M, Q, articulates
from rbdgen.functions.record import Function, Need, Pinocchio
from rbdgen.model.robot import Robot
from rbdgen.numeric.batch import Entries as Evaluated
from rbdgen.numeric.batch import choice, configuration, evaluate, require_positive_definite
from rbdgen.spatial import Vector


def _crba(robot: Robot, composite: bool, q: Vector) -> Sequence[Evaluated]:
    joints = joint_placements(robot, q)
    if composite:
        return (
            both_triangles(mass_matrix(robot, joints, composite_inertias(robot, joints)).entries),
        )
    return (both_triangles(crba_text(robot, transforms(robot, joints))),)


def _minverse(robot: Robot, composite: bool, q: Vector) -> Sequence[Evaluated]:
    joints = joint_placements(robot, q)
    if composite:
        mass = mass_matrix(robot, joints, composite_inertias(robot, joints)).entries
        return (both_triangles(inverse_from_mass(robot, mass)),)
    placed = transforms(robot, joints)
    # MMinvGen takes joints out of bodies, which followers forbid
    if articulates(robot, METHODS[1]):
        return (both_triangles(mminvgen(robot, placed, m=False)[1]),)
    return (both_triangles(inverse_from_mass(robot, crba_text(robot, placed))),)


def crba(robot: Robot, q: np.ndarray, *, method: str = "composite") -> np.ndarray:
    """The mass matrix M(q), both triangles.

    ``q`` (..., nq). Returns (..., nv, nv). ConfigError as :func:`rbdgen.golden.rnea`. Sources: the composite-rigid-body
    algorithm, Featherstone 2008, table 6.2 (``textbook``, :mod:`rbdgen.algo.crba`), and :mod:`rbdgen.algo.composite`.
    """
    composite = choice("method", method, METHODS) == "composite"
    q = configuration(robot, q)
    return evaluate(_crba, robot, composite, [(robot.nv, robot.nv)], q.shape[:-1], (q,))[0]


def minverse(robot: Robot, q: np.ndarray, *, method: str = "composite") -> np.ndarray:
    """The inverse M(q)⁻¹ of the mass matrix, both triangles.

    ``q`` (..., nq). Returns (..., nv, nv). ConfigError as :func:`rbdgen.golden.rnea`, SingularityError where M is not
    positive definite. Sources: MMinvGen, Yang et al. 2023, algorithm 2 (``textbook``, :mod:`rbdgen.algo.mminvgen`), and
    the factors of M, Featherstone 2005 (:mod:`rbdgen.algo.factorisation`)."""
    composite = choice("method", method, METHODS) == "composite"
    q = configuration(robot, q)
    # texts divide by pivots without a check
    require_positive_definite(robot, crba(robot, q))
    return evaluate(_minverse, robot, composite, [(robot.nv, robot.nv)], q.shape[:-1], (q,))[0]


RECORDS = (
    Function(
        name="m",
        code=2,
        summary="mass matrix",
        operands=(Q,),
        results=(M,),
        needs=frozenset({Need.MASS}),
        trace=lambda trace: {M.name: trace.mass()},
        golden=crba,
        pinocchio=Pinocchio("crba", ("q",)),
        forced=False,
        based=False,
        common=True,
    ),
    Function(
        name="minv",
        code=3,
        summary="inverse of the mass matrix",
        operands=(Q,),
        results=(MINV,),
        needs=frozenset({Need.INVERSE}),
        trace=lambda trace: {MINV.name: trace.inverse()},
        golden=minverse,
        pinocchio=Pinocchio("computeMinverse", ("q",)),
        forced=False,
        based=False,
        common=True,
    ),
)
