"""Operations have one record each, and every back end's table has all of them that its graphs may have."""

from __future__ import annotations

from pathlib import Path

import pytest

from rbdgen import Options, compile_robot, load_robot
from rbdgen.cli.main import main
from rbdgen.errors import ConfigError
from rbdgen.ir.machine import INSTRUCTIONS
from rbdgen.ir.ops import LOWERED, OPERATIONS, TRACED
from rbdgen.ir.ops.operation import Operation
from rbdgen.machines.pipeline.operators import OPERATORS
from rbdgen.numeric.tape import FUNCTIONS
from rbdgen.software import fixed_statements, float_statements
from rbdgen_hw.emit import design_verilog
from rbdgen_hw.pipeline import unit_operators

TABLES = {
    "tape of the bit-true model": (INSTRUCTIONS, LOWERED),
    "C in fixed point": (fixed_statements.EXPRESSIONS, LOWERED),
    "C and CUDA in floating point": (float_statements.EXPRESSIONS, TRACED),
    "delays and look-up tables": (OPERATORS, LOWERED),
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


def test_what_a_back_end_lacks_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    robot = load_robot("pendulum2")
    options = Options(functions=("id",), word=18)
    design = compile_robot(robot, options)
    monkeypatch.delitem(OPERATORS, "sum")
    with pytest.raises(ConfigError, match=r"^pipelines: there is no operation 'sum'; choose"):
        compile_robot(robot, options)
    monkeypatch.delitem(unit_operators.OPERATORS, "residual")
    with pytest.raises(ConfigError, match=r"^hardware: there is no operation 'residual'; choose"):
        design_verilog(design)
    monkeypatch.delitem(float_statements.EXPRESSIONS, "sin")
    made = tmp_path / "c"
    assert main(["emit", "pendulum2", "--functions", "id", "-o", str(made)]) == 2
    assert "C: there is no operation 'sin'; choose" in capsys.readouterr().err
    assert not made.exists()
