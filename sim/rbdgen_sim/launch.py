"""Program that builds or runs one simulation with cocotb's runner: ``python -m rbdgen_sim.launch JOB``.

A process of its own, because the runner reads and writes its process's environment, may end it, and prints: so the
caller's environment stays as it is, and all output goes where the caller wants it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cocotb_tools.runner import Icarus, Runner, VerilatorControlFile, get_runner

from rbdgen_sim.exchange import Job, read_job

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
