"""Derivatives of forward dynamics with contacts: ``dcfd``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rbdgen.algo.contact import ClosedContacts, Held
from rbdgen.algo.contact_derivatives import ContactSlopes, State
from rbdgen.algo.frames import LOCAL
from rbdgen.algo.rnea import Wrench, joint_placements
from rbdgen.errors import UnsupportedError
from rbdgen.functions.contact_parts import (
    CLOSED,
    USES,
    WANTED,
    HeldRows,
    Moving,
    Variant,
    check,
    checked_contacts,
    held_parts,
    moving,
    need_contacts,
    traced_moving,
)
from rbdgen.functions.quantities import TAU, Q, Quantity, V, given_wrenches
from rbdgen.functions.record import Entries, Function, Need, Settings, TracedProgram
from rbdgen.model.joints import JointPlacement
from rbdgen.model.robot import Robot
from rbdgen.numeric.batch import Entries as Evaluated
from rbdgen.numeric.batch import evaluate
from rbdgen.spatial import Scalar, Vector, sub

SQUARE, ROWS = ("nv", "nv"), ("contact_rows", "nv")
RESULTS = (
    Quantity("contact_da_dq", SQUARE, "1/s², …", "∂a/∂q with contacts, row: acceleration"),
    Quantity("contact_da_dv", SQUARE, "1/s, …", "∂a/∂v with contacts, row: acceleration"),
    Quantity("contact_da_dtau", SQUARE, "1/(kg·m²), …", "∂a/∂τ with contacts, row: acceleration"),
    Quantity("contact_df_dq", ROWS, "N/rad, …", "∂f/∂q of the contacts' forces, row: force"),
    Quantity("contact_df_dv", ROWS, "N·s/rad, …", "∂f/∂v of the contacts' forces, row: force"),
    Quantity("contact_df_dtau", ROWS, "1/m, 1", "∂f/∂τ of the contacts' forces, row: force"),
)


def _check(robot: Robot, settings: Settings) -> None:
    """UnsupportedError as of ``cfd``, and for a robot with loops."""
    _without_loops(robot)
    check(robot, settings)


def _without_loops(robot: Robot) -> None:
    """UnsupportedError for a robot with loops."""
    if robot.loops:
        names = ", ".join(loop.name for loop in robot.loops)
        raise UnsupportedError(
            f"robot {robot.name!r}: has loops ({names}), of whose rows there are no derivatives; give --loop none, or "
            "take differences of cfd"
        )


class _Solved:
    """Contacts that are held, with all that solving for other right-hand sides takes."""

    def __init__(self, robot: Robot, rows: HeldRows, contacts: Sequence[Held]) -> None:
        self.robot = robot
        self.rows = rows
        self.contacts = contacts
        self.closed = ClosedContacts(rows.space, rows.inward(contacts))

    def moved(self, contacts: Sequence[Held], rest: Sequence[Scalar]) -> tuple[Vector, Vector]:
        """Accelerations and forces."""
        accelerations, pushes = self.closed.moved(self.rows.inward(contacts), rest)
        return accelerations, self.rows.outward(pushes, contacts)

    def slopes(self, torques: Entries, accelerations: Entries) -> tuple[Entries, Entries]:
        """∂a and ∂f of all columns, from ∂τ of inverse dynamics and those of contacts' accelerations, whose signs
        turn."""
        by_acceleration: dict[tuple[int, ...], Scalar] = {}
        by_force: dict[tuple[int, ...], Scalar] = {}
        for dof in range(self.robot.nv):
            rest = [self._negated(torques, row, dof) for row in range(self.robot.nv)]
            moved, forces = self.moved(self._held(accelerations, dof), rest)
            by_acceleration |= {(row, dof): x for row, x in enumerate(moved)}
            by_force |= {(row, dof): x for row, x in enumerate(forces)}
        return by_acceleration, by_force

    def _held(self, accelerations: Entries, dof: int) -> list[Held]:
        found = []
        first = 0
        for contact, held in zip(self.robot.contacts, self.contacts, strict=True):
            rows = range(first, first + contact.rows)
            found.append(Held(held.closed, [self._negated(accelerations, r, dof) for r in rows]))
            first += contact.rows
        return found

    def _negated(self, entries: Entries, row: int, column: int) -> Scalar:
        if (row, column) not in entries:
            return 0.0
        with self.rows.enter("Fa", self.robot.contacts[0].frame.body):
            return sub(0.0, entries[row, column])

    def by_torque(self) -> tuple[Entries, Entries]:
        """∂a/∂τ and ∂f/∂τ."""
        # minus one, as slopes turn signs
        torques: Entries = {(dof, dof): -1.0 for dof in range(self.robot.nv)}
        return self.slopes(torques, {})


def _derived(
    robot: Robot,
    rate: float,
    now: Moving,
    joints: list[JointPlacement],
    v: Vector,
    closed: Vector,
    wanted: Vector,
    given: Sequence[Wrench] | None,
) -> list[Entries]:
    """All results."""
    held = held_parts(robot, now, v, closed, wanted, rate)
    solved = _Solved(robot, now.at.held(), held)
    a, forces = solved.moved(held, now.rest)
    state = State(robot, joints, v, a, forces, given, rate)
    slopes = ContactSlopes(state, now.at.contacts)
    columns = zip(slopes.torques(), slopes.accelerations(), strict=True)
    made = [solved.slopes(*both) for both in columns]
    made.append(solved.by_torque())
    return [a for a, _ in made] + [f for _, f in made]


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
    joints = joint_placements(robot, q)
    given = given_wrenches(f)
    return _derived(robot, variant[-1], now, joints, v, closed, wanted, given)


def constrained_forward_dynamics_derivatives(
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
) -> tuple[np.ndarray, ...]:
    """Derivatives of forward dynamics with contacts: ∂a/∂q, ∂a/∂v, ∂a/∂τ (..., nv, nv) and ∂f/∂q, ∂f/∂v, ∂f/∂τ (...,
    rows, nv) of the contacts' forces.

    Arguments and errors as :func:`rbdgen.golden.constrained_forward_dynamics`, and UnsupportedError for a robot with
    loops; results as Pinocchio's ``computeConstraintDynamicsDerivatives``, ∂/∂q in the tangent space. ``wanted`` and
    ``f_ext`` stay as they are: in ``local`` and the bodies' directions they turn along. Source:
    :mod:`rbdgen.algo.contact_derivatives`."""
    need_contacts(robot)
    _without_loops(robot)
    variant = reference, damping, rate
    given = checked_contacts(robot, variant, q, v, tau, closed, wanted, f_ext)
    shapes = [quantity.size(robot) for quantity in RESULTS]
    return evaluate(_text, robot, given.variant, shapes, given.batch, given.operands)


def _traced(trace: TracedProgram) -> Mapping[str, Entries]:
    v, closed, wanted = (trace.operand(quantity.name) for quantity in (V, CLOSED, WANTED))
    rate = trace.settings.contact_rate
    now = traced_moving(trace, trace.robot)
    joints, given = trace.placements(), trace.forces()
    found = _derived(trace.robot, rate, now, joints, v, closed, wanted, given)
    return {quantity.name: entries for quantity, entries in zip(RESULTS, found, strict=True)}


RECORDS = (
    Function(
        name="dcfd",
        code=42,
        summary="derivatives of forward dynamics with contacts",
        operands=(Q, V, TAU, CLOSED, WANTED),
        results=RESULTS,
        needs=frozenset({Need.TORQUE, Need.FACTORS}),
        trace=_traced,
        golden=constrained_forward_dynamics_derivatives,
        based=False,
        check=_check,
        uses=USES,
    ),
)
