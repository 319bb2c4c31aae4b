"""One compiled function: of one state, or of many side by side, by its library of C."""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbdgen import native
from rbdgen.errors import ConfigError, SingularityError
from rbdgen.functions.mass_matrix import crba
from rbdgen.functions.quantities import F_EXT
from rbdgen.model.robot import Robot
from rbdgen.numeric.batch import argument, configuration, require_positive_definite
from rbdgen.operands import UNIT_TOLERANCE
from rbdgen.software.library import FLAGS, LIBRARIES, PARALLEL, c_header, c_sources, name_of
from rbdgen.software.program import Array, Program

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
        texts = c_sources(name, [program]) | c_header(robot, [program])
        self.library = native.library(CACHE, texts, FLAGS + PARALLEL, LIBRARIES, progress)
        self.symbol = f"{name}_{program.function.name}"
        """Beginning of the names of its C functions."""
        self._rows = getattr(self.library, f"{self.symbol}_rows")
        self._rows.restype = ctypes.c_size_t
        # holds Python's lock: a call takes less time than letting go of it
        self._one = getattr(ctypes.PyDLL(self.library._name), self.symbol)
        self._one.restype = ctypes.c_int
        self.operands = program.operands
        self.results = program.results
        count = (Array(program.repeat, ()),) if program.repeat else ()
        self._taken = (*self.operands, *count)
        self.names = tuple(x.name for x in self._taken)
        # each thread has memory of its own, so that calls need no lock
        self._threads = threading.local()
        self._shapes = tuple(x.shape for x in self.operands)

    def __call__(self, *arguments: ArrayLike | None, **operands: ArrayLike | None) -> Results:
        if not operands and len(arguments) == len(self._taken) and not self.program.repeat:
            found = self._single(arguments)
            if found is not None:
                return found
        return self._many(self.named(arguments, operands))

    def _single(self, arguments: Sequence[Any]) -> Results | None:
        """The results of one state, where the arguments are plain arrays of its shapes; else None."""
        for x, shape in zip(arguments, self._shapes, strict=True):
            if type(x) is not np.ndarray or x.shape != shape:
                return None
        state = getattr(self._threads, "state", None)
        if state is None:
            state = self._threads.state = _State(self)
        for own, x in zip(state.operands, arguments, strict=True):
            own[...] = x
        for part in self._units:
            unit = state.operands[0][part]
            # written so that what is not a number fails too
            if not abs(unit.dot(unit) - 1.0) <= UNIT_TOLERANCE:
                return None
        singular = self._one(*state.pointers)
        if singular or not math.isfinite(state.whole.dot(state.whole)):
            # the way of many says what is wrong
            return None
        # the next call of this thread writes into the same memory
        if len(state.results) == 1:
            return state.results[0].copy()
        return tuple([x.copy() for x in state.results])

    @cached_property
    def _units(self) -> list[slice]:
        """The parts of q that must be of unit length."""
        found = []
        for body, part, _ in self.robot.independent:
            if "unit" in body.joint.kinds:
                own = range(self.robot.nq)[part][body.joint.unit_part]
                found.append(slice(own.start, own.stop))
        return found

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

    def _many(self, given: dict[str, Any]) -> Results:
        """The results of any number of states."""
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
        results = [np.empty((*batch, *x.shape)) for x in self.results]
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*arrays, *results)]
        singular = self._rows(ctypes.c_size_t(count), *pointers) if count else 0
        if singular:
            self._explain(q)
        for x in results:
            if not np.isfinite(x).all():
                raise ConfigError(
                    "result: is beyond the largest number; give smaller positions, velocities or forces"
                )
        return results[0] if len(results) == 1 else tuple(results)

    def _explain(self, q: np.ndarray) -> None:
        """SingularityError that says what has no inverse."""
        require_positive_definite(self.robot, crba(self.robot, q))
        raise SingularityError(
            f"{self.method}: a matrix that it inverts is not positive definite at one of the states; keep away from "
            "singular ones, or give a damping"
        )


class _State:
    """Memory in which one thread computes single states."""

    def __init__(self, function: CompiledFunction) -> None:
        kinds = [*function.results, *function.operands]
        # one array of all, so that one product tells whether all are finite
        self.whole = np.zeros(sum(x.size for x in kinds))
        arrays = []
        begin = 0
        for x in kinds:
            part = self.whole[begin : begin + x.size]
            arrays.append(part.reshape(x.shape))
            begin += x.size
        count = len(function.results)
        self.results, self.operands = arrays[:count], arrays[count:]
        inward_first = [*self.operands, *self.results]
        self.pointers = [ctypes.c_void_p(x.ctypes.data) for x in inward_first]


def whole_numbers(name: str, counts: np.ndarray) -> np.ndarray:
    """Numbers of steps as C takes them. ConfigError for one that is negative, not whole or too large."""
    wrong = counts[(counts < 0) | (counts % 1 != 0) | (counts >= MOST_STEPS)]
    if wrong.size:
        raise ConfigError(
            f"{name}: must be a whole number of at least 0 and below {MOST_STEPS}, not {wrong.flat[0]:g}"
        )
    return np.ascontiguousarray(counts, np.int32)
