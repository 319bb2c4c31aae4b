"""A C library of a robot's functions: a header, a source for each function, and what build systems need."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from rbdgen.installation import license_text
from rbdgen.model.robot import Robot
from rbdgen.software.build_files import build_files
from rbdgen.software.calls import TYPES, Calls
from rbdgen.software.fallback import table_source, tabulated
from rbdgen.software.fixed_calls import RAW, FixedCalls, fixed_kernel
from rbdgen.software.fixed_program import FixedProgram
from rbdgen.software.header import header
from rbdgen.software.kernel import Kernel
from rbdgen.software.naming import library_name
from rbdgen.software.program import Program

SUPPORT = ("rbd_kernel.h", "rbd_lanes.h", "rbd_instance.h", "rbd_words.h", "rbd_fixed.h")


def support(name: str) -> str:
    """A file that all libraries have."""
    return files("rbdgen.software").joinpath("c", name).read_text(encoding="utf-8")


def kernel_text(program: Program) -> str:
    """The kernel of a program."""
    return Kernel(program, program.function.name).text()


def source(program: Program, prefix: str) -> str:
    """The source of one function."""
    name = program.function.name
    calls = Calls(program, name, f"{prefix}_{name}")
    parts = [f'#include "{prefix}.h"\n']
    for kind in TYPES:
        for wide in (0, 1):
            parts.append(
                f"#undef RBD_BITS\n#undef RBD_WIDE\n#define RBD_BITS {kind.bits}\n#define RBD_WIDE {wide}\n"
                f'#include "rbd_instance.h"\n#include "{prefix}_{name}_kernel.h"\n'
            )
            parts.append(calls.many(kind) if wide else calls.single(kind))
    return "\n".join(parts)


def fixed_source(made: FixedProgram, prefix: str) -> str:
    """The source of one function in fixed point."""
    name = made.program.function.name
    calls = FixedCalls(made, name, f"{prefix}_{name}")
    parts = [
        f'#include "{prefix}.h"\n#include "rbd_words.h"\n',
        calls.tables(),
        "",
        calls.outside(),
    ]
    for wide in (0, 1):
        parts.append(
            f"#undef RBD_WIDE\n#define RBD_WIDE {wide}\n"
            f'#include "rbd_fixed.h"\n#include "{prefix}_{name}_fixed_kernel.h"\n'
        )
        parts.append(calls.many(RAW) if wide else calls.single(RAW))
    parts.append(calls.real())
    return "\n".join(parts)


def name_of(robot: Robot) -> str:
    """What a robot's library is called, and the names of its functions begin with."""
    return library_name(robot.name)


def c_sources(
    name: str, programs: Sequence[Program], fixed: Sequence[FixedProgram] = ()
) -> dict[str, str]:
    """Sources and their own headers, all for one folder; the library's header is not among them."""
    found = {own: support(own) for own in SUPPORT}
    for program in programs:
        function = program.function.name
        found[f"{name}_{function}_kernel.h"] = kernel_text(program)
        found[f"{name}_{function}.c"] = source(program, name)
    for made in fixed:
        function = made.program.function.name
        found[f"{name}_{function}_fixed_kernel.h"] = fixed_kernel(made, function)
        found[f"{name}_{function}_fixed.c"] = fixed_source(made, name)
    return found


def c_header(
    robot: Robot, programs: Sequence[Program], fixed: Sequence[FixedProgram] = ()
) -> dict[str, str]:
    """The library's header."""
    name = name_of(robot)
    functions = [Calls(p, p.function.name, f"{name}_{p.function.name}") for p in programs]
    own = []
    for made in fixed:
        function = made.program.function.name
        own.append(FixedCalls(made, function, f"{name}_{function}"))
    return {f"{name}.h": header(name, robot, functions, own)}


def c_files(
    robot: Robot,
    programs: Sequence[Program],
    fixed: Sequence[FixedProgram] = (),
    version: str = "0",
) -> dict[str, str]:
    """The library's files by name: a project for CMake."""
    name = name_of(robot)
    sources = c_sources(name, programs, fixed)
    if tabulated(programs):
        sources[f"{name}_software.c"] = table_source(name, robot, programs)
    found = {f"src/{own}": text for own, text in sources.items()}
    found |= {f"include/{own}": text for own, text in c_header(robot, programs, fixed).items()}
    compiled = [f"src/{own}" for own in sorted(sources) if own.endswith(".c")]
    summary = f"Rigid-body dynamics of {name}"
    found["LICENSE"] = license_text()
    return found | build_files(name, compiled, summary, version)
