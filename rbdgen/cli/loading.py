"""``rbdgen boards``: what there is; ``flash``: an engine on one; ``load``: a robot or a program's folder, into it."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from rbdgen import flashing
from rbdgen.cli.arguments import OPTION_ARGUMENTS, given_setup, verified_tasks
from rbdgen.cli.console import Reporter, print_result, reporter
from rbdgen.cli.fitting import fitting
from rbdgen.errors import ConfigError, counted
from rbdgen.host.engine import Engine
from rbdgen.host.programs import Program, read_program
from rbdgen.host.spi import DEFAULT_HERTZ
from rbdgen.host.transport import DEFAULT_BAUD
from rbdgen.installation import optional_module
from rbdgen.machines.engine.core import RoomError
from rbdgen.machines.engine.resident import Resident, read_identity
from rbdgen.machines.options import ENGINE
from rbdgen.machines.pipeline.budget import DEMANDS
from rbdgen.model.setup import Setup
from rbdgen.report.columns import table
from rbdgen.report.design_text import missing_tool, used_resources
from rbdgen.report.files import check_writable, read_config, with_overrides, write_files
from rbdgen.resident import compile_program
from rbdgen.workbench import AFTER, BUILDS

SCHEMA = "rbdgen.load/1"
"""Name and version of the report's structure."""
OF_ENGINE = ("machine", "lanes", "cores", "device", "clock", *DEMANDS)
"""Options that say what the engine is, which is on the board already."""


def boards(args: argparse.Namespace) -> None:
    """``rbdgen boards``."""
    if args.new is not None:
        print_result(args, *_new(args.new))
        return
    known = optional_module("rbdgen_boards.board", "build")
    rows = []
    for name in known.board_names():
        board = known.get_board(name)
        rows.append(
            {
                "name": name,
                "summary": board.summary,
                "part": board.part,
                "multipliers": board.resources["multipliers"],
                "link": board.link.name,
                "engine": dict(board.engine) or None,
            }
        )
    head = ["board", "part", "multipliers", "link", "engine"]
    if args.robot is not None:
        head.append(f"of {args.robot}")
        _add_fitting(rows, args.robot)
    text = table(head, [[*_board(row)] for row in rows])
    print_result(args, {"schema": "rbdgen.boards/1", "boards": rows}, text)


def _add_fitting(rows: list[dict[str, Any]], robot: str) -> None:
    """Add to boards' rows what of a robot's functions their engines have room for."""
    known = optional_module("rbdgen_boards.board", "build")
    engines = optional_module("rbdgen_boards.engines", "build")
    shapes = {
        row["name"]: engines.board_engine(known.get_board(row["name"]))
        for row in rows
        if row["engine"]
    }
    with reporter() as progress:
        found = fitting(Setup().load(robot), shapes, progress.stage)
    for row in rows:
        own = found.get(row["name"])
        row["fits"] = {"functions": list(own.functions), "all": own.all} if own else None


def _new(name: str) -> tuple[dict[str, Any], str]:
    """Write the file of a board to begin with; what was written, for programs and for people. ConfigError where there
    is such a file."""
    suffix = optional_module("rbdgen_boards.board", "build").SUFFIX
    path = Path(name)
    if path.suffix != suffix:
        path = path.with_name(f"{path.name}{suffix}")
    text = optional_module("rbdgen_boards.template", "build").template()
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigError(f"{path}: is there; choose another name") from None
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be written: {error.strerror}; choose another name"
        ) from None
    report = {"schema": "rbdgen.boards/1", "file": str(path)}
    return report, f"{path}: say in it what the board is, then build with --board {path}"


def _engine(engine: dict[str, int]) -> str:
    """An engine by its lanes and cores."""
    return f"an engine of {counted(engine['lanes'], 'lane')}, {counted(engine['cores'], 'core')}"


def _board(row: dict[str, Any]) -> list[Any]:
    """A board's row for people."""
    engine = row["engine"]
    said = counted(engine["lanes"], "lane") if engine else ""
    link = row["link"].removeprefix("a ").removeprefix("the ")
    cells = [row["name"], row["part"], row["multipliers"], link, said]
    if "fits" in row:
        own = row["fits"] or {"functions": [], "all": False}
        cells.append("all" if own["all"] else " ".join(own["functions"]))
    return cells


def flash(args: argparse.Namespace) -> None:
    """``rbdgen flash``."""
    folder = args.output or BUILDS / f"engine_{Path(args.board).stem}"
    check_writable(folder)
    tasks = verified_tasks(args)
    with reporter() as progress:
        report = flashing.flash(
            args.board, folder, args.seed, not args.keep, progress, bool(args.verify), tasks
        )
    print_result(args, report, _flashed(report))


def _flashed(report: dict[str, Any]) -> str:
    """The report for people."""
    engine = report["engine"]
    clock = f"runs at {report['running_clock_mhz']:g} MHz"
    if report["bitstream"] is None:
        made = missing_tool(report)
    else:
        clock += f", routed at {report['clock_mhz']:g}"
        made = f"{report['bitstream']}{' (made before)' if report['cached'] else ''}"
    lines = [
        f"{_engine(engine)} for {report['board']}: {clock}",
        f"room for {engine['depth']} words of program and {engine['words']} of each bank",
        "",
        used_resources(report),
        "",
        made,
        *_verified(report),
        "the board has it" if report["programmed"] else "the board was left alone",
    ]
    return "\n".join(lines)


def _verified(report: dict[str, Any]) -> list[str]:
    """What a verification found."""
    if "verified" not in report:
        return []
    netlist = report["verified"]["netlist"]
    counted = [f"{netlist[stage]['tasks']} tasks after {after}" for stage, after in AFTER.items()]
    return [f"netlists simulated: {', '.join(counted)}, all with the RTL's bits"]


def load(args: argparse.Namespace) -> None:
    """``rbdgen load``."""
    if args.output is not None:
        check_writable(args.output)
    given = [name for name in OF_ENGINE if getattr(args, name, None) is not None]
    if given:
        raise ConfigError(
            f"--{given[0].replace('_', '-')}: is of the engine, which is on the board already; leave it out"
        )
    with reporter() as progress:
        progress.stage(f"open {args.port or args.udp or args.spi}")
        with _opened(args) as engine:
            engine.progress = lambda done, total: progress.count("load", done, total)
            shape = read_identity(engine.identity)
            before = engine.robots
            begin = time.perf_counter()
            program = _program(args, shape, engine, progress)
            compiled = time.perf_counter() - begin
            if args.output is not None:
                write_files(program.files, args.output)
            begin = time.perf_counter()
            engine.load(program)
            loaded = time.perf_counter() - begin
            report = _report(program, shape, before, engine.robots, compiled, loaded)
    print_result(args, report, _text(report))


def _opened(args: argparse.Namespace) -> Engine:
    """The engine at the port, the address or the bus."""
    if args.baud is not None and args.port is None:
        raise ConfigError("--baud: is of a serial line, which --port names; leave it out")
    if args.hertz is not None and args.spi is None:
        raise ConfigError("--hertz: is of an SPI bus, which --spi names; leave it out")
    if args.port is not None:
        return Engine.serial(args.port, args.baud or DEFAULT_BAUD)
    if args.spi is not None:
        return Engine.spi(args.spi, args.hertz or DEFAULT_HERTZ)
    return Engine.udp(args.udp)


def _program(
    args: argparse.Namespace, shape: Resident, engine: Engine, progress: Reporter
) -> Program:
    """The program that is to be loaded: that of a folder, or one that is made."""
    if args.robot is not None and Path(args.robot).is_dir():
        return read_program(args.robot)
    configured, setup, options = read_config(args.config) if args.config else (None, {}, {})
    robot = args.robot or configured
    if robot is None:
        raise ConfigError(
            "ROBOT: missing; give a built-in name, a robot file's path, a program's folder, or --config with a robot "
            "in it"
        )
    named = {name: getattr(args, name) for name in OPTION_ARGUMENTS} | {"machine": ENGINE}
    progress.stage("read robot")
    model = Setup(**(setup | given_setup(args))).load(robot)
    resolved = with_overrides(options, **named)
    try:
        return compile_program(model, resolved, shape, engine.entries, progress.stage)
    except RoomError as error:
        raise ConfigError(f"{error}; {_roomy(error, shape.core.lanes)}") from None


def _roomy(lacking: RoomError, lanes: int) -> str:
    """Boards whose engines have room for what was lacking. Those of fewer lanes need longer programs."""
    boards, engines = (
        optional_module("rbdgen_boards.board", "build"),
        optional_module("rbdgen_boards.engines", "build"),
    )
    found = []
    for name in engines.engine_boards():
        core = engines.board_engine(boards.get_board(name)).core
        if core.lanes >= lanes and lacking.fits(core):
            found.append(name)
    return (
        f"these boards' engines have that: {', '.join(found)}" if found else "no board's has that"
    )


def _report(
    program: Program,
    shape: Resident,
    before: tuple[str, ...],
    after: tuple[str, ...],
    compiled: float,
    loaded: float,
) -> dict[str, Any]:
    """What was loaded, and what it took."""
    extent = program.facts.extent
    core = shape.core
    return {
        "schema": SCHEMA,
        "robot": program.manifest.robot,
        "functions": {f.name: f.code for f in program.manifest.tasks.functions.values()},
        "engine": {"lanes": core.lanes, "cores": shape.cores},
        "bytes": sum(map(len, program.blocks)),
        "memories": {
            "program": {"used": extent.depth, "available": core.depth},
            "constants": {
                "used": extent.constants,
                "available": core.words - extent.rotating,
            },
            "limits": {"used": extent.limits, "available": core.limits},
        },
        "seconds": {"compile": round(compiled, 3), "load": round(loaded, 3)},
        "taken_out": [name for name in before if name not in after],
        "robots": list(after),
    }


def _text(report: dict[str, Any]) -> str:
    """The report for people."""
    engine, seconds = report["engine"], report["seconds"]
    rows = [[name, m["used"], m["available"]] for name, m in report["memories"].items()]
    lines = [
        f"{report['robot']}: {', '.join(report['functions'])} in {_engine(engine)}",
        f"{report['bytes']} bytes; made in {seconds['compile']} s, loaded in {seconds['load']} s",
        "",
        table(["memory", "words used", "of"], rows),
        "",
        f"the engine holds {', '.join(report['robots'])}",
    ]
    if report["taken_out"]:
        lines.append(f"taken out, as there was no room: {', '.join(report['taken_out'])}")
    return "\n".join(lines)
