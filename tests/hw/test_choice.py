"""Phases, and the choice by them: every phase's value, with constants and values that occur more than once."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import Const, Module, Signal, Value, signed
from amaranth.sim import Simulator

from rbdgen_hw.pipeline.phases import Phases, choose

II = 12


@pytest.mark.parametrize("seed", range(6))
def test_every_phase_has_its_value(seed: int) -> None:
    rng = random.Random(seed)
    signals = [Signal(signed(6), name=f"x{k}") for k in range(1 + seed % 3)]
    wanted: dict[int, Value] = {}
    for p in rng.sample(range(II), 9):
        wanted[p] = rng.choice(
            [*signals, Const(rng.randint(-32, 31), signed(6)), Const(5, signed(4))][: 2 + seed]
        )
    m = Module()
    chosen = Signal(signed(6))
    phases = Phases(m, II, Const(0))
    m.d.comb += chosen.eq(
        choose(m, phases, (([p], v) for p, v in wanted.items()), signed(6), "chosen")
    )

    async def bench(ctx) -> None:
        for cycle in range(4 * II):
            values = [rng.randint(-32, 31) for _ in signals]
            for x, value in zip(signals, values, strict=True):
                ctx.set(x, value)
            if (v := wanted.get(cycle % II)) is not None:
                expected = (
                    v.value
                    if isinstance(v, Const)
                    else values[next(k for k, x in enumerate(signals) if x is v)]
                )
                assert ctx.get(chosen) == expected
            await ctx.tick()

    simulate(m, bench)


def test_one_value_needs_no_multiplexer() -> None:
    m, x = Module(), Signal(5)
    phases = Phases(m, 8, Const(0))
    assert choose(m, phases, [([1, 2], x), ([4], x)], x.shape(), "chosen") is x
    only = choose(
        m, phases, [([1], Const(3, signed(5))), ([2], Const(3, signed(4)))], signed(5), "chosen"
    )
    assert isinstance(only, Const)
    assert only.value == 3
    Simulator(m)  # a module that nobody elaborates is reported


@pytest.mark.parametrize("ii", [2, 3, 8, 13])
def test_phases_follow_one_another_and_wait_in_the_first(ii: int) -> None:
    rng = random.Random(ii)
    m, waits = Module(), Signal()
    phases = Phases(m, ii, waits)
    sets = [rng.sample(range(ii), rng.randint(1, ii)) for _ in range(6)]
    during = [phases.during(wanted) for wanted in sets]

    async def bench(ctx) -> None:
        now = 0
        for _ in range(20 * ii):
            assert ctx.get(phases.now) == now
            assert [ctx.get(d) for d in during] == [now in wanted for wanted in sets]
            stays = rng.random() < 0.5
            ctx.set(waits, stays)
            await ctx.tick()
            now = 0 if now == 0 and stays else (now + 1) % ii

    simulate(m, bench)


def simulate(m: Module, bench: Callable[..., Any]) -> None:
    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
