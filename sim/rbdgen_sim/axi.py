"""The AXI shell in Verilator under cocotbext-axi, every channel stalling at random: what runs it, and the cocotb test
that plays tasks through it, which the simulator imports.

The masters and slaves are cocotbext-axi's. What they do not check is checked here in every cycle: a channel whose valid
is high without ready keeps valid and everything that goes with it. Beside
it a device behind AXI streams made of the model of a shell.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.axi import (
    AxiLiteBus,
    AxiLiteMaster,
    AxiResp,
    AxiStreamBus,
    AxiStreamFrame,
    AxiStreamSink,
    AxiStreamSource,
)

from rbdgen.host.stream_link import beats_of, packet_of, stream_beats, stream_bytes
from rbdgen.protocol.registers import IDENTITY_WORDS, VERSION, Control, Register
from rbdgen.protocol.tasks import CALIBRATE
from rbdgen.shells.shell import ShellModel
from rbdgen_sim.cocotb_bench import Bench, read_job, write_outcome


@dataclass
class DmaModel:
    """Answers by ``shell``, or by ``answers`` to the same batches; a :class:`rbdgen.host.stream_link.StreamDevice`.

    It records what came, for :func:`rbdgen_sim.axi.play`: the batches ``sent``, the ``epochs`` that stood after each of
    them, and by the next batch's number the ``written`` epochs and the ``resets``."""

    shell: ShellModel
    answers: list[bytes] | None = None
    sent: list[bytes] = field(default_factory=list)
    epochs: list[int] = field(default_factory=list)
    written: dict[int, int] = field(default_factory=dict)
    resets: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.registers: dict[int, int] = {Register.VERSION: VERSION, Register.EPOCH: 0}
        words = np.frombuffer(self.shell.identity, "<u4").tolist()
        self.registers |= {Register.IDENTITY + 4 * k: word for k, word in enumerate(words)}

    def reset(self) -> None:
        """Become what a board is after its reset."""
        self.shell.reset()
        self.registers[Register.EPOCH] = 0
        self.resets.append(len(self.sent))

    def read_register(self, address: int) -> int:
        """The register at ``address``."""
        return self.registers[address]

    def write_register(self, address: int, value: int) -> None:
        """Write the register at ``address``."""
        self.registers[address] = value
        self.written[len(self.sent)] = value

    def transfer(self, data: bytes, size: int) -> bytes:
        """The answers to the tasks in ``data``, whole beats of the AXI stream."""
        self.sent.append(data)
        self.epochs.append(self.registers[Register.EPOCH])
        if self.answers is not None:
            return self.answers.pop(0)
        shell = self.shell
        tasks = shell.tasks
        rows = tasks.read_tasks(stream_beats(data, tasks.task))
        answers: dict[int, list[bytes]] = {}
        for beats in chain.from_iterable(rows):
            code, _, _ = tasks.header(beats[0])
            packet = packet_of(beats, tasks.task, tasks.task_words[code])
            if code == CALIBRATE:
                # tasks before a parameter are answered with the old one
                self._answer(answers)
                answers.setdefault(code, []).append(shell.loaded(packet))
            else:
                shell.pending.setdefault(code, []).append(packet)
        self._answer(answers)
        if tasks.replicas > 1:
            return self._rows(rows, answers)
        # one accelerator may answer functions in any order
        packets = list(chain.from_iterable(answers.values()))
        return self._stream([[packet] for packet in packets])

    def _answer(self, answers: dict[int, list[bytes]]) -> None:
        """Answer the tasks that are pending."""
        names = {f.code: f.name for f in self.shell.tasks.functions.values()}
        for code, packets in self.shell.pending.items():
            answers.setdefault(code, []).extend(self.shell.results(names[code], packets))
        self.shell.pending = {}

    def _rows(self, rows: list[list[Sequence[int]]], answers: dict[int, list[bytes]]) -> bytes:
        """Answers in the rows of their tasks."""
        tasks = self.shell.tasks
        queues = {code: iter(packets) for code, packets in answers.items()}
        found = []
        for row in rows:
            found.append([next(queues[tasks.header(beats[0])[0]]) for beats in row])
        return self._stream(found)

    def _stream(self, rows: list[list[bytes]]) -> bytes:
        """Rows of answers as a transfer."""
        tasks = self.shell.tasks
        of_rows = []
        for row in rows:
            of_rows.append([beats_of(packet, tasks.result) for packet in row])
        return stream_bytes(tasks.result_rows(of_rows), tasks.result)

    def close(self) -> None:
        """Nothing is open."""


# pyright: reportAttributeAccessIssue=false
# a cocotb handle gets its kind, and with it its value, from the design at run time


CHANNELS = {
    "s_axis_t": ("data", "last"),
    "m_axis_t": ("data", "last"),
    "s_axi_aw": ("addr", "prot"),
    "s_axi_w": ("data", "strb"),
    "s_axi_b": ("resp",),
    "s_axi_ar": ("addr", "prot"),
    "s_axi_r": ("data", "resp"),
}
"""Signals of each channel that must hold still until it is taken."""
RESET_CYCLES = 8
AMID_CYCLES = 60
"""From when a batch is begun to the reset amid it."""


def pauses(share: float, seed: int) -> Iterator[bool]:
    """True where a channel stalls."""
    generator = random.Random(seed)
    while True:
        yield generator.random() < share


async def watch(dut: Any, channel: str, fields: tuple[str, ...], broken: list[str]) -> None:
    """Note every breach of the handshake on one channel."""
    valid, ready = getattr(dut, f"{channel}valid"), getattr(dut, f"{channel}ready")
    payload = [getattr(dut, channel + field) for field in fields]
    offered = None
    cycle = 0
    while True:
        await RisingEdge(dut.aclk)
        cycle += 1
        if str(dut.aresetn.value) != "1":
            offered = None
            continue
        now = [str(p.value) for p in payload] if str(valid.value) == "1" else None
        if offered is not None and now != offered:
            broken.append(f"{channel} in cycle {cycle}: offered {offered}, then {now}")
        offered = now if now is not None and str(ready.value) == "0" else None


@cocotb.test()
async def played(dut: Any) -> None:
    """Reset, read who it is, play the job's batches while registers are read."""
    job = read_job()
    share, seed = job["stall"], job["seed"]
    Clock(dut.aclk, 2, unit="step").start()
    # False: the reset that they wait for is active low
    source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), dut.aclk, dut.aresetn, False)
    sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis"), dut.aclk, dut.aresetn, False)
    lite = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi"), dut.aclk, dut.aresetn, False)
    broken: list[str] = []
    for channel, fields in CHANNELS.items():
        cocotb.start_soon(watch(dut, channel, fields, broken))
    stalled = (source, sink, *(getattr(lite.write_if, f"{c}_channel") for c in ("aw", "w", "b")))
    stalled += tuple(getattr(lite.read_if, f"{c}_channel") for c in ("ar", "r"))
    for k, end in enumerate(stalled):
        # a seed for each, else all channels would stall in the same cycles
        end.set_pause_generator(pauses(share, seed + k))

    async def reset() -> None:
        dut.aresetn.value = 0
        for _ in range(RESET_CYCLES):
            await RisingEdge(dut.aclk)
        for end in (source, sink):
            # frames that the reset cut must not go on behind it
            end.clear()
        dut.aresetn.value = 1
        await RisingEdge(dut.aclk)

    await reset()

    async def read(address: int) -> int:
        answer = await lite.read(address, 4)
        assert answer.resp == AxiResp.OKAY
        return int.from_bytes(bytes(answer.data), "little")

    identity = [await read(Register.IDENTITY + 4 * k) for k in range(IDENTITY_WORDS)]
    # no register is at 0x3C, and the version cannot be written
    bad_read = (await lite.read(0x3C, 4)).resp
    bad_write = (await lite.write(Register.VERSION, bytes(4))).resp
    before = await read(Register.CYCLES)
    await lite.write(Register.CONTROL, int(Control.CLEAR).to_bytes(4, "little"))
    cleared = await read(Register.CYCLES)
    results = []
    epochs = []
    reads = 0
    for batch in job["batches"]:
        if batch["epoch"] is not None:
            await lite.write(Register.EPOCH, int(batch["epoch"]).to_bytes(4, "little"))
        frame = AxiStreamFrame(bytes.fromhex(batch["data"]))
        if batch["reset"]:
            await source.send(frame)
            for _ in range(AMID_CYCLES):
                await RisingEdge(dut.aclk)
            await reset()
        await source.send(frame)
        receiving = cocotb.start_soon(sink.recv())
        while not receiving.done():
            await read(Register.IN_WORK)
            reads += 1
        results.append(bytes(receiving.result().tdata).hex())
        epochs.append(await read(Register.EPOCH))
    registers = {r.name: await read(r) for r in Register if r != Register.IDENTITY}
    outcome = {
        "results": results,
        "epochs": epochs,
        "registers": registers,
        "identity": identity,
        "broken": broken,
        "reads": reads,
    }
    outcome |= {
        "bad_read": int(bad_read),
        "bad_write": int(bad_write),
        "before": before,
        "cleared": cleared,
    }
    write_outcome(outcome)


BENCH = Bench("axi", "rbdgen_sim.axi", ("aclk", "aresetn", "s_axi*", "m_axis*"), "1ns")


def play(
    sources: Sequence[Path],
    top: str,
    recorded: DmaModel,
    stall: float,
    seed: int,
    directory: Path,
) -> dict[str, Any]:
    """Send the batches that were ``recorded`` (whole beats of tasks, each closed by TLAST), with the epochs and resets
    before them, every channel stalling in the share ``stall`` of its cycles. A reset comes amid the batch, which is
    sent once more behind it. The outcome: result bytes by batch in hex, epochs after each, registers afterwards, and
    breaches of the protocol.

    Errors as of :meth:`rbdgen_sim.cocotb_bench.Bench.run`.
    """
    batches = []
    for k, data in enumerate(recorded.sent):
        reset = k in recorded.resets
        batches.append({"data": data.hex(), "epoch": recorded.written.get(k), "reset": reset})
    job = {"batches": batches, "stall": stall, "seed": seed}
    return BENCH.run(sources, top, job, directory)
