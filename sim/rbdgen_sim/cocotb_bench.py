"""Runs a cocotb test of this package around Verilog in Verilator, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rbdgen.errors import ToolError
from rbdgen_sim import verilator
from rbdgen_sim.compiled import (
    bench_environment,
    copied,
    last_line,
    own_folder,
    place_runtime,
    save_runtime,
)

WORK = "RBDGEN_BENCH"
"""The variable that tells a test its folder."""
JOB, OUTCOME = "job.json", "outcome.json"
"""In that folder: what the test is to do, and what it says."""
_RUN = """
import json
from cocotb_tools.runner import VerilatorControlFile, get_runner
run = json.load(open("run.json"))
runner = get_runner("verilator")
runner.build(
    sources=[VerilatorControlFile(run["control"]), *run["sources"]],
    hdl_toplevel=run["top"],
    build_dir="build",
    timescale=tuple(run["timescale"]),
    always=True,
    build_args=[
        "--no-public-flat-rw", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--x-assign", "fast", "--x-initial", "fast",
        "--output-split", "5000",
    ],
)
runner.test(test_module=run["module"], hdl_toplevel=run["top"], hdl_toplevel_lang="verilog", build_dir="build",
            test_dir=".", results_xml=run["results"])
"""


@dataclass(frozen=True)
class Bench:
    """A bench called ``name``: the ``module`` with its test, the ``ports`` of the top module that the test sees (all
    signals would take several times as long to compile), and the simulator's unit of time (``timescale``)."""

    name: str
    module: str
    ports: Sequence[str]
    timescale: str

    def run(
        self, sources: Sequence[Path], top: str, job: Mapping[str, Any], directory: Path
    ) -> Any:
        """The test's outcome for its ``job``. ToolError if the simulator is missing or fails; its output is in
        ``<name>.log`` in ``directory``."""
        verilator.require()
        directory.mkdir(parents=True, exist_ok=True)
        with own_folder() as folder:
            return self._run(sources, top, job, Path(folder), directory.resolve())

    def _run(
        self,
        sources: Sequence[Path],
        top: str,
        job: Mapping[str, Any],
        folder: Path,
        directory: Path,
    ) -> Any:
        """The same in a ``folder`` that is empty and has a plain name, with the log in ``directory``."""
        (folder / JOB).write_text(json.dumps(job), encoding="utf-8")
        control = folder / "ports.vlt"
        lines = [f'public_flat_rw -module "{top}" -var "{port}"' for port in self.ports]
        control.write_text("\n".join(("`verilator_config", *lines, "")), encoding="utf-8")
        run = {
            "control": str(control),
            "sources": [str(copy) for copy in copied(sources, folder / "sources")],
            "top": top,
            "module": self.module,
            "timescale": [self.timescale, self.timescale],
            "results": str(folder / "results.xml"),
        }
        (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
        environment = bench_environment() | verilator.environment()
        environment[WORK] = str(folder)
        log = directory / f"{self.name}.log"
        flags = self.name, environment["MAKEFLAGS"]
        place_runtime(folder / "build", *flags)
        with log.open("w", encoding="utf-8") as output:
            subprocess.run(
                # -P: no modules are looked for in the working folder
                [sys.executable, "-P", "-c", _RUN],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        # a test writes it when it comes to its end, whatever the runner's status says
        outcome = folder / OUTCOME
        if not outcome.exists():
            raise ToolError(
                f"verilator: the {self.name} bench failed: {last_line(log)} (log: {log})"
            )
        save_runtime(folder / "build", *flags)
        return json.loads(outcome.read_text(encoding="utf-8"))


def read_job() -> Any:
    """In the simulator: the job."""
    return json.loads((_work() / JOB).read_text(encoding="utf-8"))


def write_outcome(outcome: Any) -> None:
    """In the simulator: say what came of it."""
    (_work() / OUTCOME).write_text(json.dumps(outcome), encoding="utf-8")


def _work() -> Path:
    return Path(os.environ[WORK])
