"""MuJoCo, called from Python, without constraints and contacts: its inverse and forward dynamics, its mass matrix, and
its derivatives by finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from rbdgen.benchmark.adapters.adapter import Adapter, Order, require_simple, rows, stacked
from rbdgen.benchmark.cells import TOLERANCES, Calls, NotThereError, Prepared
from rbdgen.benchmark.task import Task
from rbdgen.installation import optional_module
from rbdgen.model.mujoco_model import names_of

STEP = 1e-6
"""Of finite differences."""
One = Callable[..., Sequence[np.ndarray]]


def plain_model(task: Task) -> tuple[Any, Any, Order]:
    """MuJoCo, its model of a task's robot with nothing but rigid bodies, and the order of its joints. NotThereError for
    joints that have other coordinates there."""
    mujoco = optional_module("mujoco", "mujoco")
    require_simple(task.robot, "MuJoCo")
    model = mujoco.MjModel.from_xml_path(str(task.file))
    order = Order.by_name(task.robot, names_of(model, "jnt"), "MuJoCo")
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= int(off.mjDSBL_CONSTRAINT | off.mjDSBL_CONTACT)
    model.opt.gravity[:] = task.robot.gravity
    model.dof_damping[:] = 0.0
    model.dof_frictionloss[:] = 0.0
    return mujoco, model, order


def _functions(mujoco: Any, model: Any) -> dict[str, One]:
    data = mujoco.MjData(model)
    nv = model.nv
    full, unit = np.zeros((nv, nv)), np.eye(nv)
    by_q, by_v = np.zeros((nv, nv)), np.zeros((nv, nv))
    unwanted = (None,) * 5

    def inverse_dynamics(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Sequence[np.ndarray]:
        data.qpos[:] = q
        data.qvel[:] = v
        data.qacc[:] = a
        mujoco.mj_inverse(model, data)
        return (data.qfrc_inverse,)

    def forward_dynamics(q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> Sequence[np.ndarray]:
        data.qpos[:] = q
        data.qvel[:] = v
        data.qfrc_applied[:] = tau
        mujoco.mj_forward(model, data)
        return (data.qacc,)

    def factored(q: np.ndarray) -> None:
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_crb(model, data)

    def mass_matrix(q: np.ndarray) -> Sequence[np.ndarray]:
        factored(q)
        mujoco.mj_fullM(model, data, full)
        return (full,)

    def inverse_mass_matrix(q: np.ndarray) -> Sequence[np.ndarray]:
        factored(q)
        mujoco.mj_factorM(model, data)
        mujoco.mj_solveM(model, data, full, unit)
        return (full,)

    def derivatives(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Sequence[np.ndarray]:
        data.qpos[:] = q
        data.qvel[:] = v
        data.qacc[:] = a
        mujoco.mjd_inverseFD(model, data, STEP, False, by_q, by_v, *unwanted)
        # a row for each coordinate there, for each torque here
        return by_q.T, by_v.T

    return {
        "id": inverse_dynamics,
        "fd": forward_dynamics,
        "m": mass_matrix,
        "minv": inverse_mass_matrix,
        "did": derivatives,
    }


def looped(
    task: Task, function: str, call: One, tolerance: float, how: str, order: Order | None = None
) -> Calls:
    """The calls of an implementation that takes one state at a time, its joints in this order."""
    operands = task.operands(function)
    if order is not None:
        operands = order.given(operands)
    states = rows(operands, task.count)

    def everything() -> list[np.ndarray]:
        found = []
        for state in states:
            # of memory that the next call writes into
            found.append([np.array(x) for x in call(*state)])
        results = stacked(found)
        return results if order is None else order.taken(results)

    def loop(n: int) -> Callable[[], object]:
        def run() -> None:
            for k in range(n):
                call(*states[k % task.count])

        return run

    many = {(n, 1): loop(n) for n in task.batches}
    return Calls(everything, tolerance, lambda k: call(*states[k]), many=many, how=how)


def _open(task: Task, stack: ExitStack) -> Callable[[str], Prepared]:
    mujoco, model, order = plain_model(task)
    known = _functions(mujoco, model)

    def prepare(function: str) -> Calls:
        if function not in known:
            raise NotThereError("it has no such function")
        how = "constraints and contacts are off; batches: a loop in Python"
        if function == "did":
            how = f"finite differences of {STEP:g}; {how}"
            return looped(task, function, known[function], TOLERANCES["differences"], how, order)
        return looped(task, function, known[function], TOLERANCES["float64"], how, order)

    return prepare


ADAPTER = Adapter("mujoco", "MuJoCo", "from Python", "float64", _open, "mujoco")
