"""Strategies for robots: any tree of any joints, from the plainest to what nobody would build."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from rbdgen import RbdgenError, Robot
from rbdgen.model import JOINT_TYPES, Placement
from rbdgen.model.body import Body, Inertia, Limits, Mimic
from rbdgen.model.joints import Coordinates
from rbdgen.model.robot import FRICTIONS
from tests.model.test_joints import examples as joint_examples

TURNS = (
    np.eye(3),
    np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
    np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
    np.array([[0.6, 0.0, 0.8], [0.0, 1.0, 0.0], [-0.8, 0.0, 0.6]]),
    np.array([[2.0, -1.0, 2.0], [2.0, 2.0, -1.0], [-1.0, 2.0, 2.0]]) / 3,
)
"""Rotations: none, a quarter about an axis, and skew ones."""
OFFSETS = (0.0, 0.1, -0.3, 0.537)
"""Metres."""
MASSES = (1.0, 0.25, 7.0)
"""Kilograms."""
SPREADS = (0.01, 0.05, 0.3)
"""Second moments about the centre of mass, kg·m² for each kilogram: of no body are any two zero."""


def vectors(values: tuple[float, ...] = OFFSETS) -> st.SearchStrategy[tuple[float, ...]]:
    """Three of ``values``."""
    one = st.sampled_from(values)
    return st.tuples(one, one, one)


@st.composite
def placements(draw: Any) -> Placement:
    """Where a joint is on its parent."""
    turn = draw(st.sampled_from(TURNS))
    return Placement(tuple(map(tuple, turn.tolist())), draw(vectors()))


@st.composite
def inertias(draw: Any) -> Inertia:
    """Of a body that can exist, in any frame."""
    mass = draw(st.sampled_from(MASSES))
    turn = draw(st.sampled_from(TURNS))
    spread = np.array(draw(vectors(SPREADS))) * mass
    moments = turn.T @ np.diag(np.sum(spread) - spread) @ turn
    return Inertia.from_com(mass, np.array(draw(vectors())), moments)


@st.composite
def joints(draw: Any, kinds: tuple[str, ...]) -> Coordinates:
    """A joint of one of these kinds, on an axis of the frame or another."""
    kind = draw(st.sampled_from(kinds))
    return draw(st.sampled_from(joint_examples(JOINT_TYPES[kind])))


DRIVES = {"armature": (0.01, 0.5), "damping": (0.1, 3.0), "friction": (0.2, 5.0)}
"""What a joint's drive may add, beside nothing."""
LIMITS = (
    Limits(),
    Limits(-1.0, 2.0, 3.0, 50.0),
    Limits(-0.1, 0.1, 0.5, None),
    Limits(None, None, 20.0, 5.0),
)
"""What files say of a joint: nothing, all, much, little."""


@st.composite
def robots(
    draw: Any, most: int = 4, kinds: tuple[str, ...] = tuple(JOINT_TYPES), hollow: bool = True
) -> Robot:
    """A tree of up to ``most`` bodies. ``hollow``: bodies that carry others may have no mass."""
    count = draw(st.integers(1, most))
    bodies: list[Body] = []
    # from the last body to the base: parents in depth-first order
    way = [-1]
    for i in range(count):
        parent = way[draw(st.integers(0, len(way) - 1))]
        way = way[way.index(parent) :]
        joint = draw(joints(kinds))
        limits = LIMITS[0] if joint.nv > 1 else draw(st.sampled_from(LIMITS))
        place, inertia = draw(placements()), draw(inertias())
        bodies.append(Body(f"l{i}", f"j{i}", joint, parent, place, inertia, limits))
        way = [i, *way]
    gravity = draw(st.sampled_from([(0.0, 0.0, -9.81), (0.0, 0.0, 0.0), (3.0, -4.0, 8.0)]))
    if hollow and count > 1 and draw(st.booleans()):
        bodies = _hollow(bodies)
    return Robot("tree", "base", tuple(bodies), gravity=gravity)


@st.composite
def driven(draw: Any, most: int = 4, kinds: tuple[str, ...] = tuple(JOINT_TYPES)) -> Robot:
    """The same with what drives add, and with joints that follow others where that can be."""
    robot = draw(robots(most, kinds))
    bodies = []
    for body in robot.bodies:
        count = body.joint.nv
        added = {}
        for name, values in DRIVES.items():
            value = draw(st.sampled_from((0.0, *values)))
            added[name] = (value,) * count if value else ()
        bodies.append(replace(body, **added))
    simple = [i for i, body in enumerate(bodies) if body.joint.nv == 1]
    if len(simple) > 1 and draw(st.booleans()):
        follower, leader = draw(st.permutations(simple))[:2]
        ratio = draw(st.sampled_from((1.0, -2.0, 0.3)))
        mimic = Mimic(bodies[leader].joint_name, ratio, draw(st.sampled_from((0.0, 0.5))))
        bodies[follower] = replace(bodies[follower], mimic=mimic)
    counting = draw(st.sampled_from(tuple(FRICTIONS)))
    try:
        return replace(robot, bodies=tuple(bodies), friction=counting)
    except RbdgenError:  # it cannot follow that one
        bodies = [replace(body, mimic=None) for body in bodies]
        return replace(robot, bodies=tuple(bodies), friction=counting)


def _hollow(bodies: list[Body]) -> list[Body]:
    """The same, the first of them without a mass if it carries another."""
    first = bodies[0]
    if first.joint.nv == 1 and any(body.parent == 0 for body in bodies):
        first = replace(first, inertia=Inertia())
    return [first, *bodies[1:]]
