"""The header of a C library: what its functions take and give, for who calls them."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from rbdgen.model.robot import Robot
from rbdgen.protocol.identifiers import sanitize
from rbdgen.software.calls import Calls
from rbdgen.software.fallback import table_types, tabulated
from rbdgen.software.fixed_calls import FixedCalls
from rbdgen.software.program import Array

WIDTH = 110
"""Columns of a comment."""
ABOUT = """
Vectors are Pinocchio's: [linear, angular], quaternions x y z w, a floating base first; all angles in radians, SI
units. Matrices are row by row, both triangles of symmetric ones. No function allocates memory or keeps anything: all
may be called from several threads. Results must not overlap operands.

NAME(...) computes one state. NAME_batch(count, ...) computes many, entry i of state k at x[i * count + k];
NAME_rows(count, ...) takes and gives state after state. Both are spread over cores where they were compiled with
OpenMP. NAME_f32 and so on are the same in float.

They return 0; NAME returns 1, and the others the number of such states, where a matrix that is inverted is not positive
definite: the state's results are then of no use."""
FIXED = """
NAME_raw and so on are the accelerator's own arithmetic, bit for bit, on its raw words; NAME_fixed on the numbers
that these stand for. They return flags, or how many states have some, which are written to `flags` unless that is NULL:
1 where a value inside overflowed, 2 where an operand is outside its declared range."""

TABLE = (
    "All functions by name: the library that drives boards can compute by them instead of a board."
)


def comment(text: str) -> str:
    """A comment in C."""
    lines: list[str] = []
    for paragraph in text.strip().split("\n\n"):
        if lines:
            lines.append("")
        lines += wrap(" ".join(paragraph.split()), WIDTH)
    return "/* " + "\n".join(f" * {line}".rstrip() for line in lines)[3:] + " */"


def header(name: str, robot: Robot, functions: Sequence[Calls], fixed: Sequence[FixedCalls]) -> str:
    """The header of a library called ``name``."""
    guard = f"{name.upper()}_H"
    joints = sanitize(list(robot.joint_names))
    order = ", ".join(joints[joint] for joint in robot.joint_names)
    parts = [
        comment(
            f"Rigid-body dynamics of {name}, made by rbdgen. Joints in order: {order}.\n\n{ABOUT.strip()}"
        ),
        f"#ifndef {guard}\n#define {guard}\n",
        "#include <stddef.h>\n#include <stdint.h>\n",
        f"#define {name.upper()}_NQ {robot.nq} /* coordinates */",
        f"#define {name.upper()}_NV {robot.nv} /* degrees of freedom */\n",
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
    ]
    for calls in functions:
        parts += [comment(_about(calls)), *calls.declarations(), ""]
    if fixed:
        parts += [comment(FIXED), ""]
    for calls in fixed:
        parts += [comment(_about(calls)), *calls.declarations(), ""]
    if tabulated([calls.program for calls in functions]):
        parts += [
            comment(TABLE),
            table_types(),
            "",
            f"extern const rbd_software {name}_software;",
            "",
        ]
    parts += ["#ifdef __cplusplus\n}\n#endif", "#endif\n"]
    return "\n".join(parts)


def _about(calls: Calls) -> str:
    """What a function computes, of what."""
    record = calls.program.function
    taken = "; ".join(map(_sized, calls.operands))
    given = "; ".join(map(_sized, calls.results))
    count = f"; {calls.repeat}: number of steps" if calls.repeat else ""
    return f"{record.name}: {record.summary}. Takes {taken}{count}. Gives {given}."


def _sized(x: Array) -> str:
    shape = " x ".join(map(str, x.shape))
    return f"{x.name} ({shape}): {x.text}"
