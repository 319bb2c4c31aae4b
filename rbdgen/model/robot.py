"""The robot as the compiler sees it: a tree of moving bodies (:mod:`rbdgen.model.body`).

Plain frozen data, no parsing (see :mod:`rbdgen.model.urdf`) and no dynamics (see :mod:`rbdgen.algo`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rbdgen.errors import ConfigError, UnsupportedError, nearest, short
from rbdgen.model.body import Body, Contact, Inertia, Loop, MergedLink, Mimic, Placement, TaskFrame
from rbdgen.model.joints import CompoundJoint, Continuous, Joint, Revolute
from rbdgen.model.rigid_motions import rotation_fault
from rbdgen.operands import numbers_of
from rbdgen.protocol.identifiers import unused
from rbdgen.spatial import Vector

if TYPE_CHECKING:
    import networkx as nx

LEAST, MOST = 1e-6, 1e3
"""Multipliers beyond these are no gears: what follows would stand still, or its motion would be all that is felt."""
FARTHEST = 1e6
"""rad or m: larger offsets leave no digits for the motion."""
MOST_TURNS = 16
"""Largest multiplier of what turns without end: each turn costs a rotation."""


def resolved(robot: str, bodies: tuple[Body, ...]) -> tuple[Body, ...]:
    """The bodies of a ``robot`` of that name, their joints following only joints that move by themselves. ConfigError
    for what cannot be followed, UnsupportedError for what is not followed here."""
    by_joint = {body.joint_name: body for body in bodies}
    result = []
    for body in bodies:
        if body.mimic is not None:
            where = f"robot {robot!r}: joint {short(body.joint_name)}"
            mimic = _led_back(where, body.joint_name, body.mimic, by_joint)
            joint = _following_joint(where, body.joint, by_joint[mimic.joint], mimic)
            body = replace(body, joint=joint, mimic=mimic)
        result.append(body)
    return tuple(result)


def _led_back(where: str, name: str, mimic: Mimic, by_joint: Mapping[str, Body]) -> Mimic:
    """The last joint of those that ``name`` follows, as it follows it."""
    passed = [name]
    while True:
        if mimic.joint in passed:
            circle = " → ".join([*passed, mimic.joint])
            raise ConfigError(f"{where}: follows itself: {circle}; let one of them move by itself")
        if mimic.joint not in by_joint:
            hint = nearest(mimic.joint, by_joint, f"joints are {', '.join(by_joint)}")
            raise ConfigError(
                f"{where}: follows {short(mimic.joint)}, which is no moving joint; {hint}"
            )
        above = by_joint[mimic.joint].mimic
        if above is None:
            return mimic
        passed.append(mimic.joint)
        offset = mimic.multiplier * above.offset + mimic.offset
        mimic = Mimic(above.joint, mimic.multiplier * above.multiplier, offset)


def _following_joint(where: str, joint: Joint, leader: Body, mimic: Mimic) -> Joint:
    """The joint as one that follows: of the leader's sort of angle."""
    geared = LEAST <= abs(mimic.multiplier) <= MOST
    if not geared or not abs(mimic.offset) <= FARTHEST:
        raise ConfigError(
            f"{where}: follows {leader.joint_name!r} by the multiplier {mimic.multiplier:g} and the offset "
            f"{mimic.offset:g}; they must be {LEAST:g} to {MOST:g} and at most {FARTHEST:g}, of either sign"
        )
    if joint.nv != 1 or leader.joint.nv != 1:
        raise UnsupportedError(
            f"{where}: follows {leader.joint_name!r}; only joints of one degree of freedom follow and lead; make one "
            "of them fixed"
        )
    if not isinstance(leader.joint, Continuous):
        return Revolute(joint.axis) if isinstance(joint, Continuous) else joint
    whole = mimic.multiplier == round(mimic.multiplier) and abs(mimic.multiplier) <= MOST_TURNS
    if not whole or not isinstance(joint, Revolute | Continuous):
        raise UnsupportedError(
            f"{where}: follows {leader.joint_name!r}, which turns without end, by {mimic.multiplier:g}; what follows "
            f"it must be a rotation by a whole multiplier of at most {MOST_TURNS}; give the leader limits"
        )
    return Continuous(joint.axis)


STANDARD_GRAVITY: Vector = (0.0, 0.0, -9.81)
"""Default gravity in the world frame, m/s² (Pinocchio's default)."""
NO_FRICTION, VISCOUS, DRY = "none", "viscous", "viscous+dry"
FRICTIONS = {
    NO_FRICTION: "as in Pinocchio's algorithms, which know no friction",
    VISCOUS: "a joint's damping times its velocity",
    DRY: "also its dry friction, which grows with the velocity up to that force",
}
"""Choices of the joints' friction that a robot's dynamics have."""
DRY_WIDTH = 0.0625
"""rad/s or m/s: at this velocity w half of the dry friction f acts, f·v / (w + |v|). Small beside velocities at which
robots work; large enough for words of 18 bits, in which the slope at rest, f / w, is beside the other derivatives; and
a power of two, which they hold exactly."""


@dataclass(frozen=True)
class Robot:
    """A tree of bodies on a base that does not move; parents come before their children (depth first, siblings by joint
    name). A mobile robot has a joint that carries its root link.

    ``base_name`` is the link that does not move; ``gravity`` is in its frame, m/s²; ``friction`` (of :data:`FRICTIONS`)
    says what of the joints' friction counts. Joints that follow others have no part of q, v, a and τ; ConfigError for
    what cannot follow. ``setup`` says how it was made from its description, where that is known (the options of
    :class:`rbdgen.model.Setup`). ``task_frames`` and ``contacts`` are what functions compute for beside its joints, and
    ``loops`` what closes its tree, ends of which may be ``base_frames`` (:mod:`rbdgen.model.task_frames`); ``frames``
    are links that fixed joints merged into others. A body on a compound joint becomes one body for each of the joint's
    parts: the last one keeps the body's and the joint's name, those before it have no mass and the names with _1, _2, …
    behind.
    """

    name: str
    base_name: str
    bodies: tuple[Body, ...]
    frames: tuple[MergedLink, ...] = ()
    gravity: Vector = STANDARD_GRAVITY
    friction: str = NO_FRICTION
    setup: Mapping[str, Any] | None = field(default=None, compare=False)
    task_frames: tuple[TaskFrame, ...] = ()
    contacts: tuple[Contact, ...] = ()
    loops: tuple[Loop, ...] = ()
    base_frames: tuple[TaskFrame, ...] = ()

    def __post_init__(self) -> None:
        if type(self.gravity) is not tuple:
            object.__setattr__(self, "gravity", tuple(numbers_of("gravity", self.gravity)))
        self._check_numbers()
        if any(body.mimic for body in self.bodies):
            object.__setattr__(self, "bodies", resolved(self.name, self.bodies))
        if any(isinstance(b.joint, CompoundJoint) for b in self.bodies):
            bodies, frames = _expanded(self.bodies, self.frames)
            object.__setattr__(self, "bodies", bodies)
            object.__setattr__(self, "frames", frames)

    def _check_numbers(self) -> None:
        """ConfigError naming the first placement that is none, and the first inertia that is no number."""
        for body in self.bodies:
            inertia = body.inertia
            entries = (
                inertia.mass,
                *inertia.first_moment,
                *itertools.chain(*inertia.second_moment),
            )
            # in traced text they are expressions
            if any(isinstance(x, float) and not math.isfinite(x) for x in entries):
                raise ConfigError(
                    f"robot {self.name!r}: link {short(body.name)}: its inertia is not finite; mend it"
                )
        joints = [("joint", body.joint_name, body.placement) for body in self.bodies]
        links = [("link", frame.name, frame.placement) for frame in self.frames]
        own = [*self.task_frames, *self.base_frames, *self.loop_ends]
        tasks = [("frame", frame.name, frame.placement) for frame in own]
        for kind, name, placement in (*joints, *links, *tasks):
            # in traced text places of frames may be expressions as well
            if not placement.is_constant:
                continue
            fault = rotation_fault(placement.rotation)
            if not all(map(math.isfinite, placement.translation)):
                fault = f"has a translation that is not finite: {placement.translation}"
            if fault is not None:
                raise ConfigError(
                    f"robot {self.name!r}: {kind} {short(name)}: its placement {fault}; mend it"
                )

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Moving joints' names, in the order of the bodies and of the generalised vectors."""
        return tuple(b.joint_name for b in self.bodies)

    @property
    def nq(self) -> int:
        """Length of q."""
        return sum(b.nq for b in self.bodies)

    @property
    def nv(self) -> int:
        """Length of v, a and τ."""
        return sum(b.nv for b in self.bodies)

    @cached_property
    def q_slices(self) -> tuple[slice, ...]:
        """Each body's part of q, empty where its joint follows another."""
        return _slices([b.nq for b in self.bodies])

    @cached_property
    def v_slices(self) -> tuple[slice, ...]:
        """Each body's part of v, a and τ, empty where its joint follows another."""
        return _slices([b.nv for b in self.bodies])

    @cached_property
    def independent(self) -> tuple[tuple[Body, slice, slice], ...]:
        """The bodies whose joints follow no other, each with its part of q, and of v, a and τ."""
        own = zip(self.bodies, self.q_slices, self.v_slices, strict=True)
        return tuple(entry for entry in own if entry[0].mimic is None)

    @cached_property
    def reach(self) -> float:
        """m: how long the longest chain of offsets between joints is, or the radius of gyration of the widest body, if
        that is more: about how far what is turned by a radian moves. 1 where there is neither."""
        reached: list[float] = []
        for body in self.bodies:
            # what carries a first joint moves nothing
            own = math.hypot(*body.placement.translation) if body.parent >= 0 else 0.0
            before = reached[body.parent] if body.parent >= 0 else 0.0
            reached.append(before + own)
        ends = [end for end in self.loop_ends if end.body >= 0]
        frames = [*self.task_frames, *(contact.frame for contact in self.contacts), *ends]
        reached += [reached[f.body] + math.hypot(*f.placement.translation) for f in frames]
        for inertia in (body.inertia for body in self.bodies):
            if inertia.mass > 0.0:
                second = abs(np.trace(inertia.second_moment))
                reached.append(math.sqrt(second / inertia.mass))
        return max(reached, default=0.0) or 1.0

    @property
    def mass(self) -> float:
        """kg: of all that moves."""
        return sum(body.inertia.mass for body in self.bodies)

    def dampers(self, i: int) -> tuple[float, ...]:
        """Of the joint of body ``i`` by degree of freedom: the damping that counts, N·m·s or N·s/m."""
        body = self.bodies[i]
        if self.friction == NO_FRICTION or not body.damping:
            return (0.0,) * body.joint.nv
        return body.damping

    def rubs(self, i: int) -> tuple[float, ...]:
        """Of the joint of body ``i`` by degree of freedom: the dry friction that counts, N·m or N."""
        body = self.bodies[i]
        if self.friction != DRY or not body.friction:
            return (0.0,) * body.joint.nv
        return body.friction

    def leader(self, i: int) -> int:
        """The body whose joint that of body ``i`` follows."""
        mimic = self.bodies[i].mimic
        assert mimic is not None
        return self.joint_names.index(mimic.joint)

    @property
    def loop_ends(self) -> list[TaskFrame]:
        """The frames of its loops, the first and the second of each."""
        ends: list[TaskFrame] = []
        for loop in self.loops:
            ends += (loop.first, loop.second)
        return ends

    @cached_property
    def unreduced(self) -> Robot:
        """The same tree with joints that move by themselves; this robot itself where none follows another."""
        if not any(body.mimic for body in self.bodies):
            return self
        bodies = [replace(body, mimic=None) for body in self.bodies]
        return replace(self, bodies=tuple(bodies))

    @cached_property
    def gearing(self) -> tuple[tuple[int, float], ...]:
        """By degree of freedom of :attr:`unreduced`: the one of this robot that moves it, and how many times as far."""
        geared: list[tuple[int, float]] = []
        for i, (body, own) in enumerate(zip(self.bodies, self.v_slices, strict=True)):
            if body.mimic is not None:
                led = self.v_slices[self.leader(i)].start
                geared.append((led, body.mimic.multiplier))
            geared += [(dof, 1.0) for dof in range(own.start, own.stop)]
        return tuple(geared)

    def carried(self, into: Mapping[int, tuple[int, Placement]]) -> dict[str, Any]:
        """Its frames, contacts and loops by field, where bodies change: ``into`` gives each body's new number (−1: it
        is a part of the base) and the place of its frame there. Those on bodies that are not named are left out, and so
        are tasks' frames that would no longer move, frames of the base that would, and loops between parts of one
        body."""
        frames = [_moved(f, into) for f in self.frames if f.body in into]
        moving = {body for body, (number, _) in into.items() if number >= 0}
        tasks = [_moved(f, into) for f in self.task_frames if f.body in moving]
        still = [_moved(f, into) for f in self.base_frames if into.get(f.body, (0,))[0] < 0]
        held = [c for c in self.contacts if c.frame.body in moving]
        contacts = [replace(c, frame=_moved(c.frame, into)) for c in held]
        loops = []
        for loop in self.loops:
            if loop.first.body in into and loop.second.body in into:
                ends = {"first": _moved(loop.first, into), "second": _moved(loop.second, into)}
                if ends["first"].body != ends["second"].body:
                    loops.append(replace(loop, **ends))
        return {
            "frames": tuple(frames),
            "task_frames": tuple(tasks),
            "contacts": tuple(contacts),
            "loops": tuple(loops),
            "base_frames": tuple(still),
        }

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Each body's children, by index."""
        children: list[list[int]] = [[] for _ in self.bodies]
        for i, body in enumerate(self.bodies):
            if body.parent >= 0:
                children[body.parent].append(i)
        return tuple(tuple(below) for below in children)

    @cached_property
    def tree(self) -> nx.DiGraph:
        """The topology: nodes are link names of moving bodies and the base, edges carry ``joint`` (its name)."""
        import networkx as nx  # a fifth of the start of most commands, which never ask

        graph = nx.DiGraph(name=self.name)
        graph.add_node(self.base_name)
        for body in self.bodies:
            parent = self.base_name if body.parent < 0 else self.bodies[body.parent].name
            graph.add_edge(parent, body.name, joint=body.joint_name)
        return graph


def _expanded(
    bodies: tuple[Body, ...], frames: tuple[MergedLink, ...]
) -> tuple[tuple[Body, ...], tuple[MergedLink, ...]]:
    """Bodies with the parts of compound joints in their place, and frames with the new bodies' indices."""
    links = {body.name for body in bodies}
    joints = {body.joint_name for body in bodies}
    result: list[Body] = []
    index = {-1: -1}  # each body's place in the result
    for i, body in enumerate(bodies):
        parts = body.joint.parts if isinstance(body.joint, CompoundJoint) else (body.joint,)
        parent = index[body.parent]
        placement = body.placement
        own = _slices([part.nv for part in parts])
        for k, part in enumerate(parts[:-1], 1):
            link = unused(f"{body.name}_{k}", links)
            joint = unused(f"{body.joint_name}_{k}", joints)
            bare = Body(link, joint, part, parent, placement, Inertia(), body.limits)
            result.append(replace(bare, **_drive(body, own[k - 1])))
            parent = len(result) - 1
            placement = Placement()
        last = replace(body, joint=parts[-1], parent=parent, placement=placement)
        result.append(replace(last, **_drive(body, own[-1])))
        index[i] = len(result) - 1
    moved = [replace(frame, body=index[frame.body]) for frame in frames]
    return tuple(result), tuple(moved)


def _moved(frame: Any, into: Mapping[int, tuple[int, Placement]]) -> Any:
    """A frame on what its body became."""
    number, place = into[frame.body]
    return replace(frame, body=number, placement=place @ frame.placement)


def _drive(body: Body, own: slice) -> dict[str, tuple[float, ...]]:
    """The fields of the joint's drive for some of its degrees of freedom."""
    return {
        "armature": body.armature[own],
        "damping": body.damping[own],
        "friction": body.friction[own],
    }


def _slices(sizes: list[int]) -> tuple[slice, ...]:
    ends = np.cumsum([0, *sizes])
    return tuple(slice(int(a), int(b)) for a, b in itertools.pairwise(ends))


def places_of(robot: Robot) -> dict[str, tuple[int, Placement]]:
    """By link's name the body that it is or is a part of (−1: the base), and the link's place in it."""
    places = {body.name: (i, Placement()) for i, body in enumerate(robot.bodies)}
    places |= {frame.name: (frame.body, frame.placement) for frame in robot.frames}
    places.setdefault(robot.base_name, (-1, Placement()))
    return places


def place_of(
    robot: Robot, option: str, name: str, more: Sequence[str] = ()
) -> tuple[int, Placement]:
    """The body that a link is or is a part of (−1: the base), and the link's place in it. ConfigError for a link that
    there is not, as the ``option`` names it; ``more`` are names that it could be as well."""
    places = places_of(robot)
    if name not in places:
        known = [*more, *places]
        raise ConfigError(
            f"{option}: no link {short(name)} of {robot.name!r}; {nearest(name, known)}"
        )
    return places[name]


def dof_names(robot: Robot, joints: Sequence[str]) -> list[str]:
    """A name for each degree of freedom, by the names of the bodies' joints: its joint's, numbered where the joint has
    several."""
    names = []
    for name, body in zip(joints, robot.bodies, strict=True):
        count = body.nv
        if count == 1:
            names.append(name)
        else:
            names += [f"{name}_{k}" for k in range(count)]
    return names


def coordinate_names(robot: Robot, joints: Sequence[str]) -> list[str]:
    """A name for each coordinate of q, by the names of the bodies' joints: its joint's, and which of it."""
    names = []
    for name, body in zip(joints, robot.bodies, strict=True):
        if body.mimic:
            continue
        for part in body.joint.coordinate_names:
            names.append(f"{name}_{part}" if part else name)
    return names
