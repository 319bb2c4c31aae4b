"""The shell of registers: its block and its adapters, by accesses and stalls at random, against what a host expects;
and engines behind it."""

from __future__ import annotations

from typing import Any
from unittest.mock import ANY

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from rbdgen.emulation import bit_true_shell
from rbdgen.host.stream_link import beats_of, packet_of
from rbdgen.protocol.registers import Access, constants
from rbdgen.protocol.task_registers import (
    PATIENCE,
    Command,
    Status,
    TaskRegister,
    task_register_map,
)
from rbdgen_hw.library import forward
from rbdgen_hw.shells.axi import OKAY, SLVERR
from rbdgen_hw.shells.registers import BUSES, RegisterBlock, RegisterShell
from tests.conftest import design

FIXED = {TaskRegister.VERSION: 0x1234_5678, TaskRegister.IDENTITY + 8: 0x9ABC_DEF0}
ADAPTED = 4
"""Cycles that adapters add to an access at most."""


class Bench(wiring.Component):
    """A block behind the adapter of a bus, with streams of words beside."""

    def __init__(self, bus: str) -> None:
        self.adapter, signature, _ = BUSES[bus]
        self.patience = PATIENCE[bus]
        words = stream.Signature(32)
        super().__init__(
            {
                "bus": In(signature),
                "o": Out(words),
                "i": In(words),
                "irq": Out(1),
                "forget": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.block = block = RegisterBlock(FIXED, 32, 32, self.patience)
        m.submodules.adapter = adapter = self.adapter()
        wiring.connect(m, wiring.flipped(self.bus), adapter.bus)
        wiring.connect(m, adapter.plain, block.bus)
        forward(m, block.o, self.o)
        forward(m, self.i, block.i)
        m.d.comb += [self.irq.eq(block.irq), self.forget.eq(block.forget)]
        return m


class Host:
    """A master of any bus. Accesses give what was read and whether it was an error, which CSRs do not tell; ``cycles``
    is what the last one took."""

    def __init__(self, ctx: Any, bus: Any, rnd: np.random.Generator) -> None:
        self.ctx, self.bus, self.rnd = ctx, bus, rnd
        self.cycles = 0

    async def access(self, address: int, data: int | None = None) -> tuple[int, bool]:
        """Read, or write ``data``."""
        for _ in range(int(self.rnd.integers(0, 4))):
            await self.ctx.tick()
        self.cycles = 0
        if hasattr(self.bus, "re"):
            return await self._csr(address, data), False
        await self.ctx.tick()
        if hasattr(self.bus, "cyc"):
            return await self._wishbone(address, data)
        return await self._axi(address, data)

    async def _csr(self, address: int, data: int | None) -> int:
        ctx, bus = self.ctx, self.bus
        strobe = bus.re if data is None else bus.we
        for signal, value in ((bus.adr, address >> 2), (bus.dat_w, data or 0), (strobe, 1)):
            ctx.set(signal, value)
        *_, read = await ctx.tick().sample(bus.dat_r)
        self.cycles += 1
        ctx.set(strobe, 0)
        return int(read)

    async def _wishbone(self, address: int, data: int | None) -> tuple[int, bool]:
        ctx, bus = self.ctx, self.bus
        for signal, value in (
            (bus.adr, address >> 2),
            (bus.dat_w, data or 0),
            (bus.we, data is not None),
            (bus.sel, 15),
            (bus.cyc, 1),
            (bus.stb, 1),
        ):
            ctx.set(signal, value)
        while True:
            *_, ack, err, read = await ctx.tick().sample(bus.ack, bus.err, bus.dat_r)
            self.cycles += 1
            assert not (ack and err)
            if ack or err:
                break
        ctx.set(bus.cyc, 0)
        ctx.set(bus.stb, 0)
        return read, bool(err)

    async def _axi(self, address: int, data: int | None) -> tuple[int, bool]:
        ctx, bus = self.ctx, self.bus
        given, back = (["ar"], "r") if data is None else (["aw", "w"], "b")
        ctx.set(bus.araddr if data is None else bus.awaddr, address)
        ctx.set(bus.wdata, data or 0)
        # address and data begin at any time
        begins = {name: int(self.rnd.integers(0, 4)) for name in given}
        left, cycle = [*given], 0
        while left:
            for name in left:
                ctx.set(getattr(bus, f"{name}valid"), cycle >= begins[name])
            valid = [cycle >= begins[name] for name in left]
            ready = [getattr(bus, f"{name}ready") for name in left]
            _, _, *taken = await ctx.tick().sample(*ready)
            cycle += 1
            self.cycles += cycle > max(begins.values())
            done = [n for n, v, t in zip(left, valid, taken, strict=True) if v and t]
            for name in done:
                ctx.set(getattr(bus, f"{name}valid"), 0)
            left = [name for name in left if name not in done]
        await ctx.tick().repeat(int(self.rnd.integers(1, 4)))
        ctx.set(getattr(bus, f"{back}ready"), 1)
        while True:
            _, _, there, response, read = await ctx.tick().sample(
                getattr(bus, f"{back}valid"), getattr(bus, f"{back}resp"), bus.rdata
            )
            if there:
                break
        ctx.set(getattr(bus, f"{back}ready"), 0)
        assert response in (OKAY, SLVERR)
        return read, response == SLVERR


class Sides:
    """What stands on the other side of the block: words that leave are ``taken``, those in ``given`` come; both stall,
    and now and then for longer than an access waits."""

    def __init__(self, dut: Any, rnd: np.random.Generator) -> None:
        self.dut, self.rnd = dut, rnd
        self.taken: list[int] = []
        self.given: list[int] = []
        self.sent = 0

    def stall(self) -> int:
        """Cycles."""
        kind = self.rnd.random()
        return 0 if kind < 0.5 else int(self.rnd.integers(1, 30 if kind < 0.95 else 700))

    async def take(self, ctx: Any) -> None:
        """Of tasks."""
        while True:
            ctx.set(self.dut.o.ready, 0)
            await ctx.tick().repeat(1 + self.stall())
            ctx.set(self.dut.o.ready, 1)
            while True:
                _, _, valid, word = await ctx.tick().sample(self.dut.o.valid, self.dut.o.payload)
                if valid:
                    break
            self.taken.append(word)

    async def give(self, ctx: Any) -> None:
        """Of results."""
        while True:
            ctx.set(self.dut.i.valid, 0)
            await ctx.tick().repeat(1 + self.stall())
            word = int(self.rnd.integers(1, 1 << 32))
            ctx.set(self.dut.i.valid, 1)
            ctx.set(self.dut.i.payload, word)
            while not (await ctx.tick().sample(self.dut.i.ready))[-1]:
                pass
            self.given.append(word)


@pytest.mark.parametrize("bus", BUSES)
@pytest.mark.slow
def test_every_word_passes_once(bus: str) -> None:
    """Tasks and results in their order, what is refused not at all; counters say how much there was."""
    dut, rnd = Bench(bus), np.random.default_rng(7)
    sides = Sides(dut, rnd)
    written, read, refused = [], [], 0
    lasts = {"TASKS": 0, "RESULTS": 0}

    async def play(ctx: Any) -> None:
        nonlocal refused
        host = Host(ctx, dut.bus, rnd)
        for _ in range(400):
            last = int(rnd.random() < 0.3)
            if rnd.random() < 0.5:
                word = int(rnd.integers(1, 1 << 32))
                _, error = await host.access(TaskRegister.TASK + 4 * last, word)
                kept, counter = written, "TASKS"
            else:
                word, error = await host.access(TaskRegister.RESULT + 4 * last)
                kept, counter = read, "RESULTS"
            assert not error
            assert host.cycles <= dut.patience + ADAPTED
            waited = host.cycles
            count, _ = await host.access(TaskRegister.REFUSED)
            if count != refused:
                assert count == refused + 1
                assert waited > dut.patience
                assert kept is written or word == 0
                refused = count
                continue
            kept.append(word)
            lasts[counter] += last
        for name, value in lasts.items():
            assert await host.access(TaskRegister[name]) == (value, False)
        status, _ = await host.access(TaskRegister.STATUS)
        assert status & Status.REFUSED
        await host.access(TaskRegister.CONTROL, int(Command.CLEAR))
        for name in ("TASKS", "RESULTS", "REFUSED"):
            assert await host.access(TaskRegister[name]) == (0, False)
        status, _ = await host.access(TaskRegister.STATUS)
        assert not status & Status.REFUSED
        await ctx.tick().repeat(2000)

    simulate(dut, play, sides.take, sides.give)
    assert refused > 3
    assert sides.taken == written
    assert sides.given[: len(read)] == read


def simulate(dut: Any, play: Any, *beside: Any) -> None:
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(play)
    for process in beside:
        simulator.add_testbench(process, background=True)
    simulator.run()


@pytest.mark.parametrize("bus", BUSES)
def test_registers_are_those_of_the_map(bus: str) -> None:
    """Each address reads and is written as the map says, all others are errors, or read as zero where a bus tells none;
    a reset is one."""
    dut, rnd = Bench(bus), np.random.default_rng(8)
    entries = {e.address: e for e in task_register_map()}
    tells = bus != "csr"
    resets = []

    async def play(ctx: Any) -> None:
        host = Host(ctx, dut.bus, rnd)
        ctx.set(dut.o.ready, 1)
        for address in range(0, 256, 4):
            if address & ~4 in (TaskRegister.TASK, TaskRegister.RESULT):
                continue
            entry = entries.get(address)
            fixed = address in FIXED
            constant = entry is not None and entry.constant
            readable = fixed or (entry is not None and not constant)
            value, error = await host.access(address)
            assert error == (tells and not readable)
            if not error:
                assert value == FIXED.get(address, Status.ROOM * (address == TaskRegister.STATUS))
            _, error = await host.access(address, 0)
            assert error == (tells and (entry is None or entry.access == Access.READ))
        await host.access(TaskRegister.EPOCH, 0xFEED_F00D)
        await host.access(TaskRegister.INTERRUPTS, int(Status.RESULT))
        assert await host.access(TaskRegister.EPOCH) == (0xFEED_F00D, False)
        assert not ctx.get(dut.irq)
        ctx.set(dut.i.valid, 1)
        ctx.set(dut.i.payload, 5)
        await ctx.tick().repeat(3)
        ctx.set(dut.i.valid, 0)
        assert ctx.get(dut.irq)
        ctx.set(dut.o.ready, 0)
        assert await host.access(TaskRegister.TASK_LAST, 6) == (ANY, False)
        assert await host.access(TaskRegister.STATUS) == (Status.RESULT, False)
        await host.access(TaskRegister.CONTROL, int(Command.RESET))
        # both words are forgotten, and so is the epoch; interrupts and counters are the host's
        assert await host.access(TaskRegister.EPOCH) == (0, False)
        assert not ctx.get(dut.irq)
        assert await host.access(TaskRegister.TASKS) == (1, False)
        ctx.set(dut.o.ready, 1)
        assert await host.access(TaskRegister.STATUS) == (Status.ROOM, False)
        assert resets == [1]

    async def watch(ctx: Any) -> None:
        async for *_, forget in ctx.tick().sample(dut.forget):
            if forget:
                resets.append(1)

    simulate(dut, play, watch)


@pytest.mark.parametrize("machine", [{"machine": "engine", "word": 32}, {"ii": 8}])
@pytest.mark.parametrize("bus", BUSES)
def test_an_accelerator_answers_behind_it(bus: str, machine: dict[str, Any]) -> None:
    """Tasks word by word as a host writes them: results have the model's bits; a reset amid a task forgets it. So do
    pipelines whose beats are a word."""
    d = design("pendulum2", functions=("id", "m"), **machine)
    identity = bytes(range(16))
    dut, rnd = RegisterShell(d, identity, bus), np.random.default_rng(9)
    model = bit_true_shell(d)
    packets, expected = [], []
    for k in range(8):
        name = ("id", "m")[k & 1]
        f = d.tasks.functions[name]
        raw = rnd.integers(*f.limits, (len(f.operands),)) // 4
        (packet,) = d.tasks.pack(name, np.array([k]), [np.array([x]) for x in raw])
        model.keep(packet_of(packet, d.tasks.task, len(f.operands)))
        model.work()
        packets.append(packet)
        expected.append(list(beats_of(model.answers.pop(), d.tasks.result)))

    async def there(host: Host, bit: Status) -> None:
        while not (await host.access(TaskRegister.STATUS))[0] & bit:
            pass

    async def give(host: Host, address: int, word: int) -> None:
        if not PATIENCE[bus]:
            await there(host, Status.ROOM)
        await host.access(address, word)

    async def play(ctx: Any) -> None:
        host = Host(ctx, getattr(dut, dut.port), rnd)
        for entry, value in constants(task_register_map(d.tasks, identity, bus)):
            assert await host.access(entry.address) == (value, False)
        # half a task, and as if there had been none
        for word in packets[0][:3]:
            await give(host, TaskRegister.TASK, word)
        await host.access(TaskRegister.CONTROL, int(Command.RESET))
        for packet, answer in zip(packets, expected, strict=True):
            for k, word in enumerate(packet):
                await give(host, TaskRegister.TASK + 4 * (k + 1 == len(packet)), word)
            found = []
            for k in range(len(answer)):
                if k == 0 or not PATIENCE[bus]:
                    await there(host, Status.RESULT)
                at = TaskRegister.RESULT + 4 * (k + 1 == len(answer))
                found.append((await host.access(at))[0])
            assert found == answer
        assert await host.access(TaskRegister.TASKS) == (len(packets), False)
        assert await host.access(TaskRegister.RESULTS) == (len(packets), False)
        assert await host.access(TaskRegister.REFUSED) == (0, False)

    simulate(dut, play)
