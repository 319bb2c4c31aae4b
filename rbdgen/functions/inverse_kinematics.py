"""Inverse kinematics: ``ik``, steps of damped least squares that bring frames to where they are wanted.

A task asks for a number of steps, which go through the program one after the other, as those of ``roll`` do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from rbdgen.algo.frames import LOCAL, Kinematics
from rbdgen.algo.inverse_kinematics import AXES, Target, damped_step, stepped
from rbdgen.algo.rnea import joint_placements
from rbdgen.algo.step import Integration
from rbdgen.errors import ConfigError, UnsupportedError
from rbdgen.functions.frames import check_frames, frame_placements, kinematics, need_frames
from rbdgen.functions.quantities import STEPS, Q, Quantity, States, vector_entries
from rbdgen.functions.record import (
    Carried,
    Entries,
    Function,
    Need,
    Repeat,
    RepeatingProgram,
    Settings,
    TracedProgram,
)
from rbdgen.functions.roll_out import checked_steps
from rbdgen.functions.step import MARGIN, turn
from rbdgen.model.ranges import declared_ranges, extreme_states, random_states
from rbdgen.model.rigid_motions import FARTHEST_TURN, ROUNDING, Functions, series
from rbdgen.model.robot import Robot
from rbdgen.numeric.batch import Entries as Evaluated
from rbdgen.numeric.batch import argument, configuration, evaluate, not_negative
from rbdgen.spatial import Vector

PLACES, ROOM = 64, 1.25
"""Configurations of either kind by which it is found how far away frames can be, and a factor on that."""
SHARE = 0.25
"""Of the robot's reach: what a frame is brought nearer in one step at most, along each of the base's axes."""
USUAL_DAMPING = 1e-3
"""m² and 1: of the golden function where none is given."""


@lru_cache(maxsize=32)
def farthest(robot: Robot) -> float:
    """How far the origin of a frame can be from the base's along an axis, m, by declared ranges."""
    ranges = declared_ranges(robot)
    drawn = [draw(robot, ranges, PLACES, 1)[0] for draw in (random_states, extreme_states)]
    _, position = frame_placements(robot, np.concatenate(drawn))
    return ROOM * float(np.max(np.abs(position)))


TO_ROTATION = Quantity(
    "to_rotation",
    ("frames", 3, 3),
    "1",
    "directions that frames are wanted in, a column each",
    limits=(-1.0, 1.0),
)
TO_POSITION = Quantity(
    "to_position",
    ("frames", 3),
    "m",
    "where frames' origins are wanted",
    limits=(-1.0, 1.0),
    measure=farthest,
)
WEIGHT = Quantity(
    "weight", ("frame_rows",), "1", "weights of frames' rows: 0 is none", limits=(0.0, 1.0)
)
Q_NEAR = Quantity("q_near", ("nq",), "rad, m", "positions after the last step")


def check(robot: Robot, settings: Settings) -> None:
    """UnsupportedError for a robot without frames or with ones that can be moved, and without a damping."""
    check_frames(robot, settings)
    if settings.movable_frames:
        raise UnsupportedError(
            "movable_frames: ik cuts steps to a share of the robot's reach, in which frames count, and which is built "
            "in; leave ik or movable_frames out"
        )
    if settings.constraint_damping <= 0:
        raise UnsupportedError(
            "constraint-damping: ik divides by it where frames cannot be moved; give one above 0, such as "
            f"--constraint-damping {USUAL_DAMPING:g}"
        )


def _targets(robot: Robot, rotation: Vector, position: Vector, weight: Vector) -> list[Target]:
    """The frames' targets, from all entries one after the other."""
    found = []
    for k in range(len(robot.task_frames)):
        nine = rotation[9 * k : 9 * (k + 1)]
        rows = tuple(nine[first : first + 3] for first in (0, 3, 6))
        own = weight[AXES * k : AXES * (k + 1)]
        found.append(Target(rows, position[3 * k : 3 * (k + 1)], own))
    return found


def _text(
    robot: Robot, damping: float, q: Vector, rotation: Vector, position: Vector, weight: Vector
) -> Sequence[Evaluated]:
    found = Kinematics(robot, joint_placements(robot, q), robot.task_frames, LOCAL)
    targets = _targets(robot, rotation, position, weight)
    step = damped_step(found, targets, damping, SHARE * robot.reach)
    # any step may come out, and float64's own precision is expected
    integration = Integration(robot, series(FARTHEST_TURN, ROUNDING))
    return vector_entries(stepped(integration, q, step)), vector_entries(step)


def _evaluated(
    robot: Robot, q: np.ndarray, targets: Sequence[np.ndarray], damping: float
) -> tuple[np.ndarray, np.ndarray]:
    """q (..., nq) after one step, and the step (..., nv), of checked arguments."""
    shapes = [(robot.nq,), (robot.nv,)]
    moved, step = evaluate(_text, robot, damping, shapes, q.shape[:-1], (q, *targets))
    return moved, step


def inverse_kinematics_step(
    robot: Robot,
    q: np.ndarray,
    to_rotation: np.ndarray,
    to_position: np.ndarray,
    weight: np.ndarray | None = None,
    steps: np.ndarray | int = 1,
    *,
    damping: float = USUAL_DAMPING,
) -> np.ndarray:
    """The configuration (..., nq) after one step, or ``steps`` (...) of them, of damped least squares towards where the
    robot's frames are wanted.

    ``to_rotation`` (..., frames, 3, 3) and ``to_position`` (..., frames, 3), m, as :func:`frame_placements` gives them;
    ``weight`` (..., 6 frames) of the rows of each frame, [linear, angular] along and about its own axes, default 1: 0
    leaves a row to itself, so that three angular zeros ask for a point. ``damping`` δ = λ² is above 0. A step takes
    each frame nearer by a quarter of the robot's reach at most, and joints stay within limits that the robot's file
    has. Source: :mod:`rbdgen.algo.inverse_kinematics`, with the error that frames have there.

    UnsupportedError for a robot without frames; ConfigError for a wrong shape, a value that is not finite, a number of
    steps that is negative or not whole, a damping that is not above 0, and a step in which a floating base or a joint
    without limits turns by more than 2π.
    """
    need_frames(robot)
    q = configuration(robot, q)
    batch = q.shape[:-1]
    rows = np.ones((*batch, *WEIGHT.size(robot))) if weight is None else weight
    targets = []
    for quantity, x in ((TO_ROTATION, to_rotation), (TO_POSITION, to_position), (WEIGHT, rows)):
        targets.append(argument(quantity.name, x, quantity.size(robot), batch))
    if not_negative("damping", damping) == 0:
        raise ConfigError("damping: must be a number above 0, not 0")
    counts = checked_steps(steps, batch)[..., None]
    for number in range(int(counts.max(initial=0))):
        moved, step = _evaluated(robot, q, targets, float(damping))
        # tasks of one batch may be of different lengths
        going = counts > number
        _check_turn(robot, np.where(going, step, 0.0))
        q = np.where(going, moved, q)
    return q


def _check_turn(robot: Robot, step: np.ndarray) -> None:
    """ConfigError for steps (..., nv) in which a joint of unit coordinates turns by more than a whole turn."""
    largest = np.abs(step).reshape(-1, robot.nv).max(axis=0, initial=0)
    if turn(robot, largest) > FARTHEST_TURN:
        raise ConfigError(
            f"damping: a joint turns by {turn(robot, largest):.3g} rad in a step, which is more than a whole turn; "
            "give a larger one"
        )


def _bounded(
    robot: Robot, settings: Settings, q: np.ndarray, others: Mapping[str, np.ndarray]
) -> Mapping[str, np.ndarray]:
    """Targets where other states have the frames; of half of the weights' words 0 or 1, which most tasks have."""
    rotation, position = frame_placements(robot, np.roll(q, 1, axis=0))
    given = others[WEIGHT.name]
    weight = np.clip(2.0 * given - 0.5, 0.0, 1.0)
    return {
        **others,
        TO_ROTATION.name: rotation,
        TO_POSITION.name: position,
        WEIGHT.name: weight,
    }


def _operands(s: States) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of a function's operands those that are declared with it."""
    return s.others[TO_ROTATION.name], s.others[TO_POSITION.name], s.others[WEIGHT.name]


def _reference(
    robot: Robot, s: States, settings: Settings | None, method: str | None
) -> Sequence[np.ndarray]:
    assert s.steps is not None
    damping = settings.constraint_damping if settings else USUAL_DAMPING
    moved = inverse_kinematics_step(robot, s.q, *_operands(s), steps=s.steps[:, 0], damping=damping)
    return (moved,)


def _functions(trace: TracedProgram) -> Functions:
    """The functions of how far a joint turns in a step: for a processor as the reference has them."""
    robot, damping = trace.robot, trace.settings.constraint_damping
    if trace.software:
        return series(FARTHEST_TURN, ROUNDING)
    if not any("unit" in body.joint.kinds for body, _, _ in robot.independent):
        return series(0.0)

    def steps(
        robot: Robot, s: States, settings: Settings | None, method: str | None
    ) -> Sequence[np.ndarray]:
        return _evaluated(robot, s.q, _operands(s), damping)[1:]

    largest = np.max(np.abs(trace.reached(steps)[0]), axis=0)
    return series(MARGIN * turn(robot, largest))


def _local(trace: TracedProgram) -> Kinematics:
    """The frames in their own directions, which other functions may have as well."""
    if trace.settings.reference == LOCAL:
        return kinematics(trace)
    robot = trace.robot
    return Kinematics(robot, trace.placements(), robot.task_frames, LOCAL, trace.enter)


def _reach(
    robot: Robot, s: States, settings: Settings | None, method: str | None
) -> Sequence[np.ndarray]:
    return (np.array(robot.reach),)


def _moved(trace: TracedProgram) -> Entries:
    """q after a step."""
    robot, settings = trace.robot, trace.settings
    given = [trace.operand(quantity.name) for quantity in (TO_ROTATION, TO_POSITION, WEIGHT)]
    # of the robot as it was given: its equivalent's frames are moved
    longest = SHARE * float(trace.reached(_reach)[0])
    step = damped_step(
        _local(trace), _targets(robot, *given), settings.constraint_damping, longest, trace.enter
    )
    integration = Integration(robot, _functions(trace), trace.enter)
    return vector_entries(stepped(integration, trace.operand(Q.name), step))


def _traced(trace: TracedProgram) -> Mapping[str, Entries]:
    return {Q_NEAR.name: trace.shared(Q_NEAR.name, lambda: _moved(trace))}


def _carried(trace: RepeatingProgram) -> Mapping[str, Carried]:
    """q goes on, all else stays as it is."""
    carried: dict[str, Carried] = {}
    for quantity in (TO_ROTATION, TO_POSITION, WEIGHT):
        for name in trace.operand_names(quantity.name):
            carried[name] = Carried(trace.passed(name), trace.passed(name))
    after = trace.result(Q_NEAR.name, _traced(trace)[Q_NEAR.name])
    for name, behind in zip(trace.operand_names(Q.name), after, strict=True):
        carried[name] = Carried(behind, behind)
    return carried


RECORDS = (
    Function(
        name="ik",
        code=51,
        summary="inverse kinematics: steps of damped least squares towards frames' targets",
        operands=(Q, TO_ROTATION, TO_POSITION, WEIGHT, STEPS),
        results=(Q_NEAR,),
        needs=frozenset({Need.PLACEMENT}),
        trace=_traced,
        reference=_reference,
        golden=inverse_kinematics_step,
        repeat=Repeat(count=STEPS, weights=lambda _: ((1.0, 1.0),), carried=_carried),
        forced=False,
        based=False,
        check=check,
        bounded=_bounded,
        uses=frozenset({"constraint_damping"}),
    ),
)
