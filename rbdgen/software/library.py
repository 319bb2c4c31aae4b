"""A C library of a robot's functions: a header for who calls them, a source for each function, a table by which a
host's library for boards computes without a board, and what build systems need (a CMake project with an installable
package, a pkg-config file); and how the C of kernels is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from textwrap import indent, wrap

from rbdgen.installation import license_text
from rbdgen.model.robot import Robot
from rbdgen.protocol.identifiers import sanitize
from rbdgen.software.calls import COUNT, RAW, TAB, TYPES, Calls, FixedCalls, fixed_kernel
from rbdgen.software.composition import library_name
from rbdgen.software.fixed_program import FixedProgram
from rbdgen.software.kernel import Kernel
from rbdgen.software.program import Array, Program
from rbdgen.tracing.parameters import PARAMETERS

FLAGS = (
    "-std=c99",
    "-O2",
    "-ftree-vectorize",
    "-march=native",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fwrapv",
)
"""A product and a sum may be one operation, nobody asks for floating-point exceptions, and integers wrap around."""
PARALLEL = ("-fopenmp",)
"""For many states on all cores."""
LIBRARIES = ("-lm",)
"""Libraries that a program is linked with."""


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
        # question marks could make trigraphs
        plain = 32 <= byte < 127 and chr(byte) not in '"\\?'
        # three octal digits: a hexadecimal escape would take digits behind it too
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
        # tables have all operands in double, so that the number of steps is converted
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
    # the first line has the opening in place of a star
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
    """Description of a function: what it computes, of what."""
    record = calls.program.function
    taken = "; ".join(map(_sized, calls.operands))
    given = "; ".join(map(_sized, calls.results))
    count = f"; {calls.repeat}: number of steps" if calls.repeat else ""
    return f"{record.name}: {record.summary}. Takes {taken}{count}. Gives {given}."


def _sized(x: Array) -> str:
    shape = " x ".join(map(str, x.shape))
    return f"{x.name} ({shape}): {x.text}"


def cmake_project(name: str, sources: Sequence[str], version: str) -> str:
    """``CMakeLists.txt`` of a library called ``name``."""
    files = "\n".join(f"  {source}" for source in sources)
    # CMake has words of its own for the standard and for the processor
    flags = " ".join(flag for flag in FLAGS if not flag.startswith(("-std", "-march")))
    return f"""cmake_minimum_required(VERSION 3.16)
project({name} VERSION {version} LANGUAGES C)
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

option(RBD_NATIVE "Compile for this machine's processor" ON)
option(RBD_OPENMP "Compute many states on all cores" ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library({name}
{files}
)
add_library({name}::{name} ALIAS {name})
target_compile_features({name} PUBLIC c_std_99)
target_include_directories({name} PUBLIC
  $<BUILD_INTERFACE:${{CMAKE_CURRENT_SOURCE_DIR}}/include>
  $<INSTALL_INTERFACE:${{CMAKE_INSTALL_INCLUDEDIR}}>
)
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  target_compile_options({name} PRIVATE {flags})
  if(RBD_NATIVE)
    target_compile_options({name} PRIVATE -march=native)
  endif()
endif()
if(UNIX)
  target_link_libraries({name} PUBLIC m)
endif()
set(RBD_PRIVATE_LIBS "-lm")
if(RBD_OPENMP)
  find_package(OpenMP COMPONENTS C)
  if(OpenMP_C_FOUND)
    target_link_libraries({name} PRIVATE OpenMP::OpenMP_C)
    string(APPEND RBD_PRIVATE_LIBS " ${{OpenMP_C_FLAGS}}")
  endif()
endif()

install(TARGETS {name} EXPORT {name})
install(FILES include/{name}.h DESTINATION ${{CMAKE_INSTALL_INCLUDEDIR}})
install(EXPORT {name} FILE {name}-targets.cmake NAMESPACE {name}::
  DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{name})
configure_package_config_file(cmake/config.cmake.in {name}-config.cmake
  INSTALL_DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{name})
write_basic_package_version_file({name}-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${{CMAKE_CURRENT_BINARY_DIR}}/{name}-config.cmake
  ${{CMAKE_CURRENT_BINARY_DIR}}/{name}-config-version.cmake
  DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{name})
configure_file(cmake/pkgconfig.in {name}.pc @ONLY)
install(FILES ${{CMAKE_CURRENT_BINARY_DIR}}/{name}.pc DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/pkgconfig)
"""


def cmake_config(name: str) -> str:
    """The template of the CMake package's configuration. A static library needs OpenMP again where it has it."""
    return f"""@PACKAGE_INIT@
include(CMakeFindDependencyMacro)
if("@OpenMP_C_FOUND@")
  include(CheckLanguage)
  enable_language(C)
  find_dependency(OpenMP COMPONENTS C)
endif()
include("${{CMAKE_CURRENT_LIST_DIR}}/{name}-targets.cmake")
check_required_components({name})
"""


def pkgconfig(name: str, summary: str) -> str:
    """The template of the pkg-config file."""
    return f"""prefix=@CMAKE_INSTALL_PREFIX@
libdir=${{prefix}}/@CMAKE_INSTALL_LIBDIR@
includedir=${{prefix}}/@CMAKE_INSTALL_INCLUDEDIR@

Name: {name}
Description: {summary}
Version: @PROJECT_VERSION@
Libs: -L${{libdir}} -l{name} @RBD_PRIVATE_LIBS@
Cflags: -I${{includedir}}
"""


def build_files(name: str, sources: Sequence[str], summary: str, version: str) -> dict[str, str]:
    """All of them, by name. ``sources`` are relative to their folder."""
    return {
        "CMakeLists.txt": cmake_project(name, sources, version),
        "cmake/config.cmake.in": cmake_config(name),
        "cmake/pkgconfig.in": pkgconfig(name, summary),
    }


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
    # the same text twice: for one state, and for as many as a vector has lanes
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
    """Name of a robot's library, with which the names of its functions begin."""
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
