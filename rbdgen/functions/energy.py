"""Energies and the matrix of Coriolis forces: ``energy`` and ``coriolis``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rbdgen.algo.energy import coriolis, kinetic, potential
from rbdgen.algo.rnea import joint_placements
from rbdgen.algo.subtrees import Subtrees
from rbdgen.functions.centroidal import traced_subtrees
from rbdgen.functions.frames import check_still
from rbdgen.functions.quantities import Q, Quantity, V
from rbdgen.functions.record import Entries, Function, Need, Pinocchio, TracedProgram
from rbdgen.model.robot import Robot
from rbdgen.numeric.batch import Entries as Evaluated
from rbdgen.numeric.batch import argument, configuration, evaluate
from rbdgen.spatial import Vector

KINETIC = Quantity("kinetic", (1,), "J", "kinetic energy")
POTENTIAL = Quantity("potential", (1,), "J", "potential energy; zero with the mass at the origin")
CORIOLIS = Quantity("coriolis", ("nv", "nv"), "N·m·s/rad, …", "C with C v of Coriolis forces")


def _energy_text(robot: Robot, variant: None, q: Vector, v: Vector) -> Sequence[Evaluated]:
    return _energy_entries(Subtrees(robot, joint_placements(robot, q)), v)


def _energy_entries(trees: Subtrees, v: Vector) -> tuple[Entries, Entries]:
    return {(0,): kinetic(trees, v)}, {(0,): potential(trees)}


def _coriolis_text(robot: Robot, variant: None, q: Vector, v: Vector) -> Sequence[Evaluated]:
    return (_coriolis_entries(Subtrees(robot, joint_placements(robot, q)), v),)


def _coriolis_entries(trees: Subtrees, v: Vector) -> Entries:
    # C is of velocities alone
    still = (0.0,) * len(v)
    return coriolis(trees, trees.moving(v, still))


def energies(robot: Robot, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Kinetic and potential energy, J.

    ``q`` (..., nq), ``v`` (..., nv). Returns two arrays (..., 1). Rotors' energy is part of the kinetic one. The
    potential one is −m g·c of what moves, with its centre of mass c in the base's coordinates. ConfigError as
    :func:`rbdgen.golden.rnea`. Source: Featherstone 2008, section 2.13."""
    q = configuration(robot, q)
    v = argument("v", v, (robot.nv,), q.shape[:-1])
    kinetic, potential = evaluate(_energy_text, robot, None, [(1,), (1,)], q.shape[:-1], (q, v))
    return kinetic, potential


def kinetic_energy(robot: Robot, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Kinetic energy (...), J, as Pinocchio's ``computeKineticEnergy``. All else as :func:`energies`."""
    return energies(robot, q, v)[0][..., 0]


def potential_energy(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Potential energy (...), J, as Pinocchio's ``computePotentialEnergy``. All else as :func:`energies`."""
    still = np.zeros((*np.shape(q)[:-1], robot.nv))
    return energies(robot, q, still)[1][..., 0]


def coriolis_matrix(robot: Robot, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The matrix C(q, v) with C v = ID(q, v, 0) − ID(q, 0, 0), and with Ṁ − 2 C skew.

    ``q`` (..., nq), ``v`` (..., nv). Returns (..., nv, nv), as Pinocchio's ``computeCoriolisMatrix``. Friction is not
    part of it. ConfigError as :func:`rbdgen.golden.rnea`. Source: :mod:`rbdgen.algo.energy`."""
    q = configuration(robot, q)
    v = argument("v", v, (robot.nv,), q.shape[:-1])
    shapes = [(robot.nv, robot.nv)]
    return evaluate(_coriolis_text, robot, None, shapes, q.shape[:-1], (q, v))[0]


def _traced_energy(trace: TracedProgram) -> Mapping[str, Entries]:
    kinetic, potential = _energy_entries(traced_subtrees(trace), trace.operand(V.name))
    return {KINETIC.name: kinetic, POTENTIAL.name: potential}


def _traced_coriolis(trace: TracedProgram) -> Mapping[str, Entries]:
    return {CORIOLIS.name: _coriolis_entries(traced_subtrees(trace), trace.operand(V.name))}


RECORDS = (
    Function(
        name="energy",
        code=36,
        summary="kinetic and potential energy",
        operands=(Q, V),
        results=(KINETIC, POTENTIAL),
        needs=frozenset({Need.PLACEMENT}),
        trace=_traced_energy,
        golden=energies,
        parts=(kinetic_energy, potential_energy),
        pinocchio=Pinocchio("computeMechanicalEnergy", ("q", "v")),
        forced=False,
        based=False,
        check=check_still,
    ),
    Function(
        name="coriolis",
        code=37,
        summary="matrix of Coriolis forces",
        operands=(Q, V),
        results=(CORIOLIS,),
        needs=frozenset({Need.PLACEMENT}),
        trace=_traced_coriolis,
        golden=coriolis_matrix,
        pinocchio=Pinocchio("computeCoriolisMatrix", ("q", "v")),
        forced=False,
        based=False,
        check=check_still,
    ),
)
