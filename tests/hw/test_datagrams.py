"""The shell of datagrams keeps, drops and counts what comes as the host's model of it does, and answers bit for bit."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator

from rbdgen.emulation import bit_true_datagrams, manifest_of
from rbdgen.errors import ConfigError
from rbdgen.host.sessions import Arrivals
from rbdgen.ir.number_formats import Format
from rbdgen.protocol.datagrams import (
    BODY_BYTES,
    DATAGRAM_VERSION,
    MOST_BYTES,
    STATUS_BYTES,
    WHOLE,
    WORD_BYTES,
    Kind,
    Mark,
    Status,
    buffer_bytes,
    capacity,
    cut,
    datagram_bytes,
    join_packets,
    padded_stream,
    read_datagram,
    request_bytes,
    result_lengths,
    split_packets,
    task_lengths,
)
from rbdgen.protocol.packets import code_of, task_rows
from rbdgen.protocol.tasks import FunctionFormat, OperandWord, ResultWord, TaskFormat, task_format
from rbdgen.shells.datagram_shell import DatagramShell as Model
from rbdgen_hw.shells.datagram_receiver import COUNTERS, DatagramReceiver, Record
from rbdgen_hw.shells.datagram_sender import PATIENCE, DatagramSender
from rbdgen_hw.shells.datagrams import DatagramShell
from tests.conftest import design

OWNER, STRANGER, SESSION = (0xC0A80102, 40000), (0xC0A80103, 40001), 0x1234_5678
FUNCTIONS = ("id", "m", "did")
HOLD = 600
"""Cycles for which a session is kept."""

Sent = tuple[bytes, tuple[int, int]]
"""A datagram and its sender."""


@dataclass
class Wire:
    """A simulated component with datagrams on both sides: what it sent, and when to stall."""

    dut: Any
    seed: int
    gaps: float = 0.2
    sent: list[Sent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    async def send(self, ctx: Any, data: bytes, sender: tuple[int, int], error: int = 0) -> None:
        """Give a datagram to the component, or so much of one as UDP makes whole words of."""
        i = self.dut.i
        padded = data.ljust(-(-len(data) // WORD_BYTES) * WORD_BYTES or WORD_BYTES, b"\0")
        words = np.frombuffer(padded, "<u4").tolist()
        ctx.set(i.address, sender[0])
        ctx.set(i.port, sender[1])
        ctx.set(i.length, len(data))
        for k, word in enumerate(words):
            while self.random.random() < self.gaps:
                await ctx.tick()
            last = k == len(words) - 1
            ctx.set(i.valid, 1)
            ctx.set(i.data, word)
            ctx.set(i.last, last)
            ctx.set(i.error, last and (error or len(data) % WORD_BYTES != 0))
            while not (await ctx.tick().sample(i.ready))[-1]:
                pass
            ctx.set(i.valid, 0)

    async def drain(self, ctx: Any) -> None:
        """Take what the component sends."""
        o, words, ready = self.dut.o, [], 1
        ctx.set(o.ready, ready)
        names = o.valid, o.data, o.last, o.address, o.port, o.length
        async for *_, valid, data, last, address, port, length in ctx.tick().sample(*names):
            if valid and ready:
                words.append(data)
                if last:
                    whole = np.array(words, "<u4").tobytes()
                    assert len(whole) == length
                    self.sent.append((whole, (address, port)))
                    words = []
            ready = int(self.random.random() >= self.gaps)
            ctx.set(o.ready, ready)

    def run(self, play: Callable[[Any], Any], drains: bool = True) -> None:
        """Simulate until ``play`` is over."""
        simulator = Simulator(self.dut)
        simulator.add_clock(1e-6)
        simulator.add_testbench(play)
        if drains:
            simulator.add_testbench(self.drain, background=True)
        simulator.run()


@cache
def long_tasks() -> TaskFormat:
    """A short function, and one whose tasks and results are longer than two datagrams."""
    word = Format(18, 10)

    def function(name: str, code: int, operands: int, results: int) -> FunctionFormat:
        return FunctionFormat(
            name,
            code,
            tuple(OperandWord(f"x{k}", word, (-9, 9)) for k in range(operands)),
            tuple(ResultWord(f"y{k}", word) for k in range(results)),
        )

    return task_format([function("short", 1, 20, 30), function("long", 2, 1400, 1500)], 40, 40)


def any_packet(lengths: Sequence[int], rnd: random.Random, codes: Sequence[int]) -> bytes:
    """A packet of any content."""
    code = rnd.choice(codes)
    data = bytearray(rnd.randbytes(lengths[code]))
    data[0] = data[0] & 0xE0 | code
    return bytes(data)


def spoilt(data: bytes, marks: int, number: int, rnd: random.Random) -> bytes:
    """A datagram of TASKS with something wrong."""
    body = data[12:-4]
    flipped = bytearray(data)
    flipped[rnd.randrange(len(data))] ^= 1 << rnd.randrange(8)
    return rnd.choice(
        [
            bytes(flipped),
            data[:-1],
            data[: rnd.randrange(0, len(data), 4)],
            data + bytes(4),
            bytes(MOST_BYTES + 4),
            datagram_bytes(Kind.TASKS, SESSION + 1, number, body, marks),
            datagram_bytes(Kind.TASKS, 0, number, body, marks),
            datagram_bytes(rnd.choice([0, 4, 255]), SESSION, number, body, marks),
            datagram_bytes(Kind.TASKS, SESSION, number, body[:-4], marks),
            datagram_bytes(Kind.TASKS, SESSION, number, body + bytes(4), marks ^ Mark.ENDS),
            datagram_bytes(Kind.TASKS, SESSION, number, body, marks ^ Mark.BEGINS),
            datagram_bytes(Kind.TASKS, SESSION, number, b"", marks),
            datagram_bytes(Kind.HELLO, SESSION, number, bytes(4)),
            datagram_bytes(Kind.HELLO, SESSION, number),
            datagram_bytes(Kind.OPEN, SESSION, number, bytes(STATUS_BYTES + 4)),
            datagram_bytes(Kind.TASKS, SESSION, (number - 5) % (1 << 32), body, marks),
        ]
    )


def some_datagrams(tasks: TaskFormat, count: int, seed: int) -> list[Sent]:
    """Tasks in order, with some datagrams lost, repeated, overtaken, spoilt, and others from strangers."""
    rnd, lengths = random.Random(seed), task_lengths(tasks)
    sent: list[Sent] = []
    # most of the numbers are passed over, and they wrap around
    number = 0x7FFF_FF00
    for k in range(count):
        if k == 3:
            number = 0xFFFF_FFF0
        packets = [
            any_packet(lengths, rnd, (1, 1, 1, 1, 30, 2)) for _ in range(rnd.randrange(1, 5))
        ]
        for body, marks in join_packets(packets):
            data = datagram_bytes(Kind.TASKS, SESSION, number, body, marks)
            fate = rnd.random()
            if fate < 0.12:
                sent.append((spoilt(data, marks, number, rnd), OWNER))
            if fate < 0.2:
                sent.append((data, STRANGER))
            if fate < 0.3 and sent:
                sent.append(rnd.choice(sent[-4:]))
            if fate < 0.92:
                sent.append((data, OWNER))
            if 0.4 < fate < 0.5 and len(sent) > 2 and marks == WHOLE:
                sent[-1], sent[-2] = sent[-2], sent[-1]
            number = (number + 1) % (1 << 32)
    return sent


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.thorough)])
@pytest.mark.slow
def test_datagrams_are_kept_dropped_and_counted_as_by_the_model(seed: int) -> None:
    tasks = long_tasks()
    model = Model(bytes(16), tasks, lambda function, raw: ([], np.zeros(0)))
    kept: list[bytes] = []
    model.keep = kept.append  # type: ignore[method-assign]
    model.receive(request_bytes(Kind.OPEN, SESSION, 1), OWNER)
    model.outgoing()
    sent = some_datagrams(tasks, 30, seed)
    hellos = [(request_bytes(Kind.HELLO, SESSION, k), STRANGER) for k in range(8)]
    dut = DatagramReceiver(tasks, buffer_bytes(tasks) // WORD_BYTES)
    wire, words = Wire(dut, seed), []
    counters: dict[str, int] = {}

    async def play(ctx: Any) -> None:
        ctx.set(dut.owner.session, SESSION)
        ctx.set(dut.owner.address, OWNER[0])
        ctx.set(dut.owner.port, OWNER[1])
        await ctx.tick()
        for data, sender in sent:
            model.receive(data, sender)
            await wire.send(ctx, data, sender)
            if hellos and wire.random.random() < 0.3:
                hello = hellos.pop()
                model.receive(*hello)
                await wire.send(ctx, *hello)
        await ctx.tick().repeat(3000)
        counters.update({name: ctx.get(getattr(dut, name)) for name in COUNTERS})
        assert ctx.get(dut.expected) == model.taken

    async def drain(ctx: Any) -> None:
        ready = 1
        ctx.set(dut.o.ready, ready)
        async for *_, valid, payload in ctx.tick().sample(dut.o.valid, dut.o.payload):
            if valid and ready:
                words.append(payload)
            ready = int(wire.random.random() < 0.9)
            ctx.set(dut.o.ready, ready)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(play)
    simulator.add_testbench(drain, background=True)
    simulator.run()
    model.advance(len(model.queue))
    bodies, requests = records(words)
    assert split_packets(bodies, task_lengths(tasks)) == (kept, b"")
    assert len(requests) == 8 - len(hellos)
    assert all(request[1:] == [SESSION, request[2], STRANGER[0]] for request in requests)
    assert counters["overrun"] == 0
    # the model also took the one that opened its session
    assert counters["accepted"] == model.accepted - 1
    for name in ("damaged", "rejected", "repeated"):
        assert counters[name] == getattr(model, name) > 0, name


def records(words: Sequence[int]) -> tuple[bytes, list[list[int]]]:
    """The bodies of TASKS in the receiver's records, and its requests in words."""
    rest, bodies, requests = list(words), [], []
    while rest:
        head = rest.pop(0)
        kind, count = head & 3, head >> 2 & 0x3FFF
        if kind in (Record.HELLO, Record.OPEN):
            requests.append([head, *rest[:3]])
            del rest[:3]
            continue
        if kind == Record.TASKS:
            bodies.append(np.array(rest[:count], "<u4").tobytes())
        del rest[:count]
    return b"".join(bodies), requests


@pytest.mark.slow
def test_what_finds_no_room_is_counted_and_leaves_the_rest_whole() -> None:
    tasks = design("pendulum2", functions=FUNCTIONS, ii=4).tasks
    depth = buffer_bytes(tasks) // WORD_BYTES
    dut = DatagramReceiver(tasks, depth)
    wire, words = Wire(dut, 1, 0.0), []
    rnd = random.Random(2)
    lengths = task_lengths(tasks)
    # datagrams of one length, so that no later one fits where one did not
    each = BODY_BYTES // -(-lengths[0] // WORD_BYTES * WORD_BYTES)
    packets = [any_packet(lengths, rnd, (0,)) for _ in range(14 * each)]
    bodies = join_packets(packets)
    counts: list[int] = []

    async def play(ctx: Any) -> None:
        ctx.set(dut.owner.session, SESSION)
        ctx.set(dut.owner.address, OWNER[0])
        ctx.set(dut.owner.port, OWNER[1])
        for number, (body, marks) in enumerate(bodies):
            data = datagram_bytes(Kind.TASKS, SESSION, number, body, marks)
            await wire.send(ctx, data, OWNER)
        await ctx.tick().repeat(20)
        counts.extend([ctx.get(dut.accepted), ctx.get(dut.overrun)])
        ctx.set(dut.o.ready, 1)
        async for *_, valid, payload in ctx.tick().sample(dut.o.valid, dut.o.payload):
            if not valid:
                break
            words.append(payload)

    wire.run(play, drains=False)
    accepted, overrun = counts
    assert accepted + overrun == len(bodies)
    assert overrun > 1
    assert len(words) <= depth
    kept = b"".join(bytes(body) for body, _ in bodies[:accepted])
    assert kept == records(words)[0]
    assert sum(len(body) + 16 for body, _ in bodies[: accepted + 1]) > capacity(tasks)


def test_a_request_between_the_parts_of_a_task_ends_it() -> None:
    tasks = long_tasks()
    rnd = random.Random(3)
    long, short = (any_packet(task_lengths(tasks), rnd, (code,)) for code in (2, 1))
    parts = join_packets([long, short])
    dut = DatagramReceiver(tasks, buffer_bytes(tasks) // WORD_BYTES)
    wire, words = Wire(dut, 1), []
    counts: list[int] = []

    async def play(ctx: Any) -> None:
        ctx.set(dut.owner.session, SESSION)
        ctx.set(dut.owner.address, OWNER[0])
        ctx.set(dut.owner.port, OWNER[1])
        ctx.set(dut.o.ready, 1)
        for number, (body, marks) in enumerate(parts):
            data = datagram_bytes(Kind.TASKS, SESSION, number, body, marks)
            await wire.send(ctx, data, OWNER)
            if number == 1:
                assert not words
                await wire.send(ctx, request_bytes(Kind.HELLO, 0, 9), STRANGER)
        await ctx.tick().repeat(2000)
        counts.extend(ctx.get(getattr(dut, name)) for name in COUNTERS)

    async def drain(ctx: Any) -> None:
        async for *_, valid, payload in ctx.tick().sample(dut.o.valid, dut.o.payload):
            if valid:
                words.append(payload)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(play)
    simulator.add_testbench(drain, background=True)
    simulator.run()
    bodies, requests = records(words)
    assert bodies == bytes(parts[-1][0])
    assert len(requests) == 1
    # the parts before it and the short task behind were taken, and the last part was not
    assert counts == [len(parts), 0, 0, 1, 0]


@pytest.mark.slow
def test_results_leave_in_full_datagrams_as_a_host_reads_them() -> None:
    tasks, rnd = long_tasks(), random.Random(4)
    dut = DatagramSender(tasks)
    wire = Wire(dut, 5)
    lengths = result_lengths(tasks)
    packets = [any_packet(lengths, rnd, (1, 1, 1, 1, 1, 2, 30)) for _ in range(40)]
    status = rnd.randbytes(52)

    async def play(ctx: Any) -> None:
        ctx.set(dut.owner.session, SESSION)
        ctx.set(dut.owner.address, OWNER[0])
        ctx.set(dut.owner.port, OWNER[1])
        ctx.set(dut.asker.nonce, 77)
        ctx.set(dut.asker.address, STRANGER[0])
        ctx.set(dut.asker.port, STRANGER[1])
        ctx.set(dut.status, int.from_bytes(status, "little"))
        for packet in packets:
            words = np.frombuffer(bytes(padded_stream([packet])[0]), "<u4").tolist()
            for k, word in enumerate(words):
                ctx.set(dut.i.valid, 1)
                ctx.set(dut.i.payload, word)
                ctx.set(dut.last, k == len(words) - 1)
                while not (await ctx.tick().sample(dut.i.ready))[-1]:
                    pass
                ctx.set(dut.i.valid, 0)
        ctx.set(dut.ask, 1)
        ctx.set(dut.flush, 1)
        while not (await ctx.tick().sample(dut.told))[-1]:
            pass
        ctx.set(dut.ask, 0)
        await ctx.tick().repeat(1500)
        assert ctx.get(dut.idle)

    wire.run(play)
    *results, answer = wire.sent
    assert answer == (datagram_bytes(Kind.HELLO, SESSION, 77, status), STRANGER)
    arrivals = Arrivals(lengths)
    stream = b""
    bodies = []
    for number, (data, receiver) in enumerate(results):
        datagram = read_datagram(data)
        assert datagram is not None
        assert receiver == OWNER
        assert datagram[:2] == (Kind.TASKS, DATAGRAM_VERSION)
        assert (datagram.session, datagram.number) == (SESSION, number)
        stream += arrivals.take(datagram) or b""
        bodies.append(datagram)
    assert split_packets(stream, lengths) == (packets, b"")
    # none could have taken the packet behind it as well
    for datagram, following in pairwise(bodies):
        whole = following.marks & Mark.BEGINS
        size = -(-lengths[code_of(following.body)] // WORD_BYTES) * WORD_BYTES
        assert len(datagram.body) + (size if whole else WORD_BYTES) > BODY_BYTES


def test_a_result_that_no_other_follows_is_not_kept_for_long() -> None:
    tasks = design("pendulum2", functions=FUNCTIONS, ii=4).tasks
    dut = DatagramSender(tasks)
    wire = Wire(dut, 1, 0.0)

    async def play(ctx: Any) -> None:
        ctx.set(dut.i.valid, 1)
        ctx.set(dut.i.payload, 30)
        ctx.set(dut.last, 1)
        await ctx.tick()
        ctx.set(dut.i.valid, 0)
        await ctx.tick().repeat(PATIENCE - 5)
        assert not wire.sent
        await ctx.tick().repeat(20)
        assert len(wire.sent) == 1

    wire.run(play)


def tasks_of(known: TaskFormat, count: int, rnd: np.random.Generator) -> list[bytes]:
    """Tasks of all functions, some of them outside the declared ranges, and of one that there is not."""
    found = []
    for k in range(count):
        f = known.functions[FUNCTIONS[int(rnd.integers(len(FUNCTIONS)))]]
        raw = [
            np.array([int(rnd.integers(low - (k % 7 == 0), high + 1))])
            for low, high in (word.codes for word in f.operands)
        ]
        packet = task_rows(known, f.name, np.array([k % 256]), raw)[0].tobytes()
        found.append(packet if k % 11 else bytes([30]) + packet[1 : task_lengths(known)[30]])
    return found


@pytest.mark.slow
def test_a_session_is_as_the_model_has_it_bit_for_bit() -> None:
    """Sessions begin, go to another host when their owner says nothing, and their tasks are answered."""
    d = design("pendulum2", functions=FUNCTIONS, ii=4)
    known, now = manifest_of(d), [0.0]
    model = bit_true_datagrams(d)
    model.clock = lambda: now[0]
    dut = DatagramShell(d, known.identity, HOLD)
    wire, rnd = Wire(dut, 6), np.random.default_rng(7)
    epochs: list[tuple[list[Sent], list[Sent]]] = []

    async def both(ctx: Any, data: bytes, sender: tuple[int, int], error: int = 0) -> None:
        await wire.send(ctx, data, sender, error)
        if error:
            data = data[:-1]
        model.receive(data, sender)

    async def settle(ctx: Any) -> None:
        """Wait until all is answered; what came since the last time, and what the model says."""
        await ctx.tick().repeat(60)
        while not ctx.get(dut.idle):
            await ctx.tick()
        await ctx.tick().repeat(5)
        epochs.append((wire.sent[:], model.outgoing()))
        wire.sent.clear()

    async def play(ctx: Any) -> None:
        number = 0
        await both(ctx, request_bytes(Kind.HELLO, 0, 5), STRANGER)
        await both(ctx, request_bytes(Kind.OPEN, SESSION, 6), OWNER)
        await settle(ctx)
        for round_ in range(4):
            session, owner = (SESSION, OWNER) if round_ < 3 else (99, STRANGER)
            for body, marks in join_packets(tasks_of(known.tasks, 25, rnd)):
                data = datagram_bytes(Kind.TASKS, session, number, body, marks)
                if number % 3 == 1:
                    await both(ctx, data, owner, error=1)
                if number % 4 == 2:
                    await both(ctx, data, (owner[0], owner[1] + 1))
                await both(ctx, data, owner)
                if number % 3 == 0:
                    await both(ctx, data, owner)
                number += 1
            # asked amid work, and by somebody who would like to have it
            await both(ctx, request_bytes(Kind.HELLO, session, 100 + round_), owner)
            await both(ctx, request_bytes(Kind.OPEN, 99, 200 + round_), STRANGER)
            await settle(ctx)
            if round_ == 2:
                await ctx.tick().repeat(HOLD)
                now[0] += 1.5
                await both(ctx, request_bytes(Kind.OPEN, 99, 300), STRANGER)
                number = 0
                await settle(ctx)

    wire.run(play)
    for ours, theirs in epochs:
        assert told(ours, known.tasks) == told(theirs, known.tasks)
    assert sum(len(told(ours, known.tasks)[0]) for ours, _ in epochs) == 4 * 25


def told(sent: Sequence[Sent], tasks: TaskFormat) -> tuple[Any, ...]:
    """What datagrams say, however results are spread over them: for each function its results in order, with whose
    they are, and statuses."""
    results: list[tuple[Any, bytes]] = []
    statuses = []
    last = sent[-1][0]
    for data, receiver in sent:
        datagram = read_datagram(data)
        assert datagram is not None
        if datagram.kind == Kind.HELLO:
            status = Status.unpack(datagram.body)
            assert status is not None
            # how many datagrams there were is each one's own matter, and so is its buffer; counters are those of
            # when it answers
            plain = replace(status, told=0, capacity=0)
            if data != last:
                plain = replace(plain, **dict.fromkeys(COUNTERS, 0))
            statuses.append((datagram[:5], plain, receiver, len(results)))
            continue
        packets, rest = split_packets(datagram.body, result_lengths(tasks))
        assert not rest
        results += [((code_of(p), datagram.session, receiver), p) for p in packets]
    ordered = sorted(results, key=lambda item: item[0])
    return ordered, statuses


def test_several_accelerators_are_refused() -> None:
    d = design("pendulum2", functions=("id",), ii=1, replicas=2)
    with pytest.raises(ConfigError, match=r"^replicas: a link of datagrams feeds one accelerator"):
        Simulator(DatagramShell(d, bytes(16), HOLD))


def test_a_buffer_holds_four_of_the_longest_tasks() -> None:
    for tasks in (long_tasks(), design("pendulum2", functions=FUNCTIONS, ii=4).tasks):
        longest = max(task_lengths(tasks))
        parts = len(cut(memoryview(bytes(longest))))
        assert 4 * (longest + 3 + 16 * parts) <= capacity(tasks) < buffer_bytes(tasks)
