"""The loops as components of their own: what leaves by their exit starts again, in order, when it may."""

from __future__ import annotations

import pytest
from amaranth.hdl import Const, Module
from amaranth.sim import Simulator

from rbdgen import Options, compile_robot, load_robot
from rbdgen.protocol.tasks import FUNCTION_BITS, HEADER_BITS, TAG_BITS, Flag
from rbdgen_hw.pipeline.loops import FeedbackLoop, RollOutLoop, operand_port, result_port
from tests.conftest import design

HEADERS = (0x105, 0x2A5)


def simulate(dut, bench) -> None:
    m = Module()
    m.submodules.dut = dut
    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def test_feedback_hands_over_in_order_what_the_first_pass_leaves() -> None:
    made = design("pendulum2", functions=("dfd",), ii=4)
    dut = FeedbackLoop(made)
    operand, result = next(iter(dut.sources.items()))
    source, target = made.output_format(result), made.input_format(operand)
    values = [source.maximum // 4, source.minimum // 4]
    given = getattr(dut, result_port(result))
    taken = getattr(dut, operand_port(operand))

    async def bench(ctx) -> None:
        ctx.set(dut.done, 1)
        for header, value in zip(HEADERS, values, strict=True):
            ctx.set(dut.header, header)
            ctx.set(given, value)
            await ctx.tick()
        ctx.set(dut.done, 0)
        # neither the phase alone nor room alone is enough
        for begin, available in ((0, 0), (0, 1), (1, 0)):
            ctx.set(dut.begin, begin)
            ctx.set(dut.available, available)
            assert not ctx.get(dut.start)
            await ctx.tick()
        ctx.set(dut.begin, 1)
        ctx.set(dut.available, 1)
        for header, value in zip(HEADERS, values, strict=True):
            assert ctx.get(dut.start)
            assert ctx.get(dut.waiting_header) == header
            expected = value * 2.0 ** (target.frac - source.frac)
            assert abs(ctx.get(taken) - expected) <= 0.5
            ctx.set(dut.chosen, 1)
            await ctx.tick()
            ctx.set(dut.chosen, 0)
        assert not ctx.get(dut.start)

    simulate(dut, bench)


def test_what_saturates_on_the_way_back_is_flagged() -> None:
    robot = load_robot("pendulum2")
    made = compile_robot(robot, Options(("roll",), ii=4, error={"all": 1e-3}))
    dut = RollOutLoop(made)
    carried = made.network.carried
    lossy = next(
        c.behind
        for operand, c in carried.items()
        if made.output_format(c.behind).maximum * 2.0 ** -made.output_format(c.behind).frac
        > made.input_format(operand).maximum * 2.0 ** -made.input_format(operand).frac
    )
    most = made.output_format(lossy).maximum

    async def bench(ctx) -> None:
        ctx.set(dut.begin, 1)
        ctx.set(dut.available, 1)
        ctx.set(dut.passed, 3)
        ctx.set(dut.header, HEADERS[0])
        ctx.set(getattr(dut, result_port(lossy)), most)
        ctx.set(dut.done, 1)
        await ctx.tick()
        ctx.set(dut.done, 0)
        flag = Flag.OVERFLOW.value << FUNCTION_BITS + TAG_BITS
        assert ctx.get(dut.waiting_header) == HEADERS[0] | flag
        # two of three steps are left
        assert ctx.get(dut.on)
        assert not ctx.get(dut.final)

    simulate(dut, bench)


def test_a_short_roll_out_waits_for_the_longer_one_before_it() -> None:
    dut = RollOutLoop(design("pendulum2", functions=("roll",), ii=4))

    async def bench(ctx) -> None:
        ctx.set(dut.asked_steps, 5)
        assert ctx.get(dut.new_on)
        ctx.set(dut.started, 1)
        await ctx.tick()
        ctx.set(dut.started, 0)
        ctx.set(dut.asked_steps, 2)
        assert not ctx.get(dut.new_on)
        assert not ctx.get(dut.new_final)
        ctx.set(dut.finished, 1)
        await ctx.tick()
        ctx.set(dut.finished, 0)
        assert ctx.get(dut.new_on)

    simulate(dut, bench)


def test_a_value_of_another_width_is_not_bound() -> None:
    dut = FeedbackLoop(design("pendulum2", functions=("dfd",), ii=4))
    with pytest.raises(ValueError, match=f"port header: must have {HEADER_BITS} bits, not 1"):
        dut.bind(header=Const(0, 1))
