"""Derivatives of forward dynamics with contacts, held or sliding: ``dcfd`` and ``dscfd``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rbdgen.algo.contact import ClosedContacts, Held, SlidingContacts, sliding_dynamics
from rbdgen.algo.contact_derivatives import ContactSlopes, State
from rbdgen.algo.frames import LOCAL
from rbdgen.algo.operational_space import ContactSpace
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
    held_axes,
    held_parts,
    moving,
    need_contacts,
    traced_moving,
)
from rbdgen.functions.quantities import TAU, Q, Quantity, V, given_wrenches
from rbdgen.functions.record import Entries, Function, Need, Settings, TracedProgram
from rbdgen.functions.sliding import (
    OFFSET,
    SLOPE,
    bounded,
    checked_sliding,
    free_axes,
    laws_of,
)
from rbdgen.functions.sliding import check as check_sliding
from rbdgen.model.joints import JointPlacement
from rbdgen.model.robot import Robot
from rbdgen.numeric.batch import Entries as Evaluated
from rbdgen.numeric.batch import evaluate
from rbdgen.spatial import Enter, Scalar, Vector, sub

SQUARE, ROWS = ("nv", "nv"), ("contact_rows", "nv")


def _results(kind: str, text: str) -> tuple[Quantity, ...]:
    """∂a and ∂f by q, v and τ."""
    return (
        Quantity(f"{kind}_da_dq", SQUARE, "1/s², …", f"∂a/∂q with {text}, row: acceleration"),
        Quantity(f"{kind}_da_dv", SQUARE, "1/s, …", f"∂a/∂v with {text}, row: acceleration"),
        Quantity(
            f"{kind}_da_dtau", SQUARE, "1/(kg·m²), …", f"∂a/∂τ with {text}, row: acceleration"
        ),
        Quantity(f"{kind}_df_dq", ROWS, "N/rad, …", f"∂f/∂q of the forces of {text}, row: force"),
        Quantity(f"{kind}_df_dv", ROWS, "N·s/rad, …", f"∂f/∂v of the forces of {text}, row: force"),
        Quantity(f"{kind}_df_dtau", ROWS, "1/m, 1", f"∂f/∂τ of the forces of {text}, row: force"),
    )


HELD = _results("contact", "contacts")
SLIDING = _results("sliding", "sliding contacts")


def _check(robot: Robot, settings: Settings) -> None:
    """UnsupportedError as of ``cfd``, and for a robot with loops."""
    _without_loops(robot)
    check(robot, settings)


def _check_sliding(robot: Robot, settings: Settings) -> None:
    """UnsupportedError as of ``scfd``, and for a robot with loops."""
    _without_loops(robot)
    check_sliding(robot, settings)


def _without_loops(robot: Robot) -> None:
    """UnsupportedError for a robot with loops."""
    if robot.loops:
        names = ", ".join(loop.name for loop in robot.loops)
        raise UnsupportedError(
            f"robot {robot.name!r}: has loops ({names}), of whose rows there are no derivatives; give --loop none, or "
            "take differences of cfd"
        )


class _Solved(ABC):
    """Contacts with all that solving for other right-hand sides takes."""

    def __init__(self, robot: Robot, contacts: Sequence[Held], enter: Enter) -> None:
        self.robot = robot
        self.contacts = contacts
        self.enter = enter

    @abstractmethod
    def moved(self, contacts: Sequence[Held], rest: Sequence[Scalar]) -> tuple[Vector, Vector]:
        """Accelerations and forces, where laws have no offset."""

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
        with self.enter("Fa", self.robot.contacts[0].frame.body):
            return sub(0.0, entries[row, column])

    def by_torque(self) -> tuple[Entries, Entries]:
        """∂a/∂τ and ∂f/∂τ."""
        # minus one, as slopes turn signs
        torques: Entries = {(dof, dof): -1.0 for dof in range(self.robot.nv)}
        return self.slopes(torques, {})


class _Held(_Solved):
    """By the rows that hold contacts."""

    def __init__(self, robot: Robot, rows: HeldRows, contacts: Sequence[Held]) -> None:
        super().__init__(robot, contacts, rows.enter)
        self.rows = rows
        self.closed = ClosedContacts(rows.space, rows.inward(contacts))

    def moved(self, contacts: Sequence[Held], rest: Sequence[Scalar]) -> tuple[Vector, Vector]:
        """Accelerations and forces."""
        accelerations, pushes = self.closed.moved(self.rows.inward(contacts), rest)
        return accelerations, self.rows.outward(pushes, contacts)


class _Sliding(_Solved):
    """By the rows that hold contacts and those along which they slide."""

    def __init__(
        self, robot: Robot, space: ContactSpace, contacts: Sequence[Held], slope: Vector
    ) -> None:
        super().__init__(robot, contacts, space.enter)
        self.space = space
        self.slope = slope
        # what does not follow a force that holds does not change
        self.offset = (0.0,) * sum(len(contact.free_axes) for contact in robot.contacts)

    def moved(self, contacts: Sequence[Held], rest: Sequence[Scalar]) -> tuple[Vector, Vector]:
        """Accelerations and forces."""
        return sliding_dynamics(self.sliding(contacts, self.offset), rest)

    def sliding(self, contacts: Sequence[Held], offset: Vector) -> SlidingContacts:
        """The contacts with an offset of their laws."""
        return SlidingContacts(self.space, contacts, laws_of(self.robot, self.slope, offset))


def _whole_forces(robot: Robot, held: Vector, free: Vector = ()) -> list[Vector]:
    """By contact the force with all six entries, from those along its held and its free axes."""
    left, others = iter(held), iter(free)
    found = []
    for contact in robot.contacts:
        whole: list[Scalar] = [0.0] * 6
        for axis in contact.axes:
            whole[axis] = next(left)
        for axis in contact.free_axes if free else ():
            whole[axis] = next(others)
        found.append(tuple(whole))
    return found


@dataclass(frozen=True)
class _Motion:
    """A robot's joints, velocities and external wrenches, and the rate at which speeds of contacts decay."""

    joints: list[JointPlacement]
    v: Vector
    given: Sequence[Wrench] | None
    rate: float


def _derived(
    robot: Robot, motion: _Motion, now: Moving, closed: Vector, wanted: Vector
) -> list[Entries]:
    """All results of contacts that are held."""
    held = held_parts(robot, now, motion.v, closed, wanted, motion.rate)
    solved = _Held(robot, now.at.held(), held)
    a, forces = solved.moved(held, now.rest)
    return _slopes(solved, motion, now, a, _whole_forces(robot, forces))


def _slid(
    robot: Robot,
    motion: _Motion,
    now: Moving,
    closed: Vector,
    wanted: Vector,
    slope: Vector,
    offset: Vector,
) -> list[Entries]:
    """All results of contacts that slide."""
    held = held_parts(robot, now, motion.v, closed, wanted, motion.rate)
    space = now.at.space(held_axes(robot), free_axes(robot))
    solved = _Sliding(robot, space, held, slope)
    sliding = solved.sliding(held, offset)
    a, forces = sliding_dynamics(sliding, now.rest)
    whole = _whole_forces(robot, forces, sliding.following(forces))
    return _slopes(solved, motion, now, a, whole)


def _slopes(
    solved: _Solved, motion: _Motion, now: Moving, a: Vector, forces: Sequence[Vector]
) -> list[Entries]:
    """∂a by q, v and τ, and ∂f."""
    state = State(solved.robot, motion.joints, motion.v, a, forces, motion.given, motion.rate)
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
    *law: Vector,
) -> Sequence[Evaluated]:
    now = moving(robot, variant, q, v, tau, f)
    motion = _Motion(joint_placements(robot, q), v, given_wrenches(f), variant[-1])
    if law:
        slope, offset = law
        return _slid(robot, motion, now, closed, wanted, slope, offset)
    return _derived(robot, motion, now, closed, wanted)


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
    shapes = [quantity.size(robot) for quantity in HELD]
    return evaluate(_text, robot, given.variant, shapes, given.batch, given.operands)


def sliding_forward_dynamics_derivatives(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    closed: np.ndarray | None = None,
    wanted: np.ndarray | None = None,
    slope: np.ndarray | None = None,
    offset: np.ndarray | None = None,
    f_ext: np.ndarray | None = None,
    *,
    reference: str = LOCAL,
    damping: float = 0.0,
    rate: float = 0.0,
) -> tuple[np.ndarray, ...]:
    """Derivatives of forward dynamics with sliding contacts: ∂a/∂q, ∂a/∂v, ∂a/∂τ (..., nv, nv) and ∂f/∂q, ∂f/∂v, ∂f/∂τ
    (..., rows, nv) of the forces along what is held; ``slope`` and ``offset`` stay as they are.

    Arguments and errors as :func:`rbdgen.golden.sliding_forward_dynamics`, all else as
    :func:`constrained_forward_dynamics_derivatives`."""
    _without_loops(robot)
    variant = reference, damping, rate
    given, laws = checked_sliding(robot, variant, q, v, tau, closed, wanted, f_ext, slope, offset)
    shapes = [quantity.size(robot) for quantity in SLIDING]
    operands = *given.operands, *laws
    return evaluate(_text, robot, given.variant, shapes, given.batch, operands)


def _traced_motion(trace: TracedProgram) -> _Motion:
    rate = trace.settings.contact_rate
    return _Motion(trace.placements(), trace.operand(V.name), trace.forces(), rate)


def _traced(trace: TracedProgram) -> Mapping[str, Entries]:
    closed = trace.operand(CLOSED.name)
    wanted = trace.operand(WANTED.name)
    motion = _traced_motion(trace)
    found = _derived(trace.robot, motion, traced_moving(trace, trace.robot), closed, wanted)
    return {quantity.name: entries for quantity, entries in zip(HELD, found, strict=True)}


def _traced_sliding(trace: TracedProgram) -> Mapping[str, Entries]:
    closed = trace.operand(CLOSED.name)
    wanted = trace.operand(WANTED.name)
    slope = trace.operand(SLOPE.name)
    offset = trace.operand(OFFSET.name)
    motion = _traced_motion(trace)
    now = traced_moving(trace, trace.robot)
    found = _slid(trace.robot, motion, now, closed, wanted, slope, offset)
    return {quantity.name: entries for quantity, entries in zip(SLIDING, found, strict=True)}


RECORDS = (
    Function(
        name="dcfd",
        code=42,
        summary="derivatives of forward dynamics with contacts",
        operands=(Q, V, TAU, CLOSED, WANTED),
        results=HELD,
        needs=frozenset({Need.TORQUE, Need.FACTORS}),
        trace=_traced,
        golden=constrained_forward_dynamics_derivatives,
        based=False,
        check=_check,
        uses=USES,
    ),
    Function(
        name="dscfd",
        code=43,
        summary="derivatives of forward dynamics with sliding contacts",
        operands=(Q, V, TAU, CLOSED, WANTED, SLOPE, OFFSET),
        results=SLIDING,
        needs=frozenset({Need.TORQUE, Need.FACTORS}),
        trace=_traced_sliding,
        golden=sliding_forward_dynamics_derivatives,
        based=False,
        check=_check_sliding,
        uses=USES,
        bounded=bounded,
    ),
)
