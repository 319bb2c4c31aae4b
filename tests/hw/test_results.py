"""Lanes and their merge: whole results of every lane in order, whatever arrives when and however the sink stalls."""

from __future__ import annotations

import random
from collections import deque

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from rbdgen.protocol.tasks import HEADER_BITS, Packing
from rbdgen_hw.pipeline.results import Lane, Merge

PACKING, PLACES = Packing((19, 18)), 3
LANES = (((18, 7, 18, 18, 12), False, (2, 0, 3)), ((18, 18, 5), True, (0, 1)), ((), False, (0,)))
"""Result words of each lane, whether they are in block memory, and when each beat is written: three beats, two, and a
header alone."""
WIDTHS, TIMES = tuple(widths for widths, _, _ in LANES), tuple(times for _, _, times in LANES)


def beats_of(header: int, words: list[int], widths: tuple[int, ...]) -> list[int]:
    """The beats of a result, each word in the low bits of its place."""
    beats = [0] * PACKING.beats(len(widths))
    for k, word in enumerate([header, *words]):
        beat, place = divmod(k, PACKING.words_per_beat)
        beats[beat] |= word << PACKING.offsets[place]
    return beats


def built(ahead: bool) -> tuple[Module, list[Lane], Merge]:
    m = Module()
    lanes = [
        Lane(str(k), widths, PACKING, PLACES, block, times.index(max(times)))
        for k, (widths, block, times) in enumerate(LANES)
    ]
    m.submodules.merge = merge = Merge(len(lanes), PACKING, ahead)
    for k, lane in enumerate(lanes):
        m.submodules[f"lane{k}"] = lane
        m.d.comb += [
            merge.ready[k].eq(lane.ready),
            merge.last[k].eq(lane.last),
            merge.more[k].eq(lane.more),
            getattr(merge, f"payload{k}").eq(lane.payload),
            lane.taken.eq(merge.taken[k]),
        ]
    return m, lanes, merge


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("stall", [0.0, 0.3, 0.8])
def test_results_leave_whole_and_in_order(stall: float, ahead: bool) -> None:
    rng = random.Random(round(10 * stall))
    m, lanes, merge = built(ahead)
    waiting: list[deque[list[int]]] = [deque() for _ in lanes]
    credit = [PLACES] * len(lanes)

    async def bench(ctx) -> None:
        current: list[int] = []
        left, offered = 0, None
        since, arriving = [99] * len(lanes), [(0, [0] * len(widths)) for widths in WIDTHS]
        for _ in range(3000):
            for k, (lane, widths) in enumerate(zip(lanes, WIDTHS, strict=True)):
                since[k] += 1
                if since[k] > max(TIMES[k]) and credit[k] > 0 and rng.random() < 0.4:
                    # the header's low bits tell the lane
                    header = rng.getrandbits(HEADER_BITS - 2) << 2 | k
                    arriving[k] = header, [rng.getrandbits(width) for width in widths]
                    waiting[k].append(beats_of(*arriving[k], widths))
                    credit[k] -= 1
                    since[k] = 0
                header, words = arriving[k]
                now = TIMES[k].index(since[k]) if since[k] in TIMES[k] else None
                ctx.set(lane.write, 0 if now is None else 1 << now)
                # what is not of this beat need not be there
                size = PACKING.words_per_beat
                pairs = enumerate(zip(words, widths, strict=True), 1)
                there = [w if now == i // size else rng.getrandbits(n) for i, (w, n) in pairs]
                ctx.set(lane.header, header if now == 0 else rng.getrandbits(HEADER_BITS))
                if widths:
                    ctx.set(lane.words, sum(w << sum(widths[:i]) for i, w in enumerate(there)))
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
        # a place is given back with its result's last beat
        assert all(
            len(w) in (PLACES - c, PLACES - c - 1) for c, w in zip(credit, waiting, strict=True)
        )

    simulate(m, bench)


@pytest.mark.parametrize("busy", [(0,), (1,), (2,), (0, 1, 2)])
@pytest.mark.parametrize("ahead", [False, True])
def test_beats_leave_in_every_cycle_and_lanes_in_turn(ahead: bool, busy: tuple[int, ...]) -> None:
    m, lanes, merge = built(ahead)

    async def bench(ctx) -> None:
        for _ in range(PLACES):
            for moment in range(1 + max(max(times) for times in TIMES)):
                for k in busy:
                    ctx.set(
                        lanes[k].write, 1 << TIMES[k].index(moment) if moment in TIMES[k] else 0
                    )
                await ctx.tick()
        for lane in lanes:
            ctx.set(lane.write, 0)
        await ctx.tick()
        ctx.set(merge.o.ready, 1)
        valid, served = [], []
        for _ in range(PLACES * sum(PACKING.beats(len(widths)) for widths in WIDTHS) + 1):
            valid.append(ctx.get(merge.o.valid))
            served += [k for k, lane in enumerate(lanes) if ctx.get(lane.leave)]
            await ctx.tick()
        beats = PLACES * sum(PACKING.beats(len(WIDTHS[k])) for k in busy)
        assert valid == [1] * beats + [0] * (len(valid) - beats)
        assert served in [[*busy[n:], *busy[:n]] * PLACES for n in range(len(busy))]

    simulate(m, bench)


def test_a_lane_offers_a_beat_in_every_cycle() -> None:
    lane = Lane("one", WIDTHS[0], PACKING, PLACES, ends=2)

    async def bench(ctx) -> None:
        seen = []
        for cycle in range(3 * PLACES + 3):
            ctx.set(lane.write, 1 << cycle % 3 if cycle < 3 * PLACES else 0)
            seen.append(ctx.get(lane.ready))
            ctx.set(lane.taken, seen[-1])
            await ctx.tick()
        # a beat leaves in the cycle after it came
        assert seen == [0, *[1] * (3 * PLACES), 0, 0]

    simulate(lane, bench)


def simulate(top, bench) -> None:
    simulator = Simulator(top)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
