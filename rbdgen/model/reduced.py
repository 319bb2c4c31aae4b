"""A robot with less or more of it: joints locked, payloads carried, only the chain to a link.

As Pinocchio's ``buildReducedModel``: a locked joint's link becomes a part of the link that carries it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rbdgen.errors import ConfigError, UnsupportedError, short
from rbdgen.model.body import Body, Inertia, MergedLink, Placement
from rbdgen.model.inertia import inertia_faults
from rbdgen.model.joints import Continuous
from rbdgen.model.links import hint, place_of
from rbdgen.model.mimics import FARTHEST
from rbdgen.model.robot import Robot
from rbdgen.model.urdf_elements import LARGEST
from rbdgen.scalars import numbers_of
from rbdgen.spatial import constant_matrix, constant_vector

Coordinates = float | Sequence[float]
"""Where a joint is: one number (of a continuous joint its angle), or one for each coordinate of q."""
PAYLOAD_SIZES = (1, 4, 10)
"""Numbers of a payload: its mass; its centre of mass; its moments of inertia about that."""


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
                f"lock: no joint {short(joint)} of {robot.name!r}; {hint(joint, named)}"
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
    bodies = list(robot.bodies)
    for link, numbers in payloads.items():
        i, place = place_of(robot, "payload", link)
        if i < 0:
            raise ConfigError(
                f"payload: link {link!r} does not move, and what it carries has no effect; leave it out"
            )
        inertia = _payload(link, numbers).expressed_in(place)
        bodies[i] = replace(bodies[i], inertia=bodies[i].inertia + inertia)
    return replace(robot, bodies=tuple(bodies))


def _payload(link: str, numbers: Sequence[float]) -> Inertia:
    """A payload's inertia in the link's frame."""
    given = numbers_of(f"payload: of link {link!r}", numbers)
    if len(given) not in PAYLOAD_SIZES:
        raise ConfigError(
            f"payload: of link {link!r}: must be mass, or mass and centre (3), or those and moments (6), not "
            f"{len(given)} numbers"
        )
    if not all(abs(x) <= LARGEST for x in given) or given[0] <= 0:
        raise ConfigError(
            f"payload: of link {link!r}: must be at most {LARGEST:g}, and its mass above 0, not {short(numbers)}"
        )
    mass, x, y, z, xx, yy, zz, xy, xz, yz = given + [0.0] * (10 - len(given))
    moments = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    inertia = Inertia.from_com(mass, np.array([x, y, z]), moments)
    faults = inertia_faults(inertia) if any(given[4:]) else ()
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
