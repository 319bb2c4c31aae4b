"""Choices that a description leaves to its user: the base, rotors, friction, loads, task frames and contacts.

A frame is fixed to a link: to a moving one or to what a fixed joint merged into it, such as a tool's tip or a foot.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from rbdgen.errors import ConfigError, listed, nearest, short
from rbdgen.model.body import Body, Contact, Placement, TaskFrame
from rbdgen.model.load import load_robot
from rbdgen.model.rigid_motions import fixed_axes_angles, fixed_axes_matrix
from rbdgen.model.robot import (
    DRY,
    FARTHEST,
    FRICTIONS,
    NO_FRICTION,
    VISCOUS,
    Robot,
    place_of,
    places_of,
)
from rbdgen.model.urdf import BASES, ROOT_JOINT
from rbdgen.model.variants import Coordinates, chain_to, locked, rerooted, with_payloads
from rbdgen.operands import numbers_of, several_of
from rbdgen.setting import BY_JOINT, FRAMES, PAYLOADS, VECTOR, WORD, WORDS, setting, settings

POINT, FULL = "3d", "6d"
CONTACT_AXES = {POINT: (0, 1, 2), FULL: (0, 1, 2, 3, 4, 5)}
"""Kinds of contacts, with the axes along which each keeps its frame from moving: a point, or a point and its
directions."""
LETTERS = "xyzabc"
"""Letters of single axes: linear ones, then angular ones about the same."""
SIZES = (0, 3, 6)
"""Numbers of a frame: none; where it is in its link (m); also how it is turned there (roll, pitch and yaw, rad)."""
MOST_ROWS = 60
"""Rows of all frames together, and of all contacts: a matrix of more is no hardware."""


def with_frames(robot: Robot, frames: Mapping[str, Sequence[float]]) -> Robot:
    """``robot`` with frames on links, instead of those that it had.

    A key is a link's name, which is the frame's as well, or NAME=LINK; the numbers are those of :data:`SIZES`.
    ConfigError for a link that there is not or that does not move, for a name twice, and for numbers that are no place.
    """
    found: list[TaskFrame] = []
    for key, numbers in frames.items():
        name, _, link = key.rpartition("=")
        place = _place(key, numbers)
        found.append(_frame(robot, "frame", name or link, link, place))
    names = [frame.name for frame in found]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"frame: {short(name)} is there twice; give one NAME=LINK")
    if 6 * len(found) > MOST_ROWS:
        raise ConfigError(f"frame: at most {MOST_ROWS // 6} frames, not {len(found)}")
    return _said(replace(robot, task_frames=tuple(found)), frame=dict(frames))


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
        name, axes = _name_and_axes(text, known)
        frame = declared.get(name)
        if frame is None:
            frame = _frame(robot, "contact", name, name, Placement(), tuple(declared))
        if any(other.frame.name == name for other in found):
            raise ConfigError(f"contact: {short(name)} is there twice")
        found.append(Contact(frame, axes))
    if sum(contact.rows for contact in found) > MOST_ROWS:
        raise ConfigError(f"contact: at most {MOST_ROWS} rows of all contacts together")
    return _said(replace(robot, contacts=tuple(found)), contact=tuple(contacts))


def _name_and_axes(text: str, known: Collection[str]) -> tuple[str, tuple[int, ...]]:
    """A contact's frame, and the axes along which it is held. Names may have colons themselves, as ``arm::lower``: what
    follows the last one is a kind if what is before it is one of the ``known`` names, or else if it could be one."""
    name, colon, kind = text.rpartition(":")
    axes = _axes(kind)
    whole = name not in known and (text in known or not axes)
    if not colon or (whole and not text.endswith(":")):
        return text, CONTACT_AXES[POINT]
    if not axes:
        kinds = ", ".join(CONTACT_AXES)
        raise ConfigError(
            f"contact: of {short(name)}: must be {kinds} or letters of {LETTERS}, each once, not {short(kind)}"
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
    """The frames that :func:`with_frames` makes the robot's of, in the frames of their moving links."""
    found = {}
    for frame in robot.task_frames:
        place = frame.placement
        key = f"{frame.name}={robot.bodies[frame.body].name}"
        found[key] = (*place.translation, *fixed_axes_angles(place.rotation))
    return found


def said_contacts(robot: Robot) -> tuple[str, ...]:
    """The contacts that :func:`with_contacts` makes the robot's of."""
    kinds = {axes: kind for kind, axes in CONTACT_AXES.items()}
    found = []
    for contact in robot.contacts:
        letters = "".join(LETTERS[axis] for axis in contact.axes)
        kind = kinds.get(contact.axes, letters)
        found.append(f"{contact.frame.name}:{kind}")
    return tuple(found)


Rotors = float | Sequence[float]
"""An armature: one number for all degrees of freedom of a joint, or one for each."""


@dataclass(frozen=True)
class Setup:
    """A robot's setup: its ``base`` as :func:`rbdgen.load_urdf` takes it, the link that a mobile base carries if
    it is another than the file's root (``root``), ``gravity`` in the base's frame (m/s²; None: the description's), the
    ``armature`` of joints by name (kg·m² or kg, see :class:`rbdgen.model.Body`), what of their ``friction`` counts,
    joints to ``lock``, a ``payload`` on links, and the link that the only chain to be kept leads to (``tip``), all as
    in :mod:`rbdgen.model.variants`; then its ``frame`` and its ``contact``, as in :mod:`rbdgen.model.setup`."""

    base: str = setting(
        "fixed",
        WORD,
        "what",
        "how the root link is carried",
        otherwise="fixed",
        choices=lambda: BASES,
        metavar="B",
        basic=True,
    )
    root: str | None = setting(
        None,
        WORD,
        "what",
        "the link that a mobile base carries; the base's coordinates are that link's",
        otherwise="the file's",
        metavar="LINK",
    )
    gravity: tuple[float, ...] | None = setting(
        None,
        VECTOR,
        "what",
        "gravity in the base's frame, m/s²; write --gravity=X,Y,Z where it begins with a minus",
        otherwise="the file's, else 0,0,-9.81",
        metavar="X,Y,Z",
    )
    armature: Mapping[str, Rotors] = setting(
        {},
        BY_JOINT,
        "what",
        "inertia of joints' rotors times the square of their gear ratio, kg·m² (kg of prismatic ones)",
        otherwise="none",
        metavar="JOINT=V,JOINT=V",
    )
    friction: str = setting(
        VISCOUS,
        WORD,
        "what",
        "what of the joints' friction in the robot's file counts",
        otherwise=VISCOUS,
        choices=lambda: FRICTIONS,
        metavar="F",
    )
    lock: Mapping[str, Coordinates] = setting(
        {},
        BY_JOINT,
        "what",
        "joints that are fixed, at rad or m; their links become parts of those that carry them",
        otherwise="none",
        metavar="JOINT=V,JOINT=V",
    )
    payload: Mapping[str, Sequence[float]] = setting(
        {},
        PAYLOADS,
        "what",
        "what links carry: mass in kg, centre of mass in the link's frame in m, moments about it in kg·m² "
        "(xx, yy, zz, xy, xz, yz); the last two may be left out; several with semicolons",
        otherwise="none",
        metavar="LINK:M,X,Y,Z,…",
    )
    tip: str | None = setting(
        None,
        WORD,
        "what",
        "only the links from the base to this one",
        otherwise="all",
        metavar="LINK",
    )
    frame: Mapping[str, Sequence[float]] = setting(
        {},
        FRAMES,
        "what",
        "frames that fk, jac, acc, lam and the like are of: a link, or also where in it (m; roll, pitch, yaw, rad), or "
        "NAME=LINK:…; several with semicolons",
        otherwise="none",
        metavar="LINK:X,Y,Z,…",
    )
    contact: Sequence[str] = setting(
        (),
        WORDS,
        "what",
        "contacts of cfd and the like: frames or links, separated by commas; :3d holds a point, :6d also its "
        "directions, letters of xyzabc some linear (x, y, z) and angular ones (a, b, c)",
        otherwise="none; 3d",
        metavar="FRAME:KIND,…",
    )

    def load(self, name_or_path: str | Path) -> Robot:
        """The robot of that name or file, set up so. Errors are those of :func:`rbdgen.load_robot`, and ConfigError for
        what the robot has not."""
        robot = load_robot(name_or_path, base=self.base)
        if self.root:
            robot = rerooted(robot, self.root)
        robot = with_armature(robot, self.armature)
        robot = with_payloads(robot, self.payload)
        robot = locked(robot, self.lock)
        if self.tip:
            robot = chain_to(robot, self.tip)
        robot = with_frames(robot, self.frame)
        robot = with_contacts(robot, self.contact)
        said = {f.name: getattr(self, f.name) for f in fields(self)}
        if self.gravity is not None:
            robot = replace(robot, gravity=tuple(numbers_of("gravity", self.gravity)))
        return replace(robot, friction=self.friction, setup=said)


ROBOT = settings(Setup)
"""Choices of a robot as it is read."""


def setup_of(robot: Robot) -> Setup:
    """The setup that makes this robot of its file: as it was recorded, else as far as the robot shows it."""
    if robot.setup is not None:
        return Setup(**robot.setup)
    first = robot.bodies[0]
    base, root = "fixed", None
    if first.joint_name == ROOT_JOINT:
        base = next((name for name, carrier in BASES.items() if carrier == first.joint), base)
        root = first.name if base != "fixed" else None
    armature = {body.joint_name: body.armature for body in robot.bodies if any(body.armature)}
    frames, contacts = said_frames(robot), said_contacts(robot)
    return Setup(
        base, root, robot.gravity, armature, robot.friction, frame=frames, contact=contacts
    )


def friction_notes(robot: Robot) -> tuple[str, ...]:
    """One line per kind of friction that the description has, on what of it counts."""
    notes = []
    damped = [body.joint_name for body in robot.bodies if any(body.damping)]
    rubbing = [body.joint_name for body in robot.bodies if any(body.friction)]
    if damped:
        what = "does not count" if robot.friction == NO_FRICTION else "counts"
        other = VISCOUS if robot.friction == NO_FRICTION else NO_FRICTION
        notes.append(f"damping {what} at {listed(damped)}; --friction {other} changes that")
    if rubbing:
        what = "counts" if robot.friction == DRY else "does not count"
        other = VISCOUS if robot.friction == DRY else DRY
        notes.append(f"dry friction {what} at {listed(rubbing)}; --friction {other} changes that")
    return tuple(notes)


def with_armature(robot: Robot, armature: Mapping[str, Rotors]) -> Robot:
    """``robot`` with an armature at joints by name (see :class:`rbdgen.model.Body`); others keep what they have.
    ConfigError for an unknown joint, and for a number below zero."""
    names = robot.joint_names
    for joint in armature:
        if joint not in names:
            hint = nearest(joint, names, f"joints are {', '.join(names)}")
            raise ConfigError(f"armature: no joint {short(joint)} of {robot.name!r}; {hint}")
    bodies = []
    for body in robot.bodies:
        given = armature.get(body.joint_name)
        bodies.append(body if given is None else _with_rotors(body, given))
    return replace(robot, bodies=tuple(bodies))


def _with_rotors(body: Body, given: Rotors) -> Body:
    count = body.joint.nv
    rotors = numbers_of(f"armature: of joint {body.joint_name!r}", given)
    if several_of(given) is None:
        rotors *= count
    if len(rotors) != count:
        raise ConfigError(
            f"armature: joint {body.joint_name!r} has {count} degrees of freedom, not {len(rotors)}"
        )
    for x in rotors:
        if not (math.isfinite(x) and x >= 0):
            raise ConfigError(
                f"armature: of joint {body.joint_name!r}: must be a number of 0 or more, not {short(x)}"
            )
    return replace(body, armature=tuple(rotors))
