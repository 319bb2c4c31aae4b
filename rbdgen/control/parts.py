"""Parts of a knot of Crocoddyl's beside its dynamics: actuation, contacts, costs, constraints, and bodies in motion.

All of these are Crocoddyl's and Pinocchio's own, evaluated on the host.

Many knots are one batch. A solver evaluates all knots of a horizon before it asks for the first derivative, at the very
states and controls that it asks for then. So the first question is answered together with all that will follow. Any
other question is answered on its own.

Crocoddyl evaluates knots in OpenMP's loops. An error that leaves such a loop ends the process. It is kept there, and
raised by the next evaluation outside of one: that of the horizon's end, which follows at once.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from rbdgen.control.devices import Calls, Device
from rbdgen.installation import optional_module

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
        """Numbers of residuals, inequalities, equalities, and both at the end, for Crocoddyl's base classes."""
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
        """Operands for a device at a state with controls: q, v and τ."""
        q, v = self.split(x)
        return {"q": q, "v": v, "tau": self.torques(data, x, u)}

    def change_torques(self, data: Any, x: np.ndarray, u: np.ndarray) -> None:
        """Derivatives of torques by states and controls."""
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


Operands = Mapping[str, np.ndarray]
Answer = Mapping[str, np.ndarray]
Compute = Callable[[Operands], Answer]
"""Results by name of operands by name, all with the same leading dimension."""


class Knot:
    """One evaluation of a horizon: the ``operands`` it was last evaluated at, and what is known there."""

    def __init__(self) -> None:
        self.operands: Operands = {}
        self.answer: Answer | None = None

    def at(self, operands: Operands) -> bool:
        """Whether it was evaluated at these operands."""
        if self.operands.keys() != operands.keys():
            return False
        return all(np.array_equal(x, operands[name]) for name, x in self.operands.items())


class Knots:
    """Knots that wait for answers of one device."""

    def __init__(self) -> None:
        self.waiting: dict[int, weakref.ref[Knot]] = {}
        self.batches: list[int] = []
        """Number of knots of each batch."""

    def expect(self, knot: Knot, operands: Operands) -> None:
        """An answer for a knot may soon be asked for at ``operands``. What is known there is kept."""
        if not knot.at(operands):
            # a solver's vectors are its own, and change
            knot.operands = {name: np.array(x) for name, x in operands.items()}
            knot.answer = None
        if knot.answer is None:
            # a solver drops data that it no longer needs: nobody computes for those
            self.waiting[id(knot)] = weakref.ref(knot)

    def ask(self, knot: Knot, operands: Operands, compute: Compute) -> Answer:
        """The answer for a knot at ``operands``, which ``compute`` gives together with those of all that wait."""
        self.expect(knot, operands)
        if knot.answer is None:
            self._fill(compute)
        assert knot.answer is not None
        return knot.answer

    def _fill(self, compute: Compute) -> None:
        """Compute all that waits in one batch, in the order in which it was expected."""
        # in the order in which they were expected, which is the horizon's
        knots = [knot for reference in self.waiting.values() if (knot := reference()) is not None]
        self.waiting = {}
        stacked = {}
        for name in knots[0].operands:
            stacked[name] = np.stack([knot.operands[name] for knot in knots])
        answers = compute(stacked)
        self.batches.append(len(knots))
        for row, knot in enumerate(knots):
            knot.answer = {name: x[row] for name, x in answers.items()}


class Asked:
    """The knots of each device, as long as there is one: models of the same one are answered together."""

    def __init__(self) -> None:
        self._knots: weakref.WeakKeyDictionary[object, Knots] = weakref.WeakKeyDictionary()

    def of(self, device: object) -> Knots:
        """The knots of ``device``."""
        if device not in self._knots:
            self._knots[device] = Knots()
        return self._knots[device]


_LIBRARIES = ("libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so")
"""OpenMP's runtime, of which one is loaded where Crocoddyl was built with it."""
FARTHEST = 1e15
"""Of states and controls: beyond it a roll-out has diverged."""
_kept: list[Exception] = []


def diverged(x: np.ndarray, u: np.ndarray) -> bool:
    """Whether a roll-out has diverged, of which no device is asked: a solver that finds no number there takes a shorter
    step."""
    most = max(np.max(np.abs(x)), np.max(np.abs(u), initial=0.0))
    # no comparison holds where there is no number
    return not most < FARTHEST


@cache
def _level() -> Callable[[], int]:
    """The function that counts the parallel regions that the caller is in, those of one thread too."""
    for name in _LIBRARIES:
        try:
            # only where it is loaded already: loading another OpenMP would start one of its own
            library = ctypes.CDLL(name, mode=os.RTLD_NOLOAD)
            return library.omp_get_level
        except (OSError, AttributeError):
            continue
    return lambda: 0


@contextmanager
def raised_outside() -> Iterator[None]:
    """Errors inside are kept while this is in a parallel loop; outside of one, a kept error is raised."""
    inside = _level()() > 0
    if _kept and not inside:
        error = _kept[0]
        _kept.clear()
        raise error
    try:
        yield
    except Exception as error:
        if not inside:
            raise
        _kept.append(error)
