"""CasADi's graphs of a robot that ADAM makes: run by CasADi's virtual machine, and as the C that it generates.

ADAM's robots float, so that of a fixed one the base stands still: τ = M a + h, and accelerations are solved for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rbdgen.benchmark.adapters.adapter import Adapter, require_simple
from rbdgen.benchmark.adapters.mujoco_python import looped
from rbdgen.benchmark.cells import TOLERANCES, Calls, NotThereError, Prepared
from rbdgen.benchmark.task import Task, record
from rbdgen.native import required_compiler
from rbdgen.native import run as run_compiler

FLAGS = ("-O2", "-march=native", "-fPIC", "-shared")
LONGEST = 40_000
"""Operations of a text that is compiled: compilers take more than proportional time for longer ones."""


def _imported(name: str, package: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        missing = (error.name or name).partition(".")[0]
        hint = f"pip install casadi {package}"
        raise NotThereError(f"Python package {missing!r} is missing: {hint}") from None


def symbolic(task: Task) -> Callable[[str], Any]:
    """What makes CasADi's function of one of the benchmark's."""
    cs = _imported("casadi", "adam-robotics")
    adam = _imported("adam.casadi", "adam-robotics")
    require_simple(task.robot, "ADAM")
    names = [body.joint_name for body in task.robot.bodies]
    gravity = np.array([*task.robot.gravity, 0.0, 0.0, 0.0])
    robot = adam.KinDynComputations(str(task.file), names, gravity=gravity)
    nv, here = task.robot.nv, np.eye(4)
    q, v, a, tau = (cs.SX.sym(name, nv) for name in ("q", "v", "a", "tau"))

    def expressions(function: str) -> Sequence[Any]:
        mass = robot.mass_matrix(here, q)[6:, 6:]
        if function == "m":
            return (mass,)
        if function == "minv":
            return (cs.solve(mass, cs.SX.eye(nv)),)
        effects = robot.bias_force(here, q, np.zeros(6), v)[6:]
        if function in ("id", "did"):
            torque = mass @ a + effects
            return (torque,) if function == "id" else _slopes(torque)
        if function in ("fd", "dfd"):
            acceleration = cs.solve(mass, tau - effects)
            return (acceleration,) if function == "fd" else _slopes(acceleration)
        raise NotThereError("it has no such function")

    def _slopes(x: Any) -> Sequence[Any]:
        return cs.densify(cs.jacobian(x, q)), cs.densify(cs.jacobian(x, v))

    by_name = {"q": q, "v": v, "a": a, "tau": tau}

    def make(function: str) -> Any:
        found = [cs.densify(x) for x in expressions(function)]
        given = [by_name[x.name] for x in record(function).operands]
        return cs.Function(f"rbd_{function}", given, found, {"cse": True})

    return make


def buffered(task: Task, function: str, made: Any) -> Callable[..., Sequence[np.ndarray]]:
    """A call of CasADi's function through its buffers, which costs least."""
    own = record(function)
    buffer, evaluate = made.buffer()
    given = [np.zeros_like(x[0]) for x in task.operands(function)]
    # columns lie side by side there
    results = [np.zeros(x.shape[1:], order="F") for x in task.oracle[function]]
    for k, x in enumerate(given):
        buffer.set_arg(k, x.data)
    for k, x in enumerate(results):
        buffer.set_res(k, x.reshape(-1, order="F").data)
    assert len(given) == len(own.operands)

    def call(*state: np.ndarray) -> Sequence[np.ndarray]:
        for x, y in zip(given, state, strict=True):
            x[...] = y
        evaluate()
        return results

    # the buffer must live as long as its call
    call.__dict__["buffer"] = buffer
    return call


def _virtual_machine(task: Task, stack: ExitStack) -> Callable[[str], Prepared]:
    make = symbolic(task)

    def prepare(function: str) -> Calls:
        made = make(function)
        how = f"ADAM's equations, {made.n_instructions()} instructions; batches: a loop in Python"
        return looped(task, function, buffered(task, function, made), TOLERANCES["float64"], how)

    return prepare


def _generated(task: Task, stack: ExitStack) -> Callable[[str], Prepared]:
    make = symbolic(task)
    cs = _imported("casadi", "adam-robotics")
    compiler = required_compiler()
    folder = Path(stack.enter_context(TemporaryDirectory()))

    def prepare(function: str) -> Calls:
        made = make(function)
        if made.n_instructions() > LONGEST:
            raise NotThereError(
                f"{made.n_instructions()} instructions in one text, which is not compiled here"
            )
        name = f"rbd_{function}.c"
        generator = cs.CodeGenerator(name)
        generator.add(made)
        generator.generate(f"{folder}/")
        library = folder / f"{task.name.replace('/', '_')}_{function}.so"
        run_compiler([compiler, *FLAGS, str(folder / name), "-o", str(library), "-lm"])
        call = buffered(task, function, cs.external(f"rbd_{function}", str(library)))
        how = f"ADAM's equations as CasADi's C, {' '.join(FLAGS[:2])}; batches: a loop in Python"
        return looped(task, function, call, TOLERANCES["float64"], how)

    return prepare


MACHINE = Adapter(
    "casadi", "CasADi (ADAM), virtual machine", "from Python", "float64", _virtual_machine, "casadi"
)
GENERATED = Adapter(
    "casadi_c", "CasADi (ADAM), generated C", "from Python", "float64", _generated, "casadi"
)
