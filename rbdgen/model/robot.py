"""The robot as the compiler sees it: a tree of moving bodies, each with its joint, placement and inertia.

Plain frozen data, no parsing (see :mod:`rbdgen.model.urdf`) and no dynamics (see :mod:`rbdgen.algo`).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cached_property

import networkx as nx
import numpy as np

from rbdgen.model.joint import CompoundJoint, Joint
from rbdgen.spatial import IDENTITY3, ZERO3, Matrix, Vector, constant_matrix, constant_vector

STANDARD_GRAVITY: Vector = (0.0, 0.0, -9.81)
"""Default gravity in the world frame, m/s² (Pinocchio's default)."""


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
        """The armature (nv), zeros where there is none."""
        return self.armature or (0.0,) * self.joint.nv


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

    ``base_name`` is the link that does not move; ``gravity`` is in its frame, m/s². A body on a compound joint becomes
    one body for each of the joint's parts: the last one keeps the body's and the joint's name, those before it have no
    mass and the names with _1, _2, … behind.
    """

    name: str
    base_name: str
    bodies: tuple[Body, ...]
    frames: tuple[MergedLink, ...] = ()
    gravity: Vector = STANDARD_GRAVITY

    def __post_init__(self) -> None:
        if any(isinstance(b.joint, CompoundJoint) for b in self.bodies):
            bodies, frames = _expanded(self.bodies, self.frames)
            object.__setattr__(self, "bodies", bodies)
            object.__setattr__(self, "frames", frames)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Moving joints' names, in the order of the generalised vectors."""
        return tuple(b.joint_name for b in self.bodies)

    @property
    def nq(self) -> int:
        """Length of q."""
        return sum(b.joint.nq for b in self.bodies)

    @property
    def nv(self) -> int:
        """Length of v, a and τ."""
        return sum(b.joint.nv for b in self.bodies)

    @cached_property
    def q_slices(self) -> tuple[slice, ...]:
        """Each body's part of q."""
        return _slices([b.joint.nq for b in self.bodies])

    @cached_property
    def v_slices(self) -> tuple[slice, ...]:
        """Each body's part of v, a and τ."""
        return _slices([b.joint.nv for b in self.bodies])

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
        rotors = list(body.armature)
        for k, part in enumerate(parts[:-1], 1):
            link = _unused(f"{body.name}_{k}", links)
            joint = _unused(f"{body.joint_name}_{k}", joints)
            own, rotors = tuple(rotors[: part.nv]), rotors[part.nv :]
            result.append(Body(link, joint, part, parent, placement, Inertia(), body.limits, own))
            parent = len(result) - 1
            placement = Placement()
        last = replace(
            body, joint=parts[-1], parent=parent, placement=placement, armature=tuple(rotors)
        )
        result.append(last)
        index[i] = len(result) - 1
    moved = [replace(frame, body=index[frame.body]) for frame in frames]
    return tuple(result), tuple(moved)


def _unused(name: str, taken: set[str]) -> str:
    """``name``, with underscores behind it as long as it is taken; taken from now on."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _slices(sizes: list[int]) -> tuple[slice, ...]:
    ends = np.cumsum([0, *sizes])
    return tuple(slice(int(a), int(b)) for a, b in itertools.pairwise(ends))
