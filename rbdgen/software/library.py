"""A C library of a robot's functions: a header, a source for each function, and what build systems need."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from rbdgen.model.names import sanitize
from rbdgen.software.calls import TYPES, Calls
from rbdgen.software.fixed_calls import RAW, FixedCalls, fixed_kernel
from rbdgen.software.fixed_program import FixedProgram
from rbdgen.software.kernel import Kernel
from rbdgen.software.program import Program

FLAGS = (
    "-std=c99",
    "-O2",
    "-ftree-vectorize",
    "-march=native",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
)
"""How kernels are compiled: a product and a sum may be one operation, and nobody asks for floating-point exceptions."""
PARALLEL = ("-fopenmp",)
LIBRARIES = ("-lm",)
SUPPORT = ("rbd_kernel.h", "rbd_arrays.h", "rbd_instance.h", "rbd_words.h", "rbd_fixed.h")


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


def prefix_of(program: Program) -> str:
    """What the names of a robot's functions begin with."""
    return sanitize([program.robot])[program.robot]


def library_texts(programs: Sequence[Program]) -> dict[str, str]:
    """Sources and headers by name, all in one folder."""
    return {name.rpartition("/")[2]: text for name, text in c_files(programs).items()}


def c_files(programs: Sequence[Program], fixed: Sequence[FixedProgram] = ()) -> dict[str, str]:
    """The library's files by name."""
    prefix = prefix_of(programs[0] if programs else fixed[0].program)
    found = {f"src/{name}": support(name) for name in SUPPORT}
    declarations: list[str] = []
    for program in programs:
        name = program.function.name
        found[f"src/{prefix}_{name}_kernel.h"] = kernel_text(program)
        found[f"src/{prefix}_{name}.c"] = source(program, prefix)
        declarations += Calls(program, name, f"{prefix}_{name}").declarations()
    for made in fixed:
        name = made.program.function.name
        found[f"src/{prefix}_{name}_fixed_kernel.h"] = fixed_kernel(made, name)
        found[f"src/{prefix}_{name}_fixed.c"] = fixed_source(made, prefix)
        declarations += FixedCalls(made, name, f"{prefix}_{name}").declarations()
    found[f"include/{prefix}.h"] = (
        "#include <stddef.h>\n#include <stdint.h>\n" + "\n".join(declarations) + "\n"
    )
    return found
