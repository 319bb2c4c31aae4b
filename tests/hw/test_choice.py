"""The choice by the phase: every phase's value, with constants and values that occur more than once among them."""

from __future__ import annotations

import random

import pytest
from amaranth.hdl import Const, Module, Signal, signed
from amaranth.sim import Simulator

from rbdgen_hw.choice import choose


@pytest.mark.parametrize("seed", range(6))
def test_every_phase_has_its_value(seed: int) -> None:
    rng = random.Random(seed)
    phase = Signal(4)
    signals = [Signal(signed(6), name=f"x{k}") for k in range(3)]
    wanted = {}
    for p in rng.sample(range(12), 9):
        wanted[p] = rng.choice([*signals, Const(rng.randint(-32, 31), signed(6)), Const(5, signed(4))])
    m = Module()
    chosen = Signal(signed(6))
    m.d.comb += chosen.eq(choose(m, phase, (([p], v) for p, v in wanted.items()), signed(6), "chosen"))

    async def bench(ctx) -> None:
        for _ in range(4):
            values = [rng.randint(-32, 31) for _ in signals]
            for x, value in zip(signals, values, strict=True):
                ctx.set(x, value)
            for p, v in wanted.items():
                ctx.set(phase, p)
                expected = v.value if isinstance(v, Const) else values[next(k for k, x in enumerate(signals) if x is v)]
                assert ctx.get(chosen) == expected

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()


def test_one_value_needs_no_multiplexer() -> None:
    m, x = Module(), Signal(5)
    assert choose(m, Signal(3), [([1, 2], x), ([4], x)], x.shape(), "chosen") is x
    only = choose(m, Signal(3), [([1], Const(3, signed(5))), ([2], Const(3, signed(4)))], signed(5), "chosen")
    assert isinstance(only, Const)
    assert only.value == 3
