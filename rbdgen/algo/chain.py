"""A serial chain in the base's coordinates: how its links are turned, where their origins are, how their joints move.

The links' rotations are products along the chain, and a scan forms them in logarithmic depth. Where everything is in
the same coordinates, nothing that follows has to be turned on its way along the chain: what is a recurrence between
links becomes a sum. Rotations are submodules ``Wr_i``.

Prefix and suffix scans join the links from one end to each of them.
The networks are Ladner and Fischer's ("Parallel prefix computation", 1980). Sklansky's is the shallowest, ⌈log₂ n⌉
joins deep, with n/2 of them in each level: sums are cheap and take it. Products of rotations take the one that joins
neighbours first and fills the places between them in last: one level more, for about half of the products, and most
of those that are left are with a single joint's rotation, which is mostly zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rbdgen.algo.composite import Column
from rbdgen.errors import UnsupportedError, short
from rbdgen.model.body import Body
from rbdgen.model.joints import JointPlacement
from rbdgen.model.robot import Robot
from rbdgen.spatial import IDENTITY3, Enter, Matrix, Vector, anywhere, matmul, matvec, vadd

T = TypeVar("T")
Join = Callable[[T, T, int], T]
"""``join(before, after, i)`` of two neighbouring stretches of links; ``i``: the link that the longer stretch is
known by, the one at which the scan arrives."""


def shallow_scan(items: Sequence[T], join: Join[T], first: int = 0) -> list[T]:
    """Each item joined with all before it, by Sklansky's network. ``first``: the number of the first item."""
    if len(items) <= 1:
        return list(items)
    half = (len(items) + 1) // 2
    before = shallow_scan(items[:half], join, first)
    after = shallow_scan(items[half:], join, first + half)
    joined = [join(before[-1], x, first + half + i) for i, x in enumerate(after)]
    return before + joined


def sparing_scan(items: Sequence[T], join: Join[T]) -> list[T]:
    """Each item joined with all before it, neighbours first."""
    pairs = []
    for i in range(1, len(items), 2):
        pairs.append(join(items[i - 1], items[i], i))
    odd = shallow_scan(pairs, lambda before, after, k: join(before, after, 2 * k + 1))
    result = list(items[:1])
    for i in range(1, len(items)):
        whole = odd[i // 2] if i % 2 else join(odd[i // 2 - 1], items[i], i)
        result.append(whole)
    return result


def outward_sums(kind: str, items: Sequence[Vector], enter: Enter) -> list[Vector]:
    """Σ_{j ≤ i} of vectors by link, in submodules of this ``kind``."""

    def join(before: Vector, after: Vector, i: int) -> Vector:
        with enter(kind, i):
            return vadd(before, after)

    return shallow_scan(items, join)


def inward_sums(kind: str, items: Sequence[Vector], enter: Enter) -> list[Vector]:
    """Σ_{j ≥ i} of vectors by link, in submodules of this ``kind``."""
    last = len(items) - 1

    def join(behind: Vector, own: Vector, k: int) -> Vector:
        with enter(kind, last - k):
            return vadd(own, behind)

    return shallow_scan(items[::-1], join)[::-1]


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
