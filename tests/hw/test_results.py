"""Lanes and their merge: whole results of every lane in order, whatever arrives when and however the sink stalls."""

from __future__ import annotations

import random
from collections import deque

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from rbdgen.host.tasks import HEADER_BITS, Packing
from rbdgen_hw.results import Lane, Merge

PACKING, PLACES = Packing(18, 2), 3
LANES = (((18, 7, 18, 18, 12), False), ((18, 18, 5), True), ((), False))
"""Result words of each lane, and whether they are in block memory: three beats, two, and a header alone."""
WIDTHS = tuple(widths for widths, _ in LANES)


def beats_of(header: int, words: list[int], widths: tuple[int, ...]) -> list[int]:
    """The beats of a result, each word in the low bits of its place."""
    whole, count = header, PACKING.beats(len(widths))
    for k, word in enumerate(words, 1):
        whole |= word << k * PACKING.word_bits
    return [whole >> k * PACKING.beat_bits & ((1 << PACKING.beat_bits) - 1) for k in range(count)]


def built() -> tuple[Module, list[Lane], Merge]:
    m = Module()
    lanes = [Lane(str(k), widths, PACKING, PLACES, block) for k, (widths, block) in enumerate(LANES)]
    m.submodules.merge = merge = Merge(len(lanes), PACKING)
    for k, lane in enumerate(lanes):
        m.submodules[f"lane{k}"] = lane
        m.d.comb += [
            merge.ready[k].eq(lane.ready),
            merge.last[k].eq(lane.last),
            getattr(merge, f"payload{k}").eq(lane.payload),
            lane.taken.eq(merge.taken[k]),
        ]
    return m, lanes, merge


@pytest.mark.parametrize("stall", [0.0, 0.3, 0.8])
def test_results_leave_whole_and_in_order(stall: float) -> None:
    rng = random.Random(round(10 * stall))
    m, lanes, merge = built()
    waiting: list[deque[list[int]]] = [deque() for _ in lanes]
    credit = [PLACES] * len(lanes)

    async def bench(ctx) -> None:
        current: list[int] = []
        left, offered = 0, None
        for _ in range(3000):
            for k, (lane, widths) in enumerate(zip(lanes, WIDTHS, strict=True)):
                arrives = credit[k] > 0 and rng.random() < 0.3
                ctx.set(lane.w_en, arrives)
                if arrives:
                    # the header's low bits tell the lane
                    header = rng.getrandbits(HEADER_BITS - 2) << 2 | k
                    words = [rng.getrandbits(width) for width in widths]
                    ctx.set(lane.header, header)
                    if widths:
                        ctx.set(lane.words, sum(w << sum(widths[:i]) for i, w in enumerate(words)))
                    waiting[k].append(beats_of(header, words, widths))
                    credit[k] -= 1
            ctx.set(merge.o.ready, rng.random() >= stall)
            taken = ctx.get(merge.o.valid) and ctx.get(merge.o.ready)
            if offered is not None:
                assert (ctx.get(merge.o.valid), ctx.get(merge.o.payload)) == (1, offered)
            offered = ctx.get(merge.o.payload) if ctx.get(merge.o.valid) and not taken else None
            if taken:
                payload = ctx.get(merge.o.payload)
                if not current:
                    current = waiting[payload & 3].popleft()
                    left += 1
                assert payload == current.pop(0)
            for k, lane in enumerate(lanes):
                credit[k] += ctx.get(lane.leave)
                assert not ctx.get(lane.fault)
            await ctx.tick()
        assert left > 200
        # a place is given back when its result's last beat is on its way
        assert all(PLACES - c <= len(w) <= PLACES - c + 1 for c, w in zip(credit, waiting, strict=True))

    simulate(m, bench)


def test_a_lane_offers_a_beat_in_every_cycle() -> None:
    lane = Lane("one", WIDTHS[0], PACKING, PLACES)

    async def bench(ctx) -> None:
        ctx.set(lane.taken, 1)
        ctx.set(lane.w_en, 1)
        await ctx.tick().repeat(PLACES)
        ctx.set(lane.w_en, 0)
        seen = []
        for _ in range(3 * PLACES + 2):
            seen.append(ctx.get(lane.ready))
            await ctx.tick()
        # the first beat was ready two cycles after the first result came
        assert sum(seen) == 3 * PLACES - (PLACES - 2)
        assert seen == sorted(seen, reverse=True)

    simulate(lane, bench)


def simulate(top, bench) -> None:
    simulator = Simulator(top)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
