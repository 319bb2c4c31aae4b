"""A moving body as the compiler sees it: its joint, placement and inertia, and the rotors and friction of its joint.

Plain frozen data; :mod:`rbdgen.model.robot` makes a tree of it.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from rbdgen.errors import short
from rbdgen.model.joints import Joint
from rbdgen.operands import number_of, numbers_of
from rbdgen.payloads import pseudo_inertia
from rbdgen.spatial import IDENTITY3, ZERO3, Matrix, Vector, constant_matrix, constant_vector


@dataclass(frozen=True)
class Placement:
    """A constant frame: ``rotation`` (3×3, child to parent coordinates) and ``translation`` (3, metres)."""

    rotation: Matrix = IDENTITY3
    translation: Vector = ZERO3

    def __post_init__(self) -> None:
        if type(self.rotation) is not tuple:
            object.__setattr__(self, "rotation", constant_matrix(self.rotation))
        if type(self.translation) is not tuple:
            object.__setattr__(self, "translation", constant_vector(self.translation))

    @property
    def is_constant(self) -> bool:
        """Whether it is made of numbers, and not of expressions or batches of values."""
        entries = (*self.translation, *itertools.chain(*self.rotation))
        return all(isinstance(x, (int, float)) for x in entries)

    def __matmul__(self, other: Placement) -> Placement:
        """Composition: first ``other`` (inner), then ``self`` (outer)."""
        outer = np.array(self.rotation)
        rotation = outer @ np.array(other.rotation)
        translation = np.array(self.translation) + outer @ np.array(other.translation)
        return Placement(constant_matrix(rotation), constant_vector(translation))


PARAMETERS = ("m", "mx", "my", "mz", "ixx", "ixy", "iyy", "ixz", "iyz", "izz")
"""A body's inertial parameters in Pinocchio's order: mass, first moment, and rotational inertia about its frame's
origin."""
ROTATIONAL = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
"""Axes of the last six of them."""


@dataclass(frozen=True)
class Inertia:
    """Mass distribution of a body about its frame's origin, in its frame's coordinates.

    ``mass`` in kg; ``first_moment`` h = ∫ r dm (3, kg·m); ``second_moment`` Σ = ∫ r rᵀ dm (3×3, kg·m²).
    The rotational inertia is I = tr(Σ) 1 − Σ.
    """

    mass: float = 0.0
    first_moment: Vector = ZERO3
    second_moment: Matrix = ((0.0, 0.0, 0.0),) * 3

    def __post_init__(self) -> None:
        # in traced text they are expressions, which are no numbers
        mass = self.mass if type(self.mass) is float else number_of(self.mass)
        if mass is not None:
            # NumPy's scalars would slow every trace and change how records print
            object.__setattr__(self, "mass", float(mass))
        if type(self.first_moment) is not tuple:
            object.__setattr__(self, "first_moment", constant_vector(self.first_moment))
        if type(self.second_moment) is not tuple:
            object.__setattr__(self, "second_moment", constant_matrix(self.second_moment))

    @classmethod
    def from_com(cls, mass: float, com: np.ndarray, rotational: np.ndarray) -> Inertia:
        """From mass (kg), centre of mass (3, m) and rotational inertia about it (3×3, kg·m²)."""
        return cls.from_pseudo(pseudo_inertia(mass, com, rotational))

    @property
    def rotational(self) -> np.ndarray:
        """Rotational inertia about the frame's origin, 3×3, kg·m²."""
        sigma = np.array(self.second_moment)
        return np.trace(sigma) * np.eye(3) - sigma

    @property
    def parameters(self) -> np.ndarray:
        """Its ten :data:`PARAMETERS`."""
        rotational = self.rotational
        moments = [rotational[axes] for axes in ROTATIONAL]
        return np.array([self.mass, *self.first_moment, *moments])

    @classmethod
    def from_parameters(cls, parameters: np.ndarray) -> Inertia:
        """Inverse of :attr:`parameters`."""
        rotational = np.zeros((3, 3))
        for (i, j), x in zip(ROTATIONAL, parameters[4:], strict=True):
            rotational[i, j] = rotational[j, i] = x
        second = 0.5 * np.trace(rotational) * np.eye(3) - rotational
        first = constant_vector(parameters[1:4])
        return cls(float(parameters[0]), first, constant_matrix(second))

    @property
    def about_com(self) -> tuple[np.ndarray, np.ndarray]:
        """Centre of mass (3, m), and rotational inertia about it (3×3, kg·m²), of a body that has mass."""
        com = np.array(self.first_moment) / self.mass
        centred = self.expressed_in(Placement(IDENTITY3, constant_vector(-com)))
        return com, centred.rotational

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
        # in the pseudo-inertia a change of frame is one product, whatever the moments
        return Inertia.from_pseudo(t @ self.pseudo @ t.T)


@dataclass(frozen=True)
class Limits:
    """One joint's range as the description gives it (None: it gives none). Radians or metres, seconds, N or N·m."""

    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None


@dataclass(frozen=True)
class Mimic:
    """The joint that another one of one degree of freedom follows: its coordinate is ``multiplier`` times that of the
    joint named ``joint``, plus ``offset`` (radians or metres)."""

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

    def __post_init__(self) -> None:
        for key in ("armature", "damping", "friction"):
            if type(getattr(self, key)) is not tuple:
                where = f"joint {short(self.joint_name)}: {key}"
                object.__setattr__(self, key, tuple(numbers_of(where, getattr(self, key))))

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
    """A link that a fixed joint merged into body ``body`` (−1: the base), ``placement`` in that body's frame; a site of
    MJCF has no joint."""

    name: str
    joint_name: str
    body: int
    placement: Placement


@dataclass(frozen=True)
class TaskFrame:
    """A frame that functions compute for: fixed to body ``body``, ``placement`` in that body's frame."""

    name: str
    body: int
    placement: Placement


LINEAR_AXES = 3
"""Of the six axes of a frame's motion, so many are linear; angular ones follow."""


@dataclass(frozen=True)
class Contact:
    """A frame that the world may hold along some ``axes`` of its motion: 0 to 2 are linear ones along x, y and z, 3 to
    5 angular ones about them."""

    frame: TaskFrame
    axes: tuple[int, ...]

    @property
    def rows(self) -> int:
        """Number of axes that are held."""
        return len(self.axes)

    @property
    def is_point(self) -> bool:
        """Whether linear axes only are held: the frame's origin, and no force turns the frame."""
        return max(self.axes) < LINEAR_AXES

    @property
    def free_axes(self) -> tuple[int, ...]:
        """Along which it lets the frame move: of a point's three axes, or of a frame's six, those that are not held."""
        count = LINEAR_AXES if self.is_point else 2 * LINEAR_AXES
        return tuple(axis for axis in range(count) if axis not in self.axes)


@dataclass(frozen=True)
class Loop:
    """Two frames of a robot that are kept together along some ``axes``, as a joint between them would: axes are the
    first frame's, and turn with it. Of linear ones (0 to 2), the second frame's origin stays on the first's; about
    angular ones (3 to 5), it does not turn against the first. One of the two may be on the base (body −1)."""

    first: TaskFrame
    second: TaskFrame
    axes: tuple[int, ...]

    @property
    def name(self) -> str:
        """Its frames' names."""
        return f"{self.first.name}:{self.second.name}"

    @property
    def rows(self) -> int:
        """Number of axes that are held."""
        return len(self.axes)

    @property
    def angular_axes(self) -> tuple[int, ...]:
        """The axes about which nothing turns, 0 to 2."""
        return tuple(axis - LINEAR_AXES for axis in self.axes if axis >= LINEAR_AXES)

    @property
    def body(self) -> int:
        """A body that it moves, whose submodules its text belongs to."""
        return self.first.body if self.first.body >= 0 else self.second.body


TOLERANCE = 1e-6
"""Tolerance of a principal moment on the wrong side, relative to the largest: files round their numbers."""
ROUNDING = 1e-14
"""And relative to the largest about the frame's origin, of which those about a distant centre of mass are a rounded
rest."""


def inertia_faults(inertia: Inertia) -> tuple[str, ...]:
    """Faults that no body's inertia can have, in words; empty for an inertia that a body can have.

    Checks moments without mass and, about the centre of mass, negative principal moments and the triangle inequality of
    principal moments (Wensing, Kim & Slotine, RA-L 2018).
    """
    if inertia.mass <= 0.0:
        return ("moments without mass",) if np.any(inertia.pseudo) else ()
    _, about_com = inertia.about_com
    low, mid, high = np.linalg.eigvalsh(about_com)
    about_origin = float(np.trace(np.abs(inertia.second_moment)))
    slack = TOLERANCE * max(abs(low), abs(high)) + ROUNDING * about_origin
    if low < -slack:
        return (f"principal moment {low:.4g} is negative",)
    if high > low + mid + slack:
        return (
            f"principal moments {low:.4g}, {mid:.4g}, {high:.4g} violate the triangle inequality",
        )
    return ()
