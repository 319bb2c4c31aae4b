"""What a knot of Crocoddyl's has beside its dynamics: actuation, contacts, costs, constraints, and bodies in motion.

All of it is Crocoddyl's and Pinocchio's own, evaluated on the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rbdgen.control.devices import Calls, Device
from rbdgen.extras import optional_module

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
    def sizes(self) -> tuple[int, ...]:
        """How many residuals, inequalities, equalities, and both at the end, for Crocoddyl's base classes."""
        own = self.constraints
        if not own:
            return self.costs.nr, 0, 0, 0, 0
        return self.costs.nr, own.ng, own.nh, own.ng_T, own.nh_T

    def residuals(self) -> list[Any]:
        """The residuals of all costs and constraints."""
        costs = self.costs.costs.todict()
        found = [entry.cost.residual for entry in costs.values()]
        if self.constraints:
            constraints = self.constraints.constraints.todict()
            found += [entry.constraint.residual for entry in constraints.values()]
        return found

    @property
    def moved(self) -> bool:
        """Whether costs, constraints or contacts ask where bodies are."""
        if self.contacts:
            return True
        unmoved = [isinstance(r, _UNMOVED) for r in self.residuals()]
        return not all(unmoved)

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
        bodies = pinocchio.Data(self.pinocchio)
        actuation = self.actuation.createData()
        joint = crocoddyl.JointDataAbstract(self.state, self.actuation, model.nu)
        shared = [bodies, actuation, joint]
        collector = crocoddyl.DataCollectorJointActMultibody
        if self.contacts:
            contacts = self.contacts.createData(bodies)
            shared.append(contacts)
            collector = crocoddyl.DataCollectorJointActMultibodyInContact
            data.contacts = contacts
        # Crocoddyl keeps no hold of these
        data.pinocchio = bodies
        data.actuation = actuation
        data.joint = joint
        data.multibody = collector(*shared)
        costs = self.costs.createData(data.multibody)
        costs.shareMemory(data)
        data.costs = costs
        if self.constraints:
            constraints = self.constraints.createData(data.multibody)
            constraints.shareMemory(data)
            data.constraints = constraints

    def torques(self, data: Any, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """τ (nv) of controls."""
        own = data.actuation
        self.actuation.calc(own, x, u)
        return own.tau

    def asked(self, data: Any, x: np.ndarray, u: np.ndarray) -> dict[str, np.ndarray]:
        """What a device is asked at a state with controls: q, v and τ."""
        q, v = self.split(x)
        return {"q": q, "v": v, "tau": self.torques(data, x, u)}

    def change_torques(self, data: Any, x: np.ndarray, u: np.ndarray) -> None:
        """How torques change with states and controls."""
        self.actuation.calcDiff(data.actuation, x, u)

    def torque_by_control(self, data: Any) -> np.ndarray:
        """∂τ/∂u (nv, nu)."""
        slope = data.actuation.dtau_du
        return slope.reshape(self.state.nv, self.actuation.nu)

    def move(self, data: Any, x: np.ndarray, a: np.ndarray) -> None:
        """Bodies at a state, where costs, constraints or contacts ask for them."""
        if not self.moved:
            return
        q, v = self.split(x)
        both = self.pinocchio, data.pinocchio
        pinocchio.jacobianCenterOfMass(*both, q)
        pinocchio.forwardKinematics(*both, q, v, a)
        pinocchio.computeCentroidalMomentum(*both)

    def move_differently(self, data: Any, x: np.ndarray, a: np.ndarray) -> None:
        """Derivatives of the bodies' motion, where they are asked for."""
        if not self.moved:
            return
        q, v = self.split(x)
        both = self.pinocchio, data.pinocchio
        pinocchio.computeForwardKinematicsDerivatives(*both, q, v, a)
        if self.centroidal:
            pinocchio.computeRNEADerivatives(*both, q, v, a)

    def judge(self, data: Any, model: Any, x: np.ndarray, u: np.ndarray | None) -> None:
        """Cost and constraints, with controls or at the end of a horizon."""
        given = (x,) if u is None else (x, u)
        costs = data.costs
        self.costs.calc(costs, *given)
        data.cost = costs.cost
        if self.constraints:
            own = data.constraints
            own.resize(model, data, u is not None)
            self.constraints.calc(own, *given)

    def judge_differently(self, data: Any, x: np.ndarray, u: np.ndarray | None) -> None:
        """Derivatives of cost and constraints."""
        given = (x,) if u is None else (x, u)
        self.costs.calcDiff(data.costs, *given)
        if self.constraints:
            self.constraints.calcDiff(data.constraints, *given)
