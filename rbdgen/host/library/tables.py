"""A design's tables in C: its identity, functions, words and formats, as ``rbdgen_device.h`` has their structures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from rbdgen.host.library.calls import definitions
from rbdgen.host.library.design import Function, Names, Vector
from rbdgen.host.manifest import Entry, Manifest
from rbdgen.protocol.identifiers import c_literal
from rbdgen.protocol.tasks import CALIBRATE, OperandWord, Packing, ResultWord, TaskFormat


def c_source(manifest: Manifest, names: Names, answer: int) -> str:
    """The source of a design whose longest answer has so many bytes."""
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
    lines += _design(manifest, names, answer)
    return "\n".join([*lines, *definitions(names)]) + "\n"


def _array(kind: str, name: str, rows: Iterable[str]) -> list[str]:
    """The lines of a table; of an empty one none."""
    entries = [f"    {row}," for row in rows]
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


def _operands(name: str, manifest: Manifest, function: Function) -> list[str]:
    """Entry, vector, width, binary point and limits of each operand word."""
    order = [vector.name for vector in function.operands]
    rows = []
    words = manifest.tasks.functions[function.name].operands
    for entry, word in zip(manifest.operands[function.name], words, strict=True):
        place = _place(manifest, entry, entry.index)
        rows.append(
            f"{{{place:d}, {order.index(entry.vector):d}, {_format(word)}, {_limits(word)}}}"
        )
    return _array("rbd_operand", name, rows)


def _results(name: str, manifest: Manifest, function: Function) -> list[str]:
    """Entry, the one across the diagonal, vector, width and binary point of each result word."""
    order = [vector.name for vector in function.results]
    rows = []
    words = manifest.tasks.functions[function.name].results
    for entry, word in zip(manifest.results[function.name], words, strict=True):
        place = _place(manifest, entry, entry.index)
        mirror = place
        if manifest.shapes[entry.vector].symmetric:
            mirror = _place(manifest, entry, entry.index[::-1])
        number = order.index(entry.vector)
        rows.append(f"{{{place:d}, {mirror:d}, {number:d}, {_format(word)}}}")
    return _array("rbd_result", name, rows)


def _place(manifest: Manifest, entry: Entry, index: Sequence[int]) -> int:
    """An entry's number among those of its vector, row by row."""
    shape = manifest.shapes[entry.vector].size
    return int(np.ravel_multi_index(tuple(index), shape))


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


def _design(manifest: Manifest, names: Names, answer: int) -> list[str]:
    tasks = manifest.tasks
    identity = ", ".join(f"0x{byte:02x}" for byte in manifest.identity)
    parameters = len(tasks.parameters)
    longest = max(tasks.task.packet_bytes(count) for count in tasks.task_words.values())
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
        "};",
    ]
