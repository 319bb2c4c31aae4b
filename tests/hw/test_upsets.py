"""Streams that are cut off, torn or made up, and resets amid tasks, of a tree with all functions: whatever beats come,
each whole task in them is answered as the model says, and nothing of what was before a reset is left."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache

import numpy as np
import pytest
from amaranth.hdl import ResetInserter, Signal
from amaranth.sim import Simulator

from rbdgen import Design, Robot, compile_robot
from rbdgen.functions.registry import common
from rbdgen.protocol.tasks import Flag, join_header
from rbdgen.trials import make_tasks, model_answers, task_states
from rbdgen_hw.emit import accelerator
from tests.conftest import in_words
from tests.fuzz.effort import seed, times
from tests.golden.test_functions import random_tree

TASKS = 8
"""Of a trial's stream, before it is torn."""
TRIALS = 6
"""Half of them with a reset amid tasks."""
PATIENCE, MORE = 3000, 40
"""Cycles that a trial takes at most, and that it goes on when all that is expected has come."""
STALL = 0.2
"""Share of cycles in which a side stalls."""


@lru_cache
def tree() -> Design:
    """All functions of a tree that branches."""
    bodies = random_tree(3, 3, ("revolute", "prismatic", "continuous"))
    assert len({body.parent for body in bodies}) < len(bodies)
    return compile_robot(Robot("tree", "base", bodies), in_words(functions=common(), ii=6))


def whole_tasks(d: Design, rng: np.random.Generator) -> list[list[int]]:
    """Tasks of all functions in any order."""
    states = task_states(d, TASKS, int(rng.integers(1000)))
    found = []
    for k in range(TASKS):
        function = common()[int(rng.integers(len(common())))]
        raw = [word[k : k + 1] for word in make_tasks(d, function, states).raw]
        found += d.tasks.pack(function, np.array([k]), raw)
    return found


def torn(d: Design, tasks: list[list[int]], rng: np.random.Generator) -> list[int]:
    """Their beats, of which some are lost, some come twice, and some are anything."""
    beats: list[int] = []
    for beat in (beat for task in tasks for beat in task):
        chance = rng.random()
        if chance < 0.05:
            continue
        if chance < 0.1:
            beats.append(beat)
        if chance > 0.95:
            beat = int.from_bytes(rng.bytes(64), "little") & ((1 << d.tasks.task.beat_bits) - 1)
        beats.append(beat)
    return beats


def split_tasks(d: Design, beats: list[int]) -> list[list[int]]:
    """The whole tasks in a stream, as its headers say."""
    found, start = [], 0
    words = d.tasks.task_words
    while start < len(beats):
        code, _, _ = d.tasks.header(beats[start])
        count = d.tasks.task.beats(words.get(code, 0))
        if start + count > len(beats):
            break
        found.append(beats[start : start + count])
        start += count
    return found


def operands(d: Design, function: str, task: list[int]) -> list[np.ndarray]:
    """The raw operands (1,) in a task's beats."""
    packing = d.tasks.task
    places = []
    for beat in task:
        places += [beat >> offset for offset in packing.offsets]
    found = []
    for word, x in zip(d.tasks.functions[function].operands, places[1:], strict=False):
        width = word.format.width
        low = x & ((1 << width) - 1)
        found.append(np.array([low - (low >> (width - 1) << width)]))
    return found


def answers(d: Design, tasks: list[list[int]]) -> dict[int, list[list[int]]]:
    """What the accelerator must answer, by function code, in order."""
    names = {f.code: name for name, f in d.tasks.functions.items()}
    found: dict[int, list[list[int]]] = defaultdict(list)
    for task in tasks:
        code, tag, _ = d.tasks.header(task[0])
        if code not in names:
            found[code].append([join_header(code, tag, int(Flag.FUNCTION))])
            continue
        values, flags = model_answers(d, names[code], operands(d, names[code], task))
        found[code] += d.tasks.pack_results(names[code], np.array([tag]), flags, values)
    return found


def by_code(d: Design, beats: list[int]) -> dict[int, list[list[int]]]:
    """Results by function code, in order."""
    found: dict[int, list[list[int]]] = defaultdict(list)
    for packet in d.tasks.split(beats):
        found[d.tasks.header(packet[0])[0]].append(list(packet))
    return found


@pytest.mark.thorough
def test_whatever_comes_is_answered() -> None:
    """Each trial begins with a reset; in every other one the stream is also cut off by one, and sent anew."""
    d = tree()
    rng = np.random.default_rng(seed())
    dut, reset = accelerator(d), Signal()

    async def played(ctx, beats: list[int], cycles: int, enough: int) -> list[int]:
        """What comes back within so many cycles of a stream with random stalls, or a while after there is enough."""
        sent, seen, offered, left = 0, [], False, cycles
        while left:
            offered = sent < len(beats) and (offered or rng.random() > STALL)
            ctx.set(dut.i.valid, offered)
            ctx.set(dut.i.payload, beats[sent] if offered else 0)
            ctx.set(dut.o.ready, rng.random() > STALL)
            if offered and ctx.get(dut.i.ready):
                sent, offered = sent + 1, False
            if ctx.get(dut.o.valid) and ctx.get(dut.o.ready):
                seen.append(ctx.get(dut.o.payload))
            await ctx.tick()
            left -= 1
            if sent == len(beats) and len(seen) >= enough:
                left = min(left, MORE)
        return seen

    async def renewed(ctx) -> None:
        ctx.set(dut.i.valid, 0)
        ctx.set(dut.o.ready, 0)
        ctx.set(reset, 1)
        await ctx.tick()
        ctx.set(reset, 0)

    async def bench(ctx) -> None:
        for trial in range(TRIALS * times()):
            beats = torn(d, whole_tasks(d, rng), rng)
            expected = answers(d, split_tasks(d, beats))
            count = sum(len(packet) for packets in expected.values() for packet in packets)
            await renewed(ctx)
            if trial % 2:
                await played(ctx, beats, int(rng.integers(1, 120)), PATIENCE)
                await renewed(ctx)
            assert by_code(d, await played(ctx, beats, PATIENCE, count)) == expected

    simulator = Simulator(ResetInserter(reset)(dut))
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
