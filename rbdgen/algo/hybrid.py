"""M⁻¹ of a serial chain applied by articulated bodies in sequence and accelerations by a scan.

Of the articulated-body algorithm (:mod:`rbdgen.algo.aba`) only articulated inertias run along a chain in a way that is
not linear. These stay a sweep from the tip, n steps, each as short as can be: with the joint's S, its U = Iᴬ S and
D = Sᵀ U, and X taking motions over the joint, Xᵀ Iᴬ X and the products of Xᵀ U are made while D is inverted, so that a
step is one reciprocal, one product and one sum. The forces that torques pass inward run beside them, a shorter step
each: a scan of those would answer no sooner. Outward,

    q̈_i = D⁻¹ u_i − h_iᵀ a_{i−1},  a_i = (X − S hᵀ)_i a_{i−1} + S_i D_i⁻¹ u_i,  h_i = Xᵀ U_i D_i⁻¹

is a linear recurrence for a chain at rest without gravity: affine maps are joined by a scan (:mod:`rbdgen.algo.chain`),
those near the tip while inertias are still on their way inward. (Featherstone 2008, section 7.3; Yang, Wu & Pan, arXiv
1609.06779.) Articulated bodies and forces are submodules ``Ab_i``, accelerations ``Ac_i``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rbdgen.algo.articulated import (
    ArticulatedInertia,
    articulated,
    empty_rows,
    joint_inverse,
    one_hot,
    with_projections,
)
from rbdgen.algo.chain import sparing_scan
from rbdgen.algo.plucker import (
    ZERO6,
    JointedBody,
    Transform,
    combination,
    jointed_bodies,
    projections,
)
from rbdgen.errors import UnsupportedError, short
from rbdgen.model.robot import Robot
from rbdgen.spatial import (
    Enter,
    Matrix,
    Scalar,
    Vector,
    add,
    anywhere,
    constant_matrix,
    dot,
    matmul,
    matvec,
    mul,
    sub,
    transpose,
    vadd,
    vsub,
)

UNITS = constant_matrix(np.eye(6))
"""Spatial vectors of one component each."""


@dataclass(frozen=True)
class JointedInertia:
    """A link's articulated ``inertia`` and its joint: D⁻¹ (``inverse``, nv×nv), and the columns (6 each) of Xᵀ U
    without what a one-hot S knows of U (``carried``)."""

    link: JointedBody
    inertia: ArticulatedInertia
    inverse: Matrix
    carried: list[Vector]

    @property
    def felt(self) -> list[Vector]:
        """The rows of hᵀ."""
        rows = [combination(self.carried, row) for row in self.inverse]
        empty = empty_rows(self.link)
        found = []
        for row, column in zip(rows, self.link.columns, strict=True):
            if one_hot(column) in empty:
                row = vadd(row, self.link.to_parent.force(column))
            found.append(row)
        return found

    def handed_on(self) -> ArticulatedInertia:
        """The parent's share: Xᵀ (Iᴬ − U D⁻¹ Uᵀ) X."""
        empty = empty_rows(self.link)

        def kept(i: int, j: int) -> Scalar:
            return 0.0 if i in empty or j in empty else self.inertia.entry(i, j)

        moved = ArticulatedInertia.of(kept).inward(self.link.to_parent)

        def left(i: int, j: int) -> Scalar:
            return sub(moved.entry(i, j), self._taken(i, j))

        return ArticulatedInertia.of(left)

    def _taken(self, i: int, j: int) -> Scalar:
        """Entry (i, j) of Xᵀ U D⁻¹ Uᵀ X, the division last."""
        total: Scalar = 0.0
        for one, row in zip(self.carried, self.inverse, strict=True):
            for other, inverted in zip(self.carried, row, strict=True):
                both = mul(one[i], other[j])
                scaled = mul(both, inverted)
                total = add(total, scaled)
        return total


def jointed_inertia(inertia: ArticulatedInertia, link: JointedBody) -> JointedInertia:
    """The joint of ``link`` with its articulated ``inertia``."""
    u = [inertia.times(s) for s in link.columns]
    empty = empty_rows(link)
    carried = []
    for column in u:
        unknown = tuple(0.0 if k in empty else x for k, x in enumerate(column))
        carried.append(link.to_parent.force(unknown))
    return JointedInertia(link, inertia, joint_inverse(u, link), carried)


@dataclass(frozen=True)
class AffineMap:
    """A link's acceleration (6) by that of a link before it: ``matrix`` times that, plus ``offset``; a matrix of None:
    that one is at rest."""

    matrix: Matrix | None
    offset: Vector

    def after(self, before: AffineMap) -> AffineMap:
        """The map over both stretches of links."""
        assert self.matrix is not None
        carried = matvec(self.matrix, before.offset)
        matrix = None
        if before.matrix is not None:
            matrix = matmul(self.matrix, before.matrix)
        return AffineMap(matrix, vadd(self.offset, carried))


def hybrid_accelerations(
    robot: Robot, transforms: list[Transform], tau: Vector, enter: Enter = anywhere
) -> Vector:
    """M⁻¹ times the joints' forces ``tau`` (nv); ``transforms``: of every body. UnsupportedError naming a joint that
    follows another; trees are not looked for (:func:`rbdgen.algo.chain.check_serial`)."""
    _check_free(robot)
    links = jointed_bodies(robot, transforms)
    joints, driven = _inward(robot, links, tau, enter)
    felt: list[list[Vector]] = []
    maps = []
    for i, joint in enumerate(joints):
        with enter("Ac", i):
            heard = joint.felt
            felt.append(heard)
            offset = combination(joint.link.columns, driven[i])
            matrix = _transition(joint.link, heard) if i > 0 else None
            maps.append(AffineMap(matrix, offset))

    def join(before: AffineMap, after: AffineMap, i: int) -> AffineMap:
        with enter("Ac", i):
            return after.after(before)

    accelerations = sparing_scan(maps[:-1], join)
    result = list(driven[0])
    for i in range(1, len(links)):
        with enter("Ac", i):
            above = accelerations[i - 1].offset
            lost = tuple(dot(row, above) for row in felt[i])
            result += vsub(driven[i], lost)
    return tuple(result)


def _inward(
    robot: Robot, links: list[JointedBody], tau: Vector, enter: Enter
) -> tuple[list[JointedInertia], list[Vector]]:
    """By link its articulated inertia with its joint, and D⁻¹ u: how it accelerates on a link that does not."""
    joints: list[JointedInertia] = []
    driven = []
    force = ZERO6
    for i in reversed(range(len(links))):
        link = links[i]
        with enter("Ab", i):
            inertia = articulated(link.inertia)
            if joints:
                inertia += joints[-1].handed_on()
            joint = jointed_inertia(inertia, link)
            torques = tau[robot.v_slices[i]]
            left = vsub(torques, projections(link.columns, force))
            rates = matvec(joint.inverse, left)
            if i > 0:
                known = with_projections(force, link, torques)
                push = link.to_parent.force(known)
                force = vadd(push, combination(joint.carried, rates))
        joints.append(joint)
        driven.append(rates)
    return joints[::-1], driven[::-1]


def _transition(link: JointedBody, felt: list[Vector]) -> Matrix:
    """X − S hᵀ of a link's joint, with the rows of hᵀ (``felt``)."""
    columns = [link.to_parent.motion(unit) for unit in UNITS]
    rows = []
    for k, carried in enumerate(transpose(tuple(columns))):
        row: list[Scalar] = list(carried)
        for column, heard in zip(link.columns, felt, strict=True):
            for j, x in enumerate(heard):
                taken = mul(column[k], x)
                row[j] = sub(row[j], taken)
        rows.append(tuple(row))
    return tuple(rows)


def _check_free(robot: Robot) -> None:
    for body in robot.bodies:
        if body.mimic is not None:
            raise UnsupportedError(
                f"forward-dynamics hybrid: joint {short(body.joint_name)} follows another, which articulated bodies do "
                "not; use forward-dynamics factors"
            )
