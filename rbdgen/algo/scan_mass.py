"""The mass matrix in logarithmic depth: composite inertias about the base's origin, by sums along the chain.

In the base's coordinates and about its origin inertias do not change on their way along a chain, so that each link's
composite inertia is a sum over those behind it, and a column of M is the same wrench wherever it is felt:
M_ij = s_iᵀ I_j s_j for i ≤ j, with s = (e, d + p × e) of a joint at p with the axis e. (Featherstone 2008, section 6.2,
is the recursion; Yang, Wu & Pan, arXiv 1609.06779, scan it in the links' coordinates.) Second moments about the base
grow with the square of the chain's length, and what a short link adds is a small part of them: words are longer than
those of the recursion, by about two bits per doubling. Positions are of submodules ``Wr_i``, all else of ``Mb_i``.
"""

from __future__ import annotations

from rbdgen.algo.chain import Chain
from rbdgen.algo.composite import (
    Column,
    CompositeInertia,
    Wrench,
    felt,
    unit_response,
)
from rbdgen.algo.following import Entries, Reduced
from rbdgen.algo.scan import inward_sums, outward_sums
from rbdgen.algo.scan_rnea import turned_second_moment
from rbdgen.algo.submodules import Enter, anywhere
from rbdgen.model.body import Inertia
from rbdgen.model.robot import Robot
from rbdgen.spatial import Matrix, Scalar, Vector, add, cross, matvec, mul, vadd, vscale

UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
"""Entries of a symmetric matrix's upper triangle."""


def scan_mass_matrix(robot: Robot, placed: Chain, enter: Enter = anywhere) -> Entries:
    """Entries (i, j), i ≥ j, of M of a serial chain that is ``placed`` at q."""
    positions = outward_sums("Wr", placed.offsets, enter)
    inertias = _composite_inertias(robot, placed, positions, enter)
    columns: list[list[Column]] = []
    wrenches: list[list[Wrench]] = []
    for i, own in enumerate(placed.columns):
        with enter("Mb", i):
            moved = [_about_base(column, positions[i]) for column in own]
            columns.append(moved)
            wrenches.append([unit_response(inertias[i], column) for column in moved])
    matrix = Reduced(robot)
    for i, body in enumerate(robot.bodies):
        own = tree_dofs(robot, i)
        for k, row in enumerate(own):
            with enter("Mb", i):
                wrench = wrenches[i][k]
                for j in range(i + 1):
                    pairs = zip(tree_dofs(robot, j), columns[j], strict=True)
                    for dof, column in pairs:
                        if dof > row:
                            continue
                        entry = felt(column, wrench)
                        if dof == row:
                            entry = add(entry, body.rotors[k])
                        matrix.put_both(row, dof, entry)
    return matrix.entries


def tree_dofs(robot: Robot, i: int) -> range:
    """The degrees of freedom, of the tree without followers' reduction, that the joint of body ``i`` has."""
    own = robot.unreduced.v_slices[i]
    return range(own.start, own.stop)


def _about_base(column: Column, position: Vector) -> Column:
    """A column of a joint at ``position``, with the motion that it gives the base's origin."""
    e, d = column
    return e, vadd(d, cross(position, e))


def _composite_inertias(
    robot: Robot, placed: Chain, positions: list[Vector], enter: Enter
) -> list[CompositeInertia]:
    """Each link's inertia with all behind it, about the base's origin."""
    moments = []
    for i, body in enumerate(robot.bodies):
        with enter("Mb", i):
            moments.append(_moments(body.inertia, placed.rotations[i], positions[i]))
    sums = inward_sums("Mb", moments, enter)
    mass: Scalar = 0.0
    result = []
    for i in reversed(range(len(robot.bodies))):
        with enter("Mb", i):
            mass = add(robot.bodies[i].inertia.mass, mass)
        second = _symmetric(sums[i][3:])
        result.append(CompositeInertia(mass, sums[i][:3], second))
    return result[::-1]


def _moments(inertia: Inertia, rotation: Matrix, position: Vector) -> Vector:
    """First moment (3) and second moment (6, by :data:`UPPER`) of a link at ``position``, about the base's origin."""
    first = matvec(rotation, inertia.first_moment)
    second, rest = turned_second_moment(inertia, rotation)
    weighted = vscale(inertia.mass, position)
    entries = []
    for i, j in UPPER:
        entry = mul(position[i], first[j])
        entry = add(entry, mul(first[i], position[j]))
        entry = add(entry, mul(position[i], weighted[j]))
        entry = add(entry, second[i][j])
        if i == j:
            entry = add(entry, rest)
        entries.append(entry)
    return vadd(first, weighted) + tuple(entries)


def _symmetric(upper: Vector) -> Matrix:
    """The matrix of six entries in the order of :data:`UPPER`."""
    xx, xy, xz, yy, yz, zz = upper
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)
