"""The commands: each takes parsed arguments, runs the stages it needs, and prints a table or one JSON object."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from rbdgen import __version__
from rbdgen.compiler import Design, compare_families, compile_robot
from rbdgen.errors import ConfigError, ToolError
from rbdgen.model import builtin_robots, load_robot, range_notes
from rbdgen.report import tables
from rbdgen.report.design import design_report, families_table
from rbdgen.report.files import read_config, with_overrides, write_design, write_files

OPTION_ARGUMENTS = ("functions", "ii", "word", "device", "derivative", "mass_matrix", "forces")
"""Arguments of the command line that are options of the compiler, by the same names."""


class Reporter:
    """Progress on standard error: a live bar on a terminal, plain lines elsewhere."""

    def __init__(self, live: Progress | None) -> None:
        self.live = live
        self.tasks: dict[str, Any] = {}
        self.told: dict[str, float] = {}

    def stage(self, name: str) -> None:
        """A stage without a count begins."""
        if self.live is None:
            print(f"rbdgen: {name}", file=sys.stderr, flush=True)
        else:
            for task in self.tasks.values():
                self.live.update(task, total=1, completed=1)
            self.tasks = {name: self.live.add_task(name, total=None)}

    def count(self, name: str, done: int, total: int) -> None:
        """``done`` of ``total`` steps of a stage; plain lines come at most every five seconds."""
        if self.live is not None:
            if name not in self.tasks:
                self.stage(name)
            self.live.update(self.tasks[name], total=total, completed=done)
        elif time.monotonic() - self.told.get(name, 0.0) > 5.0 or done == total:
            self.told[name] = time.monotonic()
            print(f"rbdgen: {name}: {done} of {total}", file=sys.stderr, flush=True)


@contextmanager
def reporter() -> Iterator[Reporter]:
    """A reporter for standard error as it is."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Reporter(None)
        return
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as live:
        yield Reporter(live)


def _extension(module: str, extra: str) -> Any:
    """A module of ``rbdgen_hw`` or ``rbdgen_sim``; ToolError saying which extra brings what it needs."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ToolError(
            f"Python package {error.name!r} is missing; install it with: pip install 'rbdgen[{extra}]'"
        ) from None


def _print(args: argparse.Namespace, content: dict[str, Any], text: str) -> None:
    print(json.dumps(content, indent=2) if args.json else text)


def _design(args: argparse.Namespace, progress: Reporter) -> tuple[Design, str]:
    """The design that the arguments ask for, and its robot as the user named it."""
    configured, options = read_config(args.config) if args.config else (None, {})
    robot = args.robot or configured
    if robot is None:
        raise ConfigError("ROBOT: missing; give a built-in name, a URDF's path, or --config with a robot in it")
    given = {name: getattr(args, name) for name in OPTION_ARGUMENTS}
    resolved = with_overrides(options, **given)
    progress.stage("read robot")
    model = load_robot(robot, base=args.base)
    for note in range_notes(model):
        if not any(joint in note for joint in resolved.limits):
            print(f"rbdgen: note: {note}", file=sys.stderr)
    return compile_robot(model, resolved, progress.stage), robot


def robots(args: argparse.Namespace) -> None:
    """``rbdgen robots``."""
    rows = [{"name": name, "joints": load_robot(name).nv, "summary": text} for name, text in builtin_robots().items()]
    _print(args, {"schema": "rbdgen.robots/1", "robots": rows}, tables.robots(rows))


def _families(args: argparse.Namespace, design: Design, progress: Reporter) -> dict[str, Any]:
    """The report's comparison of algorithms, where it was asked for."""
    if not args.families:
        return {}
    families = compare_families(design.robot, design.options, progress.stage)
    return {"families": families_table(families, design.options)}


def layout(args: argparse.Namespace) -> None:
    """``rbdgen layout``."""
    with reporter() as progress:
        design, _ = _design(args, progress)
        report = design_report(design) | _families(args, design, progress)
    _print(args, report, tables.layout(report))


def _directory(args: argparse.Namespace, design: Design) -> Path:
    options = design.options
    return args.output or Path("build") / f"{design.name}_w{options.word}_ii{options.ii}_{options.device}"


def _write(
    args: argparse.Namespace, design: Design, robot: str, progress: Reporter, more: dict[str, Any] | None = None
) -> list[Path]:
    emit = _extension("rbdgen_hw.emit", "hw")
    progress.stage("write Verilog")
    verilog = emit.design_verilog(design)
    return write_design(design, verilog, _directory(args, design), robot, __version__, more or {})


def generate(args: argparse.Namespace) -> None:
    """``rbdgen generate``."""
    with reporter() as progress:
        design, robot = _design(args, progress)
        families = _families(args, design, progress)
        files = _write(args, design, robot, progress, families)
    report = design_report(design) | families | {"files": [str(f) for f in files]}
    _print(args, report, tables.layout(report) + "\n\n" + "\n".join(f"wrote {f}" for f in files))


def simulate(args: argparse.Namespace) -> None:
    """``rbdgen simulate``."""
    cosim, interface = _extension("rbdgen_sim.cosim", "sim"), _extension("rbdgen_sim.interface", "sim")
    emit = _extension("rbdgen_hw.emit", "hw")
    simulator = interface.get_simulator(args.simulator)
    simulator.available()
    with reporter() as progress:
        design, robot = _design(args, progress)
        files = _write(args, design, robot, progress)
        directory = _directory(args, design)
        workdir = directory / f"simulation_{args.simulator}"
        rtl = interface.Rtl(
            design.name,
            (files[0],),
            design.tasks.task.beat_bits,
            design.tasks.result.beat_bits,
            design=emit.accelerator(design) if args.simulator == "amaranth" else None,
        )
        progress.stage(f"simulate with {args.simulator}")
        waves = directory / f"waves{simulator.wave_suffixes[0]}" if args.waves else None
        result = cosim.cosimulate(design, rtl, simulator, workdir, args.tasks, args.seed, waves, progress.count)
    report = result.report()
    write_files({"simulation.json": json.dumps(report, indent=2) + "\n"}, directory)
    written = [directory / "simulation.json", *([waves] if waves else [])]
    _print(args, report, tables.simulation(report) + "\n" + "\n".join(f"wrote {f}" for f in written))
    if result.mismatches:
        raise ToolError(
            f"simulation: {result.mismatches} results differ from the integer model; "
            f"please report this as a bug with {directory / 'config.toml'} and seed {args.seed}"
        )
