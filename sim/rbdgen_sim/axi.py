"""Runs the AXI shell in Verilator under cocotbext-axi (:mod:`rbdgen_sim.axi_bench`), in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rbdgen.errors import ToolError
from rbdgen_sim import runtime, verilator
from rbdgen_sim.dma import DmaModel
from rbdgen_sim.processes import bench_environment, last_line

_RUN = """
import json, sys
from cocotb_tools.runner import get_runner
job = json.load(open("run.json"))
runner = get_runner("verilator")
runner.build(
    sources=job["sources"], hdl_toplevel=job["top"], build_dir="build", timescale=("1ns", "1ns"), always=True,
    build_args=["-Wno-fatal", "-Wno-lint", "-Wno-style", "--x-assign", "fast", "--x-initial", "fast",
                "--output-split", "5000"],
)
runner.test(test_module="rbdgen_sim.axi_bench", hdl_toplevel=job["top"], hdl_toplevel_lang="verilog",
            build_dir="build", test_dir=".", results_xml=job["results"])
"""


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

    ToolError if the simulator is missing or fails; its output is in ``axi.log`` in ``directory``.
    """
    verilator.require()
    directory = directory.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    outcome = directory / "outcome.json"
    outcome.unlink(missing_ok=True)
    batches = []
    for k, data in enumerate(recorded.sent):
        reset = k in recorded.resets
        batches.append({"data": data.hex(), "epoch": recorded.written.get(k), "reset": reset})
    job = {"batches": batches, "stall": stall, "seed": seed}
    (directory / "job.json").write_text(json.dumps(job), encoding="utf-8")
    run = {
        "sources": [str(s.resolve()) for s in sources],
        "top": top,
        "results": str(directory / "results.xml"),
    }
    (directory / "run.json").write_text(json.dumps(run), encoding="utf-8")
    environment = bench_environment() | verilator.environment()
    environment["RBDGEN_AXI_JOB"] = str(directory)
    log = directory / "axi.log"
    flags = "axi", environment["MAKEFLAGS"]
    runtime.place(directory / "build", *flags)
    with log.open("w", encoding="utf-8") as output:
        subprocess.run(
            [sys.executable, "-P", "-c", _RUN],
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if not outcome.exists():
        raise ToolError(f"verilator: the AXI bench failed: {last_line(log)} (log: {log})")
    runtime.save(directory / "build", *flags)
    return json.loads(outcome.read_text(encoding="utf-8"))
