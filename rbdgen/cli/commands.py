"""The commands: each takes parsed arguments, runs the stages it needs, and prints a table or one JSON object."""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any

from rbdgen.cli.arguments import BENCH_TASKS, OPTION_ARGUMENTS, given_setup
from rbdgen.cli.console import Reporter, print_result, reporter
from rbdgen.cli.drawing import check_pictures, write_pictures
from rbdgen.cli.needs import need_hardware
from rbdgen.cli.simulation import get_simulator, simulate_design, viewing, wave_suffix
from rbdgen.compiler import Design, compare_families, compile_robot
from rbdgen.compiler.depth import chain_depths
from rbdgen.compiler.kept import kept_design
from rbdgen.compiler.narrower import narrower_ranges
from rbdgen.devices.registry import get_device
from rbdgen.errors import ConfigError, RbdgenWarning
from rbdgen.installation import optional_module, release
from rbdgen.model import builtin_robots, load_robot, range_notes
from rbdgen.model.setup import Setup, friction_notes
from rbdgen.options import DEMANDS
from rbdgen.report import tables
from rbdgen.report.accelerations import acceleration_note
from rbdgen.report.design import depth_table, design_report, families_table
from rbdgen.report.evidence import evidence, warnings_of
from rbdgen.report.files import check_robot_name, read_config, with_overrides, write_design
from rbdgen.report.writing import check_writable, write_files
from rbdgen.schedule.budget import Budget

BUILDS = Path("build")
"""Where designs are written, each into a directory of its own, unless -o says where."""
EVIDENCE_STATES = 2000
"""Fresh states at which errors are measured."""


def check_output(args: argparse.Namespace) -> None:
    """ConfigError if the files of a design could not be written, which is seen before the work begins."""
    check_robot_name(args.robot)
    check_writable(args.output or BUILDS)


def compile_design(args: argparse.Namespace, progress: Reporter) -> tuple[Design, str]:
    """The design that the arguments ask for, and its robot as the user named it."""
    configured, setup, options = read_config(args.config) if args.config else (None, {}, {})
    robot = args.robot or configured
    if robot is None:
        raise ConfigError(
            "ROBOT: missing; give a built-in name, a URDF's path, or --config with a robot in it"
        )
    given = {name: getattr(args, name) for name in OPTION_ARGUMENTS}
    # a word and an error exclude each other: what is given here replaces either of a file's
    if given["word"] is not None:
        options.pop("error", None)
        options.pop("formats", None)
    if given["error"] is not None:
        options.pop("word", None)
    budget, timing = _budget(args, options)
    resolved = with_overrides(options, **(given | {"device": given["device"] or timing}))
    progress.stage("read robot")
    model = Setup(**(setup | given_setup(args))).load(robot)
    on_ranges = [
        note for note in range_notes(model) if not any(joint in note for joint in resolved.limits)
    ]
    for note in (*friction_notes(model), *on_ranges):
        print(f"rbdgen: note: {note}", file=sys.stderr)
    design = kept_design(
        *(model, resolved, budget),
        lambda: compile_robot(model, resolved, progress.stage, budget),
        lambda: progress.stage("the design was compiled before"),
    )
    note = acceleration_note(design)
    if note:
        print(f"rbdgen: note: {note}", file=sys.stderr)
    return design, robot


def _budget(args: argparse.Namespace, options: dict[str, Any]) -> tuple[Budget | None, str | None]:
    """What the layout may cost or must reach, as far as the arguments say so or else a file's ``options``, from which
    it is taken; and a board's device."""
    configured = {name: options.pop(name, None) for name in DEMANDS}
    given, asked = _asked_rate(args, options, configured)
    board = args.board or configured["board"]
    if board is None:
        demands = any(value is not None for value in given.values())
        return (Budget(**given) if demands else None), None
    found = optional_module("rbdgen_boards.board", "hw").get_board(board)
    # a board that is given here replaces a file's device as well
    device = args.device or (None if args.board else options.get("device"))
    if device not in (None, found.timing):
        raise ConfigError(
            f"device and board: {found.name} has {found.timing}, not {device!r}; leave device out"
        )
    budget = Budget(
        **given,
        blocks=None if asked else found.resources["multipliers"],
        name=f"board {found.name}",
        board=found.name,
        resources=found.resources,
        routable=get_device(found.timing).routable,
        link=found.link,
        clock=found.running_clock,
    )
    return budget, found.timing


def _asked_rate(
    args: argparse.Namespace, options: dict[str, Any], configured: dict[str, Any]
) -> tuple[dict[str, Any], bool]:
    """The demands of multipliers and rate, and whether they or an interval say how often a task comes. What the
    arguments say replaces what a file does. ConfigError where two of them are given."""
    given = {name: getattr(args, name) for name in ("multipliers", "rate")}
    asked = [name for name in ("ii", *given) if getattr(args, name) is not None]
    if not asked:
        given = {name: configured[name] for name in given}
        asked = [name for name, value in given.items() if value is not None]
        asked += ["ii"] if "ii" in options else []
    elif "ii" not in asked:
        options.pop("ii", None)
    if len(asked) > 1:
        raise ConfigError(
            f"{' and '.join(asked)}: give one of them; each says how often a task comes"
        )
    return given, bool(asked)


def robots(args: argparse.Namespace) -> None:
    """``rbdgen robots``."""
    rows = [
        {"name": name, "joints": load_robot(name).nv, "summary": text}
        for name, text in builtin_robots().items()
    ]
    print_result(args, {"schema": "rbdgen.robots/1", "robots": rows}, tables.robots(rows))


def _families(args: argparse.Namespace, design: Design, progress: Reporter) -> dict[str, Any]:
    """The report's comparison of algorithms, where it was asked for."""
    if not args.families:
        return {}
    families = compare_families(design.robot, design.options, progress.stage)
    return {"families": families_table(families, design.options)}


def _evidence(args: argparse.Namespace, design: Design, progress: Reporter) -> dict[str, Any]:
    """The report's errors at fresh states, with a warning where they are large; nothing where none were wanted."""
    count = EVIDENCE_STATES if args.evidence is None else args.evidence
    if not count:
        return {}
    found = evidence(design, count, progress=progress.stage)
    for line in warnings_of(design, found):
        warnings.warn(line, RbdgenWarning, stacklevel=2)
    return {"evidence": found}


def layout(args: argparse.Namespace) -> None:
    """``rbdgen layout``."""
    check_pictures(args)
    with reporter() as progress:
        design, _ = compile_design(args, progress)
        report = (
            design_report(design)
            | _evidence(args, design, progress)
            | _families(args, design, progress)
            | {"depth": depth_table(chain_depths(design))}
            | {"narrower": narrower_ranges(design, progress.stage)}
        )
        files = write_pictures(args, design, progress)
    if files:
        report["files"] = [str(f) for f in files]
    wrote = "\n".join(f"wrote {f}" for f in files)
    print_result(args, report, "\n\n".join(filter(None, (tables.layout(report), wrote))))


def _directory(args: argparse.Namespace, design: Design) -> Path:
    name = f"{design.name}_{design.precision}_{design.pace}_{design.options.device}"
    return args.output or BUILDS / name


def _write(
    args: argparse.Namespace,
    design: Design,
    robot: str,
    progress: Reporter,
    more: dict[str, Any] | None = None,
) -> list[Path]:
    emit = optional_module("rbdgen_hw.emit", "hw")
    progress.stage("write Verilog")
    verilog = emit.design_verilog(design)
    return write_design(design, verilog, _directory(args, design), robot, release(), more or {})


def _testbench(args: argparse.Namespace, design: Design, progress: Reporter) -> dict[str, str]:
    """The testbench's files by name, where it was asked for."""
    if args.testbench is None:
        return {}
    testbench = optional_module("rbdgen_hw.testbench", "hw")
    progress.stage("make testbench")
    return testbench.testbench_files(design, args.testbench, testbench.BARE)


def _check_part(args: argparse.Namespace) -> None:
    """ConfigError for a part that is none, or where no IP core is asked for."""
    if args.part is None:
        return
    if not args.ip:
        raise ConfigError("part: is what the IP core is packaged for; give --ip as well")
    optional_module("rbdgen_hw.packaging", "hw").check_part(args.part)


def _part(args: argparse.Namespace, design: Design) -> str | None:
    """The part that is asked for, or the board's where Vivado makes its bitstreams."""
    if args.part is not None or design.budget is None or design.budget.board is None:
        return args.part
    board = optional_module("rbdgen_boards.board", "hw").get_board(design.budget.board)
    return board.part if board.flow == "vivado" else None


def _ip_core(args: argparse.Namespace, design: Design, verilog: Path) -> list[Path]:
    """Write the IP core of a design, whose Verilog is there, into the folder ``ip`` beside it."""
    packaging = optional_module("rbdgen_hw.packaging", "hw")
    text = verilog.read_text(encoding="utf-8")
    tasks = args.testbench or BENCH_TASKS
    files = packaging.ip_files(design, text, release(), tasks, _part(args, design))
    return write_files(files, verilog.parent / "ip")


def generate(args: argparse.Namespace) -> None:
    """``rbdgen generate``."""
    _check_part(args)
    check_output(args)
    need_hardware()
    with reporter() as progress:
        design, robot = compile_design(args, progress)
        more = _evidence(args, design, progress) | _families(args, design, progress)
        bench = _testbench(args, design, progress)
        files = _write(args, design, robot, progress, more)
        if bench:
            files += write_files(bench, files[0].parent)
        if args.ip:
            progress.stage("package the IP core")
            files += _ip_core(args, design, files[0])
    report = design_report(design) | more | {"files": [str(f) for f in files]}
    print_result(
        args, report, tables.layout(report) + "\n\n" + "\n".join(f"wrote {f}" for f in files)
    )


def simulate(args: argparse.Namespace) -> None:
    """``rbdgen simulate``."""
    check_output(args)
    simulator = get_simulator(args.simulator)
    need_hardware()
    waves = wave_suffix(args, simulator)
    with reporter() as progress:
        design, robot = compile_design(args, progress)
        more = _evidence(args, design, progress)
        run = simulate_design(
            design,
            robot,
            _directory(args, design),
            simulator,
            args.tasks,
            args.seed,
            waves,
            progress,
            more,
        )
    text = [tables.simulation(run.report)]
    if more:
        text.append(tables.evidence(more))
    text.append("\n".join(f"wrote {f}" for f in run.files))
    if run.waves is not None:
        text.append(viewing(run.waves))
    print_result(args, run.report | more, "\n\n".join(text))
    run.require_equality()
