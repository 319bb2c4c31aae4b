"""Frames on links, contacts that the world may hold at such frames, and loops between two of them.

A frame is fixed to a link: to a moving one or to what a fixed joint merged into it, such as a tool's tip or a foot.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from rbdgen.errors import ConfigError, short
from rbdgen.model.body import Contact, Loop, MergedLink, Placement, TaskFrame
from rbdgen.model.rigid_motions import fixed_axes_angles, fixed_axes_matrix
from rbdgen.model.robot import FARTHEST, Robot, place_of, places_of
from rbdgen.operands import numbers_of
from rbdgen.protocol.identifiers import unused

POINT, FULL = "3d", "6d"
CONTACT_AXES = {POINT: (0, 1, 2), FULL: (0, 1, 2, 3, 4, 5)}
"""Kinds of contacts, with the axes along which each keeps its frame from moving: a point, or a point and its
directions."""
LETTERS = "xyzabc"
"""Letters of single axes: linear ones, then angular ones about the same."""
SIZES = (0, 3, 6)
"""Numbers of a frame: none; where it is in its link (m); also how it is turned there (roll, pitch and yaw, rad)."""
MOST_ROWS = 60
"""Rows of all frames together, of all contacts, and of all loops: a matrix of more is no hardware."""
NO_LOOPS = "none"
"""In a loop's place: none, not even those of the robot's file."""


def with_frames(robot: Robot, frames: Mapping[str, Sequence[float]]) -> Robot:
    """``robot`` with frames on links, instead of those that it had.

    A key is a link's name, which is the frame's as well, or NAME=LINK; the numbers are those of :data:`SIZES`. A frame
    of the base is for loops alone (:func:`with_loops`), and has a name of its own. ConfigError for a link that there is
    not or that does not move, for a name twice, and for numbers that are no place.
    """
    found: list[TaskFrame] = []
    based: list[TaskFrame] = []
    for key, numbers in frames.items():
        name, _, link = key.rpartition("=")
        place = _place(key, numbers)
        body, link_place = place_of(robot, "frame", link)
        if body < 0 and name:
            based.append(TaskFrame(name, body, link_place @ place))
        else:
            found.append(_frame(robot, "frame", name or link, link, place))
    names = [frame.name for frame in (*found, *based)]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"frame: {short(name)} is there twice; give one NAME=LINK")
    if 6 * len(found) > MOST_ROWS:
        raise ConfigError(f"frame: at most {MOST_ROWS // 6} frames, not {len(found)}")
    robot = replace(robot, task_frames=tuple(found), base_frames=tuple(based))
    return _said(robot, frame=dict(frames))


def with_places(robot: Robot, places: Mapping[str, Placement]) -> Robot:
    """``robot`` with declared frames, and contacts at them, at other ``places`` in their bodies' frames, by name."""

    def put(frame: TaskFrame) -> TaskFrame:
        return replace(frame, placement=places.get(frame.name, frame.placement))

    frames = tuple(map(put, robot.task_frames))
    contacts = tuple(replace(c, frame=put(c.frame)) for c in robot.contacts)
    return replace(robot, task_frames=frames, contacts=contacts)


def frame_links(robot: Robot) -> dict[str, str]:
    """By frame the link that it was given on: as the setup says, else that of its body."""
    found = {}
    for key in (robot.setup or {}).get("frame") or said_frames(robot):
        name, _, link = key.rpartition("=")
        found[name or link] = link
    return found


def check_base_frames(robot: Robot) -> None:
    """ConfigError for a frame of the base that no loop holds: nothing else is asked of what does not move."""
    held = {end.name for end in robot.loop_ends}
    for frame in robot.base_frames:
        if frame.name not in held:
            raise ConfigError(
                f"frame: {short(frame.name)} is on the base, which does not move; give one that a joint moves, or hold "
                "it by a loop (--loop A:B)"
            )


def with_contacts(robot: Robot, contacts: Sequence[str]) -> Robot:
    """``robot`` with contacts, instead of those that it had.

    Each is FRAME or FRAME:KIND, a declared frame's name or a link's, and a kind of :data:`CONTACT_AXES` (default: a
    point) or some of :data:`LETTERS`, such as ``z`` or ``zab``. ConfigError for a frame or a kind that there is not,
    and for a contact that is there twice.
    """
    declared = {frame.name: frame for frame in robot.task_frames}
    known = {*declared, *places_of(robot)}
    found: list[Contact] = []
    for text in contacts:
        name, axes = _name_and_axes("contact", text, known)
        frame = declared.get(name)
        if frame is None:
            frame = _frame(robot, "contact", name, name, Placement(), tuple(declared))
        if any(other.frame.name == name for other in found):
            raise ConfigError(f"contact: {short(name)} is there twice")
        found.append(Contact(frame, axes))
    if sum(contact.rows for contact in found) > MOST_ROWS:
        raise ConfigError(f"contact: at most {MOST_ROWS} rows of all contacts together")
    return _said(replace(robot, contacts=tuple(found)), contact=tuple(contacts))


def with_loops(robot: Robot, loops: Sequence[str]) -> Robot:
    """``robot`` with closed loops, instead of those that it had: its own file's, too.

    Each is A:B or A:B:KIND: two frames by their declared names or links' names, and what is held of B in A as
    :func:`with_contacts` says it (default: a point). One may be on the base. ConfigError for a frame or a kind that
    there is not, for two that are fixed to the same link, and for a loop that is there twice.
    """
    given = () if tuple(loops) == (NO_LOOPS,) else loops
    declared = {frame.name: frame for frame in (*robot.task_frames, *robot.base_frames)}
    known = {*declared, *places_of(robot)}
    found: list[Loop] = []
    for text in given:
        *names, axes = _ends_and_axes(text, known)
        first, second = (_end(robot, declared, name) for name in names)
        if first.body == second.body:
            link = robot.bodies[first.body].name if first.body >= 0 else robot.base_name
            raise ConfigError(
                f"loop: {short(text)}: both of its frames are fixed to link {link!r}, so that it holds nothing; give "
                "frames of links that joints move against each other"
            )
        loop = Loop(first, second, axes)
        if any(other.name == loop.name for other in found):
            raise ConfigError(f"loop: {short(loop.name)} is there twice")
        found.append(loop)
    if sum(loop.rows for loop in found) > MOST_ROWS:
        raise ConfigError(f"loop: at most {MOST_ROWS} rows of all loops together")
    return _said(replace(robot, loops=tuple(found)), loop=tuple(loops) or (NO_LOOPS,))


Anchor = tuple[int, Placement]
"""Where a loop is fixed: a body (−1: the base), and the place in that."""


def with_anchored_loop(
    robot: Robot, name: str, first: Anchor, second: Anchor, axes: Sequence[int]
) -> Robot:
    """``robot`` with one more loop, of a description that has no names for its frames: they are ``name`` with _1 and _2
    behind, and places for other frames and contacts as well."""
    taken = {*places_of(robot)}
    one = TaskFrame(unused(f"{name}_1", taken), *first)
    other = TaskFrame(unused(f"{name}_2", taken), *second)
    merged = [MergedLink(end.name, "", end.body, end.placement) for end in (one, other)]
    loop = Loop(one, other, tuple(axes))
    return replace(robot, frames=(*robot.frames, *merged), loops=(*robot.loops, loop))


def _ends_and_axes(text: str, known: Collection[str]) -> tuple[str, str, tuple[int, ...]]:
    """The names of a loop's frames, and the axes along which they are kept together; names may have colons."""
    parts = text.split(":")
    if len(parts) == 1:
        raise ConfigError(
            f"loop: must be A:B or A:B:KIND, with two frames or links, not {short(text)}"
        )
    splits = []
    for k in range(1, len(parts)):
        first, rest = ":".join(parts[:k]), ":".join(parts[k:])
        second, axes = _name_and_axes("loop", rest, known)
        splits.append((first, second, axes))
    # the first split is the plain one, whose names the message has where none fits
    return next((s for s in splits if s[0] in known and s[1] in known), splits[0])


def _end(robot: Robot, declared: Mapping[str, TaskFrame], name: str) -> TaskFrame:
    """A loop's frame: a declared one, or a link's."""
    if name in declared:
        return declared[name]
    body, place = place_of(robot, "loop", name, tuple(declared))
    return TaskFrame(name, body, place)


def _name_and_axes(option: str, text: str, known: Collection[str]) -> tuple[str, tuple[int, ...]]:
    """A frame, and the axes along which it is held, as the ``option`` says it. Names may have colons themselves, as
    ``arm::lower``: what follows the last one is a kind if what is before it is one of the ``known`` names, or else if
    it could be one."""
    name, colon, kind = text.rpartition(":")
    axes = _axes(kind)
    whole = name not in known and (text in known or not axes)
    if not colon or (whole and not text.endswith(":")):
        return text, CONTACT_AXES[POINT]
    if not axes:
        kinds = ", ".join(CONTACT_AXES)
        raise ConfigError(
            f"{option}: of {short(name)}: must be {kinds} or letters of {LETTERS}, each once, not {short(kind)}"
        )
    return name, axes


def _axes(kind: str) -> tuple[int, ...]:
    """The axes that a kind of contact is held along; none where it is no kind."""
    if kind in CONTACT_AXES:
        return CONTACT_AXES[kind]
    axes = {LETTERS.find(letter) for letter in kind}
    return () if -1 in axes or len(axes) < len(kind) else tuple(sorted(axes))


def _place(key: str, numbers: Sequence[float]) -> Placement:
    given = numbers_of(f"frame: of {short(key)}", numbers)
    if len(given) not in SIZES:
        raise ConfigError(
            f"frame: of {short(key)}: must be x,y,z, or those and roll,pitch,yaw, not {len(given)} numbers"
        )
    if not all(math.isfinite(x) and abs(x) <= FARTHEST for x in given):
        raise ConfigError(
            f"frame: of {short(key)}: must be at most {FARTHEST:g}, not {short(given)}"
        )
    padded = given + [0.0] * (6 - len(given))
    return Placement(fixed_axes_matrix(*padded[3:]), tuple(padded[:3]))


def _frame(
    robot: Robot, option: str, name: str, link: str, place: Placement, more: Sequence[str] = ()
) -> TaskFrame:
    body, link_place = place_of(robot, option, link, more)
    if body < 0:
        raise ConfigError(f"{option}: link {link!r} does not move; give one that a joint moves")
    return TaskFrame(name, body, link_place @ place)


def _said(robot: Robot, **what: object) -> Robot:
    """``robot`` with what its setup says of it, where that is known."""
    if robot.setup is None:
        return robot
    return replace(robot, setup={**robot.setup, **what})


def said_frames(robot: Robot) -> dict[str, tuple[float, ...]]:
    """The frames that :func:`with_frames` makes the robot's of, in those of links."""
    found = {}
    for frame in (*robot.task_frames, *robot.base_frames):
        place = frame.placement
        link = robot.bodies[frame.body].name if frame.body >= 0 else robot.base_name
        key = f"{frame.name}={link}"
        found[key] = (*place.translation, *fixed_axes_angles(place.rotation))
    return found


def said_contacts(robot: Robot) -> tuple[str, ...]:
    """The contacts that :func:`with_contacts` makes the robot's of."""
    return tuple(f"{c.frame.name}:{said_axes(c.axes)}" for c in robot.contacts)


def said_loops(robot: Robot) -> tuple[str, ...]:
    """The loops that :func:`with_loops` makes the robot's of."""
    return tuple(f"{loop.name}:{said_axes(loop.axes)}" for loop in robot.loops)


def said_axes(axes: tuple[int, ...]) -> str:
    """The kind that has these axes."""
    kinds = {own: kind for kind, own in CONTACT_AXES.items()}
    return kinds.get(axes, "".join(LETTERS[axis] for axis in axes))
