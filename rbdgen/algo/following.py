"""Joints that follow others, by reduction: the whole tree moves, and what is known of it is the joints' that lead.

With G the constant matrix of the followers' multipliers, v_tree = G v, a_tree = G a, τ = Gᵀ τ_tree, M = Gᵀ M_tree G,
and derivatives likewise. Sweeps go over the whole tree (:attr:`rbdgen.model.Robot.unreduced`) and call these where they
take a joint's part of a vector, and where they leave an entry. Where nothing follows, these are the entries themselves.
"""

from __future__ import annotations

from rbdgen.model.robot import Robot
from rbdgen.spatial import Scalar, Vector, add, is_constant, mul, sub

Entries = dict[tuple[int, int], Scalar]
"""A matrix over the degrees of freedom: only the entries that can differ from zero."""


def increase(entries: Entries, place: tuple[int, int], x: Scalar) -> None:
    """Add to an entry (in place)."""
    before = entries.get(place, 0.0)
    entries[place] = add(before, x)


def coordinates(robot: Robot, i: int, q: Vector) -> Vector:
    """The coordinates of body ``i``'s joint, from ``q`` (nq)."""
    mimic = robot.bodies[i].mimic
    if mimic is None:
        return tuple(q[robot.q_slices[i]])
    leader = robot.leader(i)
    led = robot.q_slices[leader]
    own = tuple(q[led])
    if len(own) == 2:
        return _turned(own, mimic.multiplier, mimic.unit_offset)
    moved = mul(mimic.multiplier, own[0])
    return (add(moved, mimic.offset),)


def _turned(unit: Vector, times: float, offset: Vector) -> Vector:
    """Cosine and sine of a whole number of ``times`` an angle, and of an offset more, from those of each."""
    c, s = unit
    # an angle the other way round: only the sine changes its sign
    if times < 0:
        s = sub(0.0, s)
    result = offset
    # by addition theorems: no angle is ever formed, which could not be told from others by 2π
    for _ in range(round(abs(times))):
        result = _sum_of_angles(result, (c, s))
    return result


def _sum_of_angles(one: Vector, other: Vector) -> Vector:
    """Cosine and sine of the sum of two angles."""
    c, s = one
    d, t = other
    cosine = mul(c, d)
    cosine = sub(cosine, mul(s, t))
    sine = mul(s, d)
    sine = add(sine, mul(c, t))
    return cosine, sine


def rates(robot: Robot, i: int, x: Vector) -> Vector:
    """The part of a velocity or acceleration ``x`` (nv) that the joint of body ``i`` has."""
    mimic = robot.bodies[i].mimic
    if mimic is None:
        return tuple(x[robot.v_slices[i]])
    leader = robot.leader(i)
    dof = robot.v_slices[leader].start
    return (mul(mimic.multiplier, x[dof]),)


def collect(robot: Robot, i: int, total: list[Scalar], forces: Vector) -> None:
    """Add what the joint of body ``i`` feels to the ``total`` (nv, in place)."""
    own = robot.unreduced.v_slices[i]
    geared = robot.gearing[own]
    for gear, force in zip(geared, forces, strict=True):
        dof, multiplier = gear
        led = mul(multiplier, force)
        total[dof] = add(total[dof], led)


class Collected:
    """Entries over the degrees of freedom of ``robot``, added up from those of the whole tree. Those that are constant
    zeros are none."""

    def __init__(self, robot: Robot) -> None:
        self.gearing = robot.gearing
        self.entries: dict[tuple[int, ...], Scalar] = {}

    def put(self, x: Scalar, *dofs: int, before: tuple[int, ...] = ()) -> None:
        """Add the tree's entry whose index is ``before`` and then these ``dofs``."""
        index = before
        for dof in dofs:
            leader, gear = self.gearing[dof]
            index = (*index, leader)
            x = mul(gear, x)
        total = add(self.entries.get(index, 0.0), x)
        if not is_constant(total, 0):
            self.entries[index] = total

    def put_vector(self, x: Vector, *dofs: int, before: tuple[int, ...] = ()) -> None:
        """Add a vector's entries, whose number stands between ``before`` and ``dofs``."""
        for row, entry in enumerate(x):
            self.put(entry, *dofs, before=(*before, row))


class Reduced:
    """A matrix over the degrees of freedom of ``robot``, its ``entries`` added up from those of the whole tree."""

    def __init__(self, robot: Robot) -> None:
        self.gearing = robot.gearing
        self.entries: Entries = {}

    def put(self, row: int, column: int, x: Scalar) -> None:
        """Add the tree's entry at (``row``, ``column``)."""
        i, by_row = self.gearing[row]
        j, by_column = self.gearing[column]
        factor = by_row * by_column
        reduced = mul(factor, x)
        increase(self.entries, (i, j), reduced)

    def put_both(self, row: int, column: int, x: Scalar) -> None:
        """Add the tree's entry at (``row``, ``column``) and its mirror image to a symmetric matrix, of which only the
        lower triangle is kept."""
        i, by_row = self.gearing[row]
        j, by_column = self.gearing[column]
        factor = by_row * by_column
        # two entries of the tree fall onto one of the diagonal
        if i == j and row != column:
            factor *= 2.0
        reduced = mul(factor, x)
        place = max(i, j), min(i, j)
        increase(self.entries, place, reduced)
