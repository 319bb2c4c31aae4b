"""Which joints follow which: checked, and led back to joints that move by themselves."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace

from rbdgen.errors import ConfigError, UnsupportedError, short
from rbdgen.model.body import Body, Mimic
from rbdgen.model.joint import Joint
from rbdgen.model.joints import Continuous, Revolute

LEAST, MOST = 1e-6, 1e3
"""Multipliers beyond these are no gears: what follows would stand still, or its motion would be all that is felt."""
FARTHEST = 1e6
"""rad or m: larger offsets leave no digits for the motion."""
MOST_TURNS = 16
"""Largest multiplier of what turns without end: each turn costs a rotation."""


def resolved(robot: str, bodies: tuple[Body, ...]) -> tuple[Body, ...]:
    """The bodies of a ``robot`` of that name, their joints following only joints that move by themselves. ConfigError
    for what cannot be followed, UnsupportedError for what is not followed here."""
    by_joint = {body.joint_name: body for body in bodies}
    result = []
    for body in bodies:
        if body.mimic is not None:
            where = f"robot {robot!r}: joint {short(body.joint_name)}"
            mimic = _led_back(where, body.joint_name, body.mimic, by_joint)
            joint = _following_joint(where, body.joint, by_joint[mimic.joint], mimic)
            body = replace(body, joint=joint, mimic=mimic)
        result.append(body)
    return tuple(result)


def _led_back(where: str, name: str, mimic: Mimic, by_joint: Mapping[str, Body]) -> Mimic:
    """What the joint ``name`` follows in the end."""
    passed = [name]
    while True:
        if mimic.joint in passed:
            circle = " → ".join([*passed, mimic.joint])
            raise ConfigError(f"{where}: follows itself: {circle}; let one of them move by itself")
        if mimic.joint not in by_joint:
            near = difflib.get_close_matches(mimic.joint, by_joint, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"joints are {', '.join(by_joint)}"
            raise ConfigError(
                f"{where}: follows {short(mimic.joint)}, which is no moving joint; {hint}"
            )
        above = by_joint[mimic.joint].mimic
        if above is None:
            return mimic
        passed.append(mimic.joint)
        offset = mimic.multiplier * above.offset + mimic.offset
        mimic = Mimic(above.joint, mimic.multiplier * above.multiplier, offset)


def _following_joint(where: str, joint: Joint, leader: Body, mimic: Mimic) -> Joint:
    """The joint as one that follows: of the leader's sort of angle."""
    geared = LEAST <= abs(mimic.multiplier) <= MOST
    if not geared or not abs(mimic.offset) <= FARTHEST:
        raise ConfigError(
            f"{where}: follows {leader.joint_name!r} by the multiplier {mimic.multiplier:g} and the offset "
            f"{mimic.offset:g}; they must be {LEAST:g} to {MOST:g} and at most {FARTHEST:g}, of either sign"
        )
    if joint.nv != 1 or leader.joint.nv != 1:
        raise UnsupportedError(
            f"{where}: follows {leader.joint_name!r}; only joints of one degree of freedom follow and lead; make one "
            "of them fixed"
        )
    if not isinstance(leader.joint, Continuous):
        return Revolute(joint.axis) if isinstance(joint, Continuous) else joint
    whole = mimic.multiplier == round(mimic.multiplier) and abs(mimic.multiplier) <= MOST_TURNS
    if not whole or not isinstance(joint, Revolute | Continuous):
        raise UnsupportedError(
            f"{where}: follows {leader.joint_name!r}, which turns without end, by {mimic.multiplier:g}; what follows "
            f"it must be a rotation by a whole multiplier of at most {MOST_TURNS}; give the leader limits"
        )
    return Continuous(joint.axis)
