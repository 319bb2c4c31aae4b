"""Joints that follow others, by reduction: the whole tree moves, and what is known of it is the joints' that lead.

With G the constant matrix of the followers' multipliers, v_tree = G v, a_tree = G a, τ = Gᵀ τ_tree, M = Gᵀ M_tree G,
and derivatives likewise. Sweeps go over the whole tree (:attr:`rbdgen.model.Robot.unreduced`) and call these where they
take a joint's part of a vector, and where they leave an entry. Where nothing follows, these are the entries themselves.
"""

from __future__ import annotations

from rbdgen.model.robot import Robot
from rbdgen.spatial import Scalar, Vector, add, mul, sub

Entries = dict[tuple[int, int], Scalar]
"""A matrix over the degrees of freedom: only the entries that can differ from zero."""


def coordinates(robot: Robot, i: int, q: Vector) -> Vector:
    """The coordinates of body ``i``'s joint, from ``q`` (nq)."""
    mimic = robot.bodies[i].mimic
    if mimic is None:
        return tuple(q[robot.q_slices[i]])
    leader = robot.leader(i)
    own = tuple(q[robot.q_slices[leader]])
    if len(own) == 2:
        return _turned(own, mimic.multiplier, mimic.unit_offset)
    moved = mul(mimic.multiplier, own[0])
    return (add(moved, mimic.offset),)


def _turned(unit: Vector, times: float, offset: Vector) -> Vector:
    """Cosine and sine of a whole number of ``times`` an angle, and of an offset more, from those of each."""
    c, s = unit
    if times < 0:
        s = sub(0.0, s)
    result = offset
    for _ in range(round(abs(times))):
        result = _sum_of_angles(result, (c, s))
    return result


def _sum_of_angles(one: Vector, other: Vector) -> Vector:
    """Cosine and sine of the sum of two angles."""
    cosine = mul(one[0], other[0])
    cosine = sub(cosine, mul(one[1], other[1]))
    sine = mul(one[1], other[0])
    sine = add(sine, mul(one[0], other[1]))
    return cosine, sine


def rates(robot: Robot, i: int, x: Vector) -> Vector:
    """What of a velocity or acceleration ``x`` (nv) the joint of body ``i`` has."""
    mimic = robot.bodies[i].mimic
    if mimic is None:
        return tuple(x[robot.v_slices[i]])
    led = x[robot.v_slices[robot.leader(i)].start]
    return (mul(mimic.multiplier, led),)


def collect(robot: Robot, i: int, total: list[Scalar], forces: Vector) -> None:
    """Add what the joint of body ``i`` feels to the ``total`` (nv, in place)."""
    dofs = robot.unreduced.v_slices[i]
    for k, force in zip(range(dofs.start, dofs.stop), forces, strict=True):
        dof, multiplier = robot.gearing[k]
        led = mul(multiplier, force)
        total[dof] = add(total[dof], led)


def put(robot: Robot, entries: Entries, row: int, column: int, x: Scalar) -> None:
    """Add the tree's entry ``x`` at (``row``, ``column``) to a matrix (in place)."""
    i, by_row = robot.gearing[row]
    j, by_column = robot.gearing[column]
    led = mul(by_row * by_column, x)
    before = entries.get((i, j), 0.0)
    entries[i, j] = add(before, led)


def put_symmetric(robot: Robot, entries: Entries, row: int, column: int, x: Scalar) -> None:
    """Add the tree's entry ``x`` at (``row``, ``column``) and its mirror image to the lower triangle of a symmetric
    matrix (in place)."""
    i, by_row = robot.gearing[row]
    j, by_column = robot.gearing[column]
    factor = by_row * by_column
    if i == j and row != column:
        factor *= 2.0
    led = mul(factor, x)
    place = max(i, j), min(i, j)
    before = entries.get(place, 0.0)
    entries[place] = add(before, led)
