"""The mass matrix, its inverse or both in one algorithm, cut per body into ``Mb_i`` and ``Mf_i``.

MMinvGen (Yang, Chen & Han, "Dadu-RBD", MICRO 2023, algorithm 2): the composite-rigid-body algorithm and the inverse by
articulated bodies (Carpentier, "Analytical inverse of the joint space inertia matrix", 2018) share the pass towards the
base, ``Mb``, where both carry an inertia and the forces of the subtree's columns; the inverse then takes one pass
outward, ``Mf``. Only the columns that a body's subtree needs are carried, and only one of each pair of equal entries.
"""

from __future__ import annotations

from rbdgen.algo.articulated import Elimination, articulated, eliminate, with_projections
from rbdgen.algo.crba import rigid
from rbdgen.algo.following import Entries, Reduced
from rbdgen.algo.plucker import JointedBody, Transform, combination, jointed_bodies, projections
from rbdgen.model.robot import Robot
from rbdgen.spatial import Enter, Vector, anywhere, matvec, sub, vadd


def mminvgen(
    robot: Robot,
    transforms: list[Transform],
    m: bool = True,
    minv: bool = True,
    enter: Enter = anywhere,
) -> tuple[Entries, Entries]:
    """Entries (i, j), i ≥ j, that can differ from zero of M (empty without the flag ``m``) and of M⁻¹ (empty without
    ``minv``; else M must be positive definite, and no joint follow another). ``transforms``: every body's transform."""
    mass = _MassSweep(robot, transforms)
    inverse = _InverseSweep(robot, transforms)
    for i in reversed(range(len(robot.bodies))):
        with enter("Mb", i):
            for child in robot.children[i]:
                if m:
                    mass.take_child(i, child)
                if minv:
                    inverse.take_child(i, child)
            if m:
                mass.finish(i)
            if minv:
                inverse.eliminate(i)
    if minv:
        for i in range(len(robot.bodies)):
            with enter("Mf", i):
                inverse.outward(i)
    lower: Entries = {}
    for (row, column), x in inverse.upper.items():
        lower[column, row] = x
    return mass.matrix.entries, lower


Forces = dict[int, Vector]
"""By degree of freedom."""


def _carry(above: Forces, below: Forces, transform: Transform) -> None:
    """Add a body's forces to its parent's, as the parent has them (in place)."""
    for dof, force in below.items():
        above[dof] = transform.force(force)


class _MassSweep:
    """M from composite bodies: ``matrix``, its entries (i, j), i ≥ j."""

    def __init__(self, robot: Robot, transforms: list[Transform]) -> None:
        self.links = jointed_bodies(robot, transforms)
        self.matrix = Reduced(robot)
        self.composites = [rigid(body.inertia) for body in robot.bodies]
        # by body: by degree of freedom of its subtree, the force of that column of M
        self.forces: list[Forces] = [{} for _ in robot.bodies]

    def take_child(self, i: int, child: int) -> None:
        """Add a child's inertia and forces to body ``i``."""
        to_parent = self.links[child].to_parent
        self.composites[i] += self.composites[child].inward(to_parent)
        _carry(self.forces[i], self.forces[child], to_parent)

    def finish(self, i: int) -> None:
        """The entries of body ``i``, once all its children are taken."""
        link = self.links[i]
        forces = self.forces[i]
        for dof, column in link.own:
            forces[dof] = self.composites[i].times(column)
        for dof, row, x in link.entries(forces):
            self.matrix.put_both(dof, row, x)


class _InverseSweep:
    """M⁻¹ from articulated bodies: entries of its ``upper`` triangle by (row, column)."""

    def __init__(self, robot: Robot, transforms: list[Transform]) -> None:
        self.robot = robot
        self.links = jointed_bodies(robot, transforms)
        self.upper: Entries = {}
        self.inertias = [articulated(body.inertia) for body in robot.bodies]
        self.taken: dict[int, Elimination] = {}
        # by body: by degree of freedom of its subtree, the force of that column of M⁻¹
        self.forces: list[Forces] = [{} for _ in robot.bodies]
        # by body: by column of M⁻¹, what it moves the body by
        self.motions: list[dict[int, Vector]] = [{} for _ in robot.bodies]

    def take_child(self, i: int, child: int) -> None:
        """Add what is left of a child's inertia, and its forces, to body ``i``."""
        to_parent = self.links[child].to_parent
        left = self.taken[child].left
        self.inertias[i] += left.inward(to_parent)
        _carry(self.forces[i], self.forces[child], to_parent)

    def eliminate(self, i: int) -> None:
        """Take the joint of body ``i`` out, once all its children are taken."""
        link = self.links[i]
        joint = eliminate(self.inertias[i], link)
        self.taken[i] = joint
        arriving = self.forces[i]
        leaving = self._own_forces(link, joint)
        for dof, force in arriving.items():
            felt = projections(link.columns, force)
            rates = matvec(joint.inverse, felt)
            answer = tuple(sub(0.0, x) for x in rates)
            for row, x in zip(link.dofs, answer, strict=True):
                self.upper[row, dof] = x
            push = combination(joint.u, answer)
            force = vadd(force, push)
            # forces beyond the joint leave it at rest
            rest = [0.0] * len(link.dofs)
            leaving[dof] = with_projections(force, link, rest)
        self.forces[i] = leaving

    def _own_forces(self, link: JointedBody, joint: Elimination) -> Forces:
        """Forces of the joint's own columns, each of which moves it by one, and their entries."""
        forces: Forces = {}
        still = [0.0] * len(link.dofs)
        for a, dof in enumerate(link.dofs):
            unit = list(still)
            unit[a] = 1.0
            row_of_inverse = joint.inverse[a]
            force = combination(joint.u, row_of_inverse)
            forces[dof] = with_projections(force, link, unit)
            for b, row in enumerate(link.dofs[: a + 1]):
                self.upper[row, dof] = joint.inverse[b][a]
        return forces

    def outward(self, i: int) -> None:
        """The entries of body ``i`` less what its parent's motion takes of them, and its own motion."""
        link = self.links[i]
        carried = self._carried(link)
        joint = self.taken[i]
        for dof, motion in carried.items():
            felt = projections(joint.u, motion)
            change = matvec(joint.inverse, felt)
            for row, x in zip(link.dofs, change, strict=True):
                if row <= dof:
                    entry = row, dof
                    before = self.upper.get(entry, 0.0)
                    self.upper[entry] = sub(before, x)
        # a leaf moves nobody else
        if self.robot.children[i]:
            self.motions[i] = self._moved(link, carried)

    def _carried(self, link: JointedBody) -> dict[int, Vector]:
        """A body's motion by its parent's, for the columns that it has entries of."""
        carried: dict[int, Vector] = {}
        if link.parent < 0:
            return carried
        first = link.dofs.start
        arriving = self.motions[link.parent]
        for dof, motion in arriving.items():
            # entries left of the diagonal are known from the other triangle
            if dof >= first:
                carried[dof] = link.to_parent.motion(motion)
        return carried

    def _moved(self, link: JointedBody, carried: dict[int, Vector]) -> dict[int, Vector]:
        """The motion of a body by column, from what its parent's ``carried`` on to it."""
        moved: dict[int, Vector] = {}
        first = link.dofs.start
        for dof in range(link.dofs.stop, self.robot.nv):
            # without an entry, the column does not move this body
            if (first, dof) not in self.upper:
                continue
            rates = [self.upper[row, dof] for row in link.dofs]
            motion = combination(link.columns, rates)
            if dof in carried:
                motion = vadd(carried[dof], motion)
            moved[dof] = motion
        return moved
