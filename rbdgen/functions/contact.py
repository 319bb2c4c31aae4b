"""Forward dynamics with contacts: ``cfd``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rbdgen.algo.contact import held_dynamics
from rbdgen.algo.frames import LOCAL
from rbdgen.functions.contact_parts import (
    CLOSED,
    USES,
    WANTED,
    Moving,
    Variant,
    check,
    checked_contacts,
    held_parts,
    moving,
    need_contacts,
    traced_moving,
)
from rbdgen.functions.quantities import TAU, Q, Quantity, V, vector_entries
from rbdgen.functions.record import Entries, Function, Need, TracedProgram
from rbdgen.model.robot import Robot
from rbdgen.numeric.batch import Entries as Evaluated
from rbdgen.numeric.batch import evaluate
from rbdgen.spatial import Vector

ACCELERATION = Quantity("contact_a", ("nv",), "rad/s², m/s²", "accelerations with contacts")
FORCE = Quantity(
    "contact_force", ("held_rows",), "N, N·m", "forces of the contacts, then those of the loops"
)


def _text(
    robot: Robot,
    variant: Variant,
    q: Vector,
    v: Vector,
    tau: Vector,
    closed: Vector,
    wanted: Vector,
    f: Vector | None,
) -> Sequence[Evaluated]:
    now = moving(robot, variant, q, v, tau, f)
    return constrained(robot, variant[-1], now, v, closed, wanted)


def constrained(
    robot: Robot,
    rate: float,
    now: Moving,
    v: Vector,
    closed: Vector,
    wanted: Vector,
) -> Sequence[Entries]:
    """Accelerations, and the forces of contacts and loops."""
    # rows by which contacts are held need not be those of their frames
    by = now.at.held()
    held = held_parts(robot, now, v, closed, wanted, rate)
    accelerations, pushes = held_dynamics(by.space, by.inward(held), now.rest)
    forces = by.outward(pushes, held)
    return vector_entries(accelerations), vector_entries(forces)


def constrained_forward_dynamics(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    closed: np.ndarray | None = None,
    wanted: np.ndarray | None = None,
    f_ext: np.ndarray | None = None,
    *,
    reference: str = LOCAL,
    damping: float = 0.0,
    rate: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Forward dynamics with rigid contacts: accelerations, and the forces by which the world holds the contacts.

    ``closed`` (..., contacts): 1 for a contact that is closed, 0 for one that is open (default: all closed); contacts
    are those of :func:`rbdgen.with_contacts`, in their order. ``wanted`` (..., rows): the accelerations that they are
    held at, in ``reference`` (``local`` or ``local_world_aligned``), a row for each held axis; default: none. They are
    classical where linear axes only are held, those of a point, and spatial where angular ones are. To keep a contact
    where it was, give −kp times its error; ``rate`` (1/s) brings velocities back: Baumgarte's terms. ``damping`` is
    added to the diagonal of J M⁻¹ Jᵀ. All else as :func:`rbdgen.golden.forward_dynamics`.

    Returns a (..., nv) and the forces (..., rows) on the robot, as Pinocchio's ``constraintDynamics`` does of contacts
    with the world; those of open contacts are zero. Loops of the robot are held as well, as by
    :func:`loop_forward_dynamics`, and their forces come behind. UnsupportedError for a robot without contacts,
    SingularityError for closed contacts that hold some motion twice. Source: :mod:`rbdgen.algo.contact`."""
    need_contacts(robot)
    variant = reference, damping, rate
    given = checked_contacts(robot, variant, q, v, tau, closed, wanted, f_ext)
    variant = given.variant
    shapes = [(robot.nv,), FORCE.size(robot)]
    accelerations, found = evaluate(_text, robot, variant, shapes, given.batch, given.operands)
    return accelerations, found


def _traced(trace: TracedProgram) -> Mapping[str, Entries]:
    closed, wanted = trace.operand(CLOSED.name), trace.operand(WANTED.name)
    now = traced_moving(trace, trace.robot)
    v = trace.operand(V.name)
    rate = trace.settings.contact_rate
    found = constrained(trace.robot, rate, now, v, closed, wanted)
    accelerations, forces = found
    return {ACCELERATION.name: accelerations, FORCE.name: forces}


RECORDS = (
    Function(
        name="cfd",
        code=18,
        summary="forward dynamics with contacts",
        operands=(Q, V, TAU, CLOSED, WANTED),
        results=(ACCELERATION, FORCE),
        needs=frozenset({Need.TORQUE, Need.FACTORS}),
        trace=_traced,
        golden=constrained_forward_dynamics,
        based=False,
        check=check,
        uses=USES,
        closes=True,
    ),
)
