"""The robot as the compiler sees it: a tree of moving bodies, each with its joint, placement and inertia.

Plain frozen data, no parsing (see :mod:`rbdgen.model.urdf`) and no dynamics (see :mod:`rbdgen.algo`).
"""

from __future__ import annotations

import difflib
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np

from rbdgen.errors import ConfigError, UnsupportedError, short
from rbdgen.model.joint import CompoundJoint, Joint
from rbdgen.model.joints import Continuous, Revolute
from rbdgen.model.names import unused
from rbdgen.spatial import IDENTITY3, ZERO3, Matrix, Vector, constant_matrix, constant_vector

STANDARD_GRAVITY: Vector = (0.0, 0.0, -9.81)
"""Default gravity in the world frame, m/s² (Pinocchio's default)."""
NO_FRICTION, VISCOUS, DRY = "none", "viscous", "viscous+dry"
FRICTIONS = {
    NO_FRICTION: "as in Pinocchio's algorithms, which know no friction",
    VISCOUS: "a joint's damping times its velocity",
    DRY: "also its dry friction, which grows with the velocity up to that force",
}
"""What of the joints' friction a robot's dynamics have."""
DRY_WIDTH = 0.0625
"""rad/s or m/s: at this velocity w half of the dry friction f acts, f·v / (w + |v|). Small beside velocities at which
robots work; large enough for words of 18 bits, in which the slope at rest, f / w, is beside the other derivatives; and
a power of two, which they hold exactly."""


@dataclass(frozen=True)
class Placement:
    """A constant frame: ``rotation`` (3×3, child to parent coordinates) and ``translation`` (3, metres)."""

    rotation: Matrix = IDENTITY3
    translation: Vector = ZERO3

    def __matmul__(self, other: Placement) -> Placement:
        """Composition: first ``other`` (inner), then ``self`` (outer)."""
        outer = np.array(self.rotation)
        rotation = outer @ np.array(other.rotation)
        translation = np.array(self.translation) + outer @ np.array(other.translation)
        return Placement(constant_matrix(rotation), constant_vector(translation))


@dataclass(frozen=True)
class Inertia:
    """Mass distribution of a body about its frame's origin, in its frame's coordinates.

    ``mass`` in kg; ``first_moment`` h = ∫ r dm (3, kg·m); ``second_moment`` Σ = ∫ r rᵀ dm (3×3, kg·m²).
    The rotational inertia is I = tr(Σ) 1 − Σ.
    """

    mass: float = 0.0
    first_moment: Vector = ZERO3
    second_moment: Matrix = ((0.0, 0.0, 0.0),) * 3

    @classmethod
    def from_com(cls, mass: float, com: np.ndarray, rotational: np.ndarray) -> Inertia:
        """From mass (kg), centre of mass (3, m) and rotational inertia about it (3×3, kg·m²)."""
        first = mass * np.asarray(com)
        about_com = 0.5 * np.trace(rotational) * np.eye(3) - rotational
        second = about_com + mass * np.outer(com, com)
        return cls(float(mass), constant_vector(first), constant_matrix(second))

    @property
    def rotational(self) -> np.ndarray:
        """Rotational inertia about the frame's origin, 3×3, kg·m²."""
        sigma = np.array(self.second_moment)
        return np.trace(sigma) * np.eye(3) - sigma

    @property
    def pseudo(self) -> np.ndarray:
        """Pseudo-inertia [[Σ, h], [hᵀ, m]], 4×4; positive semidefinite exactly for bodies that can exist."""
        result = np.empty((4, 4))
        result[:3, :3] = self.second_moment
        result[:3, 3] = self.first_moment
        result[3, :3] = self.first_moment
        result[3, 3] = self.mass
        return result

    @classmethod
    def from_pseudo(cls, pseudo: np.ndarray) -> Inertia:
        """Inverse of :attr:`pseudo`."""
        first = constant_vector(pseudo[:3, 3])
        second = constant_matrix(pseudo[:3, :3])
        return cls(float(pseudo[3, 3]), first, second)

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia.from_pseudo(self.pseudo + other.pseudo)

    def __neg__(self) -> Inertia:
        return Inertia.from_pseudo(-self.pseudo)

    def expressed_in(self, placement: Placement) -> Inertia:
        """The same mass distribution in the outer frame of ``placement`` (which places this frame in it)."""
        t = np.eye(4)
        t[:3, :3] = placement.rotation
        t[:3, 3] = placement.translation
        return Inertia.from_pseudo(t @ self.pseudo @ t.T)


@dataclass(frozen=True)
class Limits:
    """What the description says of one joint's range (None: it says nothing). Radians or metres, seconds, N or N·m."""

    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None


@dataclass(frozen=True)
class Mimic:
    """What a joint of one degree of freedom follows: its coordinate is ``multiplier`` times that of the joint named
    ``joint``, plus ``offset`` (radians or metres)."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0

    @property
    def unit_offset(self) -> Vector:
        """Cosine and sine of the offset."""
        return math.cos(self.offset), math.sin(self.offset)


@dataclass(frozen=True)
class Body:
    """A moving body and the joint that carries it.

    ``name`` is the link's, ``joint_name`` the joint's; ``parent`` is the parent body's index (−1: the base);
    ``placement`` the joint's predecessor frame in the parent body's frame; the body's frame is the joint's child frame.
    ``armature``: what the joint's motor and gears resist to being turned with it, the rotor's inertia by the square of
    the gear ratio, by degree of freedom (nv, kg·m² or kg), as Pinocchio's and MuJoCo's of that name; empty: none.
    ``damping``: the force that resists the joint's velocity, by degree of freedom and unit of velocity (N·m·s or
    N·s/m), and ``friction``: the dry one (N·m or N); empty: none. ``mimic``: the joint that this one follows, if it
    does. A compound joint is for giving to a :class:`Robot` only, which holds simple ones.
    """

    name: str
    joint_name: str
    joint: Joint
    parent: int
    placement: Placement
    inertia: Inertia
    limits: Limits = Limits()
    armature: tuple[float, ...] = ()
    damping: tuple[float, ...] = ()
    friction: tuple[float, ...] = ()
    mimic: Mimic | None = None

    @property
    def rotors(self) -> tuple[float, ...]:
        """The armature of its joint, zeros where there is none."""
        return self.armature or (0.0,) * self.joint.nv

    @property
    def nq(self) -> int:
        """Coordinates of its joint in q: none where that follows another."""
        return 0 if self.mimic else self.joint.nq

    @property
    def nv(self) -> int:
        """Degrees of freedom of its joint in v, a and τ: none where that follows another."""
        return 0 if self.mimic else self.joint.nv


@dataclass(frozen=True)
class MergedLink:
    """A link that a fixed joint merged into body ``body`` (−1: the base), ``placement`` in that body's frame."""

    name: str
    joint_name: str
    body: int
    placement: Placement


@dataclass(frozen=True)
class Robot:
    """A tree of bodies on a base that does not move; parents come before their children (depth first, siblings by joint
    name). A mobile robot has a joint that carries its root link.

    ``base_name`` is the link that does not move; ``gravity`` is in its frame, m/s²; ``friction`` (of :data:`FRICTIONS`)
    says what of the joints' friction counts. Joints that follow others have no part of q, v, a and τ; ConfigError for
    what cannot follow. ``setup`` says how it was made from its description, where that is known (the options of
    :class:`rbdgen.model.Setup`). A body on a compound joint becomes one body for each of the joint's parts: the last
    one keeps the body's and the joint's name, those before it have no mass and the names with _1, _2, … behind.
    """

    name: str
    base_name: str
    bodies: tuple[Body, ...]
    frames: tuple[MergedLink, ...] = ()
    gravity: Vector = STANDARD_GRAVITY
    friction: str = NO_FRICTION
    setup: Mapping[str, Any] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if any(body.mimic for body in self.bodies):
            object.__setattr__(self, "bodies", _resolved(self.name, self.bodies))
        if any(isinstance(b.joint, CompoundJoint) for b in self.bodies):
            bodies, frames = _expanded(self.bodies, self.frames)
            object.__setattr__(self, "bodies", bodies)
            object.__setattr__(self, "frames", frames)

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


def _drive(body: Body, own: slice) -> dict[str, tuple[float, ...]]:
    """What the joint's drive has for some of its degrees of freedom."""
    return {
        "armature": body.armature[own],
        "damping": body.damping[own],
        "friction": body.friction[own],
    }


def _resolved(robot: str, bodies: tuple[Body, ...]) -> tuple[Body, ...]:
    """Bodies whose joints follow only joints that move by themselves. ConfigError for what cannot be followed,
    UnsupportedError for what is not followed here."""
    by_joint = {body.joint_name: body for body in bodies}
    result = []
    for body in bodies:
        if body.mimic is None:
            result.append(body)
            continue
        where = f"robot {robot!r}: joint {short(body.joint_name)}"
        mimic = body.mimic
        passed = [body.joint_name]
        while True:
            if mimic.joint in passed:
                circle = " → ".join([*passed, mimic.joint])
                raise ConfigError(
                    f"{where}: follows itself: {circle}; let one of them move by itself"
                )
            if mimic.joint not in by_joint:
                near = difflib.get_close_matches(mimic.joint, by_joint, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"joints are {', '.join(by_joint)}"
                raise ConfigError(
                    f"{where}: follows {short(mimic.joint)}, which is no moving joint; {hint}"
                )
            leader = by_joint[mimic.joint]
            if leader.mimic is None:
                break
            passed.append(leader.joint_name)
            above = leader.mimic
            mimic = Mimic(
                above.joint,
                mimic.multiplier * above.multiplier,
                mimic.multiplier * above.offset + mimic.offset,
            )
        joint = _following_joint(where, body.joint, leader, mimic)
        result.append(replace(body, joint=joint, mimic=mimic))
    return tuple(result)


def _following_joint(where: str, joint: Joint, leader: Body, mimic: Mimic) -> Joint:
    """The joint as one that follows: of the leader's sort of angle."""
    finite = math.isfinite(mimic.multiplier) and math.isfinite(mimic.offset)
    if not finite or mimic.multiplier == 0:
        raise ConfigError(
            f"{where}: follows {leader.joint_name!r} by the multiplier {mimic.multiplier:g} and the offset "
            f"{mimic.offset:g}; the multiplier must not be zero, and both finite"
        )
    if joint.nv != 1 or leader.joint.nv != 1:
        raise UnsupportedError(
            f"{where}: follows {leader.joint_name!r}; only joints of one degree of freedom follow and lead; make one "
            "of them fixed"
        )
    if not isinstance(leader.joint, Continuous):
        return Revolute(joint.axis) if isinstance(joint, Continuous) else joint
    whole = mimic.multiplier == round(mimic.multiplier)
    if not whole or not isinstance(joint, Revolute | Continuous):
        raise UnsupportedError(
            f"{where}: follows {leader.joint_name!r}, which turns without end, by {mimic.multiplier:g}; what follows "
            "it must be a rotation by a whole multiplier; give the leader limits"
        )
    return Continuous(joint.axis)


def _slices(sizes: list[int]) -> tuple[slice, ...]:
    ends = np.cumsum([0, *sizes])
    return tuple(slice(int(a), int(b)) for a, b in itertools.pairwise(ends))
