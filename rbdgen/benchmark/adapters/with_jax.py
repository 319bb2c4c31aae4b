"""JAX on this machine's processor, in float64: MuJoCo's MJX, and frax. Derivatives are JAX's, forward."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree.ElementTree import SubElement, tostring

import numpy as np
from defusedxml import ElementTree

from rbdgen.benchmark.adapters.adapter import Adapter, Order, require_simple, rows, stacked
from rbdgen.benchmark.adapters.mujoco_python import plain_model
from rbdgen.benchmark.cells import TOLERANCES, Calls, NotThereError, Prepared
from rbdgen.benchmark.task import Task
from rbdgen.installation import optional_module

INERTIAS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
"""Of a URDF's element."""
Texts = tuple[Mapping[str, Callable[..., Any]], Order | None]
"""Functions of one state in JAX, by their codes, and the order of their joints, where it is another one."""


def _module(name: str, package: str) -> Any:
    try:
        with warnings.catch_warnings():
            # advice on settings, which the benchmark makes itself
            warnings.simplefilter("ignore")
            return import_module(name)
    except ImportError as error:
        missing = (error.name or name).partition(".")[0]
        raise NotThereError(
            f"Python package {missing!r} is missing: pip install {package}"
        ) from None


def _slopes(jax: Any, call: Callable[..., Any]) -> Callable[..., Any]:
    return jax.jacfwd(call, argnums=(0, 1))


def _opened(
    texts: Callable[[Any, Task], Texts], library: str
) -> Callable[[Task, ExitStack], Callable[[str], Prepared]]:
    """What opens an implementation whose functions ``texts`` gives."""

    def open_(task: Task, stack: ExitStack) -> Callable[[str], Prepared]:
        jax = optional_module("jax", "jax")
        require_simple(task.robot, library)
        stack.enter_context(jax.enable_x64(True))
        known, order = texts(jax, task)

        def prepare(function: str) -> Calls:
            if function not in known:
                raise NotThereError("it has no such function")
            return _calls(jax, task, function, known[function], order)

        return prepare

    return open_


def _calls(
    jax: Any, task: Task, function: str, text: Callable[..., Any], order: Order | None
) -> Calls:
    operands = task.operands(function)
    if order is not None:
        operands = order.given(operands)
    states = rows(operands, task.count)
    single = jax.jit(text)
    batched = jax.jit(jax.vmap(text))

    def host(x: Any) -> list[np.ndarray]:
        values = x if isinstance(x, tuple) else (x,)
        return [np.asarray(y) for y in values]

    def everything() -> list[np.ndarray]:
        found = []
        for state in states:
            found.append(host(single(*state)))
        results = stacked(found)
        return results if order is None else order.taken(results)

    def many(n: int) -> Callable[[], object]:
        some = [x[:n] for x in operands]
        return lambda: host(batched(*some))

    return Calls(
        everything,
        TOLERANCES["float64"],
        lambda k: host(single(*states[k])),
        many={(n, 1): many(n) for n in task.batches},
        how="jit, and vmap over the batch; JAX's own threads; operands and results in NumPy",
    )


def _mjx(jax: Any, task: Task) -> Texts:
    _, model, order = plain_model(task)
    mjx = _module("mujoco.mjx", "mujoco-mjx")
    there = mjx.put_model(model)
    data = mjx.make_data(there)

    def inverse_dynamics(q: Any, v: Any, a: Any) -> Any:
        return mjx.inverse(there, data.replace(qpos=q, qvel=v, qacc=a)).qfrc_inverse

    def forward_dynamics(q: Any, v: Any, tau: Any) -> Any:
        return mjx.forward(there, data.replace(qpos=q, qvel=v, qfrc_applied=tau)).qacc

    def mass_matrix(q: Any) -> Any:
        moved = mjx.com_pos(there, mjx.kinematics(there, data.replace(qpos=q)))
        return mjx.full_m(there, mjx.crb(there, moved))

    known = {
        "id": inverse_dynamics,
        "fd": forward_dynamics,
        "m": mass_matrix,
        "minv": lambda q: jax.numpy.linalg.inv(mass_matrix(q)),
        "did": _too_long,
        "dfd": _too_long,
    }
    return known, order


def _too_long(*state: Any) -> Any:
    raise NotThereError("JAX compiles derivatives of MJX for minutes, and they are left out")


def _with_inertias(path: Path) -> bytes:
    """A URDF in which links without inertia have one of zero: frax reads no other."""
    root = ElementTree.fromstring(path.read_bytes())
    for link in root.findall("link"):
        if link.find("inertial") is None:
            own = SubElement(link, "inertial")
            SubElement(own, "origin", xyz="0 0 0", rpy="0 0 0")
            SubElement(own, "mass", value="0")
            SubElement(own, "inertia", dict.fromkeys(INERTIAS, "0"))
    return tostring(root)


def _frax(jax: Any, task: Task) -> Texts:
    frax = _module("frax", "frax")
    if (task.robot.gravity[0], task.robot.gravity[1]) != (0.0, 0.0):
        raise NotThereError("its gravity is along z only")
    names = [body.joint_name for body in task.robot.bodies]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        path.write_bytes(_with_inertias(task.file))
        robot = frax.Robot(str(path), joint_ordering=names)
    upwards = jax.numpy.array([0.0, 0.0, -task.robot.gravity[2], 0.0, 0.0, 0.0])

    def inverse_dynamics(q: Any, v: Any, a: Any) -> Any:
        return robot.rnea(q, v, a, upwards, None)

    def forward_dynamics(q: Any, v: Any, tau: Any) -> Any:
        return robot.forward_dynamics(q, v, tau, None)

    known = {
        "id": inverse_dynamics,
        "fd": forward_dynamics,
        "m": robot.mass_matrix,
        "minv": lambda q: robot.mass_matrix_inverse(robot.mass_matrix(q)),
        "did": _slopes(jax, inverse_dynamics),
        "dfd": _slopes(jax, forward_dynamics),
    }
    return known, None


MJX = Adapter(
    "mjx", "MuJoCo MJX (JAX)", "from Python", "float64", _opened(_mjx, "MJX"), "mujoco-mjx"
)
FRAX = Adapter("frax", "frax (JAX)", "from Python", "float64", _opened(_frax, "frax"), "frax")
