"""A design in C and C++: identifiers of its functions and vectors, its tables, and the headers of its typed calls.

The tables are its identity, functions, words and formats, as ``rbdgen_device.h`` has their structures.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

import numpy as np

from rbdgen.host.arrays import entry_number
from rbdgen.host.manifest import Entry, Manifest
from rbdgen.host.programs import Program
from rbdgen.protocol.entries import mirrored
from rbdgen.protocol.identifiers import LONGEST, Scope, c_comment, c_literal, plain_name
from rbdgen.protocol.tasks import (
    CALIBRATE,
    LOAD_WORDS,
    OperandWord,
    Packing,
    ResultWord,
    TaskFormat,
)

ARGUMENTS = ("device", "count", "operands", "results", "flags", "task_words", "result_words")
"""Names of typed calls' arguments besides a function's vectors."""
MEMBERS = (
    "Device",
    "call",
    "calibrate",
    "close",
    "counters",
    "get",
    "note",
    "serial",
    "software",
    "states",
    "tcp",
    "udp",
)
"""Members of a design's C++ class besides its functions."""


@dataclass(frozen=True)
class Vector:
    """A vector of the manifest's: its own ``name``, its ``argument``, ``shape``, and the ``size`` that it has of a
    state."""

    name: str
    argument: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Numbers of a state."""
        return math.prod(self.shape)

    @property
    def text(self) -> str:
        """For a comment: what it is called, and its shape."""
        dimensions = "".join(f"[{n:d}]" for n in self.shape)
        return f"{self.argument}{dimensions}"


@dataclass(frozen=True)
class Function:
    """A function of the manifest's: its own ``name``, its ``summary`` for a comment, its typed ``call`` in C, its
    ``number`` there, its ``method`` in C++ with the type of what that returns, and its vectors."""

    name: str
    summary: str
    call: str
    number: str
    method: str
    method_results: str
    operands: tuple[Vector, ...]
    results: tuple[Vector, ...]


@dataclass(frozen=True)
class Names:
    """A design: the ``prefix`` of what is public, that in capitals, its tables' name, and its functions."""

    prefix: str
    capitals: str
    tables: str
    functions: tuple[Function, ...]


def names_of(manifest: Manifest, library: set[str]) -> Names:
    """The identifiers for ``manifest``, none of which the ``library`` has."""
    prefix = _prefix(manifest.name, library)
    capitals = prefix.upper()
    # C has one name space for all, C++ one for the class
    scope, members = Scope(library), Scope(MEMBERS)
    tables = scope.take(prefix, "design")
    for fixed in ("WORKSPACE_BYTES", "PARAMETERS", "TASK_WORD_BYTES", "RESULT_WORD_BYTES"):
        scope.take(capitals, fixed)
    for fixed in ("identity", "program", "program_blocks"):
        scope.take(prefix, fixed)
    functions = []
    for name in manifest.tasks.functions:
        arguments = Scope(ARGUMENTS)
        operands = _vectors(manifest, manifest.operand_vectors[name], arguments)
        results = _vectors(manifest, manifest.result_vectors[name], arguments)
        function = Function(
            name,
            c_comment(manifest.summaries[name]),
            scope.take(prefix, name),
            scope.take(capitals, "FUNCTION", plain_name(name, LONGEST).upper()),
            members.take(name),
            members.take(name, "results"),
            operands,
            results,
        )
        functions.append(function)
    return Names(prefix, capitals, tables, tuple(functions))


def _prefix(name: str, library: set[str]) -> str:
    """The begin of all public names of a design, and of none of the library's."""
    scope = Scope()
    prefix = scope.take(name)
    # case does not count: macros are the prefix in capitals
    while any(f"{known}_".lower().startswith(f"{prefix}_".lower()) for known in library):
        prefix = scope.take(name)
    return prefix


def _vectors(manifest: Manifest, vectors: Sequence[str], scope: Scope) -> tuple[Vector, ...]:
    found = []
    for name in vectors:
        found.append(Vector(name, scope.take(name), manifest.shapes[name].size))
    return tuple(found)


WIDTH = 100
"""Characters of a line that may be wrapped."""


def c_header(manifest: Manifest, names: Names, answer: int) -> str:
    """The header of a design whose longest answer has so many bytes."""
    capitals = names.capitals
    lines = [
        f"/* Accelerator {names.prefix} of robot {c_comment(manifest.robot)}: its typed calls.",
        " *",
        " * A call takes `count` states. Arrays are row-major, one state after the other, with the",
        " * numbers that are given here of each; `flags` has one of each, or is NULL. It returns RBD_OK,",
        " * or a code of rbdgen_device.h; rbd_message(device) says what is wrong.",
        " */",
        f"#ifndef {capitals}_DEVICE_H",
        f"#define {capitals}_DEVICE_H",
        "",
        '#include "rbdgen_device.h"',
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"extern const rbd_design {names.tables};",
        "",
        "/* Bytes of workspace that rbd_open needs, and how many parameters can be loaded. */",
        f"#define {capitals}_WORKSPACE_BYTES "
        f"RBD_WORKSPACE_BYTES({longest_task(manifest):d}, {answer:d}, {len(manifest.tasks.parameters):d})",
        f"#define {capitals}_PARAMETERS {len(manifest.tasks.parameters):d}",
        "",
        "/* Functions by their numbers, for rbd_request. */",
        "enum {",
    ]
    for number, function in enumerate(names.functions):
        lines.append(f"    {function.number} = {number:d},")
    lines += ["};", ""]
    for function in names.functions:
        lines += [f"/* {_summary(function)} */", f"{prototype(function)};", ""]
    return _text([*lines, "#ifdef __cplusplus", "}", "#endif", "", "#endif"])


def longest_task(manifest: Manifest) -> int:
    """Bytes of the longest packet that is sent."""
    tasks = manifest.tasks
    words = [*tasks.task_words.values(), *([LOAD_WORDS] if manifest.program else [])]
    return max(map(tasks.task.packet_bytes, words))


def prototype(function: Function) -> str:
    """A typed call's declaration, without the semicolon."""
    given = [f"const double *{vector.argument}" for vector in function.operands]
    wanted = [f"double *{vector.argument}" for vector in function.results]
    arguments = ["rbd_device *device", "size_t count", *given, *wanted, "uint8_t *flags"]
    return wrapped(f"int {function.call}({', '.join(arguments)})", "    ")


def definitions(names: Names) -> list[str]:
    """The lines of all typed calls."""
    lines = []
    for number, function in enumerate(names.functions):
        lines += [
            "",
            prototype(function),
            "{",
            f"    const double *const operands[] = {{{_arguments(function.operands)}}};",
            f"    double *const results[] = {{{_arguments(function.results)}}};",
            f"    return rbd_call(device, &{names.tables}, {number:d}, count, operands, results, flags);",
            "}",
        ]
    return lines


def cpp_header(names: Names) -> str:
    """The header of a design's class in C++."""
    guard = f"{names.capitals}_DEVICE_HPP"
    lines = [
        f"/* Accelerator {names.prefix} in C++17: its typed calls. Views say by their sizes how many states",
        " * there are; what fails is a rbdgen::Error. */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        '#include "rbdgen_device.hpp"',
        "",
        f'#include "{names.prefix}_device.h"',
        "",
        f"namespace {names.prefix} {{",
        "",
        "class Device : public rbdgen::Device {",
        "public:",
        "    explicit Device(const rbd_transport &transport, const rbd_limits *limits = nullptr)",
        f"        : rbdgen::Device({names.tables}, transport, limits)",
        "    {",
        "    }",
        "",
        f"    explicit Device(const rbd_software &software) : rbdgen::Device({names.tables}, software) {{}}",
        "",
        "#ifdef RBDGEN_HAS_PORTS",
        "    static Device serial(const std::string &path, unsigned long baud = RBD_BAUD,",
        "                         const rbd_limits *limits = nullptr)",
        "    {",
        f"        return Device(rbdgen::Device::serial({names.tables}, path, baud, limits));",
        "    }",
        "",
        "    static Device tcp(const std::string &host, const std::string &service,",
        "                      const rbd_limits *limits = nullptr)",
        "    {",
        f"        return Device(rbdgen::Device::tcp({names.tables}, host, service, limits));",
        "    }",
        "",
        "    static Device udp(const std::string &host, const std::string &service = RBD_UDP_PORT,",
        "                      const rbd_limits *limits = nullptr)",
        "    {",
        f"        return Device(rbdgen::Device::udp({names.tables}, host, service, limits));",
        "    }",
        "#endif",
        "",
    ]
    for number, function in enumerate(names.functions):
        lines += _methods(names, number, function)
    lines += [
        "private:",
        "    explicit Device(rbdgen::Device &&device) : rbdgen::Device(std::move(device)) {}",
        "};",
        "",
        f"}} // namespace {names.prefix}",
        "",
        "#endif",
    ]
    return _text(lines)


def _methods(names: Names, number: int, function: Function) -> list[str]:
    """Two methods of the same name: into arrays that are given, and into new ones."""
    views = [f"rbdgen::View {vector.argument}" for vector in function.operands]
    numbers = [f"rbdgen::Numbers {vector.argument}" for vector in function.results]
    into = ", ".join([*views, *numbers, "rbdgen::Flags flags = {}"])
    result = function.method_results
    first = function.operands[0]
    given = _arguments(function.operands)
    lines = [
        f"    /* {_summary(function)} */",
        wrapped(f"    void {function.method}({into})", " " * 12),
        "    {",
        f"        call({number:d}, {{{given}}}, {{{_arguments(function.results)}}}, flags);",
        "    }",
        "",
        f"    struct {result} {{",
    ]
    for vector in function.results:
        lines.append(f"        std::vector<double> {vector.argument};")
    lines += [
        "        std::vector<std::uint8_t> flags;",
        "    };",
        "",
        wrapped(f"    {result} {function.method}({', '.join(views)})", " " * 12),
        "    {",
        f"        const std::size_t count = {first.argument}.size() / {first.size:d};",
        f"        {result} results;",
    ]
    for vector in function.results:
        lines.append(f"        results.{vector.argument}.resize(count * {vector.size:d});")
    made = [f"results.{vector.argument}" for vector in function.results]
    lines += [
        "        results.flags.resize(count);",
        f"        call({number:d}, {{{given}}}, {{{', '.join(made)}}}, results.flags);",
        "        return results;",
        "    }",
        "",
    ]
    return lines


def _summary(function: Function) -> str:
    """A call's summary, for a comment."""
    given = ", ".join(vector.text for vector in function.operands)
    wanted = ", ".join(vector.text for vector in function.results)
    return f"{function.summary}: of {given} to {wanted}"


def _arguments(vectors: Iterable[Vector]) -> str:
    return ", ".join(vector.argument for vector in vectors)


def wrapped(line: str, indent: str) -> str:
    """A line as several, where it is too long."""
    return "\n".join(wrap(line, WIDTH, subsequent_indent=indent, break_long_words=False))


def _text(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


def c_source(manifest: Manifest, names: Names, answer: int, program: Program | None) -> str:
    """The source of a design, or of a ``program``, whose longest answer has so many bytes."""
    tasks = manifest.tasks
    lines = [
        f"/* Accelerator {names.prefix}: its tables and typed calls. */",
        f'#include "{names.prefix}_device.h"',
        "",
    ]
    vectors = _Vectors(manifest)
    lines += vectors.units()
    for number, function in enumerate(names.functions):
        lines += vectors.table(f"TAKES_{number}", function.operands)
        lines += vectors.table(f"GIVES_{number}", function.results)
        lines += _operands(f"OPERANDS_{number}", manifest, function)
        lines += _results(f"RESULTS_{number}", manifest, function)
    lines += ["static const rbd_function FUNCTIONS[] = {"]
    for number, function in enumerate(names.functions):
        lines += _function(number, function, tasks)
    lines += ["};", ""]
    lines += _parameters(tasks.parameters)
    lines += _places("TASK_PLACES", tasks.task) + _places("RESULT_PLACES", tasks.result)
    if program is not None:
        lines += _program(program)
    lines += _design(manifest, names, answer, longest_task(manifest))
    return "\n".join([*lines, *definitions(names)]) + "\n"


def _array(kind: str, name: str, rows: Iterable[str]) -> list[str]:
    """The lines of a table; of an empty one none."""
    entries = [f"    {row}," for row in rows]
    # C has no empty arrays: who uses the table writes NULL
    if not entries:
        return []
    return [f"static const {kind} {name}[] = {{", *entries, "};", ""]


class _Vectors:
    """Tables of the vectors of ``manifest``, and of what of them must be of unit length."""

    def __init__(self, manifest: Manifest) -> None:
        self.shapes = manifest.shapes
        bound = [name for name, shape in manifest.shapes.items() if shape.unit_vectors]
        self.names = {name: f"UNITS_{number}" for number, name in enumerate(bound)}

    def units(self) -> list[str]:
        """By vector the parts that must be of unit length."""
        lines = []
        for name, table in self.names.items():
            parts = self.shapes[name].unit_vectors
            rows = [f"{{{c_literal(p.joint)}, {p.first:d}, {p.size:d}}}" for p in parts]
            lines += _array("rbd_unit", table, rows)
        return lines

    def table(self, name: str, vectors: Sequence[Vector]) -> list[str]:
        """Those of one function."""
        rows = []
        for vector in vectors:
            shape = self.shapes[vector.name]
            units = f"{len(shape.unit_vectors):d}, {self.names.get(vector.name, 'NULL')}"
            rows.append(f"{{{c_literal(vector.name)}, {vector.size:d}, {shape.whole:d}, {units}}}")
        return _array("rbd_vector", name, rows)


@dataclass(frozen=True)
class Place:
    """Where a word belongs: the number of its ``vector`` among a function's, its ``entry`` there, row by row, and the
    one across the diagonal of a symmetric matrix (``mirror``), else the same again."""

    vector: int
    entry: int
    mirror: int


def operand_places(manifest: Manifest, name: str) -> list[tuple[Place, OperandWord]]:
    """The operand words of the function ``name``, each with its place."""
    words = manifest.tasks.functions[name].operands
    places = _places_of(manifest, manifest.operand_vectors[name], manifest.operands[name])
    return list(zip(places, words, strict=True))


def result_places(manifest: Manifest, name: str) -> list[tuple[Place, ResultWord]]:
    """The result words of the function ``name``, each with its place."""
    words = manifest.tasks.functions[name].results
    places = _places_of(manifest, manifest.result_vectors[name], manifest.results[name])
    return list(zip(places, words, strict=True))


def _places_of(
    manifest: Manifest, vectors: Sequence[str], entries: Sequence[Entry]
) -> Iterator[Place]:
    for entry in entries:
        shape = manifest.shapes[entry.vector]
        place = entry_number(entry.index, shape.size)
        mirror = entry_number(mirrored(entry.index), shape.size) if shape.symmetric else place
        yield Place(vectors.index(entry.vector), place, mirror)


def _operands(name: str, manifest: Manifest, function: Function) -> list[str]:
    """Entry, vector, width, binary point and limits of each operand word."""
    rows = []
    for place, word in operand_places(manifest, function.name):
        rows.append(f"{{{place.entry:d}, {place.vector:d}, {_format(word)}, {_limits(word)}}}")
    return _array("rbd_operand", name, rows)


def _results(name: str, manifest: Manifest, function: Function) -> list[str]:
    """Entry, the one across the diagonal, vector, width and binary point of each result word."""
    rows = []
    for place, word in result_places(manifest, function.name):
        rows.append(f"{{{place.entry:d}, {place.mirror:d}, {place.vector:d}, {_format(word)}}}")
    return _array("rbd_result", name, rows)


def _format(word: OperandWord | ResultWord) -> str:
    return f"{word.format.width:d}, {word.format.frac:d}"


def _limits(word: OperandWord) -> str:
    low, high = word.codes
    return f"INT64_C({low:d}), INT64_C({high:d})"


def _function(number: int, function: Function, tasks: TaskFormat) -> list[str]:
    known = tasks.functions[function.name]
    counts = [
        len(function.operands),
        len(function.results),
        len(known.operands),
        len(known.results),
    ]
    operands = f"OPERANDS_{number}" if known.operands else "NULL"
    results = f"RESULTS_{number}" if known.results else "NULL"
    size = f"{tasks.task_bytes(function.name):d}, {tasks.result_bytes(function.name):d}"
    return [
        f"    {{{c_literal(function.name)}, {known.code:d}, {', '.join(map(str, counts))},",
        f"     TAKES_{number}, GIVES_{number}, {operands}, {results}, {size}}},",
    ]


def _parameters(parameters: Sequence[OperandWord]) -> list[str]:
    rows = [f"{{{c_literal(word.name)}, {_format(word)}, {_limits(word)}}}" for word in parameters]
    return _array("rbd_parameter", "PARAMETERS", rows)


def _places(name: str, packing: Packing) -> list[str]:
    widths = ", ".join(f"{width:d}" for width in packing.places)
    return [f"static const uint8_t {name}[] = {{{widths}}};", ""]


def _packing(name: str, packing: Packing) -> str:
    return f"{{{name}, {len(packing.places):d}, {packing.beat_bytes:d}}}"


def _program(program: Program) -> list[str]:
    """The tables of a program."""
    facts, needed, blocks = program.facts, program.needed, [*program.needed, *program.functions]
    rows = []
    for block in blocks:
        words = np.frombuffer(block, "<u4").tolist()
        rows.append(f"{{{', '.join(f'0x{word:x}u' for word in words)}}}")
    engine = ", ".join(f"0x{byte:02x}" for byte in facts.engine)
    slot = ", ".join(f"{word:d}" for word in program.entry.words())
    return [
        "static const uint32_t BLOCKS[][RBD_BLOCK_WORDS] = {",
        *(f"    {row}," for row in rows),
        "};",
        "",
        "static const rbd_program PROGRAM = {",
        f"    {{{engine}}},",
        wrapped(f"    {{{slot}}},", " " * 5),
        f"    {len(blocks):d}, {len(needed):d}, BLOCKS, {facts.parameter:d}, {facts.parameter_step:d},",
        "};",
        "",
    ]


def _design(manifest: Manifest, names: Names, answer: int, longest: int) -> list[str]:
    tasks = manifest.tasks
    identity = ", ".join(f"0x{byte:02x}" for byte in manifest.identity)
    parameters = len(tasks.parameters)
    load = tasks.task.packet_bytes(tasks.task_words.get(CALIBRATE, 0))
    return [
        f"const rbd_design {names.tables} = {{",
        "    RBD_VERSION,",
        f"    {c_literal(manifest.name)},",
        f"    {c_literal(manifest.robot)},",
        f"    {{{identity}}},",
        f"    {len(names.functions):d}, {parameters:d},",
        f"    FUNCTIONS, {'PARAMETERS' if parameters else 'NULL'},",
        f"    {_packing('TASK_PLACES', tasks.task)},",
        f"    {_packing('RESULT_PLACES', tasks.result)},",
        f"    {longest:d}, {answer:d}, {load:d},",
        f"    {'NULL' if manifest.program is None else '&PROGRAM'},",
        "};",
    ]
