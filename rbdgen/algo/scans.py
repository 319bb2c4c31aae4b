"""Inverse dynamics and the mass matrix in logarithmic depth: everything in the base's coordinates, by sums.

With the axes e_i and the offsets o_i of the links' origins in the base's coordinates (:mod:`rbdgen.algo.chain`), the
Newton-Euler recursion of :mod:`rbdgen.algo.rnea` becomes a few sums, each a tree of ⌈log₂ n⌉ additions:

    ω_i = Σ e_j q̇_j                               over j ≤ i
    ω̇_i = Σ e_j q̈_j + ω_{j−1} × e_j q̇_j
    a_i = Σ K_{j−1} o_j                           with K = [ω̇]× + [ω]×²
    F_i = Σ f_j                                   over j ≥ i
    N_i = Σ n_j + o_{j+1} × F_{j+1},   τ_i = e_i · N_i

Moments are about the links' own origins, and positions are not needed: nothing is larger than in the recursion. Joints
that slide add their Coriolis and own accelerations to a and take e_i · F_i. After Yang, Wu & Pan, arXiv 1609.04493,
where the scans are over pairs of a transform and a vector. Motions are submodules ``Rf_i``, forces ``Rb_i``.

In the base's coordinates and about its origin inertias do not change on their way along a chain, so that each link's
composite inertia is a sum over those behind it, and a column of M is the same wrench wherever it is felt:
M_ij = s_iᵀ I_j s_j for i ≤ j, with s = (e, d + p × e) of a joint at p with the axis e. (Featherstone 2008, section 6.2,
is the recursion; Yang, Wu & Pan, arXiv 1609.06779, scan it in the links' coordinates.) Second moments about the base
grow with the square of the chain's length, and what a short link adds is a small part of them: words are longer than
those of the recursion, by about two bits per doubling. Positions are of submodules ``Wr_i``, all else of ``Mb_i``.
"""

from __future__ import annotations

from rbdgen.algo.chain import Chain, inward_sums, outward_sums
from rbdgen.algo.composite import Column, CompositeInertia, felt, unit_response
from rbdgen.algo.following import Entries, Reduced, collect, rates
from rbdgen.algo.rnea import (
    Motion,
    Wrench,
    acceleration_gradient,
    base_motion,
    drive_forces,
    inertial_wrench,
    joint_velocity,
)
from rbdgen.algo.rotation import upper_twice
from rbdgen.model.body import Inertia
from rbdgen.model.robot import Robot
from rbdgen.spatial import (
    Enter,
    Matrix,
    Scalar,
    Vector,
    add,
    anywhere,
    cross,
    dot,
    matmul,
    matvec,
    mul,
    sub,
    transpose,
    vadd,
    vscale,
)


def scan_rnea(
    robot: Robot,
    placed: Chain,
    v: Vector,
    a: Vector,
    f_ext: tuple[Wrench, ...] | None = None,
    enter: Enter = anywhere,
    base: Motion | None = None,
) -> Vector:
    """τ (nv scalars) of a serial chain; ``placed`` at q, all else as :func:`rbdgen.algo.rnea.rnea`."""
    base = base_motion(robot.gravity) if base is None else base
    motions = scan_motions(robot, placed, v, a, base, enter)
    forces = []
    for i, body in enumerate(robot.bodies):
        with enter("Rf", i):
            rotation = placed.rotations[i]
            taken = link_wrench(body.inertia, rotation, motions[i])
            if f_ext is not None:
                given = f_ext[i]
                moment = matvec(rotation, given.moment)
                force = matvec(rotation, given.force)
                taken = taken - Wrench(moment, force)
            forces.append(taken)
    totals = scan_wrenches(placed, forces, enter)
    return joint_forces(robot, placed, v, a, totals, enter)


def scan_motions(
    robot: Robot, placed: Chain, v: Vector, a: Vector, base: Motion, enter: Enter = anywhere
) -> list[Motion]:
    """The links' motions in the base's coordinates."""
    links = range(len(robot.bodies))
    turning, sliding = _joint_motions(robot, placed, v, enter)
    quickening, thrusting = _joint_motions(robot, placed, a, enter)
    omegas = _from_base(base.angular_velocity, turning, enter)
    own = []
    for i in links:
        with enter("Rf", i):
            coriolis = cross(omegas[i], turning[i])
            own.append(vadd(quickening[i], coriolis))
    alphas = _from_base(base.angular_acceleration, own, enter)
    gradients = [base.gradient]
    for i in links:
        with enter("Rf", i):
            gradients.append(acceleration_gradient(omegas[i + 1], alphas[i + 1]))
    own = []
    for i in links:
        with enter("Rf", i):
            carried = matvec(gradients[i], placed.offsets[i])
            both = vadd(omegas[i], omegas[i + 1])
            coriolis = cross(both, sliding[i])
            own.append(vadd(carried, coriolis, thrusting[i]))
    accelerations = _from_base(base.acceleration, own, enter)
    quantities = zip(omegas, alphas, accelerations, gradients, strict=True)
    return [Motion(*own) for own in quantities][1:]


def _joint_motions(
    robot: Robot, placed: Chain, x: Vector, enter: Enter
) -> tuple[list[Vector], list[Vector]]:
    """By link the angular and linear motion of its joint, at the joints' velocities or accelerations ``x`` (nv)."""
    angular, linear = [], []
    for i, columns in enumerate(placed.columns):
        with enter("Rf", i):
            own = rates(robot, i, x)
            turns = tuple(e for e, _ in columns)
            slides = tuple(d for _, d in columns)
            angular.append(joint_velocity(turns, own))
            linear.append(joint_velocity(slides, own))
    return angular, linear


def _from_base(base: Vector, own: list[Vector], enter: Enter) -> list[Vector]:
    """The base's motion, and those of all links."""
    with enter("Rf", 0):
        first = vadd(base, own[0])
    return [base, *outward_sums("Rf", [first, *own[1:]], enter)]


def link_wrench(inertia: Inertia, rotation: Matrix, motion: Motion) -> Wrench:
    """The wrench that moves a link so, about its origin, all in the base's coordinates; ``rotation``: the link's."""
    first = matvec(rotation, inertia.first_moment)
    second, rest = turned_second_moment(inertia, rotation)
    turned = Inertia(inertia.mass, first, second)
    wrench = inertial_wrench(turned, motion)
    twice = mul(2.0, rest)
    spun = vscale(twice, motion.angular_acceleration)
    return Wrench(vadd(wrench.moment, spun), wrench.force)


def turned_second_moment(inertia: Inertia, rotation: Matrix) -> tuple[Matrix, Scalar]:
    """The second moment in the base's coordinates, in two parts: Σ' + s 1. What is alike in all directions needs no
    turning, so that one entry of the diagonal is zero before it is turned."""
    second = inertia.second_moment
    rest = second[1][1]
    rows = []
    for i, row in enumerate(second):
        entries = list(row)
        entries[i] = sub(row[i], rest)
        rows.append(tuple(entries))
    half = matmul(rotation, tuple(rows))
    back = transpose(rotation)
    whole = matmul(half, back)
    return upper_twice(whole), rest


def scan_wrenches(placed: Chain, forces: list[Wrench], enter: Enter = anywhere) -> list[Wrench]:
    """The wrench on all of the chain from each link on, about its origin."""
    sums = inward_sums("Rb", [wrench.force for wrench in forces], enter)
    moments = []
    for i, wrench in enumerate(forces):
        moment = wrench.moment
        if i + 1 < len(forces):
            with enter("Rb", i):
                lever = cross(placed.offsets[i + 1], sums[i + 1])
                moment = vadd(moment, lever)
        moments.append(moment)
    moments = inward_sums("Rb", moments, enter)
    return [Wrench(*both) for both in zip(moments, sums, strict=True)]


def joint_forces(
    robot: Robot,
    placed: Chain,
    v: Vector,
    a: Vector,
    totals: list[Wrench],
    enter: Enter = anywhere,
) -> Vector:
    """The joints' forces (nv), those that their drives take included, from the wrenches on the rest of the chain."""
    tau: list[Scalar] = [0.0] * robot.nv
    for i, columns in enumerate(placed.columns):
        with enter("Rb", i):
            felt = []
            for e, d in columns:
                turning = dot(e, totals[i].moment)
                sliding = dot(d, totals[i].force)
                felt.append(add(turning, sliding))
            velocities = rates(robot, i, v)
            accelerations = rates(robot, i, a)
            taken = drive_forces(robot, i, velocities, accelerations)
            collect(robot, i, tau, vadd(tuple(felt), taken))
    return tuple(tau)


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
