"""The mass matrix, its inverse or both in one algorithm, cut per body into ``Mb_i`` and ``Mf_i``.

MMinvGen (Yang, Chen & Han, "Dadu-RBD", MICRO 2023, algorithm 2): the composite-rigid-body algorithm and the inverse by
articulated bodies (Carpentier, "Analytical inverse of the joint space inertia matrix", 2018) share the pass towards the
base, ``Mb``, where both carry an inertia and the forces of the subtree's columns; the inverse then takes one pass
outward, ``Mf``. Only the columns that a body's subtree needs are carried, and only one of each pair of equal entries.
"""

from __future__ import annotations

from rbdgen.algo.articulated import Elimination, articulated, eliminate, with_projections
from rbdgen.algo.crba import rigid
from rbdgen.algo.plucker import Transform, columns, combination, projections
from rbdgen.algo.submodules import Enter, anywhere
from rbdgen.model.robot import Robot
from rbdgen.spatial import Scalar, Vector, matvec, sub, vadd

Entries = dict[tuple[int, int], Scalar]


def mminvgen(
    robot: Robot, ways: list[Transform], m: bool = True, minv: bool = True, enter: Enter = anywhere
) -> tuple[Entries, Entries]:
    """Entries (i, j), i ≥ j, that can differ from zero of M (empty without the flag ``m``) and of M⁻¹ (empty without
    ``minv``; else M must be positive definite). ``ways``: every body's transform."""
    mass: Entries = {}
    upper: Entries = {}  # of M⁻¹, by (row, column), row ≤ column
    count = len(robot.bodies)
    own = [range(*part.indices(robot.nv)) for part in robot.v_slices]
    subspaces = [columns(b) for b in robot.bodies]
    composites = [rigid(b.inertia) for b in robot.bodies]
    inertias = [articulated(b.inertia) for b in robot.bodies]
    taken: list[Elimination | None] = [None] * count
    # by body: by degree of freedom of its subtree, the force of that column of M, and of M⁻¹
    loads: list[dict[int, Vector]] = [{} for _ in robot.bodies]
    forces: list[dict[int, Vector]] = [{} for _ in robot.bodies]
    for i in reversed(range(count)):
        with enter("Mb", i):
            for child in robot.children[i]:
                if m:
                    composites[i] += composites[child].inward(ways[child])
                    loads[i] |= {dof: ways[child].force(f) for dof, f in loads[child].items()}
                if minv:
                    below = taken[child]
                    assert below is not None
                    inertias[i] += below.left.inward(ways[child])
                    forces[i] |= {dof: ways[child].force(f) for dof, f in forces[child].items()}
            if m:
                loads[i] |= {dof: composites[i].times(s) for dof, s in zip(own[i], subspaces[i], strict=True)}
                for dof, force in loads[i].items():
                    felt = zip(own[i], projections(subspaces[i], force), strict=True)
                    mass |= {(dof, row): x for row, x in felt if row <= dof}
            if minv:
                joint = taken[i] = eliminate(inertias[i], subspaces[i])
                above = {}
                for a, dof in enumerate(own[i]):
                    # the joint's own force column moves the joint by one, those beyond it leave it at rest
                    unit = [float(b == a) for b in range(len(own[i]))]
                    force = combination(joint.u, joint.inverse[a])
                    above[dof] = with_projections(force, subspaces[i], unit)
                    upper |= {(row, dof): joint.inverse[b][a] for b, row in enumerate(own[i]) if row <= dof}
                for dof, force in forces[i].items():
                    answer = tuple(sub(0.0, x) for x in matvec(joint.inverse, projections(subspaces[i], force)))
                    upper |= {(row, dof): x for row, x in zip(own[i], answer, strict=True)}
                    force = vadd(force, combination(joint.u, answer))
                    above[dof] = with_projections(force, subspaces[i], [0.0] * len(own[i]))
                forces[i] = above
    if not minv:
        return mass, {}
    # by body: by column of M⁻¹, what it moves the body by
    motions: list[dict[int, Vector]] = [{} for _ in robot.bodies]
    for i, body in enumerate(robot.bodies):
        with enter("Mf", i):
            joint = taken[i]
            assert joint is not None
            arriving = {} if body.parent < 0 else motions[body.parent]
            carried = {dof: ways[i].motion(x) for dof, x in arriving.items() if dof >= own[i].start}
            for dof, x in carried.items():
                change = matvec(joint.inverse, projections(joint.u, x))
                for row, y in zip(own[i], change, strict=True):
                    if row <= dof:
                        upper[row, dof] = sub(upper.get((row, dof), 0.0), y)
            if robot.children[i]:
                for dof in range(own[i].stop, robot.nv):
                    if (own[i].start, dof) in upper:
                        turn = combination(subspaces[i], [upper[row, dof] for row in own[i]])
                        motions[i][dof] = vadd(carried[dof], turn) if dof in carried else turn
    return mass, {(column, row): x for (row, column), x in upper.items()}
