"""Another link as the root of a mobile robot: the same mechanism, with the joints on the way turned round.

The mobile base carries the new root, and the base's part of q, v, a and τ is the new root's. All joints keep their
names, their coordinates and their signs: a joint that is turned round has the opposite axis.
"""

from __future__ import annotations

import difflib
import itertools
from dataclasses import replace

import networkx as nx
import numpy as np

from rbdgen.errors import ConfigError, UnsupportedError
from rbdgen.model.joints import Continuous, Cylindrical, Helical, Prismatic, Revolute
from rbdgen.model.robot import Body, Frame, Placement, Robot
from rbdgen.spatial import constant_matrix, constant_vector

TURNABLE = (Revolute, Continuous, Prismatic, Helical, Cylindrical)
"""Joints that are of the same type seen from their other side."""


def _inverse(placement: Placement) -> Placement:
    r = np.array(placement.rotation).T
    return Placement(constant_matrix(r), constant_vector(-r @ np.array(placement.translation)))


def rerooted(robot: Robot, root: str) -> Robot:
    """``robot``, on a mobile base, with the link ``root`` carried by it.

    ConfigError for a link that there is not or that is fixed to another, and for a base that does not move;
    UnsupportedError for a joint on the way that cannot be turned round.
    """
    names = [b.name for b in robot.bodies]
    if root not in names:
        fixed = next((f for f in robot.frames if f.name == root), None)
        near = difflib.get_close_matches(root, names, 1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; links are {', '.join(names)}"
        if fixed is not None and fixed.body >= 0:
            hint = f"; it is fixed to {names[fixed.body]!r}, give that"
        raise ConfigError(f"root {root!r}: no moving link of {robot.name!r}{hint}")
    if robot.bodies[0].joint.nv < 3 or sum(b.parent < 0 for b in robot.bodies) != 1:
        raise ConfigError(
            f"root {root!r}: {robot.name!r} is fixed at {robot.base_name!r}; give it a mobile --base first"
        )
    if names[0] == root:
        return robot
    way = [names.index(root)]
    while robot.bodies[way[-1]].parent >= 0:
        way.append(robot.bodies[way[-1]].parent)
    # the new frame of each body on the way, placed in its old one: that of the joint towards the new root
    moved = {lower: robot.bodies[upper].placement for upper, lower in itertools.pairwise(way)}
    carried: dict[int, Body] = {way[0]: replace(robot.bodies[0], name=root, inertia=robot.bodies[way[0]].inertia)}
    for upper, lower in itertools.pairwise(way):
        joint = robot.bodies[upper].joint
        if not isinstance(joint, TURNABLE):
            raise UnsupportedError(
                f"root {root!r}: joint {robot.bodies[upper].joint_name!r} ({type(joint).__name__.lower()}) cannot be "
                "turned round; choose a link before it"
            )
        turned = replace(joint, axis=constant_vector(-np.array(joint.axis)))
        placed = _inverse(moved[upper]) if upper in moved else Placement()
        inertia = robot.bodies[lower].inertia.expressed_in(_inverse(moved[lower]))
        carried[lower] = replace(
            robot.bodies[upper], name=names[lower], joint=turned, parent=upper, placement=placed, inertia=inertia
        )
    for i, body in enumerate(robot.bodies):
        if i not in carried:
            outer = _inverse(moved[body.parent]) @ body.placement if body.parent in moved else body.placement
            carried[i] = replace(body, placement=outer)
    return _sorted(robot, way[0], carried, moved)


def _sorted(robot: Robot, first: int, carried: dict[int, Body], moved: dict[int, Placement]) -> Robot:
    """The robot of bodies by their old numbers: depth first, siblings by joint name."""
    tree = nx.DiGraph([(b.parent, i) for i, b in carried.items() if i != first])
    tree.add_node(first)
    order = list(
        nx.dfs_preorder_nodes(tree, first, sort_neighbors=lambda n: sorted(n, key=lambda i: carried[i].joint_name))
    )
    index = {-1: -1} | {old: new for new, old in enumerate(order)}
    bodies = tuple(replace(carried[i], parent=-1 if i == first else index[carried[i].parent]) for i in order)
    frames = tuple(
        Frame(
            f.name,
            f.joint_name,
            index[f.body],
            _inverse(moved[f.body]) @ f.placement if f.body in moved else f.placement,
        )
        for f in robot.frames
    )
    return replace(robot, bodies=bodies, frames=frames)


def shortest_root(robot: Robot) -> str:
    """The link from which the longest chain is shortest; the present root if none is better."""
    if robot.bodies[0].joint.nv < 3 or sum(b.parent < 0 for b in robot.bodies) != 1:
        return robot.bodies[0].name
    best, least = robot.bodies[0].name, longest_chain(robot)
    for body in robot.bodies[1:]:
        try:
            chain = longest_chain(rerooted(robot, body.name))
        except UnsupportedError:
            continue
        if chain < least:
            best, least = body.name, chain
    return best


def longest_chain(robot: Robot) -> int:
    """Bodies on the longest way from the root."""
    depth: list[int] = []
    for body in robot.bodies:
        depth.append(1 if body.parent < 0 else depth[body.parent] + 1)
    return max(depth)
