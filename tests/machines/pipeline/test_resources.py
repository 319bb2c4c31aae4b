"""The model of look-up tables, registers and memories: what it counts, and that it decides where constants are made."""

from __future__ import annotations

import math
import re

import pytest

from rbdgen import Design, Options, compile_robot, load_robot
from rbdgen.machines.pipeline.budget import Budget
from rbdgen.machines.pipeline.resources import estimate
from rbdgen_hw.emit import design_verilog
from tests.conftest import design


def luts(d: Design) -> int:
    """Look-up tables by the model."""
    return estimate(d.plan, d.tasks).luts


@pytest.mark.parametrize(
    ("ii", "constants"),
    [
        pytest.param(1, "logic", marks=pytest.mark.thorough),
        (6, "multipliers"),
        pytest.param(6, "logic", marks=pytest.mark.thorough),
    ],
)
@pytest.mark.slow
def test_counts_agree_with_the_plan(ii: int, constants: str) -> None:
    d = design("iiwa14", functions=("did",), ii=ii, constants=constants, device="ecp5", clock=20.0)
    used = estimate(d.plan, d.tasks)
    assert used.multipliers == d.plan.schedule.blocks
    # beside the values between operations: operands as they come and as they enter, a beat of results twice, and
    # accumulators; at this clock no operator has other registers within
    operands = sum(word.format.width for word in d.tasks.functions["did"].operands)
    waiting = d.tasks.task_beats("did") * d.tasks.task.beat_bits + 2 * d.tasks.result.beat_bits
    accumulators = re.findall(r"^  \w+_accumulate_(\d+)_[0-9a-f]+ ", design_verilog(d), re.M)
    within = sum(map(int, accumulators))
    assert bool(within) == (ii > 1)
    assert used.registers == d.plan.register_bits + waiting + operands * (ii > 1) + within
    # 82 results and a header, 14 words in each of six beats, wait in memories that are 36 bits wide, if they do not
    # leave at once
    lane = math.ceil(14 * 18 / 36) if ii > 1 else 0
    assert used.memories == sum(d.plan.schedule.tables.values()) + lane


@pytest.mark.thorough
def test_what_saves_logic_counts_less() -> None:
    asked = {
        "functions": ("did",),
        "ii": 6,
        "device": "ecp5",
        "overflow": "saturate",
        "constants": "logic",
    }
    plain = luts(design("iiwa14", **asked))
    for saving, share in (
        ({"constants": "multipliers"}, 0.9),
        # sums round in their carry chains, and dots in what they start from
        ({"rounding": "truncate"}, 0.95),
        ({"overflow": "flag"}, 0.9),
        ({"word": 14}, 0.9),
    ):
        assert luts(design("iiwa14", **(asked | saving))) < share * plain


@pytest.mark.slow
def test_registers_within_operators_count() -> None:
    """A constant factor of several levels has them at a fast clock, and a shifter."""
    slow, fast = (
        design("iiwa14", functions=("minv",), ii=6, device="ecp5", clock=clock)
        for clock in (40.0, 120.0)
    )
    beside = [estimate(d.plan, d.tasks).registers - d.plan.register_bits for d in (slow, fast)]
    assert beside[1] > beside[0] + 7 * 2 * 18


@pytest.mark.thorough
def test_constants_move_where_logic_is_short() -> None:
    robot, options = load_robot("iiwa14"), Options(("did",), device="ecp5", word=18)
    logic = compile_robot(robot, options, budget=Budget(blocks=156))
    assert logic.options.constants == "logic"
    taken = luts(logic)
    plenty = {"multipliers": 156, "luts": 2 * taken, "registers": 10**6}
    assert (
        compile_robot(robot, options, budget=Budget(blocks=156, resources=plenty)).plan
        == logic.plan
    )
    short = Budget(blocks=156, resources=plenty | {"luts": taken})
    other = compile_robot(robot, options, budget=short)
    assert other.options.constants == "multipliers"
    assert luts(other) < taken
    assert other.plan.schedule.blocks <= 156
    assert any("constant factors take slots of multipliers" in line for line in other.why)
