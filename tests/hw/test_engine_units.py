"""The engine's lane and special unit against integers: every kind of slot, every call, at their promised times."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator

from rbdgen.ir.number_formats import Format
from rbdgen.machines.engine.core import (
    COSINE,
    DISTANCES,
    EXTRACTIONS,
    LIFT,
    MANTISSA,
    POWER,
    RESULT,
    SIGNED,
    SINE,
    STEP,
    Core,
)
from rbdgen.machines.engine.jobs import DIFFERENCE, PRODUCT
from rbdgen.machines.engine.model import inverse, sign, sine_and_cosine
from rbdgen.machines.engine.program import KINDS
from rbdgen_hw.engine.lane import CONTROL, Lane
from rbdgen_hw.engine.special import LOST, SpecialUnit

CYCLES = 3000
WIDTHS = (32, 35)


def some_word(rnd: random.Random, width: int) -> int:
    """A word of any size, often one of the largest or smallest."""
    fmt = Format(width, 0)
    bits = rnd.randrange(1, width)
    return rnd.choice([fmt.minimum, fmt.maximum, rnd.getrandbits(bits) - (1 << bits - 1), 0, 1, -1])


def run(dut: Any, bench: Any) -> None:
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


class LaneModel:
    """What a lane does, slot by slot."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.kept = 0

    def slot(self, x: int, y: int, control: dict[str, int]) -> tuple[int, bool]:
        """The result of a slot, and whether it does not fit."""
        core = self.core
        x <<= control["double"]
        kind = KINDS[control["kind"]]
        if kind == PRODUCT:
            term = x * y >> core.cut
        else:
            term = (x - y if kind == DIFFERENCE else x + y) << LIFT
        term >>= DISTANCES[control["distance"]]
        drop = EXTRACTIONS[control["extraction"]]
        before = 1 << drop - 1 if control["first"] else self.kept
        total = before - term if control["negative"] else before + term
        bits = core.sum_bits
        total = (total + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
        if control["keep"]:
            self.kept = total
        exact = total >> drop
        fmt = Format(core.width, 0)
        value = int(fmt.wrap(np.array(exact)))
        return value, value != exact


@pytest.mark.parametrize("width", WIDTHS)
def test_a_lane_is_its_model(width: int) -> None:
    core = Core(width=width)
    lane, model, rnd = Lane(core), LaneModel(core), random.Random(width)
    expected: list[tuple[int, bool]] = []
    found: list[tuple[int, bool]] = []

    async def bench(ctx: Any) -> None:
        for _ in range(CYCLES):
            control = {name: rnd.randrange(1 << field.width) for name, field in CONTROL}
            control["kind"] = rnd.randrange(len(KINDS))
            x, y = some_word(rnd, width), some_word(rnd, width)
            ctx.set(lane.control, control)
            ctx.set(lane.x, x)
            ctx.set(lane.y, y)
            expected.append(model.slot(x, y, control))
            await ctx.tick()
            found.append((ctx.get(lane.result), bool(ctx.get(lane.lost))))

    run(lane, bench)
    # words come a cycle after their addresses; what follows the edge of a cycle is the next cycle's
    late = RESULT - 2
    assert found[late:] == expected[: len(found) - late]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_special_unit_is_its_model(width: int) -> None:
    core = Core(width=width)
    unit, rnd = SpecialUnit(core), random.Random(width)
    expected: dict[int, int] = {}
    losses: dict[int, bool] = {}
    found: dict[int, int] = {}
    lost: dict[int, bool] = {}

    async def bench(ctx: Any) -> None:
        free = 0
        for cycle in range(CYCLES):
            calls = cycle == free
            is_inverse, shift = rnd.randrange(2), rnd.randrange(3)
            argument = some_word(rnd, width)
            if rnd.random() < 0.5:
                argument = rnd.getrandbits(width) - (1 << width - 1)
            ctx.set(unit.call, calls)
            ctx.set(unit.inverse, is_inverse)
            ctx.set(unit.shift, shift)
            ctx.set(unit.argument, argument)
            if calls:
                word = np.array([argument])
                if is_inverse and shift:
                    expected[cycle + SIGNED] = int(sign(word)[0])
                elif is_inverse:
                    mantissa, power, bad = inverse(word, core)
                    expected[cycle + MANTISSA] = int(mantissa[0])
                    expected[cycle + POWER] = int(power[0])
                    losses[cycle + LOST] = bool(bad[0])
                else:
                    sine, cosine = sine_and_cosine(word << shift * STEP, core)
                    expected[cycle + SINE] = int(sine[0])
                    expected[cycle + COSINE] = int(cosine[0])
                # so far that no two calls meet
                free = cycle + rnd.choice([14, 15, 20])
            await ctx.tick()
            found[cycle + 1] = ctx.get(unit.result)
            lost[cycle + 1] = bool(ctx.get(unit.lost))

    run(unit, bench)
    assert {c: found[c] for c in expected if c in found} == {
        c: x for c, x in expected.items() if c in found
    }
    assert {c: lost[c] for c in losses if c in lost} == {
        c: x for c, x in losses.items() if c in lost
    }
    assert sum(losses.values()) > 10
