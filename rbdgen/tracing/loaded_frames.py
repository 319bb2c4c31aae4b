"""Frames whose places on their links are loaded instead of built in: their parameters, and where they may be.

A frame's parameters are the entries of its place in its body's frame, as that was chosen for the robot: the origin
(m), and the rotation by rows. A place may be turned in any way, and its origin may be as far from the link's as the one
that the robot was made with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rbdgen.errors import UnsupportedError
from rbdgen.model.body import Placement, TaskFrame
from rbdgen.model.robot import Robot, places_of
from rbdgen.model.task_frames import frame_links, with_places
from rbdgen.protocol.identifiers import sanitize
from rbdgen.spatial import Scalar
from rbdgen.tracing.equivalent import EquivalentRobot
from rbdgen.tracing.parameters import PARAMETERS, VARIATIONS, Parameter, ParameterSet
from rbdgen.tracing.words import Word

ORIGIN = ("x", "y", "z")
ROTATION = tuple(f"{row}{column}" for row in ORIGIN for column in ORIGIN)
PLACE = (*ORIGIN, *ROTATION)
"""The entries of a place, in the order of a frame's parameters."""
LEAST_REACH = 0.1
"""m: at least so far from its link's origin a frame can be put."""


@dataclass(frozen=True)
class MovableFrame:
    """A ``frame`` that can be put elsewhere, the ``link`` that it is given on, that link's ``place`` in the body's
    frame, and how far from the link's origin the frame may be (``reach``, m)."""

    frame: TaskFrame
    link: str
    place: Placement
    reach: float

    def limits(self, into: Placement) -> list[tuple[float, float]]:
        """The least and largest value of each parameter, where the body's frame is at ``into`` in the chosen one."""
        origin = (into @ self.place).translation
        return [(x - self.reach, x + self.reach) for x in origin] + [(-1.0, 1.0)] * len(ROTATION)


def find_movable(robot: Robot) -> tuple[MovableFrame, ...]:
    """Its declared frames but for ends of loops, which closed where they were. UnsupportedError where there are
    none."""
    links, places = frame_links(robot), places_of(robot)
    held = {end.name for end in robot.loop_ends}
    found = []
    for frame in robot.task_frames:
        if frame.name not in held:
            link = links[frame.name]
            _, place = places[link]
            away = np.array(frame.placement.translation) - np.array(place.translation)
            reach = max(float(np.linalg.norm(away)), LEAST_REACH)
            found.append(MovableFrame(frame, link, place, reach))
    if not found:
        raise UnsupportedError(
            f"movable_frames: robot {robot.name!r} has no frame that could be put elsewhere; declare one that no loop "
            "holds (--frame NAME=LINK), or leave movable_frames out"
        )
    return tuple(found)


def place_parameters(
    robot: Robot, frames: EquivalentRobot, movable: Sequence[MovableFrame], seed: int
) -> ParameterSet:
    """The parameters of the places of these frames."""
    rng = np.random.default_rng(seed)
    robots = [robot, *(moved_robot(robot, rng) for _ in range(VARIATIONS - 1))]
    varied = np.array([placed_values(other, frames, movable) for other in robots])
    legal = sanitize([frame.name for frame in robot.task_frames])
    parameters: list[Parameter] = []
    for own in movable:
        frame = own.frame
        limits = own.limits(frames.link_frames[frame.body])
        for entry, (lower, upper) in zip(PLACE, limits, strict=True):
            word = Word(f"p_frame_{legal[frame.name]}_{entry}", PARAMETERS, (), lower, upper)
            nominal = float(varied[0][len(parameters)])
            parameters.append(Parameter(word, frame.body, entry, nominal, frame.name))
    return ParameterSet(tuple(parameters), varied)


def placed_values(
    robot: Robot, frames: EquivalentRobot, movable: Sequence[MovableFrame]
) -> np.ndarray:
    """Values (n,) of the parameters of places, for a robot that has its frames there."""
    declared = {frame.name: frame for frame in robot.task_frames}
    values: list[float] = []
    for own in movable:
        frame = declared[own.frame.name]
        place = frames.link_frames[frame.body] @ frame.placement
        values += [*place.translation, *(x for row in place.rotation for x in row)]
    return np.array(values)


def placed(robot: Robot, frames: Sequence[MovableFrame], values: Sequence[Scalar]) -> Robot:
    """``robot``, in the frames that were chosen, with these scalars for the parameters of ``frames``."""
    places = {}
    for k, own in enumerate(frames):
        first = len(PLACE) * k
        origin, *rows = (tuple(values[i : i + 3]) for i in range(first, first + len(PLACE), 3))
        places[own.frame.name] = Placement(tuple(rows), origin)
    return with_places(robot, places)


def moved_robot(robot: Robot, rng: np.random.Generator) -> Robot:
    """``robot`` with its frames put elsewhere: turned in any way, evenly in the balls that they may be in."""
    places = {}
    for own in find_movable(robot):
        direction = rng.normal(size=3)
        distance = own.reach * np.cbrt(rng.uniform())
        rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        # of the orthogonal matrices those of determinant 1 are rotations
        rotation *= np.sign(np.linalg.det(rotation))
        origin = distance * direction / np.linalg.norm(direction)
        places[own.frame.name] = own.place @ Placement(rotation, origin)
    return with_places(robot, places)
