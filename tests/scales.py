"""Robots of other sizes: the same one, heavier or lighter, longer or shorter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rbdgen import Robot
from rbdgen.model import Inertia, Placement

TINY, SMALL, HUGE = (2.0**-24, 2.0**-20), (2.0**-20, 2.0**-10), (2.0**20, 2.0**10)
"""Masses and lengths relative to a robot's: micrometres, millimetres, kilometres. Powers of two, so that a correct
result differs by nothing but its exponent."""
SIZES = (TINY, SMALL, HUGE, (2.0**20, 2.0**-20), (2.0**-24, 2.0**10))


def scaled(robot: Robot, mass: float, length: float) -> Robot:
    """``robot`` with so many times the mass and the length, gravity included, without frames: its torques, at the same
    angles, are mass · length² times as large."""
    units = np.sqrt(mass) * np.array([length, length, length, 1.0])
    bodies = []
    for body in robot.bodies:
        place = body.placement
        moved = tuple(length * x for x in place.translation)
        pseudo = body.inertia.pseudo * np.outer(units, units)
        changed = replace(
            body,
            placement=Placement(place.rotation, moved),
            inertia=Inertia.from_pseudo(pseudo),
        )
        bodies.append(changed)
    gravity = tuple(length * x for x in robot.gravity)
    return replace(robot, bodies=tuple(bodies), gravity=gravity, frames=())
