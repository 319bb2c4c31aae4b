"""Derivatives of inverse dynamics in columns, cut per body into ``Df_i`` and ``Db_i``.

Carpentier & Mansard, "Analytical derivatives of rigid body dynamics algorithms", RSS 2018; in the order of Plancher et
al., RA-L 2021, algorithm 2. The recursions of the Newton-Euler algorithm are differentiated with respect to one degree
of freedom after the other: outward what changes a body's velocity, acceleration and force, inward what changes the
force on a subtree. The columns are incremental: outward those of the body and its ancestors, inward those of the
subtree as well. Derivatives with respect to q are in the tangent space: a column of the motion subspace moves the child
frame.
"""

from __future__ import annotations

from dataclasses import dataclass

from rbdgen.algo.plucker import (
    ZERO6,
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
from rbdgen.spatial import Scalar, Vector, cross, vadd, vsub

Entries = dict[tuple[int, int], Scalar]


@dataclass(frozen=True)
class _Change:
    """What one degree of freedom changes: a body's ``velocity`` and ``acceleration`` (6 each)."""

    velocity: Vector
    acceleration: Vector


def rnea_derivatives(
    robot: Robot,
    ways: list[Transform],
    v: Vector,
    motions: list[Motion],
    totals: list[Wrench],
    enter: Enter = anywhere,
    base: Motion | None = None,
) -> tuple[Entries, Entries]:
    """Entries (row, column) of ∂τ/∂q and ∂τ/∂v that can differ from zero.

    ``ways``: every body's transform; ``motions`` and ``totals`` (the force on each subtree) are those of
    :mod:`rbdgen.algo.rnea`; ``base``: how the base moves (default: not at all).
    """
    base_velocity, base_acceleration = base_vectors(base_motion(robot.gravity) if base is None else base)
    own = [range(*part.indices(robot.nv)) for part in robot.v_slices]
    subspaces = [columns(b) for b in robot.bodies]
    velocities: list[Vector] = []
    accelerations: list[Vector] = []
    changes: list[list[dict[int, _Change]]] = [[], []]  # with respect to q and v: by body: by degree of freedom
    forces: list[list[dict[int, Vector]]] = [[], []]
    for i, body in enumerate(robot.bodies):
        with enter("Df", i):
            parent = body.parent
            carried = ways[i].motion(base_velocity if parent < 0 else velocities[parent])
            rate = combination(subspaces[i], v[robot.v_slices[i]])
            motion = motions[i]
            velocity = motion.angular_velocity + vadd(carried, rate)[3:]
            # RNEA has the acceleration of the origin; the spatial one is without ω × v
            linear = vsub(motion.acceleration, cross(velocity[:3], velocity[3:]))
            velocities.append(velocity)
            accelerations.append(motion.angular_acceleration + linear)
            own_momentum = momentum(body.inertia, velocity)
            for kind in range(2):
                above = {} if parent < 0 else changes[kind][parent]
                here = {dof: (ways[i].motion(c.velocity), ways[i].motion(c.acceleration)) for dof, c in above.items()}
                turned = {dof: (dv, vadd(da, motion_cross(dv, rate))) for dof, (dv, da) in here.items()}
                for dof, s in zip(own[i], subspaces[i], strict=True):
                    if kind == 1:
                        turned[dof] = s, vadd(motion_cross(velocity, s), motion_cross(s, rate))
                    elif len(own[i]) == 1:
                        # what the joint itself contributes to v and a is along s, or is taken back by a's own change
                        turned[dof] = motion_cross(velocity, s), motion_cross(accelerations[i], s)
                    else:
                        pulled = ways[i].motion(base_acceleration if parent < 0 else accelerations[parent])
                        dv = motion_cross(carried, s)
                        turned[dof] = dv, vadd(motion_cross(pulled, s), motion_cross(dv, rate))
                changes[kind].append({dof: _Change(dv, da) for dof, (dv, da) in turned.items()})
                forces[kind].append(
                    {
                        dof: vadd(
                            momentum(body.inertia, da),
                            force_cross(dv, own_momentum),
                            force_cross(velocity, momentum(body.inertia, dv)),
                        )
                        for dof, (dv, da) in turned.items()
                    }
                )
    results: tuple[Entries, Entries] = {}, {}
    for i in reversed(range(len(robot.bodies))):
        with enter("Db", i):
            for kind in range(2):
                for child in robot.children[i]:
                    for dof, change in forces[kind][child].items():
                        change = ways[child].force(change)
                        forces[kind][i][dof] = vadd(forces[kind][i].get(dof, ZERO6), change)
                for dof, change in forces[kind][i].items():
                    felt = zip(own[i], projections(subspaces[i], change), strict=True)
                    results[kind].update({(row, dof): x for row, x in felt})
            total = force_vector(totals[i])
            for dof, s in zip(own[i], subspaces[i], strict=True):
                # the joint turns the force on the subtree along with the subtree
                forces[0][i][dof] = vadd(forces[0][i][dof], force_cross(s, total))
    return results
