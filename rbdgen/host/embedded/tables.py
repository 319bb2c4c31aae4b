"""A design's tables and typed calls for firmware, and its program as an array: what is generated for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from rbdgen.host.library.calls import (
    Function,
    Names,
    Place,
    Vector,
    operand_places,
    result_places,
    wrapped,
)
from rbdgen.host.manifest import Manifest
from rbdgen.host.programs import Program
from rbdgen.protocol.identifiers import c_comment
from rbdgen.protocol.tasks import OperandWord, ResultWord


def identity_name(names: Names) -> str:
    """The constant that has a design's identity, or that of the engine which its program is for."""
    return f"{names.prefix}_identity"


def c_header(manifest: Manifest, names: Names) -> str:
    """The header of a design's calls."""
    guard = f"{names.capitals}_EMBEDDED_H"
    tasks = manifest.tasks
    what = "the engine that the program is for" if manifest.program else "the accelerator"
    lines = [
        f"/* Functions of robot {c_comment(manifest.robot)}: a call takes one state, in the units of the robot, and",
        " * waits for its results. It returns RBD_OK, flags, or an error of rbdgen_embedded.h.",
        " * Matrices are row-major; quaternions, and cosines with sines, are of unit length. */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        '#include "rbdgen_embedded.h"',
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"/* Of {what}. */",
        f"extern const struct rbd_identity {identity_name(names)};",
        "",
        "/* Bytes of a word of a task, and of a result, where words are bytes. */",
        f"#define {names.capitals}_TASK_WORD_BYTES {tasks.task.beat_bytes:d}",
        f"#define {names.capitals}_RESULT_WORD_BYTES {tasks.result.beat_bytes:d}",
        "",
    ]
    for function in names.functions:
        given = ", ".join(vector.text for vector in function.operands)
        wanted = ", ".join(vector.text for vector in function.results)
        lines += [
            f"/* {function.summary}: of {given} to {wanted} */",
            f"{prototype(function)};",
            "",
        ]
    return _text([*lines, "#ifdef __cplusplus", "}", "#endif", "", "#endif"])


def prototype(function: Function) -> str:
    """A call's declaration, without the semicolon."""
    given = [f"const rbd_number *{vector.argument}" for vector in function.operands]
    wanted = [f"rbd_number *{vector.argument}" for vector in function.results]
    arguments = ["struct rbd_device *device", *given, *wanted]
    return wrapped(f"int {function.call}({', '.join(arguments)})", "    ")


def c_source(manifest: Manifest, names: Names) -> str:
    """The source of a design's calls."""
    lines = [
        f"/* Functions of robot {c_comment(manifest.robot)}: tables and calls. */",
        f'#include "{names.prefix}_embedded.h"',
        "",
        *_identity(manifest, names),
    ]
    for number, function in enumerate(names.functions):
        lines += _words(f"OPERANDS_{number}", operand_places(manifest, function.name))
        lines += _words(f"RESULTS_{number}", result_places(manifest, function.name))
        lines += _function(number, function, manifest)
    return _text(lines)


def _identity(manifest: Manifest, names: Names) -> list[str]:
    """The identity of what is called."""
    own = manifest.program.engine if manifest.program else manifest.identity
    words = ", ".join(f"{word:#010x}u" for word in np.frombuffer(own, "<u4").tolist())
    return [f"const struct rbd_identity {identity_name(names)} = {{{{{words}}}}};", ""]


def _words(
    name: str, words: Sequence[tuple[Place, OperandWord]] | Sequence[tuple[Place, ResultWord]]
) -> list[str]:
    """The table of these words; none where there are none."""
    rows = [
        f"    {{{p.entry:d}, {p.mirror:d}, {p.vector:d}, {w.format.width:d}, {w.format.frac:d}}},"
        for p, w in words
    ]
    # C has no empty arrays: who uses the table writes NULL
    return [f"static const struct rbd_word {name}[] = {{", *rows, "};", ""] if rows else []


def _function(number: int, function: Function, manifest: Manifest) -> list[str]:
    """A function's entry, and its call."""
    known = manifest.tasks.functions[function.name]
    taken, given = len(known.operands), len(known.results)
    sizes = ", ".join(f"{vector.size:d}" for vector in function.results)
    tables = [
        f"OPERANDS_{number}" if taken else "NULL",
        f"RESULTS_{number}" if given else "NULL",
        f"SIZES_{number}",
    ]
    return [
        f"static const uint16_t SIZES_{number}[] = {{{sizes}}};",
        f"static const struct rbd_function FUNCTION_{number} = {{",
        f"    {known.code:d}, {len(function.results):d}, {taken:d}, {given:d}, {', '.join(tables)}",
        "};",
        "",
        prototype(function),
        "{",
        f"    const rbd_number *const operands[] = {{{_arguments(function.operands)}}};",
        f"    rbd_number *const results[] = {{{_arguments(function.results)}}};",
        f"    uint32_t task_words[{1 + taken:d}], result_words[{1 + given:d}];",
        f"    return rbd_run(device, &FUNCTION_{number}, operands, results, task_words, result_words);",
        "}",
        "",
    ]


def _arguments(vectors: Iterable[Vector]) -> str:
    return ", ".join(vector.argument for vector in vectors)


def program_header(names: Names) -> str:
    """The header of a program."""
    capitals, prefix = names.capitals, names.prefix
    return _text(
        [
            f"/* The program of {prefix}, for rbd_load. */",
            f"#ifndef {capitals}_PROGRAM_H",
            f"#define {capitals}_PROGRAM_H",
            "",
            '#include "rbdgen_embedded.h"',
            "",
            "#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            "",
            f"extern const size_t {prefix}_program_blocks;",
            f"extern const uint32_t {prefix}_program[];",
            "",
            "#ifdef __cplusplus",
            "}",
            "#endif",
            "",
            "#endif",
        ]
    )


def c_program(names: Names, program: Program) -> str:
    """The source of a program."""
    lines = [
        f"/* The program of {names.prefix}: blocks one after the other. */",
        f'#include "{names.prefix}_program.h"',
        "",
        f"const size_t {names.prefix}_program_blocks = {len(program.blocks):d};",
        f"const uint32_t {names.prefix}_program[] = {{",
    ]
    for block in program.blocks:
        words = ", ".join(f"{word:#x}u" for word in np.frombuffer(block, "<u4").tolist())
        lines.append(f"    {words},")
    return _text([*lines, "};"])


def _text(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"
