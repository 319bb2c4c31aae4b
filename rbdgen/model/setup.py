"""Choices that a description leaves to its user: the base, rotors, friction, loads, task frames, contacts and loops."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from rbdgen.errors import ConfigError, listed, nearest, short
from rbdgen.model.body import Body
from rbdgen.model.load import load_robot
from rbdgen.model.robot import DRY, FRICTIONS, NO_FRICTION, VISCOUS, Robot
from rbdgen.model.task_frames import (
    check_base_frames,
    said_contacts,
    said_frames,
    said_loops,
    with_contacts,
    with_frames,
    with_loops,
)
from rbdgen.model.urdf import BASES, ROOT_JOINT
from rbdgen.model.variants import Coordinates, chain_to, locked, rerooted, with_payloads
from rbdgen.operands import numbers_of, several_of
from rbdgen.setting import BY_JOINT, FRAMES, PAYLOADS, VECTOR, WORD, WORDS, setting, settings

Rotors = float | Sequence[float]
"""An armature: one number for all degrees of freedom of a joint, or one for each."""


@dataclass(frozen=True)
class Setup:
    """A robot's setup: its ``base`` as :func:`rbdgen.load_urdf` takes it, the link that a mobile base carries if
    it is another than the file's root (``root``), ``gravity`` in the base's frame (m/s²; None: the description's), the
    ``armature`` of joints by name (kg·m² or kg, see :class:`rbdgen.model.Body`), what of their ``friction`` counts,
    joints to ``lock``, a ``payload`` on links, and the link that the only chain to be kept leads to (``tip``), all as
    in :mod:`rbdgen.model.variants`; then its ``frame``, its ``contact`` and its ``loop`` (None: the
    file's), as in :mod:`rbdgen.model.task_frames`."""

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
    loop: Sequence[str] | None = setting(
        None,
        WORDS,
        "what",
        "closed loops of lfd, cfd and the like: two frames or links that are kept together, with kinds as of contacts; "
        "separated by commas; none leaves out those of the file",
        otherwise="the file's; 3d",
        metavar="A:B:KIND,…",
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
        if self.loop:
            robot = with_loops(robot, self.loop)
        check_base_frames(robot)
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
    places = {
        "frame": said_frames(robot),
        "contact": said_contacts(robot),
        "loop": said_loops(robot) or None,
    }
    return Setup(base, root, robot.gravity, armature, robot.friction, **places)


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
