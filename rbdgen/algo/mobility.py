"""How a free body accelerates under a wrench: the inverse of its spatial inertia, carried from frame to frame.

Motions are angular acceleration α and the origin's acceleration a, wrenches a moment n about the origin and a force f;
with the centre of mass c and the rotational inertia J there, α = J⁻¹ (n − c × f) and a = f / m + c × α (Featherstone
2008, section 2.13). A constant one costs no product but those with the sines and cosines of joints.
"""

from __future__ import annotations

from dataclasses import dataclass

from rbdgen.algo.block_inverse import adjugate
from rbdgen.algo.composite import Column
from rbdgen.algo.rotation import rotate_back, rotate_matrix, rotate_symmetric
from rbdgen.errors import UnsupportedError, short
from rbdgen.model.body import Body, Inertia
from rbdgen.spatial import (
    IDENTITY3,
    Matrix,
    Vector,
    cross,
    madd,
    matmul,
    msub,
    skew,
    transpose,
    vadd,
    vscale,
)

NONE: Matrix = ((0.0, 0.0, 0.0),) * 3
LEAST = 1e-12
"""A moment of inertia at or below this share of the largest counts as none."""


@dataclass(frozen=True)
class Mobility:
    """3×3 blocks: ``turning`` α by n, ``mixed`` a by n (its transpose: α by f), ``sliding`` a by f."""

    turning: Matrix
    mixed: Matrix
    sliding: Matrix

    @classmethod
    def of(cls, rows: Matrix) -> Mobility:
        """From all of it, 6×6."""
        turning = tuple(row[:3] for row in rows[:3])
        mixed = tuple(row[:3] for row in rows[3:])
        sliding = tuple(row[3:] for row in rows[3:])
        return cls(turning, mixed, sliding)

    def __add__(self, other: Mobility) -> Mobility:
        turning = madd(self.turning, other.turning)
        mixed = madd(self.mixed, other.mixed)
        sliding = madd(self.sliding, other.sliding)
        return Mobility(turning, mixed, sliding)

    @property
    def columns(self) -> list[Column]:
        """α and a by each component of a wrench, moments first."""
        by_moment = zip(transpose(self.turning), transpose(self.mixed), strict=True)
        by_force = zip(self.mixed, transpose(self.sliding), strict=True)
        return [*by_moment, *by_force]

    @property
    def rows(self) -> Matrix:
        """All of it, 6×6."""
        columns = tuple(e + d for e, d in self.columns)
        return transpose(columns)

    def about(self, origin: Vector) -> Mobility:
        """About another origin, given in the same coordinates."""
        lever = skew(origin)
        swung = matmul(lever, self.turning)
        mixed = msub(self.mixed, swung)
        by_force = transpose(self.mixed)
        swung = matmul(lever, by_force)
        sliding = msub(self.sliding, swung)
        swung = matmul(mixed, lever)
        sliding = madd(sliding, swung)
        return Mobility(self.turning, mixed, sliding)

    def seen_from(self, rotation: Matrix) -> Mobility:
        """In the coordinates of a frame that is turned by ``rotation``."""
        back = transpose(rotation)
        turning = rotate_symmetric(back, self.turning)
        mixed = rotate_matrix(back, self.mixed)
        sliding = rotate_symmetric(back, self.sliding)
        return Mobility(turning, mixed, sliding)


NO_MOBILITY = Mobility(NONE, NONE, NONE)
"""Of what does not move."""


def moved_column(column: Column, origin: Vector, rotation: Matrix) -> Column:
    """A motion as it is at another ``origin``, in the coordinates of a frame there that is turned by ``rotation``."""
    alpha, acceleration = column
    swung = cross(alpha, origin)
    moved = vadd(acceleration, swung)
    moved = rotate_back(rotation, moved)
    return rotate_back(rotation, alpha), moved


def free_mobility(body: Body, family: str, remedy: str) -> Mobility:
    """A link's, about its frame's origin. UnsupportedError naming a link whose inertia has no inverse. ``family``: the
    algorithm that was asked for; ``remedy``: the one that takes such links."""
    inertia = body.inertia
    if inertia.mass > 0.0:
        inverted = 1.0 / inertia.mass
        centre = vscale(inverted, inertia.first_moment)
        central = _central_rotational(inertia, centre)
        size = max(central[k][k] for k in range(3))
        weights, determinant = adjugate(central)
        if determinant > LEAST * size**3:
            inverted = 1.0 / determinant
            turning = tuple(vscale(inverted, row) for row in weights)
            light = 1.0 / inertia.mass
            sliding = tuple(vscale(light, row) for row in IDENTITY3)
            central = Mobility(turning, NONE, sliding)
            backwards = vscale(-1.0, centre)
            return central.about(backwards)
    raise UnsupportedError(
        f"{family}: link {short(body.name)} has a mass of {inertia.mass:.3g} kg and no inertia that can be inverted; "
        f"use {remedy}"
    )


def _central_rotational(inertia: Inertia, centre: Vector) -> Matrix:
    """The rotational inertia about the centre of mass."""
    carried = tuple(vscale(x, inertia.first_moment) for x in centre)
    second = msub(inertia.second_moment, carried)
    trace = second[0][0] + second[1][1] + second[2][2]
    whole = tuple(vscale(trace, row) for row in IDENTITY3)
    return msub(whole, second)
