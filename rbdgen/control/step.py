"""A step of time as one task: Crocoddyl's ``ActionModel`` by the function ``step``, which returns A and B as well."""

from __future__ import annotations

from typing import Any

import numpy as np

from rbdgen.control.devices import Device
from rbdgen.control.parts import (
    Answer,
    Asked,
    Knot,
    Operands,
    Parts,
    crocoddyl,
    diverged,
    raised_outside,
)

_STEPPED = Asked()


class _Data(crocoddyl.ActionDataAbstract):
    """Of one knot: Crocoddyl's, and what the device was asked there."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.stepped = Knot()
        model.parts.hang(self, model)


class StepModel(crocoddyl.ActionModelAbstract):
    """One step of ``time_step`` seconds, which is the device's own (``--time-step``), by its function ``step``.

    It is ``crocoddyl.IntegratedActionModelEuler`` of free forward dynamics where the device integrates by ``euler``
    (costs count per second of it, too), in one task for each knot: a solver that evaluates a knot has its derivatives
    already. A solver's roll-out then moves A and B for every state that it tries. ConfigError as for
    :class:`rbdgen.control.FreeFwdDynamics`.
    """

    def __init__(
        self,
        state: Any,
        actuation: Any,
        costs: Any,
        device: Device,
        time_step: float,
        constraints: Any = None,
    ) -> None:
        parts = Parts(state, actuation, costs, None, constraints)
        super().__init__(state, actuation.nu, *parts.sizes)
        self.parts = parts
        self.nv = state.nv
        self.u_lb = actuation.u_lb
        self.u_ub = actuation.u_ub
        self.time_step = time_step
        if constraints:
            self.g_lb = constraints.g_lb
            self.g_ub = constraints.g_ub
        calls = parts.calls(device, "step")

        def stepped(o: Operands) -> Answer:
            return calls("step", **o)

        self.compute = stepped
        self.stepped = _STEPPED.of(device)

    def createData(self) -> _Data:
        """Data of one knot."""
        return _Data(self)

    def _asked(self, data: _Data, x: np.ndarray, u: np.ndarray) -> Answer:
        operands = self.parts.asked(data, x, u)
        return self.stepped.ask(data.stepped, operands, self.compute)

    def expect(self, data: _Data, x: np.ndarray, u: np.ndarray) -> None:
        """A state with controls will be evaluated (:func:`rbdgen.control.look_ahead`)."""
        operands = self.parts.asked(data, x, u)
        self.stepped.expect(data.stepped, operands)

    def calc(self, data: _Data, x: np.ndarray, u: np.ndarray | None = None) -> None:
        """The next state and the step's cost; without controls (the horizon's end) the cost, not times a step."""
        if u is not None and diverged(x, u):
            data.xnext = np.full(self.state.nx, np.nan)
            data.cost = np.nan
            return
        with raised_outside():
            self._evaluate(data, x, u)

    def calcDiff(self, data: _Data, x: np.ndarray, u: np.ndarray | None = None) -> None:
        """A and B, and the derivatives of the cost."""
        with raised_outside():
            self._differentiate(data, x, u)

    def _evaluate(self, data: _Data, x: np.ndarray, u: np.ndarray | None) -> None:
        parts = self.parts
        still = np.zeros(self.nv)
        parts.move(data, x, still)
        data.xnext = x
        if u is not None:
            found = self._asked(data, x, u)
            data.xnext = np.concatenate([found["q_next"], found["v_next"]])
        # costs may ask for torques, which are known now
        parts.judge(data, self, x, u)
        if u is not None:
            data.cost *= self.time_step

    def _differentiate(self, data: _Data, x: np.ndarray, u: np.ndarray | None) -> None:
        parts = self.parts
        still = np.zeros(self.nv)
        parts.move_differently(data, x, still)
        if u is not None:
            parts.change_torques(data, x, u)
        parts.judge_differently(data, x, u)
        if u is None:
            return
        found = self._asked(data, x, u)
        by_torque = found["dx_dtau"]
        torque_by_state = data.actuation.dtau_dx
        torque_by_control = parts.torque_by_control(data)
        data.Fx = found["dx_dx"] + by_torque @ torque_by_state
        data.Fu = by_torque @ torque_by_control
        for name in ("Lx", "Lu", "Lxx", "Lxu", "Luu"):
            slope = getattr(data, name)
            setattr(data, name, slope * self.time_step)
