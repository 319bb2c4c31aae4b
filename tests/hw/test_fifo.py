"""The FIFOs, the stream register and the credit counter against naive models, for all inputs: the counter is proved by
temporal induction, the others checked from reset over more steps than they take to fill and empty twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Assert, Assume, Elaboratable, Module, Mux, Signal

from rbdgen.errors import ToolError
from rbdgen_hw.fifo import BeatFifo, BypassFifo, Credits, StreamRegister
from rbdgen_hw.yosys import run_script


class FifoSpec(Elaboratable):
    """A FIFO beside a row of registers that shifts on every read: both must show the same head until the first write
    into a full or read from an empty one, which must show as ``fault``. In block memory an entry is there a cycle
    later."""

    def __init__(self, width: int, depth: int, block: bool = False) -> None:
        self.width, self.depth, self.block = width, depth, block
        self.w_data, self.w_en, self.r_en = Signal(width), Signal(), Signal()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.dut = dut = BypassFifo(self.width, self.depth, self.block)
        entries = [Signal(self.width, name=f"entry{k}") for k in range(self.depth)]
        level = Signal(range(self.depth + 1))
        m.d.comb += [dut.w_data.eq(self.w_data), dut.w_en.eq(self.w_en), dut.r_en.eq(self.r_en)]
        write, read = self.w_en, self.r_en
        misused, broken, ready = Signal(), Signal(), Signal()
        if self.block:
            m.d.sync += ready.eq((level != 0) & ~((level == 1) & read))
        else:
            m.d.comb += ready.eq(level != 0)
        m.d.comb += misused.eq((write & (level == self.depth)) | (read & ~ready))
        m.d.sync += broken.eq(broken | misused)
        after = Signal(range(self.depth + 1))
        m.d.comb += after.eq(level - read)
        m.d.sync += level.eq(after + write)
        for k, entry in enumerate(entries):
            shifted = entries[k + 1] if k + 1 < self.depth else entry
            m.d.sync += entry.eq(Mux(write & (after == k), self.w_data, Mux(read, shifted, entry)))
        m.d.comb += [
            Assert(broken | (dut.r_rdy == ready)),
            Assert(broken | ~dut.r_rdy | (dut.r_data == entries[0])),
            Assert(broken | (dut.fault == misused)),
            Assert(broken | (level <= self.depth)),
        ]
        return m


class BeatFifoSpec(Elaboratable):
    """A FIFO of entries of several beats beside rows of registers that shift on every entry read. Entries are begun
    whenever there is a place, and their beats written at fixed ``times`` from then on; beats are taken whenever there
    are any."""

    def __init__(self, width: int, depth: int, times: tuple[int, ...], block: bool) -> None:
        self.width, self.depth, self.times, self.block = width, depth, times, block
        self.data, self.start, self.take = Signal(width), Signal(), Signal()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count, length = len(self.times), max(self.times) + 1
        m.submodules.dut = dut = BeatFifo(
            self.width, self.depth, count, self.times.index(length - 1), self.block
        )
        since, now = Signal(range(length + 1), init=length), Signal(range(length + 1))
        begun, there, turn = (
            Signal(range(self.depth + 2)),
            Signal(range(self.depth + 2)),
            Signal(range(count)),
        )
        m.d.comb += [
            now.eq(Mux(self.start, 0, since)),
            dut.w_data.eq(self.data),
            dut.take.eq(self.take),
        ]
        m.d.comb += [dut.write[k].eq(now == time) for k, time in enumerate(self.times)]
        m.d.sync += since.eq(Mux(now == length, length, now + 1))
        gone, complete = self.take & (turn == count - 1), now == self.times[0]
        m.d.sync += [
            begun.eq(begun + self.start - gone),
            there.eq(there + complete - gone),
            turn.eq(Mux(self.take, Mux(gone, 0, turn + 1), turn)),
        ]
        rows = [
            [Signal(self.width, name=f"entry{d}_{k}") for k in range(count)]
            for d in range(self.depth + 1)
        ]
        current = Mux(self.start, begun, begun - 1)
        head = Signal(self.width)
        for k, time in enumerate(self.times):
            written = [
                Mux((now == time) & (current == d), self.data, row[k]) for d, row in enumerate(rows)
            ]
            for d, row in enumerate(rows[:-1]):
                m.d.sync += row[k].eq(Mux(gone, written[d + 1], written[d]))
            with m.If(turn == k):
                m.d.comb += head.eq(rows[0][k])
        ready = Signal()
        if self.block:
            m.d.sync += ready.eq((there != 0) & ~((there == 1) & gone))
        else:
            m.d.comb += ready.eq(there != 0)
        m.d.comb += [
            Assume(~self.start | ((since == length) & (begun != self.depth))),
            Assume(~self.take | ready),
            Assert(dut.r_rdy == ready),
            Assert(dut.last == (turn == count - 1)),
            Assert(~ready | (dut.r_data == head)),
            Assert(~dut.fault),
        ]
        return m


class StreamSpec(Elaboratable):
    """A stream register beside a queue of two, at any times of both sides' strobes: the same words in the same order,
    each a cycle later or when the other side takes it, offered until then, and taken as long as there is a place."""

    def __init__(self) -> None:
        self.payload, self.valid, self.ready = Signal(2), Signal(), Signal()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.dut = dut = StreamRegister(len(self.payload))
        m.d.comb += [
            dut.i.valid.eq(self.valid),
            dut.i.payload.eq(self.payload),
            dut.o.ready.eq(self.ready),
        ]
        level, first, second = Signal(2), Signal(2), Signal(2)
        came, went = self.valid & dut.i.ready, dut.o.valid & self.ready
        m.d.sync += level.eq(level + came - went)
        with m.If(came & (level == went)):
            m.d.sync += first.eq(self.payload)
        with m.Elif(went):
            m.d.sync += first.eq(second)
        with m.If(came & (level != went)):
            m.d.sync += second.eq(self.payload)
        m.d.comb += [
            Assert(level <= 2),
            Assert(dut.i.ready == (level != 2)),
            Assert(dut.o.valid == (level != 0)),
            Assert(~dut.o.valid | (dut.o.payload == first)),
        ]
        return m


class CreditSpec(Elaboratable):
    """Credits used as the accelerator does: whoever takes only what is there and gives only what was taken never
    has more out than there are places, and is refused only then."""

    def __init__(self, places: int) -> None:
        self.places = places
        self.take, self.give = Signal(), Signal()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.dut = dut = Credits(self.places)
        out = Signal(range(self.places + 2))
        m.d.comb += [dut.take.eq(self.take), dut.give.eq(self.give)]
        m.d.sync += out.eq(out + self.take - self.give)
        m.d.comb += [
            Assume(~self.take | dut.available),
            Assume(~self.give | (out != 0)),
            Assert(out <= self.places),
            Assert(dut.available == (out != self.places)),
        ]
        return m


def prove(
    spec: Elaboratable, ports: list[Signal], tmp_path: Path, steps: int, bounded: bool = False
) -> str | None:
    """Yosys' temporal induction on the specification's assertions: its complaint, if it has one; ``bounded``: only its
    base case."""
    (tmp_path / "spec.il").write_text(rtlil.convert(spec, name="spec", ports=ports))
    script = "read_rtlil spec.il; proc; flatten; memory -nomap; memory_map; opt -fast; async2sync; "
    kind = "-tempinduct-baseonly" if bounded else "-tempinduct"
    script += f"sat {kind} -prove-asserts -set-assumes -verify -maxsteps {steps} -set rst 0"
    try:
        run_script(script.split("; "), tmp_path)
    except ToolError as failed:
        return str(failed)
    return None


@pytest.mark.slow
@pytest.mark.parametrize("block", [False, True])
@pytest.mark.parametrize(
    ("width", "depth"),
    [(1, 1), (2, 2), (1, 3)],
)
def test_fifo_is_a_queue(width: int, depth: int, block: bool, tmp_path: Path) -> None:
    spec = FifoSpec(width, depth, block)
    result = prove(spec, [spec.w_data, spec.w_en, spec.r_en], tmp_path, 3 * depth + 4, bounded=True)
    assert result is None


@pytest.mark.slow
@pytest.mark.parametrize("block", [False, True])
@pytest.mark.parametrize(
    ("depth", "times"),
    [
        (2, (0,)),
        (1, (0, 1)),
        (2, (1, 0)),
        pytest.param(2, (1, 0, 3), marks=pytest.mark.thorough),
        pytest.param(3, (0, 1), marks=pytest.mark.thorough),
    ],
)
def test_a_fifo_of_beats_is_a_queue(
    depth: int, times: tuple[int, ...], block: bool, tmp_path: Path
) -> None:
    spec = BeatFifoSpec(2, depth, times, block)
    steps = 2 * depth * (max(times) + 1) + 6
    result = prove(spec, [spec.data, spec.start, spec.take], tmp_path, steps, bounded=True)
    assert result is None


@pytest.mark.slow
def test_a_stream_register_keeps_words_and_order(tmp_path: Path) -> None:
    spec = StreamSpec()
    result = prove(spec, [spec.payload, spec.valid, spec.ready], tmp_path, 8, bounded=True)
    assert result is None


@pytest.mark.slow
@pytest.mark.parametrize("places", [1, 4, 13])
def test_credits_never_run_over(places: int, tmp_path: Path) -> None:
    spec = CreditSpec(places)
    result = prove(spec, [spec.take, spec.give], tmp_path, places + 4)
    assert result is None


@pytest.mark.slow
@pytest.mark.parametrize("bounded", [False, True])
def test_the_proof_can_fail(bounded: bool, tmp_path: Path) -> None:
    """A false claim must be refuted: that credits never run out, that the FIFO never fills."""
    spec: CreditSpec | FifoSpec = FifoSpec(1, 2) if bounded else CreditSpec(3)
    elaborate = spec.elaborate

    def wrong(platform: object) -> Module:
        m = elaborate(platform)
        m.d.comb += Assert(~m.submodules.dut.fault if bounded else m.submodules.dut.available)
        return m

    spec.elaborate = wrong  # type: ignore[method-assign]
    ports = (
        [spec.w_en, spec.r_en, spec.w_data]
        if isinstance(spec, FifoSpec)
        else [spec.take, spec.give]
    )
    assert prove(spec, ports, tmp_path, 7, bounded) is not None


@pytest.mark.slow
def test_a_beat_that_comes_too_late_is_found(tmp_path: Path) -> None:
    spec = BeatFifoSpec(1, 1, (0, 2), False)
    result = prove(spec, [spec.data, spec.start, spec.take], tmp_path, 8, bounded=True)
    assert result is not None
    assert "proof" in result
