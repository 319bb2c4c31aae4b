"""Forward dynamics by the articulated-body algorithm, cut per body into ``Af_i``, ``Ab_i`` and ``Ac_i``.

Source: Featherstone 2008, section 7.3 (table 7.1). Velocities go outward (``Af``), articulated inertias and bias forces
inward (``Ab``), accelerations outward (``Ac``).
"""

from __future__ import annotations

from rbdgen.algo.articulated import Elimination, articulated, eliminate, with_projections
from rbdgen.algo.plucker import (
    Transform,
    base_vectors,
    columns,
    combination,
    force_cross,
    force_vector,
    momentum,
    motion_cross,
    projections,
)
from rbdgen.algo.rnea import Motion, Wrench, base_motion
from rbdgen.algo.submodules import Enter, anywhere
from rbdgen.model.robot import Robot
from rbdgen.spatial import Scalar, Vector, matvec, vadd, vsub


def aba(
    robot: Robot,
    ways: list[Transform],
    v: Vector,
    tau: Vector,
    f_ext: tuple[Wrench, ...] | None = None,
    enter: Enter = anywhere,
    base: Motion | None = None,
) -> Vector:
    """Accelerations (nv) for v (nv), τ (nv) and optional external wrenches on the bodies, each about its body's origin
    in body coordinates. ``ways``: every body's transform; ``base``: how the base moves (default: not at all). M must be
    positive definite."""
    base_velocity, base_acceleration = base_vectors(base_motion(robot.gravity) if base is None else base)
    count = len(robot.bodies)
    subspaces = [columns(b) for b in robot.bodies]
    velocities: list[Vector] = []
    drifts: list[Vector] = []  # what a body accelerates by because its parent turns
    biases: list[Vector] = []
    for i, body in enumerate(robot.bodies):
        with enter("Af", i):
            carried = ways[i].motion(base_velocity if body.parent < 0 else velocities[body.parent])
            own = combination(subspaces[i], v[robot.v_slices[i]])
            velocities.append(vadd(carried, own))
            drifts.append(motion_cross(carried, own))
            bias = force_cross(velocities[i], momentum(body.inertia, velocities[i]))
            biases.append(bias if f_ext is None else vsub(bias, force_vector(f_ext[i])))
    inertias = [articulated(b.inertia) for b in robot.bodies]
    taken: list[Elimination | None] = [None] * count
    rest: list[Vector] = [()] * count
    for i in reversed(range(count)):
        with enter("Ab", i):
            for child in robot.children[i]:
                below = taken[child]
                assert below is not None
                inertias[i] += below.left.inward(ways[child])
                push = combination(below.u, matvec(below.inverse, rest[child]))
                push = vadd(biases[child], vadd(below.left.times(drifts[child]), push))
                push = with_projections(push, subspaces[child], tau[robot.v_slices[child]])
                biases[i] = vadd(biases[i], ways[child].force(push))
            taken[i] = eliminate(inertias[i], subspaces[i])
            rest[i] = vsub(tau[robot.v_slices[i]], projections(subspaces[i], biases[i]))
    accelerations: list[Vector] = []
    result: list[Scalar] = [0.0] * robot.nv
    for i, body in enumerate(robot.bodies):
        with enter("Ac", i):
            own = taken[i]
            assert own is not None
            carried = ways[i].motion(base_acceleration if body.parent < 0 else accelerations[body.parent])
            carried = vadd(carried, drifts[i])
            a = matvec(own.inverse, vsub(rest[i], projections(own.u, carried)))
            result[robot.v_slices[i]] = a
            accelerations.append(vadd(carried, combination(subspaces[i], a)))
    return tuple(result)
