"""Another link as the root of a mobile robot: the same mechanism, with the joints between the roots turned round.

The mobile base carries the new root, and the base's part of q, v, a and τ is the new root's. All joints keep their
names, their coordinates and their signs: a joint that is turned round has the opposite axis.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from rbdgen.errors import ConfigError, UnsupportedError
from rbdgen.model.body import Body, Placement
from rbdgen.model.joints import Continuous, Cylindrical, Helical, Prismatic, Revolute
from rbdgen.model.robot import Robot
from rbdgen.spatial import constant_matrix, constant_vector

TURNABLE = (Revolute, Continuous, Prismatic, Helical, Cylindrical)
"""Joints that are of the same type seen from their other side."""


def _inverse(placement: Placement) -> Placement:
    rotation = np.array(placement.rotation).T
    translation = -rotation @ np.array(placement.translation)
    return Placement(constant_matrix(rotation), constant_vector(translation))


def rerooted(robot: Robot, root: str) -> Robot:
    """``robot``, on a mobile base, with the link ``root`` carried by it.

    ConfigError for a link that there is not or that is fixed to another, and for a base that does not move;
    UnsupportedError for a joint between the roots that cannot be turned round.
    """
    names = [body.name for body in robot.bodies]
    _check_root(robot, root, names)
    if names[0] == root:
        return robot
    path = [names.index(root)]
    while robot.bodies[path[-1]].parent >= 0:
        path.append(robot.bodies[path[-1]].parent)
    # the new frame of each body on the path, placed in its old one: that of the joint towards the new root
    moved: dict[int, Placement] = {}
    for upper, lower in itertools.pairwise(path):
        moved[lower] = robot.bodies[upper].placement
    new_root = robot.bodies[path[0]]
    carried = {path[0]: replace(robot.bodies[0], name=root, inertia=new_root.inertia)}
    for upper, lower in itertools.pairwise(path):
        carried[lower] = _turned_round(robot, root, upper, lower, moved)
    for i, body in enumerate(robot.bodies):
        if i not in carried:
            placement = body.placement
            if body.parent in moved:
                placement = _inverse(moved[body.parent]) @ placement
            carried[i] = replace(body, placement=placement)
    return _sorted(robot, path[0], carried, moved)


def _check_root(robot: Robot, root: str, names: list[str]) -> None:
    """ConfigError unless ``root`` is a moving link of a robot on a mobile base."""
    if root not in names:
        fixed = next((f for f in robot.frames if f.name == root), None)
        near = difflib.get_close_matches(root, names, 1)
        hint = f"; links are {', '.join(names)}"
        if fixed is not None and fixed.body >= 0:
            hint = f"; it is fixed to {names[fixed.body]!r}, give that"
        elif near:
            hint = f"; did you mean {near[0]!r}?"
        raise ConfigError(f"root {root!r}: no moving link of {robot.name!r}{hint}")
    if not _is_mobile(robot):
        raise ConfigError(
            f"root {root!r}: {robot.name!r} is fixed at {robot.base_name!r}; give it a mobile --base first"
        )


def _is_mobile(robot: Robot) -> bool:
    """Whether one joint carries the whole robot and lets it move about."""
    on_base = sum(body.parent < 0 for body in robot.bodies)
    return on_base == 1 and robot.bodies[0].joint.nv >= 3


def _turned_round(
    robot: Robot, root: str, upper: int, lower: int, moved: dict[int, Placement]
) -> Body:
    """The link ``lower`` on the joint that carried the link ``upper``, which is now its parent."""
    before = robot.bodies[upper]
    joint = before.joint
    if not isinstance(joint, TURNABLE):
        raise UnsupportedError(
            f"root {root!r}: joint {before.joint_name!r} ({type(joint).__name__.lower()}) cannot be "
            "turned round; choose a link before it"
        )
    link = robot.bodies[lower]
    placement = _inverse(moved[upper]) if upper in moved else Placement()
    return replace(
        before,
        name=link.name,
        joint=replace(joint, axis=constant_vector(-np.array(joint.axis))),
        parent=upper,
        placement=placement,
        inertia=link.inertia.expressed_in(_inverse(moved[lower])),
    )


def _sorted(
    robot: Robot, first: int, carried: dict[int, Body], moved: dict[int, Placement]
) -> Robot:
    """The robot of bodies by their old numbers: depth first, siblings by joint name."""

    def by_joint_name(bodies: Iterable[int]) -> list[int]:
        return sorted(bodies, key=lambda i: carried[i].joint_name)

    import networkx as nx  # takes long to load, and few robots are rerooted

    tree = nx.DiGraph()
    tree.add_node(first)
    for i, body in carried.items():
        if i != first:
            tree.add_edge(body.parent, i)
    order = list(nx.dfs_preorder_nodes(tree, first, sort_neighbors=by_joint_name))
    index = {-1: -1}
    for new, old in enumerate(order):
        index[old] = new
    bodies = []
    for i in order:
        parent = -1 if i == first else index[carried[i].parent]
        bodies.append(replace(carried[i], parent=parent))
    into = {}
    for old, new in index.items():
        into[old] = new, _inverse(moved[old]) if old in moved else Placement()
    return replace(robot, bodies=tuple(bodies), **robot.carried(into))


def shortest_root(robot: Robot) -> str:
    """The link from which the longest chain is shortest; the present root if none is better."""
    best = robot.bodies[0].name
    if not _is_mobile(robot):
        return best
    least = longest_chain(robot)
    for body in robot.bodies[1:]:
        try:
            chain = longest_chain(rerooted(robot, body.name))
        except UnsupportedError:
            continue
        if chain < least:
            best, least = body.name, chain
    return best


def longest_chain(robot: Robot) -> int:
    """Bodies on the longest path from the root."""
    depth: list[int] = []
    for body in robot.bodies:
        depth.append(1 if body.parent < 0 else depth[body.parent] + 1)
    return max(depth)
