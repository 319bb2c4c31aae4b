"""A serial chain in the base's coordinates: how its links are turned, where their origins are, how their joints move.

The links' rotations are products along the chain, and a scan forms them in logarithmic depth
(:mod:`rbdgen.algo.scan`). Where everything is in the same coordinates, nothing that follows has to be turned on its
way along the chain: what is a recurrence between links becomes a sum. Rotations are submodules ``Wr_i``.
"""

from __future__ import annotations

from dataclasses import dataclass

from rbdgen.algo.composite import Column
from rbdgen.algo.scan import sparing_scan
from rbdgen.algo.submodules import Enter, anywhere
from rbdgen.errors import UnsupportedError, short
from rbdgen.model.body import Body
from rbdgen.model.joints import JointPlacement
from rbdgen.model.robot import Robot
from rbdgen.spatial import IDENTITY3, Matrix, Vector, matmul, matvec, vadd


@dataclass(frozen=True)
class Chain:
    """By link, in the base's coordinates: its ``rotations`` (from its own coordinates), ``offsets`` of its origin from
    the one of the link before, and its joint's ``columns``."""

    rotations: list[Matrix]
    offsets: list[Vector]
    columns: list[list[Column]]


def is_serial(robot: Robot) -> bool:
    """Whether each link carries one other at most, in the order of the bodies."""
    return all(body.parent == i - 1 for i, body in enumerate(robot.bodies))


def check_serial(robot: Robot, family: str, remedy: str) -> None:
    """UnsupportedError for a tree, naming the link that branches. ``family``: the algorithm that was asked for;
    ``remedy``: the one that takes trees."""
    for i, body in enumerate(robot.bodies):
        if body.parent == i - 1:
            continue
        above = robot.base_name
        if body.parent >= 0:
            above = robot.bodies[body.parent].name
        raise UnsupportedError(
            f"{family}: takes serial chains, but link {short(above)} of robot {short(robot.name)} carries "
            f"{short(body.name)} beside another one; use {remedy}"
        )


def chain(robot: Robot, joints: list[JointPlacement], enter: Enter = anywhere) -> Chain:
    """The chain of ``robot`` with its ``joints`` placed."""
    turns = []
    for i, body in enumerate(robot.bodies):
        with enter("Wr", i):
            turns.append(matmul(body.placement.rotation, joints[i].rotation))

    def join(before: Matrix, after: Matrix, i: int) -> Matrix:
        with enter("Wr", i):
            return matmul(before, after)

    rotations = sparing_scan(turns, join)
    offsets = []
    columns = []
    before = IDENTITY3
    for i, body in enumerate(robot.bodies):
        placement = body.placement
        with enter("Wr", i):
            moved = matvec(placement.rotation, joints[i].translation)
            offset = vadd(placement.translation, moved)
            offset = matvec(before, offset)
            offsets.append(offset)
            own = _columns(body, before, rotations[i])
            columns.append(own)
        before = rotations[i]
    return Chain(rotations, offsets, columns)


def _columns(body: Body, before: Matrix, own: Matrix) -> list[Column]:
    """The joint's motion subspace in the base's coordinates. A joint with one axis does not move its columns, so that
    they are there with the rotation of the link ``before``."""
    joint = body.joint
    turned = []
    for column in zip(joint.angular_subspace, joint.linear_subspace, strict=True):
        angular, linear = column
        rotation = own
        if hasattr(joint, "axis"):
            placement = body.placement
            angular = matvec(placement.rotation, angular)
            linear = matvec(placement.rotation, linear)
            rotation = before
        angular = matvec(rotation, angular)
        linear = matvec(rotation, linear)
        turned.append((angular, linear))
    return turned
