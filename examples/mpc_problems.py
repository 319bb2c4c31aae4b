"""Optimal-control problems for Crocoddyl, whose dynamics anything may compute: an arm reaches, a quadruped stands.

Not a script: `controller.py` closes the loop with them. A problem is made of a *dynamics*, which says how a knot's
model is made of costs: Crocoddyl's own, or that of a device (:mod:`rbdgen.control`). All else is the same for both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import crocoddyl
import numpy as np
import pinocchio

import rbdgen
from rbdgen import Options, Robot, control
from rbdgen.control.devices import Device
from rbdgen.model.load import builtin_path

KNOT, KNOTS = 0.02, 50
"""Seconds between knots, and how many there are."""
Dynamics = Callable[[Any], Any]
"""A knot's differential model of its costs."""


def cost(state: Any, residual: Any, weights: np.ndarray | None = None) -> Any:
    """Half the square of a residual, with weights of its entries."""
    if weights is None:
        return crocoddyl.CostModelResidual(state, residual)
    activation = crocoddyl.ActivationModelWeightedQuad(weights)
    return crocoddyl.CostModelResidual(state, activation, residual)


class Setting(ABC):
    """A robot and what it is to do: see :class:`Reaching` and :class:`Standing`."""

    name: str
    functions: tuple[str, ...]
    """What a device has to compute."""
    settings: dict[str, Any]
    """How its design is made, beside word and interval."""
    rolled: tuple[str, ...]
    """What roll-outs ask for."""
    model: Any
    """Pinocchio's."""
    aim: np.ndarray
    """The goal of a motion."""

    @property
    def file(self) -> Path:
        """The robot's URDF."""
        return builtin_path(self.name)

    @cached_property
    def robot(self) -> Robot:
        """The same robot for rbdgen."""
        return rbdgen.load(self.model)

    @cached_property
    def state(self) -> Any:
        """Crocoddyl's."""
        return crocoddyl.StateMultibody(self.model)

    def options(self, word: int, ii: int = 4) -> Options:
        """Of a design for this."""
        return Options(functions=self.functions, word=word, ii=ii, **self.settings)

    @abstractmethod
    def host(self) -> Dynamics:
        """Crocoddyl's own dynamics, by Pinocchio."""

    @abstractmethod
    def by(self, device: Device, rollout: Device | None = None) -> Dynamics:
        """The dynamics of a device."""

    @abstractmethod
    def start(self, rng: np.random.Generator) -> np.ndarray:
        """A state to start from."""

    @abstractmethod
    def goal(self, rng: np.random.Generator) -> np.ndarray:
        """What is to be reached."""

    @abstractmethod
    def costs(self, goal: np.ndarray, end: bool) -> Any:
        """Costs per second of a knot, or of the horizon's end."""

    def rest(self, x: np.ndarray) -> np.ndarray:
        """Controls that hold a state."""
        model = self.host()(self.costs(self.aim, False))
        return model.quasiStatic(model.createData(), x)

    @abstractmethod
    def missed(self, x: np.ndarray) -> float:
        """How far a state is from the goal, m."""

    def problem(
        self, dynamics: Dynamics, start: np.ndarray, goal: np.ndarray, knots: int = KNOTS
    ) -> Any:
        """A shooting problem."""
        running = [
            crocoddyl.IntegratedActionModelEuler(dynamics(self.costs(goal, False)), KNOT)
            for _ in range(knots)
        ]
        end = crocoddyl.IntegratedActionModelEuler(dynamics(self.costs(goal, True)), 0.0)
        return crocoddyl.ShootingProblem(start, running, end)


@dataclass
class Reaching(Setting):
    """iiwa14 brings its flange to a place in space, by seven torques."""

    name: str = "iiwa14"
    functions: tuple[str, ...] = ("fd", "dfd")
    rolled: tuple[str, ...] = ("fd",)

    def __post_init__(self) -> None:
        self.model = pinocchio.buildModelFromUrdf(str(self.file))
        self.frame = self.model.nframes - 1
        joints = {name: {"velocity": 6.0, "acceleration": 300.0} for name in self.model.names[1:]}
        self.settings = {"with_inverse": True, "limits": joints, "ranges": "motion"}

    @cached_property
    def actuation(self) -> Any:
        """Every joint has a motor."""
        return crocoddyl.ActuationModelFull(self.state)

    def host(self) -> Dynamics:
        return lambda costs: crocoddyl.DifferentialActionModelFreeFwdDynamics(
            self.state, self.actuation, costs
        )

    def by(self, device: Device, rollout: Device | None = None) -> Dynamics:
        return lambda costs: control.FreeFwdDynamics(
            self.state, self.actuation, costs, device, rollout
        )

    def missed(self, x: np.ndarray) -> float:
        return float(np.linalg.norm(self._flange(x[:7]) - self.aim))

    def _flange(self, q: np.ndarray) -> np.ndarray:
        """Where the flange is, m."""
        data = self.model.createData()
        pinocchio.framesForwardKinematics(self.model, data, q)
        return data.oMf[self.frame].translation.copy()

    def start(self, rng: np.random.Generator) -> np.ndarray:
        bent = np.array([0.0, 0.6, 0.0, -1.2, 0.0, 0.8, 0.0])
        return np.concatenate([bent + rng.uniform(-0.3, 0.3, 7), np.zeros(7)])

    def goal(self, rng: np.random.Generator) -> np.ndarray:
        """Where the flange of a random pose is, m."""
        return self._flange(self.start(rng)[:7] + rng.uniform(-0.4, 0.4, 7))

    def costs(self, goal: np.ndarray, end: bool) -> Any:
        state = self.state
        costs = crocoddyl.CostModelSum(state)
        place = crocoddyl.ResidualModelFrameTranslation(state, self.frame, goal)
        bent = np.concatenate([[0.0, 0.6, 0.0, -1.2, 0.0, 0.8, 0.0], np.zeros(7)])
        posture = crocoddyl.ResidualModelState(state, bent, 7)
        weights = np.repeat([0.05, 1.0], 7)
        costs.addCost("place", cost(state, place), 3e3 if end else 30.0)
        costs.addCost("posture", cost(state, posture, weights), 1.0 if end else 0.1)
        if not end:
            effort = crocoddyl.ResidualModelControlGrav(state, 7)
            costs.addCost("effort", cost(state, effort), 1e-4)
        return costs


@dataclass
class Standing(Setting):
    """HyQ stands on four feet and moves its trunk, by twelve torques; feet push, within cones of friction."""

    name: str = "hyq"
    functions: tuple[str, ...] = ("nle", "minv", "did")
    rolled: tuple[str, ...] = ("nle", "minv")

    def __post_init__(self) -> None:
        base = pinocchio.JointModelFreeFlyer()
        self.model = pinocchio.buildModelFromUrdf(str(self.file), base)
        # the shipped model has legs only
        trunk = pinocchio.Inertia(30.0, np.zeros(3), np.diag([0.6, 2.0, 2.2]))
        self.model.appendBodyToJoint(1, trunk, pinocchio.SE3.Identity())
        self.feet = [self._foot(leg) for leg in ("lf", "lh", "rf", "rh")]
        self.stood = self._stood()
        fastest = {"velocity": 12.0, "acceleration": 400.0}
        self.settings = {
            "forces": True,
            "force_limit": 400.0,
            "moment_limit": 150.0,
            "limits": dict.fromkeys(self.model.names[1:], fastest),
            "ranges": "motion",
        }

    def _foot(self, leg: str) -> int:
        """The frame of a foot, at the end of its lower leg."""
        joint = self.model.getJointId(f"{leg}_kfe_joint")
        placement = pinocchio.SE3(np.eye(3), np.array([0.35, 0.0, 0.0]))
        frame = pinocchio.Frame(f"{leg}_foot", joint, placement, pinocchio.FrameType.OP_FRAME)
        return self.model.addFrame(frame)

    def _stood(self) -> np.ndarray:
        """The state in which it stands."""
        q = pinocchio.neutral(self.model)
        for name, k in zip(self.model.names, self.model.idx_qs, strict=True):
            bend = 0.75 if "_hfe_" in name else -1.5 if "_kfe_" in name else 0.0
            q[k] = bend if name[1] == "f" else -bend
        data = self.model.createData()
        pinocchio.framesForwardKinematics(self.model, data, q)
        q[2] = -data.oMf[self.feet[0]].translation[2]
        q[6] = 1.0
        return np.concatenate([q, np.zeros(self.model.nv)])

    @cached_property
    def actuation(self) -> Any:
        """The trunk has no motor."""
        return crocoddyl.ActuationModelFloatingBase(self.state)

    @cached_property
    def contacts(self) -> Any:
        """Four feet that are held where they are."""
        contacts = crocoddyl.ContactModelMultiple(self.state, 12)
        for foot in self.feet:
            held = crocoddyl.ContactModel3D(
                self.state,
                foot,
                np.zeros(3),
                pinocchio.LOCAL_WORLD_ALIGNED,
                12,
                np.array([0.0, 40.0]),
            )
            contacts.addContact(self.model.frames[foot].name, held)
        return contacts

    def host(self) -> Dynamics:
        return lambda costs: crocoddyl.DifferentialActionModelContactFwdDynamics(
            self.state, self.actuation, self.contacts, costs, 0.0, True
        )

    def by(self, device: Device, rollout: Device | None = None) -> Dynamics:
        return lambda costs: control.ContactFwdDynamics(
            self.state, self.actuation, self.contacts, costs, device, rollout=rollout
        )

    def missed(self, x: np.ndarray) -> float:
        wanted = pinocchio.integrate(
            self.model, self.stood[: self.model.nq], np.concatenate([self.aim, np.zeros(12)])
        )
        return float(np.linalg.norm(x[:3] - wanted[:3]))

    def start(self, rng: np.random.Generator) -> np.ndarray:
        """Standing, with the trunk pushed."""
        moving = self.stood.copy()
        moving[self.model.nq : self.model.nq + 6] = rng.uniform(-0.2, 0.2, 6)
        return moving

    def goal(self, rng: np.random.Generator) -> np.ndarray:
        """Place (m) and turn (rad) of the trunk, beside how it stands."""
        return np.concatenate([rng.uniform(-0.05, 0.05, 3), rng.uniform(-0.1, 0.1, 3)])

    def costs(self, goal: np.ndarray, end: bool) -> Any:
        state, nv = self.state, self.model.nv
        costs = crocoddyl.CostModelSum(state, 12)
        turned = np.concatenate([goal, np.zeros(nv - 6), np.zeros(nv)])
        wanted = state.integrate(self.stood, turned)
        posture = crocoddyl.ResidualModelState(state, wanted, 12)
        weights = np.concatenate(
            [np.full(6, 100.0), np.full(12, 0.1), np.full(6, 1.0), np.full(12, 0.1)]
        )
        costs.addCost("posture", cost(state, posture, weights), 10.0 if end else 1.0)
        if not end:
            effort = crocoddyl.ResidualModelControl(state, np.zeros(12))
            costs.addCost("effort", cost(state, effort), 1e-4)
            for foot in self.feet:
                cone = crocoddyl.FrictionCone(np.eye(3), 0.7, 4, False, 0.0, 400.0)
                bounds = crocoddyl.ActivationBounds(cone.lb, cone.ub)
                barrier = crocoddyl.ActivationModelQuadraticBarrier(bounds)
                residual = crocoddyl.ResidualModelContactFrictionCone(state, foot, cone, 12)
                penalty = crocoddyl.CostModelResidual(state, barrier, residual)
                costs.addCost(f"cone_{foot}", penalty, 0.1)
        return costs


SETTINGS: dict[str, type[Reaching] | type[Standing]] = {"iiwa14": Reaching, "hyq": Standing}
"""Settings by robot."""
