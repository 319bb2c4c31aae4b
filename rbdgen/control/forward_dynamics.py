"""Crocoddyl's models of forward dynamics, free and in contact, whose dynamics a device computes.

Source: Mastalli et al., "Crocoddyl: an efficient and versatile framework for multi-contact optimal control" (ICRA
2020); the derivatives in contact are those of the KKT conditions of the acceleration (Budhiraja et al., Humanoids
2018), of the device's M⁻¹ and derivatives of inverse dynamics.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rbdgen.control.devices import Arrays, Device
from rbdgen.control.failures import raised_outside
from rbdgen.control.knots import Answer, Asked, Knot, Operands
from rbdgen.control.parts import Parts, crocoddyl, pinocchio
from rbdgen.errors import SingularityError

_ROLLED = Asked()
_ROLLED_IN_CONTACT = Asked()
_DIFFERENTIATED = Asked()
_DIFFERENTIATED_IN_CONTACT = Asked()


class _Data(crocoddyl.DifferentialActionDataAbstract):
    """Of one knot: Crocoddyl's, and what the device was asked there."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.rolled = Knot()
        self.differentiated = Knot()
        model.parts.hang(self, model)


class _FwdDynamics(crocoddyl.DifferentialActionModelAbstract):
    """What both models have in common: the order in which a knot is evaluated."""

    def __init__(self, parts: Parts) -> None:
        nu = parts.actuation.nu
        super().__init__(parts.state, nu, *parts.sizes.values())
        self.parts = parts
        self.u_lb = parts.actuation.u_lb
        self.u_ub = parts.actuation.u_ub
        if parts.constraints:
            self.g_lb = parts.constraints.g_lb
            self.g_ub = parts.constraints.g_ub

    def createData(self) -> _Data:
        """Data of one knot."""
        return _Data(self)

    def calc(self, data: _Data, x: np.ndarray, u: np.ndarray | None = None) -> None:
        """Acceleration and cost at a state, with controls; without them (the horizon's end), the cost alone."""
        with raised_outside():
            if u is None:
                self.parts.move(data, x, np.zeros(self.state.nv))
            else:
                data.xout = self.accelerate(data, x, u)
                data.joint.a = data.xout
                data.joint.tau = u
            self.parts.judge(data, self, x, u)

    def calcDiff(self, data: _Data, x: np.ndarray, u: np.ndarray | None = None) -> None:
        """Derivatives of both, at the state of the last :meth:`calc`."""
        with raised_outside():
            a = np.zeros(self.state.nv) if u is None else data.xout
            self.parts.move_differently(data, x, a)
            if u is not None:
                self.parts.actuation.calcDiff(data.actuation, x, u)
                data.Fx, data.Fu = self.differentiate(data, x, u)
                data.joint.da_dx = data.Fx
                data.joint.da_du = data.Fu
            self.parts.judge_differently(data, x, u)

    def accelerate(self, data: _Data, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """a (nv) at a state with controls."""
        raise NotImplementedError

    def differentiate(self, data: _Data, x: np.ndarray, u: np.ndarray) -> Arrays:
        """∂a/∂x (nv, 2 nv) and ∂a/∂u (nv, nu)."""
        raise NotImplementedError

    def expect(self, data: _Data, x: np.ndarray, u: np.ndarray) -> None:
        """A state with controls will be evaluated (:func:`rbdgen.control.look_ahead`)."""
        raise NotImplementedError

    def quasiStatic(
        self, data: _Data, x: np.ndarray, maxiter: int = 100, tol: float = 1e-9
    ) -> np.ndarray:
        """Controls (nu) that hold a state still as far as they can, by Pinocchio."""
        q, _ = self.parts.split(x)
        still = np.concatenate([q, np.zeros(self.state.nv)])
        rest = np.zeros(self.nu)
        none = np.zeros(self.state.nv)
        held = pinocchio.rnea(self.parts.pinocchio, data.pinocchio, q, none, none)
        self.parts.actuation.calc(data.actuation, still, rest)
        self.parts.actuation.calcDiff(data.actuation, still, rest)
        columns = [data.actuation.dtau_du.reshape(self.state.nv, self.nu)]
        if self.parts.contacts:
            self.parts.move(data, still, none)
            self.parts.contacts.calc(data.contacts, still)
            columns.append(data.contacts.Jc[: self.parts.contacts.nc].T)
        return (np.linalg.pinv(np.hstack(columns)) @ held)[: self.nu]


class FreeFwdDynamics(_FwdDynamics):
    """``crocoddyl.DifferentialActionModelFreeFwdDynamics`` whose dynamics ``device`` computes, by ``fd`` and ``dfd``,
    and ``minv`` unless its ``dfd`` returns M⁻¹ as well (``--with-inverse``).

    The derivatives of a horizon are one batch (:mod:`rbdgen.control.knots`). Roll-outs, of which each state follows
    from the one before it, ask for one knot at a time; they may be left to another device, ``rollout``, such as
    compiled C. Two threads must not evaluate models of the same device at once. ConfigError for a device of another
    robot or without these functions.
    """

    def __init__(
        self,
        state: Any,
        actuation: Any,
        costs: Any,
        device: Device,
        rollout: Device | None = None,
        constraints: Any = None,
    ) -> None:
        super().__init__(Parts(state, actuation, costs, None, constraints))
        rolling = rollout or device
        inverse = "minv" in device.gives("dfd")
        asked = ("dfd",) if inverse else ("dfd", "minv")
        calls = self.parts.calls(device, *asked)
        roll = self.parts.calls(rolling, "fd")

        def rolled(o: Operands) -> Answer:
            return roll("fd", **o)

        def differentiated(o: Operands) -> Answer:
            found = calls("dfd", **o)
            return found if inverse else found | calls("minv", q=o["q"])

        self.rolled = _ROLLED.of(rolling, rolled)
        self.differentiated = _DIFFERENTIATED.of(device, differentiated)

    def _operands(self, data: _Data, x: np.ndarray, u: np.ndarray) -> dict[str, np.ndarray]:
        q, v = self.parts.split(x)
        return {"q": q, "v": v, "tau": self.parts.torques(data, x, u)}

    def accelerate(self, data: _Data, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        operands = self._operands(data, x, u)
        a = self.rolled.ask(data.rolled, operands)["a"]
        self.differentiated.expect(data.differentiated, operands)
        self.parts.move(data, x, a)
        return a

    def differentiate(self, data: _Data, x: np.ndarray, u: np.ndarray) -> Arrays:
        found = self.differentiated.ask(data.differentiated, self._operands(data, x, u))
        minv = found["minv"]
        by_state = np.hstack([found["da_dq"], found["da_dv"]]) + minv @ data.actuation.dtau_dx
        return by_state, minv @ data.actuation.dtau_du.reshape(self.state.nv, self.nu)

    def expect(self, data: _Data, x: np.ndarray, u: np.ndarray) -> None:
        self.rolled.expect(data.rolled, self._operands(data, x, u))


class ContactFwdDynamics(_FwdDynamics):
    """``crocoddyl.DifferentialActionModelContactFwdDynamics`` whose dynamics ``device`` computes: M⁻¹, nonlinear
    effects, and derivatives of inverse dynamics under the contacts' forces, by ``minv``, ``nle`` and ``did`` of a
    device with ``--forces``.

    The host adds what contacts there are, which are Crocoddyl's and may change from knot to knot: forces by
    (J M⁻¹ Jᵀ + ``damping``·1)⁻¹, and their derivatives. All else as for :class:`FreeFwdDynamics`. SingularityError
    where contacts contradict each other and there is no damping.
    """

    def __init__(
        self,
        state: Any,
        actuation: Any,
        contacts: Any,
        costs: Any,
        device: Device,
        damping: float = 0.0,
        rollout: Device | None = None,
        constraints: Any = None,
    ) -> None:
        super().__init__(Parts(state, actuation, costs, contacts, constraints))
        self.damping = damping
        rolling = rollout or device
        roll = self.parts.calls(rolling, "nle", "minv")
        calls = self.parts.calls(device, "did")
        calls.require_forces("did")

        def rolled(o: Operands) -> Answer:
            (nonlinear,) = roll("nle", **o).values()
            return {"nle": nonlinear} | roll("minv", q=o["q"])

        def differentiated(o: Operands) -> Answer:
            return calls("did", **o)

        self.rolled = _ROLLED_IN_CONTACT.of(rolling, rolled)
        self.differentiated = _DIFFERENTIATED_IN_CONTACT.of(device, differentiated)

    def _state(self, x: np.ndarray) -> dict[str, np.ndarray]:
        q, v = self.parts.split(x)
        return {"q": q, "v": v}

    def accelerate(self, data: _Data, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        contacts = self.parts.contacts
        found = self.rolled.ask(data.rolled, self._state(x))
        minv = found["minv"]
        # what motors alone do to light links may be far beyond any motion of theirs in contact
        free = minv @ (self.parts.torques(data, x, u) - found["nle"])
        # contacts ask for the acceleration of their frames that velocities alone make
        self.parts.move(data, x, np.zeros(self.state.nv))
        contacts.calc(data.contacts, x)
        jacobian = data.contacts.Jc[: contacts.nc]
        drift = data.contacts.a0[: contacts.nc]
        data.reach = jacobian @ minv
        data.mobility = data.reach @ jacobian.T + self.damping * np.eye(contacts.nc)
        forces = self._solved(data, -(jacobian @ free + drift))
        a = free + data.reach.T @ forces
        contacts.updateAcceleration(data.contacts, a)
        contacts.updateForce(data.contacts, forces)
        q, v = self.parts.split(x)
        self.differentiated.expect(data.differentiated, self._loaded(data, q, v, a))
        return a

    def _loaded(
        self, data: _Data, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Operands of inverse dynamics under the contacts' forces."""
        forces = np.stack([force.vector for force in data.contacts.fext])[1:]
        return {"q": q, "v": v, "a": a, "f_ext": forces}

    def _solved(self, data: _Data, right: np.ndarray) -> np.ndarray:
        """Forces of contacts that accelerate them so."""
        try:
            return np.linalg.solve(data.mobility, right)
        except np.linalg.LinAlgError:
            raise SingularityError(
                f"contacts: {self.parts.contacts.nc} directions hold the robot more than once; leave one out, or give "
                "a damping"
            ) from None

    def differentiate(self, data: _Data, x: np.ndarray, u: np.ndarray) -> Arrays:
        contacts, nv = self.parts.contacts, self.state.nv
        q, v = self.parts.split(x)
        minv = self.rolled.ask(data.rolled, self._state(x))["minv"]
        operands = self._loaded(data, q, v, data.xout)
        found = self.differentiated.ask(data.differentiated, operands)
        contacts.calcDiff(data.contacts, x)
        # contacts whose forces are given in other axes than their body's add what turning does
        data.pinocchio.dtau_dq = found["dtau_dq"]
        contacts.updateRneaDiff(data.contacts, data.pinocchio)
        torque = np.hstack([data.pinocchio.dtau_dq, found["dtau_dv"]]) - data.actuation.dtau_dx
        by_control = data.actuation.dtau_du.reshape(nv, self.nu)
        drift = data.contacts.da0_dx[: contacts.nc]
        # forces change so that contacts keep their acceleration
        force_by_state = self._solved(data, data.reach @ torque - drift)
        force_by_control = self._solved(data, -data.reach @ by_control)
        by_state = data.reach.T @ force_by_state - minv @ torque
        by_input = data.reach.T @ force_by_control + minv @ by_control
        contacts.updateAccelerationDiff(data.contacts, by_state)
        contacts.updateForceDiff(data.contacts, force_by_state, force_by_control)
        return by_state, by_input

    def expect(self, data: _Data, x: np.ndarray, u: np.ndarray) -> None:
        self.rolled.expect(data.rolled, self._state(x))
