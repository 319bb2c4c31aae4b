"""Closed loops: forward dynamics that keeps them closed, and how far they are open: ``lfd`` and ``loop``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rbdgen.algo.frames import LOCAL
from rbdgen.algo.loops import LoopKinematics
from rbdgen.algo.rnea import joint_placements
from rbdgen.functions.closing import loop_kinematics, need_loops
from rbdgen.functions.contact import constrained
from rbdgen.functions.contact_parts import (
    Variant,
    check_held,
    checked_contacts,
    moving,
    traced_loops,
    traced_moving,
)
from rbdgen.functions.quantities import TAU, Q, Quantity, V, vector_entries
from rbdgen.functions.record import Entries, Function, Need, Settings, TracedProgram
from rbdgen.model.robot import Robot
from rbdgen.numeric.batch import Entries as Evaluated
from rbdgen.numeric.batch import configuration, evaluate
from rbdgen.spatial import Vector

GAP = Quantity("gap", ("loop_rows",), "m, 1", "how far the loops are open")
ACCELERATION = Quantity("loop_a", ("nv",), "rad/s², m/s²", "accelerations with closed loops")
FORCE = Quantity("loop_force", ("loop_rows",), "N, N·m", "forces of the loops")


def _without_contacts(robot: Robot) -> Robot:
    """``robot``, whose contacts are all open."""
    return replace(robot, contacts=()) if robot.contacts else robot


def _check_loops(robot: Robot, settings: Settings) -> None:
    """UnsupportedError for a robot without loops."""
    need_loops(robot)


def _check_dynamics(robot: Robot, settings: Settings) -> None:
    """UnsupportedError also for loops that close nowhere or hinder each other, and for options that do not go with
    them."""
    need_loops(robot)
    check_held(_without_contacts(robot), settings)


def _gaps(loops: Sequence[LoopKinematics]) -> Entries:
    gaps: Vector = ()
    for found in loops:
        gaps += found.gap
    return vector_entries(gaps)


def _gap_text(robot: Robot, variant: None, q: Vector) -> Sequence[Evaluated]:
    return (_gaps(loop_kinematics(robot, joint_placements(robot, q))),)


def loop_residuals(robot: Robot, q: np.ndarray) -> np.ndarray:
    """How far the robot's loops are open: zero where they are closed.

    Loops are those of :func:`rbdgen.with_loops`, in their order. By loop and held axis: along a linear one, by how much
    the first frame's origin is ahead of the second's, m; about an angular one, by how much it is turned further, as the
    sine of the angle times the axis, which is the angle in rad where that is small. All in the first frame's
    directions. ``q`` (..., nq); returns (..., rows). UnsupportedError for a robot without loops, ConfigError as
    :func:`rbdgen.golden.rnea`. Source: :mod:`rbdgen.algo.loops`."""
    need_loops(robot)
    q = configuration(robot, q)
    return evaluate(_gap_text, robot, None, [GAP.size(robot)], q.shape[:-1], (q,))[0]


def _text(
    robot: Robot, variant: Variant, q: Vector, v: Vector, tau: Vector, f: Vector | None
) -> Sequence[Evaluated]:
    now = moving(robot, variant, q, v, tau, f)
    return constrained(robot, variant[-1], now, v, (), ())


def loop_forward_dynamics(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    f_ext: np.ndarray | None = None,
    *,
    damping: float = 0.0,
    rate: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Forward dynamics with closed loops: accelerations, and the forces by which loops hold their first frames.

    Loops are those of :func:`rbdgen.with_loops`, in their order; contacts, if there are any, are open. With ``rate`` r
    (1/s) gaps g of the loops return by g̈ + r ġ + r² g / 4 = 0: Baumgarte's terms. ``damping`` is added to the diagonal
    of J M⁻¹ Jᵀ. All else as :func:`rbdgen.golden.forward_dynamics`.

    Returns a (..., nv) and the forces (..., rows) on the first frames, in their directions, which act at the second
    frames' origins and, reversed, on the second frames: of closed loops those of Pinocchio's ``constraintDynamics`` for
    constraints between two joints. UnsupportedError for a robot without loops, SingularityError for loops that hold
    some motion twice. Source: :mod:`rbdgen.algo.loops`, :mod:`rbdgen.algo.contact`."""
    need_loops(robot)
    robot = _without_contacts(robot)
    given = checked_contacts(robot, (LOCAL, damping, rate), q, v, tau, None, None, f_ext)
    operands = given.q, given.v, given.tau, given.f_ext
    shapes = [(robot.nv,), FORCE.size(robot)]
    accelerations, forces = evaluate(_text, robot, given.variant, shapes, given.batch, operands)
    return accelerations, forces


def _traced_gaps(trace: TracedProgram) -> Mapping[str, Entries]:
    return {GAP.name: _gaps(traced_loops(trace))}


def _traced_dynamics(trace: TracedProgram) -> Mapping[str, Entries]:
    robot = _without_contacts(trace.robot)
    now = traced_moving(trace, robot)
    v = trace.operand(V.name)
    accelerations, forces = constrained(robot, trace.settings.contact_rate, now, v, (), ())
    return {ACCELERATION.name: accelerations, FORCE.name: forces}


RECORDS = (
    Function(
        name="lfd",
        code=50,
        summary="forward dynamics with closed loops",
        operands=(Q, V, TAU),
        results=(ACCELERATION, FORCE),
        needs=frozenset({Need.TORQUE, Need.FACTORS}),
        trace=_traced_dynamics,
        golden=loop_forward_dynamics,
        based=False,
        check=_check_dynamics,
        uses=frozenset({"constraint_damping", "contact_rate"}),
        closes=True,
    ),
    Function(
        name="loop",
        code=52,
        summary="how far closed loops are open",
        operands=(Q,),
        results=(GAP,),
        needs=frozenset({Need.PLACEMENT}),
        trace=_traced_gaps,
        golden=loop_residuals,
        forced=False,
        based=False,
        check=_check_loops,
        closes=True,
    ),
)
