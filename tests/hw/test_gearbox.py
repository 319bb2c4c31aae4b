"""Words and beats: both gearboxes against bytes, for packets of any shape, and one behind the other for all inputs."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Array, Assert, Assume, Elaboratable, Module, Mux, Signal
from amaranth.sim import Simulator

from rbdgen.protocol.datagrams import WORD_BYTES, padded
from rbdgen.protocol.tasks import FUNCTION_BITS, TAG_BITS, Packing
from rbdgen_hw.library import forward
from rbdgen_hw.shells.gearbox import BeatsToWords, WordsToBeats
from rbdgen_hw.shells.lengths import Packets
from tests.hw.test_fifo import prove

Marked = list[tuple[int, int]]
"""Words or beats, each with whether it is its packet's last."""


def some_packet(
    packing: Packing, values: dict[int, int], code: int, rnd: random.Random
) -> list[int]:
    """Beats of a packet of any content."""
    words = [code | rnd.getrandbits(TAG_BITS) << FUNCTION_BITS]
    size = packing.words_per_beat
    for k in range(1, 1 + values.get(code, 0)):
        words.append(rnd.getrandbits(packing.places[k % size]))
    beats = []
    for begin in range(0, len(words), size):
        placed = zip(words[begin : begin + size], packing.offsets, strict=False)
        beats.append(sum(word << offset for word, offset in placed))
    return beats


def in_words(packing: Packing, count: int, beats: Sequence[int]) -> list[int]:
    """A packet of ``count`` values in words, by its bytes."""
    whole = b"".join(beat.to_bytes(packing.beat_bytes, "little") for beat in beats)
    data = whole[: packing.packet_bytes(count)]
    data = data.ljust(padded(len(data)), b"\0")
    return [int.from_bytes(data[k : k + WORD_BYTES], "little") for k in range(0, len(data), 4)]


def marked(packets: Sequence[Sequence[int]]) -> Marked:
    return [(item, int(k == len(p) - 1)) for p in packets for k, item in enumerate(p)]


def pushed(
    dut: Any, source: Any, sink: Any, items: Sequence[int], gaps: Iterator[bool]
) -> tuple[Marked, int]:
    """What comes out of ``dut`` when ``items`` go in, either side stalling where ``gaps`` say so; and cycles."""
    out: Marked = []
    cycles = ends = 0

    async def feed(ctx: Any) -> None:
        for item in items:
            while next(gaps):
                await ctx.tick()
            ctx.set(source.valid, 1)
            ctx.set(source.payload, item)
            while not (await ctx.tick().sample(source.ready))[-1]:
                pass
            ctx.set(source.valid, 0)
        await ctx.tick().repeat(300)

    async def drain(ctx: Any) -> None:
        nonlocal cycles, ends
        ready = 1
        ctx.set(sink.ready, ready)
        async for *_, valid, payload, last in ctx.tick().sample(sink.valid, sink.payload, dut.last):
            cycles += 1
            if valid and ready:
                out.append((payload, last))
                ends = cycles
            ready = int(not next(gaps))
            ctx.set(sink.ready, ready)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(feed)
    simulator.add_testbench(drain, background=True)
    simulator.run()
    return out, ends


def stalls(share: float, seed: int) -> Iterator[bool]:
    rnd = random.Random(seed)
    while True:
        yield rnd.random() < share


SHAPES = [
    # places of a beat, and values by function code: beats that end on any byte, in one word or in many
    ((16,), {0: 4, 3: 1}),
    ((18,), {0: 6, 1: 2}),
    ((18, 18), {0: 7, 1: 3, 9: 2}),
    ((16, 12, 12, 12, 12), {4: 13, 5: 1, 6: 9}),
    ((27, 27, 27), {0: 2, 1: 8, 2: 17}),
    ((32, 32, 32, 32), {31: 15, 0: 3}),
    ((24,) * 9, {1: 25, 2: 8, 3: 40}),
    ((18,) * 22, {0: 21, 2: 7, 6: 49}),
]


@pytest.mark.parametrize("share", [0.0, 0.4])
@pytest.mark.parametrize("shape", range(len(SHAPES)))
def test_packets_are_the_same_in_words_and_in_beats(shape: int, share: float) -> None:
    places, values = SHAPES[shape]
    rnd, packing = random.Random(shape), Packing(places)
    # 30 is a function that there is not: a header
    codes = rnd.choices([*values, 30], k=30)
    beats = [some_packet(packing, values, code, rnd) for code in codes]
    words = [
        in_words(packing, values.get(code, 0), b) for code, b in zip(codes, beats, strict=True)
    ]
    there, back = WordsToBeats(Packets(packing, values)), BeatsToWords(Packets(packing, values))
    flat = [word for packet in words for word in packet]
    found, cycles = pushed(there, there.i, there.beats, flat, stalls(share, shape))
    assert found == marked(beats)
    if share == 0.0:
        # a word per cycle, or a beat where those are more, but for a packet's last beat
        assert cycles <= max(len(flat) + len(beats), len(marked(beats))) + 5
    flat = [beat for packet in beats for beat in packet]
    found, cycles = pushed(back, back.beats, back.o, flat, stalls(share, shape + 1))
    assert found == marked(words)
    if share == 0.0:
        # a cycle to look up each packet, and one for what is left behind its last whole word
        steps = padded(packing.beat_bytes) // WORD_BYTES
        assert cycles <= steps * len(flat) + 2 * len(beats) + 5


class RoundTripSpec(Elaboratable):
    """Beats to words and back: the beats that come out are those that went in, in order, whatever stalls. Packets are
    of two functions, of one beat and of two, of six bytes each, so that beats begin anywhere in words."""

    PACKING, VALUES = Packing((16, 16, 16)), {1: 2, 2: 5}
    HELD = 8

    def __init__(self) -> None:
        self.payload, self.valid, self.ready = Signal(48), Signal(), Signal()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.back = back = BeatsToWords(Packets(self.PACKING, self.VALUES))
        m.submodules.there = there = WordsToBeats(Packets(self.PACKING, self.VALUES))
        forward(m, back.o, there.i)
        m.d.comb += [
            back.beats.valid.eq(self.valid),
            back.beats.payload.eq(self.payload),
            there.beats.ready.eq(self.ready),
        ]
        second = Signal()
        code = self.payload[:FUNCTION_BITS]
        waits, kept = Signal(), Signal(48)
        came, went = self.valid & back.beats.ready, there.beats.valid & self.ready
        with m.If(came):
            m.d.sync += second.eq(~second & (code == 2))
        m.d.sync += [waits.eq(self.valid & ~back.beats.ready), kept.eq(self.payload)]
        queue = Array(Signal(48, name=f"held{k}") for k in range(self.HELD))
        first, behind = Signal(range(self.HELD)), Signal(range(self.HELD))
        with m.If(came):
            m.d.sync += [queue[behind].eq(self.payload), behind.eq(behind + 1)]
        with m.If(went):
            m.d.sync += first.eq(first + 1)
        level = Signal(range(self.HELD + 1))
        m.d.sync += level.eq(level + came - went)
        m.d.comb += [
            Assume(second | (code == 1) | (code == 2)),
            Assume(~waits | (self.valid & (self.payload == kept))),
            Assert(level < self.HELD),
            Assert(~there.beats.valid | (level != 0)),
            Assert(~there.beats.valid | (there.beats.payload == Mux(level != 0, queue[first], 0))),
        ]
        return m


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [False, True])
def test_beats_come_back_in_order(wrong: bool, tmp_path: Path) -> None:
    spec = RoundTripSpec()
    if wrong:
        # a claim that must be refuted: that nothing comes back
        elaborate = spec.elaborate

        def never(platform: object) -> Module:
            m = elaborate(platform)
            m.d.comb += Assert(~m.submodules.there.beats.valid)
            return m

        spec.elaborate = never  # type: ignore[method-assign]
    result = prove(spec, [spec.payload, spec.valid, spec.ready], tmp_path, 12, bounded=True)
    assert (result is None) != wrong, result
