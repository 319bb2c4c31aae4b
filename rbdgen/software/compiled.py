"""Functions of a robot that Python calls, with the golden model's interface: compiled by the system's C compiler, of
one state or of many side by side.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbdgen import native
from rbdgen.errors import ConfigError, SingularityError, short
from rbdgen.functions.mass_matrix import crba
from rbdgen.functions.quantities import F_EXT
from rbdgen.functions.registry import check_functions
from rbdgen.model.robot import Robot
from rbdgen.numeric.batch import argument, configuration, require_positive_definite
from rbdgen.options import Options
from rbdgen.software.composition import make_program
from rbdgen.software.direct import DONE, direct_function, direct_texts
from rbdgen.software.library import FLAGS, LIBRARIES, PARALLEL, c_header, c_sources, name_of
from rbdgen.software.program import Array, Program
from rbdgen.tracing.trace_options import TraceOptions

CACHE = "software"
"""Where compiled functions are kept."""
MOST_STEPS = 2**31
"""Steps of a roll-out."""
Results = np.ndarray | tuple[np.ndarray, ...]
"""Results of a function: an array, or a tuple where there are several."""


class CompiledFunction:
    """One compiled function; see :class:`rbdgen.software.compiled.Compiled`."""

    def __init__(self, robot: Robot, program: Program, progress: native.Progress) -> None:
        self.robot = robot
        self.program = program
        self.method = program.function.method
        name = name_of(robot)
        self.symbol = f"{name}_{program.function.name}"
        """Beginning of the names of its C functions."""
        texts = c_sources(name, [program]) | c_header(robot, [program])
        texts |= direct_texts(robot, program, self.symbol, f"{name}.h")
        self.library = native.library(CACHE, texts, FLAGS + PARALLEL, LIBRARIES, progress)
        self._rows = getattr(self.library, f"{self.symbol}_rows")
        self._rows.restype = ctypes.c_size_t
        self._direct = direct_function(self.library, self.symbol)
        self.operands = program.operands
        self.results = program.results
        count = (Array(program.repeat, ()),) if program.repeat else ()
        self._taken = (*self.operands, *count)
        self.names = tuple(x.name for x in self._taken)
        self._shapes = [x.shape for x in self.results]

    def __call__(
        self, *arguments: ArrayLike | None, out: Results | None = None, **operands: ArrayLike | None
    ) -> Results:
        if not operands and self._direct is not None:
            # one state in plain arrays: anything else is answered by a number, and goes on below
            if out is None:
                results = [np.empty(shape) for shape in self._shapes]
            else:
                results = out if type(out) is tuple else (out,)
            if self._direct(*arguments, *results) == DONE:
                return results[0] if len(results) == 1 else tuple(results)
        return self._many(self.named(arguments, operands), out)

    def named(self, arguments: Sequence[Any], operands: Mapping[str, Any]) -> dict[str, Any]:
        """Operands by name, arrays of any framework. ConfigError for one that is missing, given twice or not taken;
        external forces may be missing."""
        if len(arguments) > len(self.names):
            raise ConfigError(
                f"{self.method}: takes {', '.join(self.names)}, not {len(arguments)} arguments"
            )
        given: dict[str, Any] = {}
        for name, x in zip(self.names, arguments, strict=False):
            if x is not None:
                given[name] = x
        for name, x in operands.items():
            if name in given:
                raise ConfigError(f"{name}: given twice")
            if x is None:
                continue
            if name not in self.names:
                hint = "; compile it with forces=True" if name == "f_ext" else ""
                raise ConfigError(
                    f"{name}: {self.method} was compiled for {', '.join(self.names)}{hint}"
                )
            given[name] = x
        missing = [name for name in self.names if name not in given and name != F_EXT.name]
        if missing:
            raise ConfigError(f"{missing[0]}: missing; {self.method} takes {', '.join(self.names)}")
        return given

    def _many(self, given: dict[str, Any], out: Results | None) -> Results:
        """The results of any number of states, in ``out`` where it is given."""
        q = configuration(self.robot, given["q"])
        batch = q.shape[:-1]
        arrays = []
        for x in self._taken:
            # only external forces may be missing
            value = given.get(x.name, np.zeros((*batch, *x.shape)))
            if x.name == self.program.repeat:
                counts = argument(x.name, value, (), batch if np.ndim(value) else None)
                arrays.append(whole_numbers(x.name, np.broadcast_to(counts, batch)))
            else:
                array = argument(x.name, value, x.shape, batch)
                arrays.append(np.ascontiguousarray(array))
        count = math.prod(batch)
        wanted = self._room(out, batch)
        # C writes results while it still reads operands
        results = [
            np.empty(x.shape) if any(np.may_share_memory(x, y) for y in arrays) else x
            for x in wanted
        ]
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*arrays, *results)]
        singular = self._rows(ctypes.c_size_t(count), *pointers) if count else 0
        if singular:
            self._explain(q)
        for x in results:
            if not np.isfinite(x).all():
                raise ConfigError(
                    "result: is beyond the largest number; give smaller positions, velocities or forces"
                )
        for x, y in zip(wanted, results, strict=True):
            if x is not y:
                x[...] = y
        return wanted[0] if len(wanted) == 1 else tuple(wanted)

    def _room(self, out: Results | None, batch: tuple[int, ...]) -> list[np.ndarray]:
        """Arrays for the results: those that were given, or new ones. ConfigError for one that cannot be written to as
        it is."""
        shapes = [(*batch, *x.shape) for x in self.results]
        if out is None:
            return [np.empty(shape) for shape in shapes]
        given = out if isinstance(out, tuple) else (out,)
        names = ", ".join(x.name for x in self.results)
        if len(given) != len(shapes):
            raise ConfigError(f"out: must be an array for each of {names}, not {len(given)} arrays")
        for x, shape, own in zip(given, shapes, self.results, strict=True):
            if not isinstance(x, np.ndarray) or x.dtype != np.float64 or x.shape != shape:
                raise ConfigError(
                    f"out: {own.name} must be a NumPy array of float64 of shape {shape}, not {short(x)}"
                )
            if not (x.flags.c_contiguous and x.flags.writeable):
                raise ConfigError(
                    f"out: {own.name} must be writable and in C order; give a new array"
                )
        return list(given)

    def _explain(self, q: np.ndarray) -> None:
        """SingularityError that says what has no inverse."""
        require_positive_definite(self.robot, crba(self.robot, q))
        raise SingularityError(
            f"{self.method}: a matrix that it inverts is not positive definite at one of the states; keep away from "
            "singular ones, or give a damping"
        )


def whole_numbers(name: str, counts: np.ndarray) -> np.ndarray:
    """Numbers of steps as C takes them. ConfigError for one that is negative, not whole or too large."""
    wrong = counts[(counts < 0) | (counts % 1 != 0) | (counts >= MOST_STEPS)]
    if wrong.size:
        raise ConfigError(
            f"{name}: must be a whole number of at least 0 and below {MOST_STEPS}, not {wrong.flat[0]:g}"
        )
    return np.ascontiguousarray(counts, np.int32)


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
    :class:`rbdgen.tracing.trace_options.TraceOptions`, such as ``forces=True``.

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
    many, they are computed side by side on all cores (``OMP_NUM_THREADS`` says on how many). ``out``: an array of
    float64 that results are written into, a tuple of them where there are several; a call of one state in arrays of
    float64 then makes none. ``base`` (..., 9) and
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

    def call(
        self, function: str, /, *, out: Results | None = None, **operands: ArrayLike
    ) -> Results:
        """Results of a function, called by its own name."""
        made = self.function(function)
        # by position, so that single states take the short way
        given = [operands.pop(name) for name in made.names if name in operands]
        return made(*given, out=out, **operands)

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

    def __call__(
        self, *arguments: ArrayLike | None, out: Results | None = None, **operands: ArrayLike | None
    ) -> Results:
        given = {name for name, x in operands.items() if x is not None}
        for function in self.functions:
            names = function.names[len(arguments) :]
            if given == set(names):
                return function(*arguments, out=out, **operands)
        sets = "; or ".join(", ".join(f.names) for f in self.functions)
        raise ConfigError(f"{self.functions[0].method}: give {sets}")
