"""The whole engine in RTL simulation: bit for bit the model of the graph, with stalls, mixed functions, another robot
in the same hardware, and functions that it has not."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator

from rbdgen.compiler.words import function_format
from rbdgen.functions.registry import common, function
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.loading import writes
from rbdgen.protocol.loading import Write
from rbdgen.protocol.tasks import CALIBRATE, Flag, join_header
from rbdgen.tracing.execute import BitTrueModel
from rbdgen_hw.engine.cores import EngineCores
from tests.conftest import few
from tests.machines.engine.mapped import Mapped, mapped, raw_operands

LONGEST = 100_000
"""Cycles after which a run has failed."""
UNKNOWN = CALIBRATE
"""A code that no function has."""


@dataclass(frozen=True)
class Stream:
    """Beats of tasks, and of the results that they must have."""

    beats: list[int]
    expected: list[int]


def loads(own: Mapped) -> list[Write]:
    """All that is loaded for a program."""
    formats = {f: function_format(f, own.network, own.fixed) for f in own.program.routines}
    return list(writes(own.program, formats))


def tasks(
    own: Mapped, names: Sequence[str], count: int, seed: int, codes: Mapping[str, int] | None = None
) -> Stream:
    """Tasks of functions in a random order, some of them of no function; with other ``codes`` than usual, if given."""
    codes = codes or {name: function(name).code for name in names}
    rnd = random.Random(seed)
    mask = (1 << own.program.core.width) - 1
    model = BitTrueModel(own.network, own.fixed)
    made = {}
    for name in names:
        raw = raw_operands(own, name, count)
        answer = model.run(name, raw)
        made[name] = np.array(raw).T, np.array(answer.values).T, answer.overflow
    stream = Stream([], [])
    for tag in range(count):
        name = rnd.choice([*names, ""])
        if not name:
            stream.beats.append(join_header(UNKNOWN, tag))
            stream.expected.append(join_header(UNKNOWN, tag, int(Flag.FUNCTION)))
            continue
        raw, values, overflow = made[name]
        code = codes[name]
        flag = int(Flag.OVERFLOW) if overflow[tag] else 0
        stream.beats.append(join_header(code, tag))
        stream.beats.extend(int(x) & mask for x in raw[tag])
        stream.expected.append(join_header(code, tag, flag))
        stream.expected.extend(int(x) & mask for x in values[tag])
    return stream


def run(dut: EngineCores, parts: Sequence[tuple[list[Write], Stream]], stall: float) -> list[int]:
    """What an engine answers when it is loaded and then given tasks, one part after the other."""
    rnd = random.Random(5)
    found: list[int] = []

    async def load(ctx: Any, words: Sequence[Write]) -> None:
        ctx.set(dut.load.on, 1)
        for word in words:
            ctx.set(dut.load.target, word.target)
            ctx.set(dut.load.address, word.address)
            ctx.set(dut.load.data, word.data)
            await ctx.tick()
        ctx.set(dut.load.on, 0)

    async def play(ctx: Any, stream: Stream) -> None:
        waiting = iter(stream.beats)
        beat = next(waiting, None)
        wanted = len(found) + len(stream.expected)
        for _ in range(LONGEST):
            offers = beat is not None and rnd.random() >= stall
            ctx.set(dut.i.valid, offers)
            ctx.set(dut.i.payload, beat or 0)
            takes = rnd.random() >= stall
            ctx.set(dut.o.ready, takes)
            if takes and ctx.get(dut.o.valid):
                found.append(ctx.get(dut.o.payload))
            if offers and ctx.get(dut.i.ready):
                beat = next(waiting, None)
            await ctx.tick()
            if len(found) >= wanted and ctx.get(dut.idle):
                return

    async def bench(ctx: Any) -> None:
        for words, stream in parts:
            await load(ctx, words)
            await play(ctx, stream)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found


@pytest.mark.parametrize("stall", few([0.0, 0.4], 0.4))
@pytest.mark.slow
def test_mixed_tasks_have_the_models_bits(stall: float) -> None:
    own = mapped("pendulum2")
    stream = tasks(own, common(), 40, seed=1)
    assert run(EngineCores(own.program.core), [(loads(own), stream)], stall) == stream.expected


def test_answers_to_tasks_of_no_function_wait_for_room() -> None:
    # no function has the code that is looked up first, and nothing takes answers for long
    core = replace(Core(), results=16)
    own = mapped("pendulum2", ("fd",), core)
    beats = [join_header(UNKNOWN, tag) for tag in range(60)]
    expected = [join_header(UNKNOWN, tag, int(Flag.FUNCTION)) for tag in range(60)]
    assert run(EngineCores(core), [(loads(own), Stream(beats, expected))], 0.97) == expected


@pytest.mark.slow
def test_another_robot_runs_on_the_same_hardware() -> None:
    parts = []
    for name, names in (("pendulum2", ("fd",)), ("ur5", ("id", "m")), ("pendulum2", ("fd",))):
        own = mapped(name, names)
        parts.append((loads(own), tasks(own, names, 6, seed=2)))
    expected = [beat for _, stream in parts for beat in stream.expected]
    assert run(EngineCores(Core()), parts, 0.2) == expected


@pytest.mark.parametrize(
    ("lanes", "banks", "width"),
    [
        (1, 1, 32),
        *(pytest.param(*more, marks=pytest.mark.thorough) for more in ((8, 4, 32), (4, 2, 35))),
    ],
)
@pytest.mark.slow
def test_any_core_is_right(lanes: int, banks: int, width: int) -> None:
    core = Core(lanes, banks, width)
    own = mapped("ur5", ("fd", "m"), core)
    stream = tasks(own, ("fd", "m"), 6, seed=3)
    assert run(EngineCores(core), [(loads(own), stream)], 0.0) == stream.expected


@pytest.mark.slow
def test_tasks_of_one_function_follow_each_other_every_interval() -> None:
    own = mapped("pendulum2", ("fd",))
    core = own.program.core
    raw = raw_operands(own, "fd", 30)
    mask = (1 << core.width) - 1
    header = join_header(function("fd").code, 0)
    beats: list[int] = []
    for task in np.array(raw).T:
        beats += [header, *(int(x) & mask for x in task)]
    dut = EngineCores(core)
    headers: list[int] = []

    async def bench(ctx: Any) -> None:
        ctx.set(dut.load.on, 1)
        for word in loads(own):
            ctx.set(dut.load.target, word.target)
            ctx.set(dut.load.address, word.address)
            ctx.set(dut.load.data, word.data)
            await ctx.tick()
        ctx.set(dut.load.on, 0)
        ctx.set(dut.o.ready, 1)
        left = 0
        ctx.set(dut.i.valid, 1)
        for cycle in range(LONGEST):
            ctx.set(dut.i.payload, beats[0] if beats else 0)
            ctx.set(dut.i.valid, bool(beats))
            if ctx.get(dut.o.valid):
                if not left:
                    headers.append(cycle)
                left = (left or 1 + len(own.network.result_words("fd"))) - 1
            if beats and ctx.get(dut.i.ready):
                beats.pop(0)
            await ctx.tick()
            if len(headers) == 30 and not left:
                return

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    interval = own.program.routines["fd"].interval
    assert set(np.diff(headers)[2:]) == {interval}
