"""Names of links, joints and their coordinates as parts of Verilog identifiers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rbdgen.protocol.names import MAX_LENGTH, plain_name

if TYPE_CHECKING:
    from rbdgen.model.robot import Robot


def sanitize(names: Sequence[str]) -> dict[str, str]:
    """A unique identifier part for each name: letters, digits and underscores only, at most 40 of them.

    What is not allowed becomes an underscore; names that would then be equal get a number. The result depends on the
    names and their order alone.
    """
    result: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        if name in result:
            continue
        plain = plain_name(name)
        candidate, number = plain, 2
        # Verilog is case-sensitive, file systems and VHDL around it often are not
        while candidate.lower() in taken:
            tail = f"_{number}"
            candidate, number = plain[: MAX_LENGTH - len(tail)] + tail, number + 1
        taken.add(candidate.lower())
        result[name] = candidate
    return result


def unused(name: str, taken: set[str]) -> str:
    """``name``, with underscores behind it as long as it is ``taken``; taken from now on."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def dof_names(robot: Robot, joints: Sequence[str]) -> list[str]:
    """A name for each degree of freedom, by the names of the bodies' joints: its joint's, numbered where the joint has
    several."""
    names = []
    for name, body in zip(joints, robot.bodies, strict=True):
        count = body.nv
        if count == 1:
            names.append(name)
        else:
            names += [f"{name}_{k}" for k in range(count)]
    return names


def coordinate_names(robot: Robot, joints: Sequence[str]) -> list[str]:
    """A name for each coordinate of q, by the names of the bodies' joints: its joint's, and which of it."""
    names = []
    for name, body in zip(joints, robot.bodies, strict=True):
        if body.mimic:
            continue
        for part in body.joint.coordinate_names:
            names.append(f"{name}_{part}" if part else name)
    return names
