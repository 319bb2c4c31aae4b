"""Commands around a board's tools: ``rbdgen build``, from layout to programming, ``synth`` of one unit, ``report`` of a
build.
"""

from __future__ import annotations

import argparse
import time

from rbdgen import workbench
from rbdgen.cli.arguments import verified_tasks
from rbdgen.cli.commands import check_output, compile_design
from rbdgen.cli.console import need_page, print_result, reporter, say
from rbdgen.installation import optional_module
from rbdgen.report.columns import table
from rbdgen.report.design import SCHEMA
from rbdgen.report.design_text import build as build_table
from rbdgen.report.files import check_writable, read_build, write_files
from rbdgen.report.page import page_html
from rbdgen.workbench import need_hardware

PAGE = "report.html"
"""The page's name where none is given."""


def build(args: argparse.Namespace) -> None:
    """``rbdgen build``."""
    check_output(args)
    verify = bool(args.verify)
    # before anything is compiled
    workbench.BoardTools(args.board, args.ip, args.mac, verify, args.load)
    tasks = verified_tasks(args)
    with reporter() as progress:
        design, robot = compile_design(args, progress)
        made = workbench.build(
            design,
            args.output,
            board=args.board,
            seed=args.seed,
            keeps_interval=args.ii is not None,
            ip=args.ip,
            mac=args.mac,
            verify=verify,
            tasks=tasks,
            load=args.load,
            robot=robot,
            progress=progress,
        )
    print_result(args, made.report, build_table(made.report))


def synth(args: argparse.Namespace) -> None:
    """``rbdgen synth``."""
    need_hardware()
    units, emit = (
        optional_module("rbdgen_boards.flows", "hw"),
        optional_module("rbdgen_hw.emit", "hw"),
    )
    with reporter() as progress:
        design, _ = compile_design(args, progress)
        unit = units.find_unit(design, args.unit)
        progress.stage("write Verilog")
        verilog = emit.design_verilog(design)
        progress.stage(f"synthesise {unit}")
        begin = time.perf_counter()
        made = units.synthesise_unit(design, verilog, unit)
    seconds = round(time.perf_counter() - begin, 1)
    report = {
        "schema": SCHEMA,
        "robot": design.robot.name,
        "unit": unit,
        "ii": design.ii,
        "family": made.family,
        "cells": made.cells,
        "seconds": seconds,
    }
    title = f"{unit} of {design.name}, {design.pace_text}, for {made.family}: synthesised in {seconds} s"
    print_result(args, report, title + "\n\n" + table(["cell", "number"], list(made.cells.items())))


def report(args: argparse.Namespace) -> None:
    """``rbdgen report``."""
    need_page()
    build = read_build(args.directory)
    page = args.output or args.directory / PAGE
    check_writable(page.parent)
    for note in build.notes:
        say(f"note: {note}")
    path = write_files({page.name: page_html(build)}, page.parent)[0]
    content = {
        "schema": "rbdgen.page/1",
        "robot": build.report["robot"],
        "page": str(path),
        "measured": build.simulation is not None,
    }
    print_result(args, content, f"wrote {path}")
