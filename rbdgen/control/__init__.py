"""Controllers that ask an accelerator: Crocoddyl's action models over any device.

A *device* is whatever answers functions by name (:class:`rbdgen.control.devices.Device`): a board or a simulated one
(:class:`rbdgen.host.driver.Driver`), the bit-true model (:func:`rbdgen.bit_true`), compiled C (:func:`rbdgen.compile`),
the golden model (:func:`rbdgen.float64`). The models take the place of Crocoddyl's own, argument for argument; what
else there is of a problem, costs, contacts, actuation, integrators and solvers, stays Crocoddyl's. Names are found when
they are asked for: Crocoddyl and Pinocchio are only needed then (ToolError names what is missing).
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rbdgen.control.forward_dynamics import ContactFwdDynamics, FreeFwdDynamics
    from rbdgen.control.step import StepModel


_HOMES = {
    "ContactFwdDynamics": "forward_dynamics",
    "FreeFwdDynamics": "forward_dynamics",
    "StepModel": "step",
}

__all__ = ["ContactFwdDynamics", "FreeFwdDynamics", "StepModel", "look_ahead"]


def __getattr__(name: str) -> Any:
    """A model, once it is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def look_ahead(problem: Any, xs: Sequence[np.ndarray], us: Sequence[np.ndarray]) -> None:
    """Have a device evaluate all knots of a ``crocoddyl.ShootingProblem`` at once, when the first of them is.

    Call it before ``problem.calc(xs, us)`` or ``solver.solve(xs, us, …)``: states and controls are known there, while
    in a roll-out each state follows from the one before it. Models that are not of :mod:`rbdgen.control` are left
    alone. Derivatives need no such call.
    """
    knots = zip(problem.runningModels, problem.runningDatas, xs, us, strict=False)
    for model, data, x, u in knots:
        known, own = getattr(model, "differential", model), getattr(data, "differential", data)
        expect = getattr(known, "expect", None)
        if expect is not None:
            expect(own, np.asarray(x), np.asarray(u))
