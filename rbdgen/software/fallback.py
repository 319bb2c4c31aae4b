"""A table of a C library's functions, by which a host's library for boards computes without a board."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from textwrap import indent

from rbdgen.layout.calibration import PARAMETERS
from rbdgen.model.robot import Robot
from rbdgen.software.calls import COUNT, TAB
from rbdgen.software.program import Program

BEGIN, END = "#ifndef RBD_SOFTWARE_TABLE", "#endif"
"""The lines around the table's types in the host library's header."""


def table_types() -> str:
    """The types of the table, as the host library's header has them."""
    text = files("rbdgen.host.library").joinpath("rbdgen_device.h").read_text(encoding="utf-8")
    begin = text.index(BEGIN)
    end = text.index(END, begin)
    return text[begin : end + len(END)]


def quoted(text: str) -> str:
    """A string constant of C that stands for any text, in UTF-8."""
    parts = []
    for byte in text.encode():
        plain = 32 <= byte < 127 and chr(byte) not in '"\\?'
        parts.append(chr(byte) if plain else f"\\{byte:03o}")
    return '"' + "".join(parts) + '"'


def tabulated(programs: Sequence[Program]) -> list[Program]:
    """The functions that can stand in for a board's: parameters are loaded there, not given with each state."""
    found = []
    for program in programs:
        if all(x.name != PARAMETERS for x in program.operands):
            found.append(program)
    return found


def table_source(name: str, robot: Robot, programs: Sequence[Program]) -> str:
    """The source of the table ``<name>_software``."""
    own = tabulated(programs)
    parts = [f'#include "{name}.h"\n']
    parts += [_entry(name, program) for program in own]
    rows = []
    for program in own:
        taken = len(program.operands) + bool(program.repeat)
        function = program.function.name
        rows.append(f'{{"{function}", {taken}, {len(program.results)}, table_{function}}},')
    body = indent("\n".join(rows), TAB)
    parts.append(f"static const rbd_software_function functions[] = {{\n{body}\n}};\n")
    parts.append(
        f"const rbd_software {name}_software = {{{quoted(robot.name)}, {len(own)}, functions}};\n"
    )
    return "\n".join(parts)


def _entry(name: str, program: Program) -> str:
    """A function as the table has it."""
    function = program.function.name
    given = [f"operands[{k}]" for k in range(len(program.operands))]
    results = [f"results[{k}]" for k in range(len(program.results))]
    lines = [f"{name}_{function}_rows(count, {', '.join([*given, *results])});"]
    if program.repeat:
        one = [f"operands[{k}] + i * {x.size}" for k, x in enumerate(program.operands)]
        one.append(f"({COUNT})operands[{len(program.operands)}][i]")
        one += [f"results[{k}] + i * {x.size}" for k, x in enumerate(program.results)]
        lines = [
            "for (size_t i = 0; i < count; i++)",
            f"{TAB}{name}_{function}({', '.join(one)});",
        ]
    body = indent("\n".join(lines), TAB)
    head = f"static void table_{function}(size_t count, const double *const *operands, double *const *results)"
    return f"{head}\n{{\n{body}\n}}\n"
