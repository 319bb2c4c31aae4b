"""The shell of registers on AXI4-Lite in Verilator under cocotbext-axi, every channel stalling at random: what runs it,
and the cocotb test that sends tasks through it, which the simulator imports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from rbdgen.protocol.registers import IDENTITY_WORDS
from rbdgen.protocol.task_registers import Command, Status, TaskRegister
from rbdgen_sim.axi import CHANNELS, RESET_CYCLES, pauses, watch
from rbdgen_sim.cocotb_bench import Bench, read_job, write_outcome


@cocotb.test()
async def called(dut: Any) -> None:
    """Reset, read who it is, send the job's tasks one by one as firmware does."""
    job = read_job()
    share, seed = job["stall"], job["seed"]
    Clock(dut.aclk, 2, unit="step").start()
    bus = AxiLiteBus.from_prefix(dut, "s_axi")
    lite: Any = AxiLiteMaster(bus, dut.aclk, dut.aresetn, False)
    broken: list[str] = []
    for channel, fields in CHANNELS.items():
        if channel.startswith("s_axi_"):
            cocotb.start_soon(watch(dut, channel, fields, broken))
    ends = [getattr(lite.write_if, f"{c}_channel") for c in ("aw", "w", "b")]
    ends += [getattr(lite.read_if, f"{c}_channel") for c in ("ar", "r")]
    for k, end in enumerate(ends):
        # a seed for each, else all channels would stall in the same cycles
        end.set_pause_generator(pauses(share, seed + k))
    dut.aresetn.value = 0
    for _ in range(RESET_CYCLES):
        await RisingEdge(dut.aclk)
    dut.aresetn.value = 1
    await RisingEdge(dut.aclk)

    async def read(address: int) -> int:
        answer = await lite.read(address, 4)
        assert answer.resp == AxiResp.OKAY
        return int.from_bytes(bytes(answer.data), "little")

    async def write(address: int, value: int) -> None:
        answer = await lite.write(address, value.to_bytes(4, "little"))
        assert answer.resp == AxiResp.OKAY

    async def send(words: Sequence[int]) -> None:
        for k, word in enumerate(words):
            last = k + 1 == len(words)
            await write(TaskRegister.TASK_LAST if last else TaskRegister.TASK, word)

    identity = [await read(TaskRegister.IDENTITY + 4 * k) for k in range(IDENTITY_WORDS)]
    bad_read = (await lite.read(0x28, 4)).resp
    bad_write = (await lite.write(TaskRegister.VERSION, bytes(4))).resp
    # what nobody reads: refused, and known by its count
    nothing = await read(TaskRegister.RESULT)
    refused = await read(TaskRegister.REFUSED)
    # half a task, which a reset takes away
    await write(TaskRegister.EPOCH, 9)
    await send(job["tasks"][0][:-1])
    await write(TaskRegister.CONTROL, int(Command.CLEAR | Command.RESET))
    epoch = await read(TaskRegister.EPOCH)
    await write(TaskRegister.INTERRUPTS, int(Status.RESULT))
    results = []
    for words, count in zip(job["tasks"], job["results"], strict=True):
        await send(words)
        while str(dut.irq.value) != "1":
            await RisingEdge(dut.aclk)
        own = [await read(TaskRegister.RESULT) for _ in range(count - 1)]
        results.append([*own, await read(TaskRegister.RESULT_LAST)])
    counters = {
        r.name: await read(r)
        for r in (TaskRegister.TASKS, TaskRegister.RESULTS, TaskRegister.REFUSED)
    }
    write_outcome(
        {
            "identity": identity,
            "bad_read": int(bad_read),
            "bad_write": int(bad_write),
            "nothing": nothing,
            "refused": refused,
            "epoch": epoch,
            "results": results,
            "counters": counters,
            "broken": broken,
        }
    )


BENCH = Bench(
    "axi_registers", "rbdgen_sim.axi_registers", ("aclk", "aresetn", "irq", "s_axi*"), "1ns"
)


def call(
    sources: Sequence[Path],
    top: str,
    tasks: Sequence[Sequence[int]],
    results: Sequence[int],
    stall: float,
    seed: int,
    directory: Path,
) -> dict[str, Any]:
    """Send ``tasks`` as words, whose results have so many, every channel stalling in the share ``stall`` of its cycles.
    The outcome: words of results, counters, breaches of the protocol, and what came of accesses that are wrong.

    Errors as of :meth:`rbdgen_sim.cocotb_bench.Bench.run`.
    """
    job = {"tasks": tasks, "results": results, "stall": stall, "seed": seed}
    return BENCH.run(sources, top, job, directory)
