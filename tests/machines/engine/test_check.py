"""The check of programs: it finds what is changed in them."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from rbdgen.machines.engine.check import ProgramError, check_program
from rbdgen.machines.engine.program import HEADER, LAST_WORD, WORD, Program
from tests.conftest import shared_robot
from tests.machines.engine.mapped import CORE, mapped, mapped_robot

FUNCTION = "fd"
MUTANTS = 12
"""Words in which a field is changed."""


def changed(program: Program, cycle: int, field: str) -> Program:
    """The program with the lowest bit of a field turned over, in one word."""
    routine = program.routines[FUNCTION]
    words = list(routine.words)
    at, _ = program.layout.fields[field]
    words[cycle] ^= 1 << at
    routines = {**program.routines, FUNCTION: dataclasses.replace(routine, words=tuple(words))}
    return dataclasses.replace(program, routines=routines)


def used(program: Program, field: str, needed: dict[str, set[int]]) -> list[int]:
    """Cycles whose fields have one of these values each."""
    found = []
    for cycle, word in enumerate(program.routines[FUNCTION].words):
        fields = program.layout.unpacked(word)
        if all(fields[name] in values for name, values in needed.items()):
            found.append(cycle)
    return found


SLOT = {"lane0_first": {1}}
LAST = {"lane0_last": {1}}
STORED = {"bank0_write": {1}}
CASES = [
    ("lane0_x_address", SLOT),
    ("lane0_x_bank", SLOT),
    ("lane0_x_rotates", SLOT),
    ("lane0_y_address", SLOT),
    ("lane0_y_operand", SLOT),
    ("lane0_kind", SLOT),
    ("lane0_double", SLOT),
    ("lane0_negative", SLOT),
    ("lane0_distance", SLOT),
    ("lane0_extraction", SLOT),
    ("lane0_first", {"lane0_first": {1}, "lane0_keep": {1}}),
    ("lane0_last", LAST),
    ("lane0_stage", LAST),
    ("bank0_write", STORED),
    ("bank0_source", STORED),
    ("bank0_address", STORED),
    ("call", {"call": {1}}),
    ("call_inverse", {"call": {1}}),
    ("call_shift", {"call": {1}}),
    ("call_stage", {"call": {1}}),
    ("take", {"take": {1}}),
    ("take_write", {"take_write": {1}}),
    ("take_address", {"take_write": {1}}),
    ("send", {"send": {WORD, LAST_WORD}}),
    ("send_address", {"send": {WORD}}),
    ("send_bank", {"send": {WORD}}),
    ("send_rotates", {"send": {WORD}}),
    ("send_stage", {"send": {HEADER, WORD}}),
]


@pytest.mark.parametrize(("field", "needed"), CASES, ids=[field for field, _ in CASES])
def test_a_wrong_bit_is_found(field: str, needed: dict[str, set[int]]) -> None:
    program = mapped("pendulum2").program
    cycles = used(program, field, needed)
    assert cycles
    random = np.random.default_rng(3)
    for cycle in random.permutation(cycles)[:MUTANTS]:
        with pytest.raises(ProgramError, match=f"routine '{FUNCTION}', cycle"):
            check_program(changed(program, int(cycle), field), [FUNCTION])


def test_every_field_of_a_word_has_a_mutant() -> None:
    fields = {re.sub(r"[1-9]", "0", name) for name in mapped("pendulum2").program.layout.fields}
    # banks of y, and sums of one slot that are kept, are covered by addresses and beginnings
    assert fields - {field for field, _ in CASES} == {
        "lane0_keep",
        "lane0_y_bank",
        "lane0_y_rotates",
    }


@pytest.mark.thorough
def test_constants_that_round_to_one_word_are_one() -> None:
    # of this robot some sums were there twice, with constants that differ in float64 alone
    core = dataclasses.replace(CORE, words=1024)
    own = mapped_robot(shared_robot("atlas"), ("id",), core)
    check_program(own.program)
