"""What is written into a core before it runs: program words in columns, constants, and a table of its routines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from rbdgen.errors import ConfigError
from rbdgen.machines.engine.core import STAGE_BITS, Core, RoomError
from rbdgen.machines.engine.program import Program
from rbdgen.protocol.loading import (
    ADDRESS_BITS,
    CONSTANT,
    DATA_BITS,
    LIMIT,
    PARTS,
    PROGRAM,
    ROTATING,
    ROUTINE,
    Write,
)
from rbdgen.protocol.tasks import FunctionFormat

COLUMN_NUMBER_BITS = 4
"""Bits of the number of a column of program memory, above that of its word. Other addresses are: a word above its bank,
a function's code above the part of its routine, twice an operand's number for its lower limit and one more for its
upper one."""
WORD_NUMBER_BITS = ADDRESS_BITS - COLUMN_NUMBER_BITS
HALF_WORD = 32
PART_BITS = (PARTS - 1).bit_length()
"""Bits of the number of a part of a routine's entry, below its function's code."""
TASK_PART, RESULT_PART = 0, 2
"""The parts that say, in their lowest bits, how many operands a task has, and how many words a result."""
REPEATS = 3
"""The part that says how a function repeats."""
COUNTS_BITS = 10
"""Bits of the place of a number of steps, at most, so that a part is one write whatever the memories."""


def column_bits(bits: int) -> int:
    """Bits of a column of a program's words, which have so many ``bits``: all that one write has, or less where that
    leaves no column of a few bits only in memories of 16."""
    return HALF_WORD if bits <= 2 * HALF_WORD else DATA_BITS


def columns(bits: int) -> int:
    """Columns of a program's words."""
    return -(-bits // column_bits(bits))


def routine_parts(core: Core) -> tuple[dict[str, int], ...]:
    """Parts of a routine's entry in the table, by their numbers: fields with their widths. What takes tasks asks for
    the first one, what starts them for two more. ``operands``: words of a task; ``known``: there is such a function;
    ``limits``: the number of its first operand's limits; ``start`` and ``last``: its first and its last word;
    ``relevant``: of the intervals since a task began, those in which it has anything to do after its first;
    ``results``: words of a result, with its header. What brings tasks back, where a core does, asks for the last one:
    ``moving`` and ``staying``: operands that are the results of the step before, and those that are as they were;
    ``counts``: which of these, from one on, says how many steps there are, none of a function that does not repeat."""
    moving = core.address_bits + 1
    # there is room for one word more than a task or a result has
    operands, results = (core.waiting - 1).bit_length(), (core.results - 1).bit_length()
    if not core.lean:
        operands, results = moving, core.results.bit_length()
    parts: list[dict[str, int]] = [
        {"operands": operands, "known": 1, "limits": core.limit_bits},
        {"start": core.depth_bits, "last": core.depth_bits},
        {"results": results, "relevant": 1 << STAGE_BITS},
    ]
    if core.kept:
        parts.append({"moving": moving, "staying": moving, "counts": min(COUNTS_BITS, moving)})
    return tuple(parts)


def packed(fields: Mapping[str, int], values: Mapping[str, int]) -> int:
    """Values one above the other, in fields of these widths. ValueError where they are no word that can be written."""
    entry = at = 0
    for name, width in fields.items():
        if values[name] >> width:
            raise ValueError(f"{name}: {values[name]} does not fit {width} bits")
        entry |= values[name] << at
        at += width
    if at > DATA_BITS:
        raise ValueError(f"{', '.join(fields)}: take {at} bits, and a write has {DATA_BITS}")
    return entry


def unpacked(fields: Mapping[str, int], entry: int) -> dict[str, int]:
    """The values of fields that are :func:`packed`."""
    found = {}
    for name, width in fields.items():
        found[name] = entry & (1 << width) - 1
        entry >>= width
    return found


@dataclass(frozen=True)
class Limits:
    """Declared limits of operands: all ``pairs`` in their order, and by function the number of its first one.
    Functions whose operands are alike, or the first ones of another's, share theirs."""

    pairs: tuple[tuple[int, int], ...]
    first: Mapping[str, int]

    @classmethod
    def of(cls, formats: Iterable[FunctionFormat], core: Core) -> Limits:
        """Those of functions. ConfigError where they are more than a core has room for."""
        wanted = {f.name: tuple(word.codes for word in f.operands) for f in formats}
        pairs: list[tuple[int, int]] = []
        kept: dict[tuple[tuple[int, int], ...], int] = {}
        first: dict[str, int] = {}
        for name, own in sorted(wanted.items(), key=lambda item: -len(item[1])):
            like = next((at for longer, at in kept.items() if longer[: len(own)] == own), None)
            if like is None:
                like = kept[own] = len(pairs)
                pairs += own
            first[name] = like
        if len(pairs) > core.limits:
            raise RoomError(
                f"operands: limits of {len(pairs)} are needed, and the engine has room for {core.limits}; ask for "
                "fewer functions",
                limits=len(pairs),
            )
        return cls(tuple(pairs), first)


def writes(program: Program, functions: Mapping[str, FunctionFormat]) -> Iterator[Write]:
    """All that is written for a program; ``functions`` are the formats of its tasks. ConfigError where they do not
    fit."""
    core = program.core
    bits = program.layout.bits
    step = column_bits(bits)
    mask = (1 << step) - 1
    number = program.place.word
    for routine in program.routines.values():
        for word in routine.words:
            for k in range(columns(bits)):
                address = k << WORD_NUMBER_BITS | number
                yield Write(PROGRAM, address, word >> k * step & mask)
            number += 1
    for bank, word, raw in program.raw_constants:
        yield Write(CONSTANT, word << core.bank_bits | bank, raw & (1 << core.width) - 1)
    limits = Limits.of((functions[name] for name in program.routines), core)
    for number, (lower, upper) in enumerate(limits.pairs, program.place.limit):
        # what is below the second is inside: one comparison serves both
        for k, bound in enumerate((lower, upper + 1)):
            if bound >> core.bound_bits - 1 not in (0, -1):
                raise ConfigError(
                    f"operands: a limit of {bound} does not fit {core.bound_bits} bits; use an engine that is not lean"
                )
            yield Write(LIMIT, number << 1 | k, bound & (1 << core.bound_bits) - 1)
    for name, routine in program.routines.items():
        start = program.place.word + program.start(name)
        values = {
            "start": start,
            "last": start + routine.interval - 1,
            "relevant": (1 << routine.stages - 1) - 1,
            "operands": routine.operands,
            "results": routine.results + 1,
            "known": 1,
            "limits": program.place.limit + limits.first[name],
            "counts": 0 if routine.count_at is None else routine.count_at - routine.results + 1,
            "moving": routine.results,
            "staying": routine.schedule.work.staying,
        }
        for part, fields in enumerate(routine_parts(core)):
            address = functions[name].code << PART_BITS | part
            yield Write(ROUTINE, address, packed(fields, values))
    yield Write(ROTATING, 0, program.rotating)
