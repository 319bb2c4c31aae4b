"""The model of look-up tables, registers and memories: what it counts, and that it decides where constants are made."""

from __future__ import annotations

import pytest

from rbdgen import Options, compile_robot, load_robot
from rbdgen.schedule.budget import Budget
from rbdgen.schedule.resources import estimate
from tests.conftest import design


@pytest.mark.parametrize(("ii", "constants"), [(1, "logic"), (6, "logic"), (6, "multipliers")])
def test_counts_agree_with_the_plan(ii: int, constants: str) -> None:
    d = design("iiwa14", functions=("did",), ii=ii, constants=constants, device="ecp5")
    used = estimate(d.plan)
    assert used.multipliers == d.plan.schedule.blocks
    assert used.registers == d.plan.register_bits
    assert used.memories == sum(d.plan.schedule.tables.values())


def test_what_saves_logic_counts_less() -> None:
    plain = estimate(design("iiwa14", functions=("did",), ii=6, device="ecp5").plan).luts
    for saving in ({"constants": "multipliers"}, {"rounding": "truncate"}, {"overflow": "flag"}, {"word": 14}):
        assert estimate(design("iiwa14", functions=("did",), ii=6, device="ecp5", **saving).plan).luts < 0.9 * plain


def test_constants_move_where_logic_is_short() -> None:
    robot, options = load_robot("iiwa14"), Options(("did",), device="ecp5")
    logic = compile_robot(robot, options, budget=Budget(blocks=156))
    assert logic.options.constants == "logic"
    luts = estimate(logic.plan).luts
    plenty = {"multipliers": 156, "luts": 2 * luts, "registers": 10**6}
    assert compile_robot(robot, options, budget=Budget(blocks=156, resources=plenty)).plan == logic.plan
    short = Budget(blocks=156, resources=plenty | {"luts": luts})
    other = compile_robot(robot, options, budget=short)
    assert other.options.constants == "multipliers"
    assert estimate(other.plan).luts < luts
    assert other.plan.schedule.blocks <= 156
    assert any("constant factors take slots of multipliers" in line for line in other.why)
