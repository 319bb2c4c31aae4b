"""The algorithms of the inertia of frames and contacts: over the factors of M, or at a serial chain's end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from rbdgen.algo.carried import CarriedSpace
from rbdgen.algo.chain_contact import ChainContact
from rbdgen.algo.frames import Kinematics
from rbdgen.algo.loops import LoopKinematics
from rbdgen.algo.odd_even import elimination_order
from rbdgen.algo.operational_space import FrameInertia
from rbdgen.algo.schur import SchurComplements, check_end
from rbdgen.errors import UnsupportedError
from rbdgen.functions.algorithms import Algorithm, chosen, usual
from rbdgen.functions.contact_parts import (
    Axes,
    HeldRows,
    Spaces,
    factored_rows,
    factored_space,
    held_axes,
)
from rbdgen.functions.operational_space import carried
from rbdgen.functions.record import Settings, TracedProgram
from rbdgen.model.body import TaskFrame
from rbdgen.model.robot import Robot


@dataclass(frozen=True)
class InertiaText:
    """Texts of an algorithm: the inertia of all ``frames``, traced, and the rows of a robot's ``contacts`` and loops.
    ``check`` refuses robots, settings and frames (of a kind, in a word) that it does not take."""

    check: Callable[[Robot, Settings, str, Sequence[TaskFrame]], None]
    frames: Callable[[TracedProgram], FrameInertia | CarriedSpace]
    contacts: Callable[[TracedProgram, Robot, Kinematics, Sequence[LoopKinematics]], Spaces]


def complement_levels(links: int) -> int:
    """Levels by which ``links`` block rows are eliminated into the last one."""
    return len(elimination_order(links, last=True)) - 1


def _check_factors(
    robot: Robot, settings: Settings, what: str, frames: Sequence[TaskFrame]
) -> None:
    given = chosen("mass_matrix", settings)
    if not given.factored:
        raise UnsupportedError(
            f"{given.asked}: has no factors of M, which inertia of frames and contacts is made of; use "
            f"{usual('mass_matrix').asked}"
        )


def _frames_by_factors(trace: TracedProgram) -> CarriedSpace:
    settings = trace.settings
    how = settings.reference, settings.constraint_damping, trace.enter
    return carried(trace.robot, trace.placements(), trace.along(), trace.factors(), *how)


def _contacts_by_factors(
    trace: TracedProgram, robot: Robot, found: Kinematics, loops: Sequence[LoopKinematics]
) -> Spaces:
    taken_apart = found, loops, trace.along(), trace.factors(), trace.settings.constraint_damping
    held = partial(factored_rows, robot, *taken_apart)
    return partial(factored_space, *taken_apart), held


def _check_end(robot: Robot, settings: Settings, what: str, frames: Sequence[TaskFrame]) -> None:
    if what == "contact" and robot.loops:
        raise UnsupportedError(
            f"operational-space schur: takes no loops, which robot {robot.name!r} has; use "
            f"{usual('operational_space').asked}"
        )
    check_end(robot, what, frames)


def _frame_at_end(trace: TracedProgram) -> SchurComplements:
    # forces of constraints need what each link itself resists, which regrouping does not keep
    settings, whole = trace.settings, trace.whole()
    how = settings.reference, settings.constraint_damping, trace.enter
    return SchurComplements(whole, trace.placements(), whole.task_frames[0], *how)


def _contact_at_end(
    trace: TracedProgram, robot: Robot, found: Kinematics, loops: Sequence[LoopKinematics]
) -> Spaces:
    def space(*axes: Axes) -> ChainContact:
        settings, whole = trace.settings, trace.whole()
        how = settings.reference, settings.constraint_damping, trace.enter
        # a single contact, at the chain's end
        rows = tuple(axis for (own,) in axes for axis in own)
        return ChainContact(whole, trace.placements(), whole.contacts[0].frame, rows, *how)

    def held() -> HeldRows:
        return HeldRows(space(held_axes(robot)), [None], trace.enter)

    return space, held


ALGORITHMS = (
    Algorithm(
        "operational_space",
        "factors",
        "by the factors of the mass matrix (Featherstone 2010)",
        InertiaText(_check_factors, _frames_by_factors, _contacts_by_factors),
        factored=True,
    ),
    Algorithm(
        "operational_space",
        "schur",
        "by Schur complements, in logarithmic depth; a frame or contact at a serial chain's end (Fijany 1994)",
        InertiaText(_check_end, _frame_at_end, _contact_at_end),
        serial=True,
        levels=complement_levels,
        calibratable=False,
    ),
)
