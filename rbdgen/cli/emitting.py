"""``rbdgen emit``: the same programs for processors."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import fields

from rbdgen import __version__
from rbdgen.cli.arguments import OPTION_ARGUMENTS, given_setup
from rbdgen.cli.commands import BUILDS, compile_design
from rbdgen.cli.console import Reporter, print_result, reporter
from rbdgen.compiler.stages import plainly
from rbdgen.errors import ConfigError
from rbdgen.layout.words import TraceOptions
from rbdgen.model.robot import Robot
from rbdgen.model.setup import Setup
from rbdgen.report import tables
from rbdgen.report.files import read_config, with_overrides
from rbdgen.report.writing import check_writable, write_files
from rbdgen.software.fixed_program import FixedProgram, fixed_program
from rbdgen.software.library import c_files, name_of
from rbdgen.software.program import Program, make_program
from rbdgen.software.summary import summary

Emitted = dict[str, str]
"""Files by name."""


def emit(args: argparse.Namespace) -> None:
    """``rbdgen emit``."""
    check_writable(args.output or BUILDS)
    with reporter() as progress:
        robot, settings = _asked(args, progress)
        fixed: list[FixedProgram] = []
        if args.fixed:
            design, _ = compile_design(args, progress)
            fixed = [fixed_program(design, f) for f in design.network.functions]
        programs = []
        for function in settings.functions:
            progress.stage(f"trace {function}")
            programs.append(make_program(robot, settings, function))
        progress.stage("write text")
        written = TARGETS[args.target](robot, programs, fixed)
        folder = args.output or BUILDS / f"{name_of(robot)}_{args.target}"
        files = write_files(written, folder)
    report = summary(robot, args.target, programs) | {"files": [str(f) for f in files]}
    print_result(args, report, tables.software(report))


def _asked(args: argparse.Namespace, progress: Reporter) -> tuple[Robot, TraceOptions]:
    """The robot and what is to be traced, by the arguments and a file's options."""
    configured, setup, options = read_config(args.config) if args.config else (None, {}, {})
    robot = args.robot or configured
    if robot is None:
        raise ConfigError(
            "ROBOT: missing; give a built-in name, a robot file's path, or --config with a robot in it"
        )
    given = {name: getattr(args, name) for name in OPTION_ARGUMENTS}
    known = plainly(with_overrides(options, **given))
    names = [f.name for f in fields(TraceOptions) if hasattr(known, f.name)]
    settings = TraceOptions(**{name: getattr(known, name) for name in names})
    progress.stage("read robot")
    return Setup(**(setup | given_setup(args))).load(robot), settings


def _c(robot: Robot, programs: list[Program], fixed: list[FixedProgram]) -> Emitted:
    return c_files(robot, programs, fixed, __version__)


TARGETS: dict[str, Callable[[Robot, list[Program], list[FixedProgram]], Emitted]] = {"c": _c}
"""What there is text for."""
