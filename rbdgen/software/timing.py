"""Time that this machine takes for functions by this project's C: single calls from C, and batches on one core or all;
and the states at which programs are checked and timed.

A call from Python takes longer; that is not in these times.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from rbdgen import native
from rbdgen.errors import ToolError
from rbdgen.functions.quantities import MINV, States
from rbdgen.golden import minverse, rnea
from rbdgen.model.ranges import declared_ranges, random_states
from rbdgen.model.robot import Robot
from rbdgen.processes import cores
from rbdgen.processor_times import Timing, best_seconds
from rbdgen.software.calls import COUNT, TAB, TYPES, Calls
from rbdgen.software.compiled import CACHE, Compiled, CompiledFunction
from rbdgen.software.library import FLAGS, LIBRARIES
from rbdgen.software.program import Program
from rbdgen.tracing.samples import (
    bounded_others,
    looped_states,
    random_base,
    random_forces,
    random_others,
)
from rbdgen.tracing.words import TraceOptions

MOST_STEPS = 6
"""Of a roll-out."""


def program_states(
    robot: Robot, settings: TraceOptions, program: Program, count: int, seed: int = 0
) -> States:
    """Random states inside the robot's limits, with the torques of their motions."""
    own = replace(settings, functions=(program.function.name,))
    ranges = declared_ranges(robot)
    q, v, a = random_states(robot, ranges, count, seed)
    q, v = looped_states(robot, own, ranges, q, v)
    f_ext = random_forces(robot, own, count, seed)
    base = random_base(own, count, seed)
    steps = np.random.default_rng(seed).integers(0, MOST_STEPS + 1, (count, 1))
    others = bounded_others(robot, own, q, random_others(robot, own, count, seed))
    states = States(q, v, a, f_ext, np.zeros_like(v), None, base, steps=steps, others=others)
    takes_inverse = any(x.name == MINV.name for x in program.operands)
    inverse = minverse(robot, q) if takes_inverse else None
    tau = rnea(robot, q, v, a, f_ext, root=states.root)
    return replace(states, tau=tau, minv=inverse)


def operand_arrays(program: Program, states: States) -> list[np.ndarray]:
    """The operands, (count, …) each, in the program's order."""
    found = []
    for x in program.operands:
        own = states.others.get(x.name)
        found.append(getattr(states, x.name) if own is None else own)
    return found


def reference(
    robot: Robot, settings: TraceOptions, program: Program, states: States
) -> list[np.ndarray]:
    """The results of the golden model, (count, …) each, in the program's order."""
    own = replace(settings, functions=(program.function.name,))
    record = program.function
    values = record.evaluated(robot, states, own, None)
    found = dict(zip((x.name for x in record.results), values, strict=True))
    if record.extra and own.extra_of(record.name):
        found[record.extra.quantity.name] = record.extra.reference(robot, states)
    return [np.asarray(found[x.name]) for x in program.results]


C, CUDA = "rbdgen C", "rbdgen CUDA"
"""Names of the implementations."""
ONE_BY_ONE = 1024
"""States of a round of single calls."""


def time_software(
    robot: Robot,
    functions: Sequence[str],
    batches: Sequence[int],
    seed: int = 1,
    rounds: int = 3,
    progress: Callable[[str, int, int], None] = lambda name, done, total: None,
) -> list[Timing]:
    """Time ``functions`` of ``robot``, the best of ``rounds`` for each batch; a batch of one is single calls from C."""
    settings = TraceOptions(functions=tuple(functions))
    compiled = Compiled(robot, settings, lambda stage: None)
    count = max(*batches, ONE_BY_ONE)
    result: list[Timing] = []
    for done, function in enumerate(functions):
        progress("time compiled C", done, len(functions))
        try:
            made = compiled.function(function)
            states = program_states(robot, settings, made.program, count, seed)
            result += _timings(made, function, states, batches, rounds)
        except ToolError as error:
            result.append(Timing(C, function, 1, None, None, note=str(error)))
        note = "no GPU in this comparison; bench/gpu.py measures on one"
        result.append(Timing(CUDA, function, 1, None, None, note=note))
    progress("time compiled C", len(functions), len(functions))
    return result


def _timings(
    made: CompiledFunction, name: str, states: States, batches: Sequence[int], rounds: int
) -> list[Timing]:
    """One function, for all batches."""
    found = []
    single = one_by_one(made)
    arrays = _arrays(made, states, ONE_BY_ONE)
    seconds = best_seconds(lambda: single(ctypes.c_size_t(ONE_BY_ONE), *arrays), rounds)
    each = seconds / ONE_BY_ONE * 1e6
    found.append(Timing(C, name, 1, 1, each, "single calls from C, double"))
    rows = getattr(made.library, f"{made.symbol}_rows")
    rows.restype = ctypes.c_size_t
    for batch in batches:
        if batch == 1:
            continue
        call = partial(rows, ctypes.c_size_t(batch), *_arrays(made, states, batch))
        for workers in sorted({1, cores()}):
            made.library.omp_set_num_threads(workers)
            each = best_seconds(call, rounds) / batch * 1e6
            found.append(Timing(C, name, workers, batch, each, "one call for the batch, double"))
    # all cores again, for those who call afterwards
    made.library.omp_set_num_threads(cores())
    return found


class _Pointer(ctypes.c_void_p):
    """An array's address, which keeps the array."""

    array: np.ndarray


def pointers(arrays: Sequence[np.ndarray]) -> list[_Pointer]:
    """Addresses of arrays in C order, which C functions take; they keep the arrays."""
    made = []
    for x in arrays:
        found = _Pointer(x.ctypes.data)
        found.array = x
        made.append(found)
    return made


def _arrays(made: CompiledFunction, states: States, count: int) -> list[_Pointer]:
    """The operands of so many states, one step of those that repeat, and room for the results."""
    some = states.part(slice(count))
    arrays = [np.ascontiguousarray(x) for x in operand_arrays(made.program, some)]
    if made.program.repeat:
        arrays.append(np.ones(count, np.int32))
    arrays += [np.empty((count, *x.shape)) for x in made.results]
    return pointers(arrays)


def one_by_one(made: CompiledFunction) -> Callable[..., None]:
    """A function in C that calls ``made`` for one state after another."""
    kind = TYPES[0]
    calls = Calls(made.program, made.program.function.name, made.symbol)
    parameters = [f"const {kind.name} *{x.name}" for x in calls.operands]
    given = [f"{x.name} + k * {x.size}" for x in calls.operands]
    if calls.repeat:
        parameters.append(f"const {COUNT} *{calls.repeat}")
        given.append(f"{calls.repeat}[k]")
    parameters += [f"{kind.name} *{x.name}" for x in calls.results]
    given += [f"{x.name} + k * {x.size}" for x in calls.results]
    # the loop is C's, so that no call from Python is in the times
    pointer = calls.prototype(kind).replace(f"int {made.symbol}(", "typedef int (*one)(", 1)
    text = (
        f"#include <stddef.h>\n#include <stdint.h>\n{pointer};\nstatic one call;\n"
        "void bind(void *given) { call = (one)given; }\n"
        f"void loop(size_t count, {', '.join(parameters)})\n{{\n"
        f"{TAB}for (size_t k = 0; k < count; k++)\n{TAB * 2}call({', '.join(given)});\n}}\n"
    )
    library = native.library(CACHE, {"loop.c": text}, FLAGS, LIBRARIES)
    library.bind(ctypes.cast(getattr(made.library, made.symbol), ctypes.c_void_p))
    library.loop.restype = None
    return library.loop
