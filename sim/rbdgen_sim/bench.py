"""Programs of a simulation by cocotb, beside the process that asks for it: ``python -m rbdgen_sim.bench JOB`` builds or
runs one with cocotb's runner, and the simulator imports the cocotb test that plays a stimulus into a design and records
what comes back.

The runner has a process of its own, because it reads and writes its process's environment, may end it, and prints: so
the caller's environment stays as it is, and all output goes where the caller wants it.

In the test, outputs are read in the callback of the rising edge, which both simulators call before any register has
changed: these are the values on which the edge decides. Inputs are written there as deposits, which take effect after
the edge.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb_tools.runner import Icarus, Runner, VerilatorControlFile, get_runner

from rbdgen_sim.exchange import (
    WORKDIR_VARIABLE,
    Job,
    read_job,
    read_stimulus,
    write_outcome,
    write_progress,
)
from rbdgen_sim.interface import DeadlockError, ProtocolError, StreamEnds

# pyright: reportAttributeAccessIssue=false
# a cocotb handle gets its kind, and with it its value, from the design at run time


RESET_CYCLES = 4
"""Rising edges with ``rst`` high."""

_CLOCK_PERIOD = 2
"""In steps of the simulator; the least that has two halves."""

_CYCLES_PER_LOOK = 64
_SECONDS_PER_REPORT = 0.25
"""Progress: look at the wall clock after so many cycles, report after so many seconds."""


@cocotb.test()
async def played(dut: Any) -> None:
    """Reset the design, play the stimulus found in the exchange's folder, leave the trace there."""
    workdir = Path(os.environ[WORKDIR_VARIABLE])
    stimulus, probes = read_stimulus(workdir)
    streams = StreamEnds(stimulus)
    in_valid, in_payload, out_ready = dut.in_valid, dut.in_payload, dut.out_ready
    edge = dut.clk.rising_edge

    in_ready, out_valid, out_payload = dut.in_ready, dut.out_valid, dut.out_payload

    def number(bits: str, what: str) -> int:
        try:
            return int(bits, 2)
        except ValueError:
            raise ProtocolError(what.format(bits, streams.cycle - 1)) from None

    def payload() -> int:
        return number(str(out_payload.value), "out_payload is {} in cycle {}, with out_valid high")

    def flag(bit: str, name: str) -> bool:
        if bit != "0" and bit != "1":
            raise ProtocolError(f"{name} is {bit} in cycle {streams.cycle}")
        return bit == "1"

    in_valid.value = 0
    in_payload.value = 0
    out_ready.value = 0
    dut.rst.value = 1
    Clock(dut.clk, _CLOCK_PERIOD, unit="step").start(start_high=False)
    for _ in range(RESET_CYCLES):
        await edge
    dut.rst.value = 0

    beats, last = streams.beats, -1
    valid = ready = False
    started = reported = time.perf_counter()
    error = None
    running = not streams.done
    while running:
        if streams.valid != valid:
            valid = streams.valid
            in_valid.value = int(valid)
        if valid and streams.index != last:
            last = streams.index
            in_payload.value = beats[last]
        if streams.ready != ready:
            ready = streams.ready
            out_ready.value = int(ready)
        await edge
        try:
            taking = flag(str(in_ready.value), "in_ready")
            giving = flag(str(out_valid.value), "out_valid")
            running = streams.edge(taking, giving, payload)
        except (DeadlockError, ProtocolError) as caught:
            error = caught
            break
        if (
            not streams.cycle % _CYCLES_PER_LOOK
            and time.perf_counter() - reported > _SECONDS_PER_REPORT
        ):
            reported = time.perf_counter()
            write_progress(workdir, len(streams.payloads))
    seconds = time.perf_counter() - started
    seen: dict[str, int] = {}
    if error is None and probes:
        # what the last edge has done can be read from the next one on
        in_valid.value = 0
        out_ready.value = 0
        await edge
        try:
            seen = {
                name: number(str(getattr(dut, name).value), f"{name} is {{}} after cycle {{}}")
                for name in probes
            }
        except ProtocolError as caught:
            error = caught
    write_outcome(workdir, streams.trace(0.0, seconds, seen), error)


TIMESCALE = ("1ns", "1ns")


class _Icarus(Icarus):
    """The runner's Icarus, which can only dump FST, taught to dump VCD."""

    vcd = False

    def _test_command(self) -> list[list[str]]:
        commands = super()._test_command()
        if self.vcd:
            for command in commands:
                command[:] = ["-vcd" if word == "-fst" else word for word in command]
        return commands


def launch(job: Job) -> None:
    """Do ``job``. Raises whatever the runner raises; the bench's own findings are in the exchange's files."""
    runner: Runner
    if job.simulator == "icarus":
        runner = _Icarus()
        runner.vcd = job.waves.endswith(".vcd")
        wave_args = [f"+dumpfile_path={job.waves}"] if job.waves else []
    else:
        runner = get_runner(job.simulator)
        wave_args = ["--trace-file", job.waves] if job.waves else []
    if job.action == "build":
        runner.build(
            sources=[*map(VerilatorControlFile, job.control_files), *job.sources],
            hdl_toplevel=job.top,
            build_args=job.build_args,
            build_dir=job.build_dir,
            timescale=TIMESCALE,
            waves=bool(job.waves),
            always=True,
        )
    else:
        runner.test(
            test_module="rbdgen_sim.bench",
            hdl_toplevel=job.top,
            hdl_toplevel_lang="verilog",
            build_dir=job.build_dir,
            test_dir=job.workdir,
            results_xml=str(Path(job.workdir) / "results.xml"),
            plusargs=wave_args,
            waves=bool(job.waves),
        )


if __name__ == "__main__":
    try:
        launch(read_job(Path(sys.argv[1])))
    except RuntimeError as failure:
        # the program that failed has printed why, so a traceback would only hide it
        sys.exit(str(failure))
