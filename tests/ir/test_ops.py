"""Operations have one record each, and every back end's table has all of them that its graphs may have."""

from __future__ import annotations

import pytest

from rbdgen.ir.machine import INSTRUCTIONS
from rbdgen.ir.ops import LOWERED, OPERATIONS, TRACED
from rbdgen.ir.ops.operation import Operation
from rbdgen.numeric.tape import FUNCTIONS
from rbdgen.schedule.operators import OPERATORS
from rbdgen.software import fixed_statements, float_statements
from rbdgen.wordlength.costs import BIT_COST
from rbdgen_hw import unit_operators

TABLES = {
    "tape of the bit-true model": (INSTRUCTIONS, LOWERED),
    "C in fixed point": (fixed_statements.EXPRESSIONS, LOWERED),
    "C and CUDA in floating point": (float_statements.EXPRESSIONS, TRACED),
    "delays and look-up tables": (OPERATORS, LOWERED),
    "bits that word lengths cost": (BIT_COST, LOWERED),
    "hardware": (unit_operators.OPERATORS, LOWERED),
}


@pytest.mark.parametrize("backend", TABLES)
def test_a_back_end_has_every_operation(backend: str) -> None:
    table, operations = TABLES[backend]
    assert sorted(table) == sorted(operations)


def test_the_golden_model_has_every_operation_of_algorithms() -> None:
    sums = {"add", "sub", "mul", "neg"}
    given = {"input", "const", "sum", "shift"}
    assert set(FUNCTIONS) - sums == set(TRACED) - given


def test_every_operation_has_one_record_that_says_what_it_is() -> None:
    for name, operation in OPERATIONS.items():
        assert operation.name == name
        assert operation.traced or operation.lowered
        assert type(operation).__doc__
        if not operation.is_given:
            assert type(operation).value is not Operation.value
        if operation.lowered and name != "input":
            for method in ("raw", "span", "passed_on"):
                assert getattr(type(operation), method) is not getattr(Operation, method), name
