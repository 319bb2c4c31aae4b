"""What a joint's own drive takes, beside what moves its links: its rotors' inertia and the friction that counts."""

from __future__ import annotations

from rbdgen.model.robot import Robot
from rbdgen.spatial import Scalar, Vector, mul, vadd


def friction_forces(robot: Robot, i: int, v: Vector) -> Vector:
    """The forces (nv) that it takes to move the joint of body ``i`` at ``v`` (nv) against its friction."""
    forces = []
    dampers = robot.dampers(i)
    for damping, rate in zip(dampers, v, strict=True):
        force = mul(damping, rate)
        forces.append(force)
    return tuple(forces)


def drive_forces(robot: Robot, i: int, v: Vector, a: Vector) -> Vector:
    """The forces (nv) that the drive of body ``i``'s joint takes at its velocity and acceleration (nv each)."""
    turned = []
    rotors = robot.bodies[i].rotors
    for rotor, x in zip(rotors, a, strict=True):
        force = mul(rotor, x)
        turned.append(force)
    rubbing = friction_forces(robot, i, v)
    return vadd(rubbing, tuple(turned))


def friction_slopes(robot: Robot, i: int, v: Vector) -> tuple[Scalar, ...]:
    """By degree of freedom (nv), how friction grows with the velocity ``v`` (nv)."""
    return robot.dampers(i)
