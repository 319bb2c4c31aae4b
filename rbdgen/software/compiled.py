"""Functions of a robot that Python calls, with the golden model's interface: compiled by the system's C compiler."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import fields
from importlib import import_module
from typing import Any

from numpy.typing import ArrayLike

from rbdgen import native
from rbdgen.errors import ConfigError, short
from rbdgen.functions.registry import check_functions
from rbdgen.layout.trace_options import TraceOptions
from rbdgen.model.robot import Robot
from rbdgen.options import Options
from rbdgen.software.compiled_function import CompiledFunction, Results
from rbdgen.software.composition import make_program

HARDWARE_ONLY = {"functions", "programs", "ranges", "seed", "limits"}
"""Options of tracing that compiled functions have no use for, and those that they are given otherwise."""
TARGETS = ("c",)
"""Targets that functions are compiled for."""


def compile_functions(
    robot: Robot,
    functions: Sequence[str] | str,
    target: str = "c",
    *,
    progress: native.Progress = lambda stage: None,
    **settings: Any,
) -> Compiled:
    """Functions of ``robot`` (by their names, such as ``id``) as callables with the golden functions' names and
    arguments, compiled when they are first called. ``settings`` are fields of
    :class:`rbdgen.layout.trace_options.TraceOptions`, such as ``forces=True``.

    >>> from rbdgen import compile, load_robot
    >>> arm = compile(load_robot("pendulum2"), ["id", "did"])
    >>> arm.rnea([0.1, 0.2], [0.0, 0.0], [0.0, 0.0]).shape
    (2,)

    ConfigError for an unknown target or setting, UnsupportedError for what a robot cannot have; ToolError
    at the first call where there is no C compiler.
    """
    if target not in TARGETS:
        raise ConfigError(
            f"target {target!r}: unknown; choose from {', '.join(TARGETS)} (CUDA's text is written by 'rbdgen emit')"
        )
    known = {f.name for f in fields(TraceOptions)} - HARDWARE_ONLY
    for name in settings:
        if name not in known:
            raise ConfigError(f"{name}: no such setting; settings are {', '.join(sorted(known))}")
    names = [functions] if isinstance(functions, str) else list(functions)
    asked = Options(functions=check_functions(names), **settings)
    return Compiled(robot, asked.part(TraceOptions), progress)


class _NoSuchFunctionError(ConfigError, AttributeError):
    """A golden function that was not asked for."""


class Compiled:
    """Functions of a ``robot``, to be called by the golden functions' names, without the robot: see
    :func:`compile_functions`.

    Operands are arrays of any equal leading shape; results have it too. Of one state a call takes microseconds; of
    many, they are computed side by side on all cores (``OMP_NUM_THREADS`` says on how many). ``base`` (..., 9) and
    ``parameters`` are those of :class:`rbdgen.host.driver.Driver`. ConfigError for a wrong shape and values that are
    not finite, SingularityError where M is not positive definite.
    """

    def __init__(self, robot: Robot, settings: TraceOptions, progress: native.Progress) -> None:
        self.robot = robot
        self.settings = settings
        self.progress = progress
        self._lock = threading.Lock()
        self._methods = {f.name: f.method for f in settings.records}
        self._made: dict[str, CompiledFunction] = {}

    def function(self, name: str) -> CompiledFunction:
        """A function by its own name, such as ``id``; compiled now if it was not before."""
        made = self._made.get(name)
        if made is not None:
            return made
        with self._lock:
            # another thread may have made it while this one waited
            if name not in self._made:
                if name not in self._methods:
                    raise ConfigError(
                        f"function {short(name)}: was not asked for, only {', '.join(self._methods)}; compile it too"
                    )
                self.progress(f"trace {name}")
                program = make_program(self.robot, self.settings, name)
                self._made[name] = CompiledFunction(self.robot, program, self.progress)
            return self._made[name]

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints with coordinates of their own, in the order of q."""
        return tuple(body.joint_name for body, _, _ in self.robot.independent)

    def takes(self, function: str) -> tuple[str, ...]:
        """The operands of a function such as ``id``. ConfigError for one that was not asked for."""
        return self.function(function).names

    def gives(self, function: str) -> tuple[str, ...]:
        """The results of a function such as ``id``. ConfigError for one that was not asked for."""
        return tuple(x.name for x in self.function(function).results)

    def call(self, function: str, /, **operands: ArrayLike) -> Results:
        """Results of a function, called by its own name."""
        made = self.function(function)
        # by position, so that single states take the short way
        return made(*[operands.pop(name) for name in made.names if name in operands], **operands)

    def jax(self) -> Any:
        """The same functions for JAX: :class:`rbdgen.software.with_jax.JaxFunctions`."""
        return import_module("rbdgen.software.with_jax").JaxFunctions(self)

    def torch(self) -> Any:
        """The same functions for torch: :class:`rbdgen.software.with_torch.TorchFunctions`."""
        return import_module("rbdgen.software.with_torch").TorchFunctions(self)

    def __getattr__(self, name: str) -> Callable[..., Results]:
        # copies have no fields at first, and would ask for _methods for ever
        if name.startswith("_"):
            raise AttributeError(name)
        own = [function for function, method in self._methods.items() if method == name]
        if not own:
            known = ", ".join(f"{method} ({f})" for f, method in self._methods.items())
            raise _NoSuchFunctionError(f"{name}: was not compiled, only {known}")
        made = [self.function(function) for function in own]
        call = made[0] if len(made) == 1 else _Choice(made)
        # found at once from now on
        self.__dict__[name] = call
        return call

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._methods.values()})


class _Choice:
    """Functions with the same golden function, of which the operands say which is meant."""

    def __init__(self, functions: Sequence[CompiledFunction]) -> None:
        self.functions = functions

    def __call__(self, *arguments: ArrayLike | None, **operands: ArrayLike | None) -> Results:
        given = {name for name, x in operands.items() if x is not None}
        for function in self.functions:
            names = function.names[len(arguments) :]
            if given == set(names):
                return function(*arguments, **operands)
        sets = "; or ".join(", ".join(f.names) for f in self.functions)
        raise ConfigError(f"{self.functions[0].method}: give {sets}")
