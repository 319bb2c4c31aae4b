"""The shell of a byte link takes and drops frames as the host's model of it does, whatever comes; the serial line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from rbdgen.emulation import DIGEST, bit_true_shell, manifest_of
from rbdgen.errors import ConfigError
from rbdgen.functions.registry import common
from rbdgen.host.manifest import identity_of
from rbdgen.protocol.frames import (
    FRAME_BYTES,
    HEAD_BYTES,
    IDENTITY_BYTES,
    Kind,
    buffer_bytes,
    frame_bytes,
)
from rbdgen.protocol.tasks import FUNCTION_BITS
from rbdgen.report.design import manifest
from rbdgen.shells.shell import ShellModel
from rbdgen_hw.shells.frame_receiver import AT_ONCE, ENTRY, Receiver
from rbdgen_hw.shells.frame_sender import Sender
from rbdgen_hw.shells.status import Answer
from rbdgen_hw.shells.uart import UartReceiver, UartTransmitter, bit_time
from rbdgen_sim.faults import Noise
from tests.conftest import design


def shell_model() -> ShellModel:
    return bit_true_shell(design("pendulum2", functions=common(), ii=4))


DEPTH = buffer_bytes(shell_model().tasks)


@dataclass
class Received:
    """What a receiver makes of bytes: those that it passes on, and how many frames it accepts and drops."""

    payloads: bytes = b""
    marks: list[tuple[int, int]] = field(default_factory=list)
    """Of each byte whether it is the last of its payload, and a hello's."""
    accepted: int = 0
    dropped: int = 0


def received(data: bytes, at_once: int = 4, drained: bool = True, stall: float = 0.3) -> Received:
    """What the receiver makes of ``data``, a byte in 8 / ``at_once`` cycles; what takes it ``stall``s for this share of
    the time. Not ``drained``: nothing is taken from it before all has come."""
    dut = Receiver(shell_model().tasks, at_once)
    found = Received()
    out: list[int] = []
    pace = np.random.default_rng(8)

    async def feed(ctx: Any) -> None:
        for byte in data:
            if pace.integers(8) == 0:
                ctx.set(dut.i.valid, 0)
                await ctx.tick().repeat(int(pace.integers(1, 4)))
            ctx.set(dut.i.valid, 1)
            ctx.set(dut.i.payload, byte)
            while not (await ctx.tick().sample(dut.i.ready))[-1]:
                pass
        ctx.set(dut.i.valid, 0)
        await ctx.tick().repeat(int(2 * DEPTH / (1 - stall)) if drained else 10)

    async def drain(ctx: Any) -> None:
        ready = int(drained)
        ctx.set(dut.o.ready, ready)
        async for *_, valid, payload, accepted, dropped in ctx.tick().sample(
            dut.o.valid, dut.o.payload, dut.accepted, dut.dropped
        ):
            if valid and ready:
                entry = ENTRY.from_bits(payload)
                out.append(entry.byte)
                found.marks.append((entry.last, entry.hello))
            found.accepted += accepted
            found.dropped += dropped
            ready = int(drained and pace.random() >= stall)
            ctx.set(dut.o.ready, ready)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(feed)
    simulator.add_testbench(drain, background=True)
    simulator.run()
    found.payloads = bytes(out)
    return found


def expected(data: bytes) -> Received:
    """The same by the model."""
    shell, found = shell_model(), Received()
    take = shell.take

    def spy(frame: Any) -> None:
        if shell.fits(frame):
            found.payloads += frame.payload
            hello = int(frame.kind == Kind.HELLO)
            found.marks += [(0, hello)] * (len(frame.payload) - 1) + [(1, hello)]
        take(frame)

    shell.take = spy  # type: ignore[method-assign]
    shell.write(data)
    found.accepted = shell.accepted
    found.dropped = shell.deframer.damaged + shell.rejected
    return found


def payloads(found: Received) -> list[bytes]:
    """Payloads one by one."""
    ends = [k + 1 for k, (last, _) in enumerate(found.marks) if last]
    return [found.payloads[a:b] for a, b in zip([0, *ends], ends, strict=False)]


def is_subsequence(some: Sequence[bytes], every: Sequence[bytes]) -> bool:
    """Whether ``some`` are in ``every``, in their order."""
    rest = iter(every)
    return all(own in rest for own in some)


def some_frames(count: int, seed: int) -> bytes:
    """Tasks of all functions and of none, hellos, frames of other kinds and lengths."""
    random, shell = np.random.default_rng(seed), shell_model()
    lengths = {code: shell.lengths[code] for code in shell.tasks.task_words} | {15: 3}
    frames = []
    for _ in range(count):
        code = int(random.choice(list(lengths)))
        kind, length = Kind.TASK, lengths[code] + int(random.integers(8) == 0)
        if random.integers(5) == 0:
            kind, length = Kind.HELLO, int(random.choice([4, 4, 4, 3]))
        if random.integers(12) == 0:
            kind = int(random.integers(256))
        payload = bytearray(
            random.choice([0x7D, 0x7E, 0x5D, 0x5E, *range(256)], length).astype(np.uint8).tobytes()
        )
        if payload and kind == Kind.TASK:
            payload[0] = payload[0] & 0xF0 | code
        frames.append(frame_bytes(kind, bytes(payload)))
    return b"".join(frames)


@pytest.mark.parametrize("at_once", AT_ONCE)
@pytest.mark.slow
def test_frames_are_taken_as_by_the_model(at_once: int) -> None:
    data = some_frames(100, 1)
    assert received(data, at_once) == expected(data)
    assert expected(data).dropped > 5


@pytest.mark.parametrize("seed", [2, 3])
def test_damage_is_dropped_as_by_the_model(seed: int) -> None:
    data = Noise(shell_model(), 0.02, seed).damage(some_frames(150, seed))
    assert received(data) == expected(data)
    assert expected(data).dropped > 20


@pytest.mark.slow
def test_garbage_and_frames_beyond_the_buffer_are_damage() -> None:
    limit = buffer_bytes(shell_model().tasks) - FRAME_BYTES
    data = (
        bytes(3000)
        + b"".join(frame_bytes(Kind.TASK, bytes(limit + n)) for n in (-1, 0, 1, 2))
        + some_frames(5, 4)
    )
    assert received(data) == expected(data)


def test_what_finds_no_room_leaves_the_rest_whole() -> None:
    shell = shell_model()
    task = frame_bytes(Kind.TASK, bytes([1]) + bytes(shell.lengths[1] - 1))
    found = received(task * 200, drained=False)
    assert found.dropped > 0
    assert found.accepted + found.dropped == 200
    # a place stays free
    room = buffer_bytes(shell.tasks) - 1
    assert found.accepted == room // shell.lengths[1]


@pytest.mark.slow
def test_what_finds_no_room_does_not_touch_what_waits() -> None:
    # more comes than is taken: the ring is full again and again
    random, shell = np.random.default_rng(9), shell_model()
    tasks = [bytes([1]) + random.bytes(shell.lengths[1] - 1) for _ in range(250)]
    data = b"".join(frame_bytes(Kind.TASK, task) for task in tasks)
    found, all_of_it = received(data, stall=0.98), expected(data)
    assert found.dropped > all_of_it.dropped
    # what is left out are whole payloads
    assert is_subsequence(payloads(found), payloads(all_of_it))


@pytest.mark.parametrize("at_once", AT_ONCE)
def test_results_leave_as_the_model_sends_them(at_once: int) -> None:
    tasks, random = shell_model().tasks, np.random.default_rng(5)
    dut = Sender(tasks, at_once)
    answer = Answer(tasks, random.bytes(IDENTITY_BYTES))
    top = Module()
    top.submodules += [dut, answer]
    top.d.comb += [answer.place.eq(dut.place), dut.answer.eq(answer.byte)]
    packets = []
    for _ in range(40):
        f = list(tasks.functions.values())[int(random.integers(len(common())))]
        beats = [
            int.from_bytes(random.bytes(tasks.result.beat_bytes), "little")
            for _ in range(tasks.result_beats(f.name))
        ]
        beats = [b & ((1 << tasks.result.beat_bits) - 1) for b in beats]
        beats[0] = beats[0] & -(1 << FUNCTION_BITS) | f.code
        size = tasks.result.beat_bytes
        whole = b"".join(b.to_bytes(size, "little") for b in beats)
        packets.append((beats, whole[: tasks.result.packet_bytes(len(f.results))]))
    status = answer.init[HEAD_BYTES:]
    out = bytearray()
    left = 0

    async def feed(ctx: Any) -> None:
        for beats, _ in packets:
            for beat in beats:
                ctx.set(dut.beats.valid, 1)
                ctx.set(dut.beats.payload, beat)
                while not (await ctx.tick().sample(dut.beats.ready))[-1]:
                    pass
            ctx.set(dut.beats.valid, 0)
        ctx.set(dut.send, 1)
        while not (await ctx.tick().sample(dut.sent))[-1]:
            pass
        ctx.set(dut.send, 0)
        await ctx.tick().repeat(200)

    async def drain(ctx: Any) -> None:
        nonlocal left
        pace = np.random.default_rng(6)
        ready = 1
        ctx.set(dut.o.ready, ready)
        async for *_, valid, payload, final in ctx.tick().sample(
            dut.o.valid, dut.o.payload, dut.left
        ):
            if valid and ready:
                out.append(payload)
            left += final
            ready = int(pace.integers(2))
            ctx.set(dut.o.ready, ready)

    simulator = Simulator(top)
    simulator.add_clock(1e-6)
    simulator.add_testbench(feed)
    simulator.add_testbench(drain, background=True)
    simulator.run()
    assert bytes(out) == b"".join(frame_bytes(Kind.TASK, p) for _, p in packets) + frame_bytes(
        Kind.HELLO, status
    )
    assert left == len(packets)


def over_a_line(data: Sequence[int], clocks: tuple[float, float], baud: float) -> list[int]:
    """Bytes from a transmitter to a receiver, each with its own clock in Hz, as they believe it to be 1 MHz."""
    source, sink = UartTransmitter(1e6, baud), UartReceiver(1e6, baud)
    got: list[int] = []
    line = []

    async def feed(ctx: Any) -> None:
        ctx.set(source.i.valid, 1)
        for byte in data:
            ctx.set(source.i.payload, byte)
            while not (await ctx.tick().sample(source.i.ready))[-1]:
                pass
        ctx.set(source.i.valid, 0)
        await ctx.tick().repeat(400)

    async def watch(ctx: Any) -> None:
        async for *_, tx in ctx.tick().sample(source.tx):
            line.append(tx)

    simulator = Simulator(source)
    simulator.add_clock(1e-6)
    simulator.add_testbench(feed)
    simulator.add_testbench(watch, background=True)
    simulator.run()

    async def play(ctx: Any) -> None:
        ctx.set(sink.o.ready, 1)
        for k in range(int(len(line) * clocks[1] / clocks[0])):
            ctx.set(sink.rx, line[min(int(k * clocks[0] / clocks[1]), len(line) - 1)])
            _, _, valid, payload = await ctx.tick().sample(sink.o.valid, sink.o.payload)
            if valid:
                got.append(payload)

    simulator = Simulator(sink)
    simulator.add_clock(1e-6)
    simulator.add_testbench(play)
    simulator.run()
    return got


@pytest.mark.parametrize("drift", [0.98, 1.0, 1.02])
@pytest.mark.parametrize("ratio", [8.0, 26.67, 33.3])
def test_bytes_cross_a_line_between_clocks_that_differ(drift: float, ratio: float) -> None:
    data = np.random.default_rng(7).integers(0, 256, 40).tolist()
    assert over_a_line(data, (1e6, drift * 1e6), 1e6 / ratio) == data


def test_a_clock_too_slow_for_the_line_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"^baud: 3e\+06 needs a clock of 24 MHz, not 20 MHz; lower it$"
    ):
        bit_time(20e6, 3e6)


def test_the_identity_is_the_manifests() -> None:
    known = manifest_of(design("pendulum2"))
    d = design("pendulum2")
    content = manifest(d, DIGEST, "0")
    assert known.identity.hex() == content["identity"]
    # another Verilog is another identity, and so is another manifest of the same
    assert manifest_of(d, "f" * 64).identity != known.identity
    assert identity_of(content | {"clock_mhz": 1.0}) != known.identity
