"""``rbdgen synth``: one unit of a layout synthesised alone."""

from __future__ import annotations

import argparse
import time

from rbdgen.cli.commands import compile_design
from rbdgen.cli.console import print_result, reporter
from rbdgen.installation import optional_module
from rbdgen.report.columns import table
from rbdgen.report.design import SCHEMA
from rbdgen.workbench import need_hardware


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
        "ii": design.options.ii,
        "family": made.family,
        "cells": made.cells,
        "seconds": seconds,
    }
    title = f"{unit} of {design.name}, II {design.options.ii}, for {made.family}: synthesised in {seconds} s"
    print_result(args, report, title + "\n\n" + table(["cell", "number"], list(made.cells.items())))
