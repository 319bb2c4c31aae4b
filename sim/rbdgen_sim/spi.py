"""A board's SPI port in Verilator under cocotb: what runs it, and the test that plays transactions to its pins, which
the simulator imports. The two clocks run by themselves, in any ratio, and edges of the host's come early or late."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer

from rbdgen_sim.cocotb_bench import Bench, read_job, write_outcome

# pyright: reportAttributeAccessIssue=false
# a cocotb handle gets its kind, and with it its value, from the design at run time

CYCLE = 10_000
"""Picoseconds of the board's clock."""
RESET_CYCLES = 4
LEAD_CYCLES = 5
"""From select to the first edge, from the last one to deselect, and between transactions."""
BITS = 8


@dataclass(frozen=True)
class Round:
    """Transactions, each of which sends bytes, with a clock of which one cycle is ``ratio`` of the board's; each edge
    is early or late by a share ``jitter`` of half a cycle, at most, by a ``seed``. The board is reset before."""

    transactions: Sequence[bytes]
    ratio: float
    jitter: float = 0.0
    seed: int = 1


class Host:
    """A host's end of the bus."""

    def __init__(self, dut: Any, ratio: float, jitter: float, seed: int) -> None:
        self.dut = dut
        self.half = ratio * CYCLE / 2
        self.jitter = jitter
        self.random = random.Random(seed)

    async def wait(self, picoseconds: float) -> None:
        """Let time pass."""
        # even, as all steps of the clock are
        await Timer(2 * max(1, round(picoseconds / 2)), unit="ps")

    async def transact(self, sent: bytes) -> bytes:
        """A transaction; what comes."""
        dut, came = self.dut, bytearray()
        lead = (LEAD_CYCLES + self.random.random()) * CYCLE
        dut.cs_n.value = 0
        await self.wait(lead)
        early = 0.0
        for byte in sent:
            read = 0
            for bit in reversed(range(BITS)):
                dut.mosi.value = byte >> bit & 1
                late = self.half * self.random.uniform(-self.jitter, self.jitter)
                await self.wait(self.half + late - early)
                read = read << 1 | int(dut.miso.value)
                dut.sck.value = 1
                early = self.half * self.random.uniform(-self.jitter, self.jitter)
                await self.wait(self.half + early - late)
                dut.sck.value = 0
            came.append(read)
        await self.wait(lead)
        dut.cs_n.value = 1
        await self.wait(lead)
        return bytes(came)


@cocotb.test()
async def played(dut: Any) -> None:
    """Play the job's rounds."""
    Clock(dut.clk, CYCLE, unit="ps").start()
    dut.sck.value = 0
    dut.mosi.value = 0
    dut.cs_n.value = 1
    outcome = []
    for own in read_job()["rounds"]:
        dut.rst.value = 1
        for _ in range(RESET_CYCLES):
            await RisingEdge(dut.clk)
        dut.rst.value = 0
        host = Host(dut, own["ratio"], own["jitter"], own["seed"])
        came = [await host.transact(bytes.fromhex(sent)) for sent in own["transactions"]]
        outcome.append([found.hex() for found in came])
    write_outcome(outcome)


BENCH = Bench(
    "spi", "rbdgen_sim.spi", ("clk", "rst", "sck", "cs_n", "mosi", "miso", "ready"), "1ps"
)


def play(
    sources: Sequence[Path], top: str, rounds: Sequence[Round], directory: Path
) -> list[list[bytes]]:
    """What comes in each transaction of each round from module ``top`` of these sources
    (:func:`rbdgen_hw.emit.spi_verilog`). Errors as of :meth:`rbdgen_sim.cocotb_bench.Bench.run`."""
    job = []
    for own in rounds:
        job.append(asdict(own) | {"transactions": [sent.hex() for sent in own.transactions]})
    came = BENCH.run(sources, top, {"rounds": job}, directory)
    return [[bytes.fromhex(found) for found in transactions] for transactions in came]
