"""The check of operands: what comes beat by beat is found outside where the packing says so."""

from __future__ import annotations

import random

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from rbdgen.ir.number_formats import Format
from rbdgen.protocol.tasks import FunctionFormat, OperandWord, Packing, TaskFormat
from rbdgen_hw.pipeline.intake import RangeCheck


def operand(name: str, width: int, low: int, high: int) -> OperandWord:
    """An operand of so many bits whose raw value must be ``low`` to ``high``."""
    return OperandWord(name, Format(width, 4), (low, high))


SHORT = FunctionFormat(
    "short", 1, (operand("q0", 10, -300, 300), operand("q1", 12, -2048, 2047)), ()
)
LONG = FunctionFormat(
    "long",
    2,
    (
        SHORT.operands[0],
        operand("q1", 7, 3, 60),
        operand("v0", 12, -5, 5),
        operand("v1", 9, -256, -1),
        SHORT.operands[0],
    ),
    (),
)


@pytest.mark.parametrize("cycles", range(4))
@pytest.mark.parametrize("functions", [(SHORT,), (SHORT, LONG)])
@pytest.mark.parametrize("words_per_beat", [1, 2, 3])
def test_operands_out_of_range_are_found_whatever_comes_before(
    words_per_beat: int, functions, cycles: int
) -> None:
    places = (20, 18, 19)[:words_per_beat]
    tasks = TaskFormat({f.name: f for f in functions}, Packing(places), Packing((18,)))
    m = Module()
    m.submodules.check = check = RangeCheck(tasks, cycles)
    rng = random.Random(words_per_beat)
    seen = {True: 0, False: 0}

    async def bench(ctx) -> None:
        for _ in range(400):
            f = functions[rng.randrange(len(functions))]
            raw = []
            for word in f.operands:
                low, high = word.codes
                near = rng.choice([low, high, rng.randint(low, high), low - 1, high + 1])
                inside = min(max(near, low), high) if rng.random() < 0.6 else near
                raw.append(min(max(inside, word.format.minimum), word.format.maximum))
            expected = bool(tasks.functions[f.name].out_of_range([np.array([r]) for r in raw])[0])
            for k, beat in enumerate(
                tasks.pack(f.name, np.array([0]), [np.array([r]) for r in raw])[0]
            ):
                while rng.random() < 0.3:
                    # a beat that is offered and not taken, of any bits
                    ctx.set(check.beat, rng.getrandbits(tasks.task.beat_bits))
                    ctx.set(check.accept, 0)
                    ctx.set(check.turn, 1 << k)
                    await ctx.tick()
                ctx.set(check.beat, beat)
                ctx.set(check.accept, 1)
                ctx.set(check.turn, 1 << k)
                await ctx.tick()
                ctx.set(check.known, 1 << list(tasks.functions).index(f.name))
            for _ in range(cycles):
                ctx.set(check.accept, 0)
                await ctx.tick()
            assert bool(ctx.get(check.outside)) == expected
            if rng.random() < 0.3:
                ctx.set(check.accept, 0)
                await ctx.tick()
                assert bool(ctx.get(check.outside)) == expected
            seen[expected] += 1

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert min(seen.values()) > 30


def test_bits_above_a_word_do_not_count() -> None:
    """A word's value is in its low bits."""
    tasks = TaskFormat({"short": SHORT}, Packing((18,)), Packing((18,)))
    m = Module()
    m.submodules.check = check = RangeCheck(tasks)

    async def bench(ctx) -> None:
        for code, expected in ((-300, False), (-301, True), (300, False), (301, True)):
            ctx.set(check.known, 1)
            ctx.set(check.accept, 1)
            ctx.set(check.turn, 0b010)
            ctx.set(check.beat, code & 0x3FF | 0b101 << 10)
            await ctx.tick()
            assert bool(ctx.get(check.outside)) == expected
            ctx.set(check.turn, 0b001)
            await ctx.tick()
            assert not ctx.get(check.outside)

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
