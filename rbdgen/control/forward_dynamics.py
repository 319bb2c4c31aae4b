"""Crocoddyl's models of forward dynamics, free and in contact, whose dynamics a device computes.

Source: Mastalli et al., "Crocoddyl: an efficient and versatile framework for multi-contact optimal control" (ICRA
2020); the derivatives in contact are those of the KKT conditions of the acceleration (Budhiraja et al., Humanoids
2018), of the device's M⁻¹ and derivatives of inverse dynamics.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rbdgen.control.devices import Arrays, Device
from rbdgen.control.parts import (
    Answer,
    Asked,
    Knot,
    Operands,
    Parts,
    crocoddyl,
    diverged,
    pinocchio,
    raised_outside,
)
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
    """The common part of both models: the order in which a knot is evaluated."""

    def __init__(self, parts: Parts) -> None:
        actuation = parts.actuation
        constraints = parts.constraints
        super().__init__(parts.state, actuation.nu, *parts.sizes)
        self.parts = parts
        self.nv = parts.state.nv
        self.u_lb = actuation.u_lb
        self.u_ub = actuation.u_ub
        if constraints:
            self.g_lb = constraints.g_lb
            self.g_ub = constraints.g_ub

    def createData(self) -> _Data:
        """Data of one knot."""
        return _Data(self)

    def calc(self, data: _Data, x: np.ndarray, u: np.ndarray | None = None) -> None:
        """Acceleration and cost at a state, with controls; without them (the horizon's end), the cost alone."""
        parts = self.parts
        if u is not None and diverged(x, u):
            data.xout = np.full(self.nv, np.nan)
            data.cost = np.nan
            return
        with raised_outside():
            if u is None:
                still = np.zeros(self.nv)
                parts.move(data, x, still)
            else:
                a = self.accelerate(data, x, u)
                data.xout = a
                joint = data.joint
                joint.a = a
                joint.tau = u
            parts.judge(data, self, x, u)

    def calcDiff(self, data: _Data, x: np.ndarray, u: np.ndarray | None = None) -> None:
        """Derivatives of both, at the state of the last :meth:`calc`."""
        parts = self.parts
        with raised_outside():
            still = np.zeros(self.nv)
            a = still if u is None else data.xout
            parts.move_differently(data, x, a)
            if u is not None:
                parts.change_torques(data, x, u)
                by_state, by_control = self.differentiate(data, x, u)
                data.Fx = by_state
                data.Fu = by_control
                joint = data.joint
                joint.da_dx = by_state
                joint.da_du = by_control
            parts.judge_differently(data, x, u)

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
        parts = self.parts
        contacts = parts.contacts
        q, _ = parts.split(x)
        none = np.zeros(self.nv)
        still = np.concatenate([q, none])
        rest = np.zeros(self.nu)
        held = pinocchio.rnea(parts.pinocchio, data.pinocchio, q, none, none)
        parts.torques(data, still, rest)
        parts.change_torques(data, still, rest)
        columns = [parts.torque_by_control(data)]
        if contacts:
            parts.move(data, still, none)
            contacts.calc(data.contacts, still)
            rows = data.contacts.Jc[: contacts.nc]
            columns.append(rows.T)
        both = np.hstack(columns)
        shares = np.linalg.pinv(both) @ held
        return shares[: self.nu]


class FreeFwdDynamics(_FwdDynamics):
    """``crocoddyl.DifferentialActionModelFreeFwdDynamics`` whose dynamics ``device`` computes, by ``fd`` and ``dfd``,
    and ``minv`` unless its ``dfd`` returns M⁻¹ as well (``--with-inverse``).

    The derivatives of a horizon are one batch (:mod:`rbdgen.control.parts`). Roll-outs, of which each state follows
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
        parts = Parts(state, actuation, costs, None, constraints)
        super().__init__(parts)
        rolling = rollout or device
        inverse = "minv" in device.gives("dfd")
        asked = ("dfd",) if inverse else ("dfd", "minv")
        calls = parts.calls(device, *asked)
        roll = parts.calls(rolling, "fd")

        def rolled(o: Operands) -> Answer:
            return roll("fd", **o)

        def differentiated(o: Operands) -> Answer:
            found = calls("dfd", **o)
            if inverse:
                return found
            return found | calls("minv", q=o["q"])

        self.compute_rolled = rolled
        self.compute_differentiated = differentiated
        self.rolled = _ROLLED.of(rolling)
        self.differentiated = _DIFFERENTIATED.of(device)

    def accelerate(self, data: _Data, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        operands = self.parts.asked(data, x, u)
        found = self.rolled.ask(data.rolled, operands, self.compute_rolled)
        self.differentiated.expect(data.differentiated, operands)
        a = np.asarray(found["a"])
        self.parts.move(data, x, a)
        return a

    def differentiate(self, data: _Data, x: np.ndarray, u: np.ndarray) -> Arrays:
        operands = self.parts.asked(data, x, u)
        found = self.differentiated.ask(data.differentiated, operands, self.compute_differentiated)
        minv = found["minv"]
        drift = np.hstack([found["da_dq"], found["da_dv"]])
        torque_by_state = data.actuation.dtau_dx
        torque_by_control = self.parts.torque_by_control(data)
        by_state = drift + minv @ torque_by_state
        by_control = minv @ torque_by_control
        return by_state, by_control

    def expect(self, data: _Data, x: np.ndarray, u: np.ndarray) -> None:
        operands = self.parts.asked(data, x, u)
        self.rolled.expect(data.rolled, operands)


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
        parts = Parts(state, actuation, costs, contacts, constraints)
        super().__init__(parts)
        self.damping = damping
        rolling = rollout or device
        roll = parts.calls(rolling, "nle", "minv")
        calls = parts.calls(device, "did")
        calls.require_forces("did")

        def rolled(o: Operands) -> Answer:
            (nonlinear,) = roll("nle", **o).values()
            found = roll("minv", q=o["q"])
            return found | {"nle": nonlinear}

        def differentiated(o: Operands) -> Answer:
            return calls("did", **o)

        self.compute_rolled = rolled
        self.compute_differentiated = differentiated
        self.rolled = _ROLLED_IN_CONTACT.of(rolling)
        self.differentiated = _DIFFERENTIATED_IN_CONTACT.of(device)

    def _state(self, x: np.ndarray) -> dict[str, np.ndarray]:
        q, v = self.parts.split(x)
        return {"q": q, "v": v}

    def accelerate(self, data: _Data, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        parts = self.parts
        contacts = parts.contacts
        own = data.contacts
        nc = contacts.nc
        found = self.rolled.ask(data.rolled, self._state(x), self.compute_rolled)
        minv = found["minv"]
        # what motors alone do to light links may be far beyond any motion of theirs in contact
        torque = parts.torques(data, x, u)
        free = minv @ (torque - found["nle"])
        # contacts ask for the acceleration of their frames that velocities alone make
        still = np.zeros(self.nv)
        parts.move(data, x, still)
        contacts.calc(own, x)
        jacobian = own.Jc[:nc]
        reach = jacobian @ minv
        data.reach = reach
        data.mobility = reach @ jacobian.T + self.damping * np.eye(nc)
        approach = jacobian @ free + own.a0[:nc]
        forces = self._solved(data, -approach)
        a = free + reach.T @ forces
        contacts.updateAcceleration(own, a)
        contacts.updateForce(own, forces)
        operands = self._loaded(data, x, a)
        self.differentiated.expect(data.differentiated, operands)
        return a

    def _loaded(self, data: _Data, x: np.ndarray, a: np.ndarray) -> dict[str, np.ndarray]:
        """Operands of inverse dynamics under the contacts' forces."""
        q, v = self.parts.split(x)
        # the universe feels none of them
        felt = list(data.contacts.fext)[1:]
        forces = np.stack([force.vector for force in felt])
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
        contacts = self.parts.contacts
        own = data.contacts
        bodies = data.pinocchio
        rolled = self.rolled.ask(data.rolled, self._state(x), self.compute_rolled)
        minv = rolled["minv"]
        operands = self._loaded(data, x, data.xout)
        found = self.differentiated.ask(data.differentiated, operands, self.compute_differentiated)
        contacts.calcDiff(own, x)
        # contacts whose forces are given in other axes than their body's add what turning does
        bodies.dtau_dq = found["dtau_dq"]
        contacts.updateRneaDiff(own, bodies)
        inverse = np.hstack([bodies.dtau_dq, found["dtau_dv"]])
        missing = inverse - data.actuation.dtau_dx
        torque = self.parts.torque_by_control(data)
        drift = own.da0_dx[: contacts.nc]
        reach = data.reach
        # forces change so that contacts keep their acceleration
        force_by_state = self._solved(data, reach @ missing - drift)
        force_by_control = self._solved(data, -reach @ torque)
        by_state = reach.T @ force_by_state - minv @ missing
        by_control = reach.T @ force_by_control + minv @ torque
        contacts.updateAccelerationDiff(own, by_state)
        contacts.updateForceDiff(own, force_by_state, force_by_control)
        return by_state, by_control

    def expect(self, data: _Data, x: np.ndarray, u: np.ndarray) -> None:
        operands = self._state(x)
        self.rolled.expect(data.rolled, operands)
