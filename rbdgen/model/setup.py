"""What a description leaves to those who set a robot up: how it is carried, what it carries, rotors, friction."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from rbdgen.errors import ConfigError, short
from rbdgen.model.body import Body
from rbdgen.model.builtin import load_robot
from rbdgen.model.frames import said_contacts, said_frames, with_contacts, with_frames
from rbdgen.model.reduced import Coordinates, chain_to, locked, with_payloads
from rbdgen.model.remarks import listed
from rbdgen.model.robot import DRY, NO_FRICTION, VISCOUS, Robot
from rbdgen.model.rooting import rerooted
from rbdgen.model.urdf import BASES, ROOT_JOINT
from rbdgen.scalars import numbers_of, several_of
from rbdgen.spatial import Vector

Rotors = float | Sequence[float]
"""An armature: one number for all degrees of freedom of a joint, or one for each."""


@dataclass(frozen=True)
class Setup:
    """How a robot is set up: its ``base`` as :func:`rbdgen.load_urdf` takes it, the link that a mobile base carries if
    it is another than the file's root (``root``), ``gravity`` in the base's frame (m/s²; None: the description's), the
    ``armature`` of joints by name (kg·m² or kg, see :class:`rbdgen.model.Body`), what of their ``friction`` counts,
    joints to ``lock``, a ``payload`` on links, and the link that the only chain to be kept leads to (``tip``), all as
    in :mod:`rbdgen.model.reduced`; then its ``frame`` and its ``contact``, as in :mod:`rbdgen.model.frames`."""

    base: str = "fixed"
    root: str | None = None
    gravity: Vector | None = None
    armature: Mapping[str, Rotors] = field(default_factory=dict)
    friction: str = VISCOUS
    lock: Mapping[str, Coordinates] = field(default_factory=dict)
    payload: Mapping[str, Sequence[float]] = field(default_factory=dict)
    tip: str | None = None
    frame: Mapping[str, Sequence[float]] = field(default_factory=dict)
    contact: Sequence[str] = ()

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
            near = difflib.get_close_matches(joint, names, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"joints are {', '.join(names)}"
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
