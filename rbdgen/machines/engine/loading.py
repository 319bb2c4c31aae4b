"""What is written into a core before it runs: program words in columns, constants, and a table of its routines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rbdgen.machines.engine.core import STAGE_BITS, Core
from rbdgen.machines.engine.program import Program

COLUMN_BITS = 36
"""Bits of a column of program memory, which is a block memory wide."""
PROGRAM, CONSTANT, ROUTINE, ROTATING = range(4)
"""What is written, by code."""
TARGET_BITS = 2
ADDRESS_BITS = 16
"""Bits of an address of what is written: a word's number above its column's, a word above its bank, a function's code
above the part of its routine."""
COLUMN_NUMBER_BITS = 4
"""Bits of a column's number, below that of its word."""
PART_BITS = 2
"""Bits of the number of a part of a routine's entry, below its function's code."""


@dataclass(frozen=True)
class Write:
    """A word of ``data`` that goes to an ``address`` of a ``target``."""

    target: int
    address: int
    data: int


def columns(bits: int) -> int:
    """Columns of a program's words."""
    return -(-bits // COLUMN_BITS)


def routine_parts(core: Core) -> tuple[Mapping[str, int], ...]:
    """Parts of a routine's entry in the table, by their numbers: fields with their widths. What takes tasks asks for
    the first one, what starts them for the others. ``operands``: words of a task; ``known``: there is such a function;
    ``start`` and ``last``: its first and its last word; ``relevant``: of the intervals since a task began, those in
    which it has anything to do after its first; ``results``: words of a result, with its header."""
    return (
        {"operands": core.address_bits + 1, "known": 1},
        {"start": core.depth_bits, "last": core.depth_bits, "relevant": 1 << STAGE_BITS},
        {"results": core.address_bits + 2},
    )


def writes(program: Program, codes: Mapping[str, int]) -> Iterator[Write]:
    """All that is written for a program; ``codes`` are those of functions in tasks' headers."""
    core = program.core
    mask = (1 << COLUMN_BITS) - 1
    number = 0
    for routine in program.routines.values():
        for word in routine.words:
            for k in range(columns(program.layout.bits)):
                address = number << COLUMN_NUMBER_BITS | k
                yield Write(PROGRAM, address, word >> k * COLUMN_BITS & mask)
            number += 1
    for raw, (bank, word) in program.constants.places.items():
        yield Write(CONSTANT, word << core.bank_bits | bank, raw & (1 << core.width) - 1)
    for name, routine in program.routines.items():
        start = program.start(name)
        values = {
            "start": start,
            "last": start + routine.interval - 1,
            "relevant": (1 << routine.stages - 1) - 1,
            "operands": routine.operands,
            "results": routine.results + 1,
            "known": 1,
        }
        for part, fields in enumerate(routine_parts(core)):
            entry = at = 0
            for field, width in fields.items():
                entry |= values[field] << at
                at += width
            yield Write(ROUTINE, codes[name] << PART_BITS | part, entry)
    yield Write(ROTATING, 0, program.rotating)
