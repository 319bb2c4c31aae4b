"""What a knot of Crocoddyl's has beside its dynamics: actuation, contacts, costs, constraints, and bodies in motion.

All of it is Crocoddyl's and Pinocchio's own, evaluated on the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rbdgen.control.devices import Calls, Device
from rbdgen.model.extras import optional_module

pinocchio: Any = optional_module("pinocchio", "control")
crocoddyl: Any = optional_module("crocoddyl", "control")

_UNMOVED = (crocoddyl.ResidualModelState, crocoddyl.ResidualModelControl)
"""Residuals that ask for nothing of the bodies."""


class Parts:
    """The parts of an action model: a ``state`` of a Pinocchio model, ``actuation``, ``costs``, and where there are any
    ``contacts`` and ``constraints``."""

    def __init__(
        self, state: Any, actuation: Any, costs: Any, contacts: Any = None, constraints: Any = None
    ) -> None:
        self.state = state
        self.pinocchio = state.pinocchio
        self.actuation = actuation
        self.costs = costs
        self.contacts = contacts
        self.constraints = constraints
        self.bodies = self.pinocchio.njoints - 1
        sizes = zip(self.pinocchio.names, self.pinocchio.nvs, strict=True)
        self.joints = tuple(name for name, nv in sizes if nv > 0)
        """Names of the joints that move by themselves."""

    def calls(self, device: Device, *functions: str) -> Calls:
        """Calls of a device's functions. ConfigError where it lacks one, or is another robot's."""
        return Calls(device, self.joints, self.bodies, functions)

    @property
    def sizes(self) -> dict[str, int]:
        """Of Crocoddyl's base classes: residuals and constraints."""
        known = {"nr": self.costs.nr}
        for name in ("ng", "nh", "ng_T", "nh_T"):
            known[name] = getattr(self.constraints, name) if self.constraints else 0
        return known

    def residuals(self) -> list[Any]:
        """The residuals of all costs and constraints."""
        found = [entry.cost.residual for entry in self.costs.costs.todict().values()]
        if self.constraints:
            entries = self.constraints.constraints.todict().values()
            found += [entry.constraint.residual for entry in entries]
        return found

    @property
    def moved(self) -> bool:
        """Whether costs, constraints or contacts ask where bodies are."""
        return bool(self.contacts) or not all(isinstance(r, _UNMOVED) for r in self.residuals())

    @property
    def centroidal(self) -> bool:
        """Whether they ask for the derivatives of the momentum."""
        kind = crocoddyl.ResidualModelCentroidalMomentum
        return any(isinstance(r, kind) for r in self.residuals())

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q (nq) and v (nv) of a state."""
        nq = self.state.nq
        return x[:nq], x[nq:]

    def hang(self, data: Any, model: Any) -> None:
        """Put the parts' data onto a knot's."""
        data.pinocchio = pinocchio.Data(self.pinocchio)
        data.actuation = self.actuation.createData()
        data.joint = crocoddyl.JointDataAbstract(self.state, self.actuation, model.nu)
        shared = [data.pinocchio, data.actuation, data.joint]
        if self.contacts:
            data.contacts = self.contacts.createData(data.pinocchio)
            collector = crocoddyl.DataCollectorJointActMultibodyInContact(*shared, data.contacts)
        else:
            collector = crocoddyl.DataCollectorJointActMultibody(*shared)
        data.multibody = collector
        data.costs = self.costs.createData(collector)
        data.costs.shareMemory(data)
        if self.constraints:
            data.constraints = self.constraints.createData(collector)
            data.constraints.shareMemory(data)

    def torques(self, data: Any, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """τ (nv) of controls."""
        self.actuation.calc(data.actuation, x, u)
        return data.actuation.tau

    def move(self, data: Any, x: np.ndarray, a: np.ndarray) -> None:
        """Bodies at a state, where costs, constraints or contacts ask for them."""
        if not self.moved:
            return
        q, v = self.split(x)
        pinocchio.jacobianCenterOfMass(self.pinocchio, data.pinocchio, q)
        pinocchio.forwardKinematics(self.pinocchio, data.pinocchio, q, v, a)
        pinocchio.computeCentroidalMomentum(self.pinocchio, data.pinocchio)

    def move_differently(self, data: Any, x: np.ndarray, a: np.ndarray) -> None:
        """Derivatives of the bodies' motion, where they are asked for."""
        if not self.moved:
            return
        q, v = self.split(x)
        pinocchio.computeForwardKinematicsDerivatives(self.pinocchio, data.pinocchio, q, v, a)
        if self.centroidal:
            pinocchio.computeRNEADerivatives(self.pinocchio, data.pinocchio, q, v, a)

    def judge(self, data: Any, model: Any, x: np.ndarray, u: np.ndarray | None) -> None:
        """Cost and constraints, with controls or at the end of a horizon."""
        given = (x,) if u is None else (x, u)
        self.costs.calc(data.costs, *given)
        data.cost = data.costs.cost
        if self.constraints:
            data.constraints.resize(model, data, u is not None)
            self.constraints.calc(data.constraints, *given)

    def judge_differently(self, data: Any, x: np.ndarray, u: np.ndarray | None) -> None:
        """Derivatives of cost and constraints."""
        given = (x,) if u is None else (x, u)
        self.costs.calcDiff(data.costs, *given)
        if self.constraints:
            self.constraints.calcDiff(data.constraints, *given)
