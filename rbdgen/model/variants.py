"""Robots made of another robot: joints locked, payloads carried, only the chain to a link, another link as the root.

A locked joint's link becomes a part of the link that carries it, as in Pinocchio's ``buildReducedModel``.

With another root, a mobile base carries that link, and the base's part of q, v, a and τ is the new root's. All joints
keep their names, their coordinates and their signs: a joint that is turned round has the opposite axis.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from rbdgen.errors import ConfigError, UnsupportedError, nearest, short
from rbdgen.model.body import Body, Inertia, MergedLink, Placement, inertia_faults
from rbdgen.model.joints import Continuous, Cylindrical, Helical, Prismatic, Revolute
from rbdgen.model.robot import FARTHEST, Robot, place_of
from rbdgen.operands import numbers_of
from rbdgen.payloads import payload_inertia
from rbdgen.spatial import constant_matrix, constant_vector

Coordinates = float | Sequence[float]
"""Where a joint is: one number (of a continuous joint its angle), or one for each coordinate of q."""
POINT = 4
"""Numbers of a payload without moments."""


def locked(robot: Robot, values: Mapping[str, Coordinates]) -> Robot:
    """``robot`` with joints fixed by name at rad, m, or coordinates of q; what follows them is fixed with them.

    ConfigError for a joint that there is not, that follows another, or that cannot be there, and where nothing would be
    left to move.
    """
    named = {body.joint_name: i for i, body in enumerate(robot.bodies)}
    fixed: dict[int, Placement] = {}
    for joint, value in values.items():
        if joint not in named:
            raise ConfigError(
                f"lock: no joint {short(joint)} of {robot.name!r}; {nearest(joint, named)}"
            )
        body = robot.bodies[named[joint]]
        if body.mimic:
            raise ConfigError(f"lock: joint {joint!r} follows {body.mimic.joint!r}; lock that one")
        given = numbers_of(f"lock: joint {body.joint_name!r}", value)
        fixed[named[joint]] = _placed(body, given)
        for i, other in enumerate(robot.bodies):
            if other.mimic and other.mimic.joint == joint:
                fixed[i] = _placed(other, [_followed(other, given)])
    return _without(robot, fixed) if fixed else robot


def _followed(body: Body, given: Sequence[float]) -> float:
    """Where a joint is that follows one at the coordinates ``given``."""
    assert body.mimic is not None
    value = math.atan2(given[1], given[0]) if len(given) == 2 else given[0]
    return body.mimic.multiplier * value + body.mimic.offset


def _placed(body: Body, given: list[float]) -> Placement:
    """Where the link of ``body`` is in its parent's frame, its joint at the coordinates ``given``."""
    joint = body.joint
    where = f"lock: joint {body.joint_name!r}"
    if isinstance(joint, Continuous) and len(given) == 1:
        given = [math.cos(given[0]), math.sin(given[0])]
    if len(given) != joint.nq:
        raise ConfigError(f"{where}: has {joint.nq} coordinates, not {len(given)}")
    beyond = [x for x in given if not abs(x) <= FARTHEST]
    if beyond:
        raise ConfigError(f"{where}: must be at most {FARTHEST:g}, not {beyond[0]:g}")
    fault = joint.fault(np.array(given))
    if fault is not None:
        raise ConfigError(f"{where}: {fault}")
    moved = joint.placement(tuple(given))
    rotation = constant_matrix(np.array(moved.rotation, float))
    translation = constant_vector(np.array(moved.translation, float))
    return body.placement @ Placement(rotation, translation)


def _without(robot: Robot, fixed: Mapping[int, Placement]) -> Robot:
    """``robot`` with the joints of some bodies ``fixed`` where these place their links in the links before."""
    bodies: list[Body] = []
    frames: list[MergedLink] = []
    # each old body's new number and its place in that
    into: dict[int, tuple[int, Placement]] = {-1: (-1, Placement())}
    for i, body in enumerate(robot.bodies):
        parent, here = into[body.parent]
        if i not in fixed:
            into[i] = len(bodies), Placement()
            bodies.append(replace(body, parent=parent, placement=here @ body.placement))
            continue
        place = here @ fixed[i]
        into[i] = parent, place
        frames.append(MergedLink(body.name, body.joint_name, parent, place))
        if parent >= 0:
            inertia = bodies[parent].inertia + body.inertia.expressed_in(place)
            bodies[parent] = replace(bodies[parent], inertia=inertia)
    if not bodies:
        raise ConfigError(f"lock: nothing of {robot.name!r} would move; leave a joint free")
    carried = robot.carried(into)
    return replace(
        robot, bodies=tuple(bodies), **carried | {"frames": (*frames, *carried["frames"])}
    )


def with_payloads(robot: Robot, payloads: Mapping[str, Sequence[float]]) -> Robot:
    """``robot`` with payloads on links by name, those of fixed joints included: mass (kg), and, as far as given, the
    centre of mass in the link's frame (3, m) and the moments of inertia about it in the frame's directions (6, kg·m²:
    xx, yy, zz, xy, xz, yz). ConfigError for a link that there is not or that does not move, and for what no body is."""
    return carrying(robot, {link: _payload(link, numbers) for link, numbers in payloads.items()})


def carrying(robot: Robot, loads: Mapping[str, Inertia]) -> Robot:
    """``robot`` with more inertia on links by name, in their frames. ConfigError for a link that there is not or that
    does not move."""
    bodies = list(robot.bodies)
    for link, load in loads.items():
        i, place = place_of(robot, "payload", link)
        if i < 0:
            raise ConfigError(
                f"payload: link {link!r} does not move, and what it carries has no effect; leave it out"
            )
        bodies[i] = replace(bodies[i], inertia=bodies[i].inertia + load.expressed_in(place))
    return replace(robot, bodies=tuple(bodies))


def _payload(link: str, numbers: Sequence[float]) -> Inertia:
    """A payload's inertia in the link's frame."""
    inertia = Inertia.from_pseudo(payload_inertia(link, numbers))
    # a point has none of its own, and rounding may take some of it
    faults = inertia_faults(inertia) if len(numbers_of("payload", numbers)) > POINT else ()
    if faults:
        raise ConfigError(
            f"payload: of link {link!r}: no body has this inertia: {faults[0]}; mend its moments"
        )
    return inertia


def chain_to(robot: Robot, tip: str) -> Robot:
    """``robot`` with only the links from its base to the link ``tip``. What hangs beside is left out with its mass; to
    keep that, lock its joints. ConfigError for a link that there is not or that does not move, UnsupportedError where a
    joint of the chain follows one beside it."""
    last, _ = place_of(robot, "tip", tip)
    kept: list[int] = []
    while last >= 0:
        kept.append(last)
        last = robot.bodies[last].parent
    kept.reverse()
    if not kept:
        raise ConfigError(f"tip: link {tip!r} does not move; give one that a joint moves")
    number = {old: new for new, old in enumerate(kept)} | {-1: -1}
    bodies = []
    for i in kept:
        body = robot.bodies[i]
        if body.mimic and robot.leader(i) not in number:
            raise UnsupportedError(
                f"tip: joint {body.joint_name!r} follows {body.mimic.joint!r}, which is beside the chain to {tip!r}; "
                "lock that one instead"
            )
        bodies.append(replace(body, parent=number[body.parent]))
    carried = robot.carried({old: (new, Placement()) for old, new in number.items()})
    return replace(robot, bodies=tuple(bodies), **carried)


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
        hint = nearest(root, names, f"links are {', '.join(names)}")
        if fixed is not None and fixed.body >= 0:
            hint = f"it is fixed to {names[fixed.body]!r}, give that"
        raise ConfigError(f"root {root!r}: no moving link of {robot.name!r}; {hint}")
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
