"""What a joint's own drive takes, beside what moves its links: its rotors' inertia and the friction that counts."""

from __future__ import annotations

from rbdgen.model.robot import Robot
from rbdgen.spatial import Scalar, Vector, mul, vadd


def friction_forces(robot: Robot, i: int, v: Vector) -> Vector:
    """The forces (nv) that it takes to move the joint of body ``i`` at ``v`` (nv) against its friction."""
    forces = []
    for damping, rate in zip(robot.dampers(i), v, strict=True):
        force = mul(damping, rate)
        forces.append(force)
    return tuple(forces)


def drive_forces(robot: Robot, i: int, v: Vector, a: Vector) -> Vector:
    """The forces (nv) that the drive of body ``i``'s joint takes at its velocity and acceleration (nv each)."""
    turned = []
    for rotor, x in zip(robot.bodies[i].rotors, a, strict=True):
        force = mul(rotor, x)
        turned.append(force)
    return vadd(friction_forces(robot, i, v), tuple(turned))


def friction_slopes(robot: Robot, i: int, v: Vector) -> tuple[Scalar, ...]:
    """By degree of freedom (nv), how friction grows with the velocity ``v`` (nv)."""
    return robot.dampers(i)
