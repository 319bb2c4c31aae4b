"""What a joint's own drive takes, beside what moves its links: its rotors' inertia and the friction that counts."""

from __future__ import annotations

from rbdgen.algo.submodules import Enter, anywhere
from rbdgen.model.robot import DRY_WIDTH, Robot
from rbdgen.spatial import Scalar, Vector, absolute, add, divide, mul, sub, vadd


def friction_forces(robot: Robot, i: int, v: Vector) -> Vector:
    """The forces (nv) that it takes to move the joint of body ``i`` at ``v`` (nv) against its friction."""
    forces = []
    kinds = robot.dampers(i), robot.rubs(i), v
    for damping, dry, rate in zip(*kinds, strict=True):
        force = mul(damping, rate)
        if dry:
            rubbing = mul(dry, _dry_share(rate))
            force = add(force, rubbing)
        forces.append(force)
    return tuple(forces)


def _dry_share(rate: Scalar) -> Scalar:
    """v / (w + |v|): what of a dry friction acts at a velocity, with w where half of it does."""
    speed = absolute(rate)
    beyond = add(DRY_WIDTH, speed)
    return divide(rate, beyond)


def drive_forces(robot: Robot, i: int, v: Vector, a: Vector) -> Vector:
    """The forces (nv) that the drive of body ``i``'s joint takes at its velocity and acceleration (nv each)."""
    turned = []
    rotors = robot.bodies[i].rotors
    for rotor, x in zip(rotors, a, strict=True):
        force = mul(rotor, x)
        turned.append(force)
    rubbing = friction_forces(robot, i, v)
    return vadd(rubbing, tuple(turned))


def friction_slopes(
    robot: Robot,
    i: int,
    v: Vector,
    enter: Enter = anywhere,
) -> tuple[Scalar, ...]:
    """By degree of freedom (nv), how friction grows with the velocity ``v`` (nv)."""
    slopes = []
    kinds = robot.dampers(i), robot.rubs(i), v
    for damping, dry, rate in zip(*kinds, strict=True):
        slope: Scalar = damping
        if dry:
            # a quotient costs: the force has it in the same place
            with enter("Rb", i):
                share = _dry_share(rate)
            # w / (w + |v|)² is (1 − |s|)² / w
            missing = sub(1.0, absolute(share))
            square = mul(missing, missing)
            rubbing = mul(dry / DRY_WIDTH, square)
            slope = add(slope, rubbing)
        slopes.append(slope)
    return tuple(slopes)
