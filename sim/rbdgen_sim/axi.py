"""Runs the AXI shell in Verilator under cocotbext-axi (:mod:`rbdgen_sim.axi_bench`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rbdgen_sim.cocotb_bench import Bench
from rbdgen_sim.dma import DmaModel

BENCH = Bench("axi", "rbdgen_sim.axi_bench", ("aclk", "aresetn", "s_axi*", "m_axis*"), "1ns")


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
