"""How the Jacobians of frames change while the joints move.

A column's rate is Ṡ = v × S in the base's coordinates, with its own body's v (:mod:`rbdgen.algo.subtrees`); for
``local_world_aligned`` the frame's origin moves as well, and for ``local`` what turns along with the frame is no
change.

Submodule ``Fj_i``.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbdgen.algo.following import Collected
from rbdgen.algo.frames import LOCAL, WORLD, Kinematics
from rbdgen.algo.subtrees import Column, Subtrees, Twist
from rbdgen.model.joints import JointPlacement
from rbdgen.spatial import Entries, Vector, cross, matvec, transpose, vadd, vsub


def jacobian_rates(found: Kinematics, trees: Subtrees, v: Vector) -> list[Entries]:
    """By frame of ``found`` the entries (row, degree of freedom) of its Jacobian's rate at ``v`` (nv)."""
    velocities = trees.velocities(v)
    made = []
    for frame, place in zip(found.frames, found.places, strict=True):
        collected = Collected(trees.robot)
        for column in trees.paths[frame.body]:
            with trees.enter("Fj", column.body):
                moving = velocities[frame.body]
                x = _rate(found.reference, column, velocities, moving, place)
                collected.put_vector(x, column.dof)
        made.append(collected.entries)
    return made


def _rate(
    reference: str,
    column: Column,
    velocities: Sequence[Twist],
    moving: Twist,
    place: JointPlacement,
) -> Vector:
    """[linear, angular] of a column's rate, for a frame at ``place`` on a body that is ``moving`` so."""
    s, point = column.twist, place.translation
    change = velocities[column.body].cross(s)
    if reference == WORLD:
        return change.linear + change.angular
    if reference == LOCAL:
        change = change - moving.cross(s)
        inward = transpose(place.rotation)
        linear = matvec(inward, _at(change, point))
        return linear + matvec(inward, change.angular)
    swept = cross(s.angular, _at(moving, point))
    return vadd(_at(change, point), swept) + change.angular


def _at(moving: Twist, point: Vector) -> Vector:
    """The velocity of a point."""
    return vsub(moving.linear, cross(point, moving.angular))
