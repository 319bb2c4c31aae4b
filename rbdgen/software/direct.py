"""A program's function of one state as one of CPython's own: it takes arrays, checks them and computes, in C.

A call by ctypes takes longer than the dynamics of an arm. Python's headers are not needed: what is used is in its
stable ABI, which ``rbd_direct.h`` declares. Not for many states, nor for messages: what is not as it must be is left to
:mod:`rbdgen.software.compiled`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from textwrap import indent
from typing import Any

from rbdgen.model.robot import Robot
from rbdgen.operands import UNIT_TOLERANCE
from rbdgen.software.calls import TAB
from rbdgen.software.library import support
from rbdgen.software.program import Array, Program

HEADER = "rbd_direct.h"
DONE = 0
"""The answer of a call that has written its results; after any other they are as they were."""
MOST_AXES = 4
"""Of an array, in the header."""

Direct = Callable[..., int]
"""Takes operands and then results, arrays all, and answers :data:`DONE` or another number."""


def unit_parts(robot: Robot) -> list[slice]:
    """The parts of q that must be of unit length."""
    found = []
    for body, part, _ in robot.independent:
        if "unit" in body.joint.kinds:
            own = range(robot.nq)[part][body.joint.unit_part]
            found.append(slice(own.start, own.stop))
    return found


def direct_texts(robot: Robot, program: Program, name: str, header: str) -> dict[str, str]:
    """The sources, by name, of the function ``<name>_direct``, beside those of the library with ``header``; none for a
    program that repeats or has arrays of too many axes."""
    arrays = (*program.operands, *program.results)
    if program.repeat or any(len(x.shape) > MOST_AXES for x in arrays):
        return {}
    return {f"{name}_direct.c": _source(robot, program, name, header), HEADER: support(HEADER)}


def _source(robot: Robot, program: Program, name: str, header: str) -> str:
    operands, results = program.operands, program.results
    count, taken = len(operands) + len(results), len(operands)
    shapes = "\n".join(f"{TAB}{_shape(x)}," for x in (*operands, *results))
    tests = [f"rbd_finite(held[{k}].buf, {x.size})" for k, x in enumerate(operands)]
    for part in unit_parts(robot):
        size = part.stop - part.start
        tests.append(f"rbd_unit(held[0].buf + {part.start}, {size}, {UNIT_TOLERANCE})")
    own = [f"own_{x.name}" for x in results]
    given = [f"held[{k}].buf" for k in range(taken)]
    after = [f"rbd_finite(own_{x.name}, {x.size})" for x in results]
    # computed apart: results may be operands too, and stay as they were where something is wrong
    lines = [f"double own_{x.name}[{x.size}];" for x in results]
    lines.append(f"if ({_all(tests)} && {name}({', '.join([*given, *own])}) == 0")
    lines.append(f"{TAB}&& {_all(after)}) {{")
    for k, x in enumerate(results, taken):
        lines.append(f"{TAB}memcpy(held[{k}].buf, own_{x.name}, sizeof own_{x.name});")
    lines += [f"{TAB}answer = {DONE};", "}"]
    body = indent("\n".join(lines), TAB * 2)
    return f"""#include "{header}"
#include "{HEADER}"

static const rbd_shape shapes[] = {{
{shapes}
}};

static void *direct(void *self, void *const *given, ptrdiff_t count)
{{
    rbd_buffer held[{count}];
    long answer = 1;
    (void)self;
    if (count != {count})
        return rbd_number(answer);
    const int found = rbd_hold(given, held, shapes, {taken}, {count});
    if (found == {count}) {{
{body}
    }}
    for (int i = 0; i < found; i++)
        rbd_release(&held[i]);
    return rbd_number(answer);
}}

rbd_method *{name}_direct(void *get, void *release, void *clear, void *number)
{{
    static rbd_method method = {{"{program.function.method}", 0, RBD_FASTCALL, 0}};
    rbd_get = (int (*)(void *, rbd_buffer *, int))get;
    rbd_release = (void (*)(rbd_buffer *))release;
    rbd_clear = (void (*)(void))clear;
    rbd_number = (void *(*)(long))number;
    method.call = (void *)direct;
    return &method;
}}
"""


def _shape(x: Array) -> str:
    """An array's rank, size and axes, as a constant of C."""
    axes = ", ".join(map(str, x.shape)) or "0"
    return f"{{{len(x.shape)}, {x.size}, {{{axes}}}}}"


def _all(tests: Sequence[str]) -> str:
    return f"\n{TAB * 2}&& ".join(tests)


def direct_function(library: ctypes.CDLL, name: str) -> Direct | None:
    """The function that :func:`direct_texts` wrote, of the library that it is in; None where there is none, or where
    this Python is not CPython."""
    bind: Any = getattr(library, f"{name}_direct", None)
    python: Any = getattr(ctypes, "pythonapi", None)
    if bind is None or python is None:
        return None
    used = ("PyObject_GetBuffer", "PyBuffer_Release", "PyErr_Clear", "PyLong_FromLong")
    bind.restype = ctypes.c_void_p
    method = bind(*[ctypes.cast(getattr(python, own), ctypes.c_void_p) for own in used])
    make = python.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
    return make(method, None, None)
