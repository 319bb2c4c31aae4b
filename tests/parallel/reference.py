"""What the tests of the parallel algorithms share: states, Pinocchio's model of a robot, how errors are measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin

from rbdgen.model import (
    Continuous,
    FreeFlyer,
    Helical,
    Prismatic,
    Revolute,
    Robot,
    Spherical,
    Translation,
)
from rbdgen.parallel import random_chain

LENGTHS = (1, 2, 3, 4, 5, 7, 8, 12, 17, 33, 64, 100, 256)
"""Numbers of links: small ones, powers of two, and numbers that are none."""


def revolute_chain(links: int, seed: int = 4) -> Robot:
    """A random chain with revolute joints only, so that nq is ``links``."""
    robot = random_chain(links, seed)
    axis = (0.0, 0.6, 0.8)
    return replace(
        robot, bodies=tuple(replace(body, joint=Revolute(axis)) for body in robot.bodies)
    )


def states(robot: Robot, count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random q, v, and a third vector of length nv: ±1 rad or m, ±1 rad/s or m/s, ±10."""
    rng = np.random.default_rng(seed)
    q = np.concatenate([body.joint.random(rng, count, -1.0, 1.0) for body in robot.bodies], axis=-1)
    return q, rng.uniform(-1, 1, (count, robot.nv)), rng.uniform(-10, 10, (count, robot.nv))


def error(value: np.ndarray, expected: np.ndarray, core: int = 1) -> float:
    """Largest difference relative to the largest magnitude of the same state's result (its last ``core`` axes)."""
    axes = tuple(range(-core, 0))
    scale = np.max(np.abs(expected), axis=axes)
    return float(np.max(np.max(np.abs(value - expected), axis=axes) / scale))


def _pinocchio_joint(joint: object) -> pin.JointModel:
    match joint:
        case Revolute() | Continuous():
            return pin.JointModelRevoluteUnaligned(np.array(joint.axis))
        case Prismatic():
            return pin.JointModelPrismaticUnaligned(np.array(joint.axis))
        case Helical():
            return pin.JointModelHelicalUnaligned(np.array(joint.axis), joint.pitch)
        case Spherical():
            return pin.JointModelSpherical()
        case Translation():
            return pin.JointModelTranslation()
        case FreeFlyer():
            return pin.JointModelFreeFlyer()
    raise NotImplementedError(joint)


class Reference:
    """Pinocchio's answers for a robot of simple joints; continuous joints are revolute ones to it."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.model = pin.Model()
        for i, body in enumerate(robot.bodies):
            placement = pin.SE3(
                np.array(body.placement.rotation), np.array(body.placement.translation)
            )
            joint = self.model.addJoint(
                body.parent + 1, _pinocchio_joint(body.joint), placement, body.joint_name
            )
            mass, com = body.inertia.mass, np.array(body.inertia.first_moment) / body.inertia.mass
            about_com = body.inertia.rotational - mass * (
                com @ com * np.eye(3) - np.outer(com, com)
            )
            self.model.appendBodyToJoint(
                joint, pin.Inertia(mass, com, about_com), pin.SE3.Identity()
            )
            assert joint == i + 1
        self.data = self.model.createData()

    def q(self, q: np.ndarray) -> np.ndarray:
        parts = []
        for body, part in zip(self.robot.bodies, self.robot.q_slices, strict=True):
            own = q[..., part]
            parts.append(
                np.arctan2(own[..., 1:], own[..., :1])
                if isinstance(body.joint, Continuous)
                else own
            )
        return np.concatenate(parts, axis=-1)

    def _forces(self, f_ext: np.ndarray) -> pin.StdVec_Force:
        forces = pin.StdVec_Force()
        forces.extend([pin.Force.Zero(), *(pin.Force(f[:3], f[3:]) for f in f_ext)])
        return forces

    def _each(self, function: object, *arguments: np.ndarray | None) -> np.ndarray:
        results = []
        for k in range(len(arguments[0])):  # type: ignore[arg-type]
            own = [x[k] for x in arguments if x is not None]
            if len(arguments) == 4 and arguments[3] is not None:
                own[3] = self._forces(own[3])
            results.append(np.array(function(self.model, self.data, *own)))  # type: ignore[operator]
        return np.array(results)

    def forward_dynamics(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, f_ext: np.ndarray | None = None
    ) -> np.ndarray:
        return self._each(pin.aba, self.q(q), v, tau, f_ext)

    def inverse_dynamics(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, f_ext: np.ndarray | None = None
    ) -> np.ndarray:
        return self._each(pin.rnea, self.q(q), v, a, f_ext)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        upper = np.triu(self._each(pin.crba, self.q(q)))
        return upper + np.swapaxes(np.triu(upper, 1), -1, -2)

    def inverse_mass_matrix(self, q: np.ndarray) -> np.ndarray:
        upper = np.triu(self._each(pin.computeMinverse, self.q(q)))
        return upper + np.swapaxes(np.triu(upper, 1), -1, -2)

    def jacobian(self, q: np.ndarray, tip: pin.SE3) -> np.ndarray:
        """Of a frame at ``tip`` in the last link, in that frame, rows [linear, angular]."""
        last = self.model.njoints - 1
        into_tip = tip.toActionMatrixInverse()
        joint = self._each(lambda m, d, x: pin.computeJointJacobian(m, d, x, last), self.q(q))
        return into_tip @ joint.reshape(len(q), 6, -1)  # for one joint it has no second axis

    def tip_acceleration(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, tip: pin.SE3
    ) -> np.ndarray:
        """Spatial, in the frame at ``tip`` in the last link, [linear, angular], without gravity."""
        last = self.model.njoints - 1

        def one(model: pin.Model, data: pin.Data, *x: np.ndarray) -> np.ndarray:
            pin.forwardKinematics(model, data, *x)
            return tip.toActionMatrixInverse() @ data.a[last].vector

        return self._each(one, self.q(q), v, a)
