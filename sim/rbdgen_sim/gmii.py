"""Runs a board's Ethernet in Verilator behind cocotbext-eth's wire (:mod:`rbdgen_sim.gmii_bench`), in a process of its
own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rbdgen.errors import ToolError
from rbdgen_sim import runtime, verilator
from rbdgen_sim.processes import bench_environment, last_line

_RUN = """
import json
from cocotb_tools.runner import VerilatorControlFile, get_runner
job = json.load(open("run.json"))
runner = get_runner("verilator")
runner.build(
    sources=[VerilatorControlFile(job["control"]), *job["sources"]],
    hdl_toplevel=job["top"],
    build_dir="build",
    timescale=("1ps", "1ps"),
    always=True,
    build_args=[
        "--no-public-flat-rw", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--x-assign", "fast", "--x-initial", "fast",
        "--output-split", "5000",
    ],
)
runner.test(test_module="rbdgen_sim.gmii_bench", hdl_toplevel=job["top"], hdl_toplevel_lang="verilog",
            build_dir="build", test_dir=".", results_xml=job["results"])
"""
PORTS = (
    "clk",
    "rst",
    "eth_rx_clk",
    "eth_rx_dv",
    "eth_rx_data",
    "eth_tx_clk",
    "eth_tx_en",
    "eth_tx_data",
)
"""What the bench sees of the board; all signals would take several times as long to compile."""


@dataclass(frozen=True)
class Frame:
    """A frame from its MAC addresses on, without check sum; ``sound``: that is sent, or was, as it must be."""

    data: bytes
    sound: bool = True


def play(
    sources: Sequence[Path],
    top: str,
    rounds: Sequence[Sequence[Frame]],
    stations: Mapping[int, int],
    clock: float,
    directory: Path,
) -> list[list[Frame]]:
    """What the board, whose clock is ``clock`` Hz, sends in each of ``rounds``, in which it gets these frames one
    behind the other with gaps of any length; a round ends when the wire is quiet. ARP requests for ``stations``, IPv4
    addresses with their MAC addresses, are answered.

    ToolError if the simulator is missing or fails; its output is in ``gmii.log`` in ``directory``.
    """
    verilator.require()
    directory = directory.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    outcome = directory / "outcome.json"
    outcome.unlink(missing_ok=True)
    sent = [[(frame.data.hex(), frame.sound) for frame in frames] for frames in rounds]
    answers = {f"{address:08x}": f"{mac:012x}" for address, mac in stations.items()}
    job = {"rounds": sent, "stations": answers, "clock": clock}
    (directory / "job.json").write_text(json.dumps(job), encoding="utf-8")
    control = directory / "ports.vlt"
    lines = [f'public_flat_rw -module "{top}" -var "{port}"' for port in PORTS]
    control.write_text("\n".join(("`verilator_config", *lines, "")), encoding="utf-8")
    run = {
        "control": str(control),
        "sources": [str(s.resolve()) for s in sources],
        "top": top,
        "results": str(directory / "results.xml"),
    }
    (directory / "run.json").write_text(json.dumps(run), encoding="utf-8")
    environment = bench_environment() | verilator.environment()
    environment["RBDGEN_GMII_JOB"] = str(directory)
    log = directory / "gmii.log"
    flags = "gmii", environment["MAKEFLAGS"]
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
        raise ToolError(f"verilator: the GMII bench failed: {last_line(log)} (log: {log})")
    runtime.save(directory / "build", *flags)
    came = json.loads(outcome.read_text(encoding="utf-8"))
    return [[Frame(bytes.fromhex(data), sound) for data, sound in frames] for frames in came]
