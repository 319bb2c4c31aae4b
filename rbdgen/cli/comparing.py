"""``rbdgen compare``: accelerators beside what others published; with ``--measure`` simulated, and timings."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rbdgen.cli.arguments import given_setup
from rbdgen.cli.console import Reporter, need_plots, print_result, reporter
from rbdgen.compiler import Options, compile_robot
from rbdgen.errors import ConfigError
from rbdgen.explore import NAMES, Choice, combinations
from rbdgen.functions.algorithms import chosen_algorithms
from rbdgen.installation import commit, version
from rbdgen.model import Robot, Setup, builtin_path, builtin_robots
from rbdgen.model.setup import ROBOT
from rbdgen.processor_times import BATCHES, Timing, machine, time_today
from rbdgen.report import comparison, comparison_text, plots
from rbdgen.report.design import design_report
from rbdgen.report.files import check_robot_name, check_writable, write_files
from rbdgen.software.timing import time_software
from rbdgen.tracing.samples import bounded_others, random_others
from rbdgen.tracing.trace_options import TraceOptions
from rbdgen.workbench import get_simulator, need_hardware, simulate

DEFAULT_II = 12
"""Cycles between tasks where none are asked for: few multipliers, so that robots compile in minutes."""


MEASURING = {"tasks": 200, "seed": 0, "simulator": "verilator"}
"""Options that only a measurement has a use for, with what holds where nothing is said."""


def urdf_of(robot: str) -> Path:
    """The file of a robot as the user named it."""
    return builtin_path(robot) if robot in builtin_robots() else Path(robot)


def _report(
    args: argparse.Namespace,
    name: str,
    robot: Robot,
    choice: Choice,
    progress: Reporter,
) -> dict[str, Any]:
    """One design's report: of its simulation, or of its schedule's promises where there is no simulator."""
    design = compile_robot(robot, choice.options, progress.stage, target=choice.target)
    if not args.measure:
        return design_report(design)
    options = design.options
    # all that may vary is in the name, so that no two designs of a comparison share a folder
    folder = f"{comparison.short_name(name)}_{design.name}_{design.precision}_{design.pace}_{options.device}"
    algorithms = chosen_algorithms(options).values()
    folder += f"_{'_'.join(algorithms)}_{args.base or 'fixed'}"
    run = simulate(
        design,
        args.output / folder,
        tasks=args.tasks,
        seed=args.seed,
        simulator=args.simulator,
        robot=name,
        progress=progress,
    )
    return run.report


def compare(args: argparse.Namespace) -> None:
    """``rbdgen compare``."""
    # all that can be refused is refused before the first robot is compiled
    _settle(args)
    for name in args.robots:
        check_robot_name(name)
    check_writable(args.output)
    if args.plot:
        plots.check_plot_path(args.plot)
        need_plots()
    # in the order of their codes, with ``all`` spelled out
    functions = Options(functions=args.functions).functions
    designs = _designs(args, functions)
    if args.measure:
        get_simulator(args.simulator)
        need_hardware()
    named = list(dict.fromkeys(args.robots))
    setup = Setup(**given_setup(args, NAMES))
    robots = {name: setup.load(name) for name in named}
    reports: list[tuple[str, dict[str, Any]]] = []
    with reporter() as progress:
        for name, robot in robots.items():
            for choice in designs:
                progress.stage(f"{name}: {_asked(choice)}")
                report = _report(args, name, robot, choice, progress)
                reports.append((name, report))
        timings = _timings(args, robots, functions, progress) if args.measure else []
    made = {
        "date": datetime.now(UTC).date().isoformat(),
        "command": made_by(args),
        "version": version(),
        "commit": commit(),
    }
    content = comparison.comparison(reports, timings, machine() if args.measure else None, made)
    _print(args, content)


def made_by(args: argparse.Namespace) -> str:
    """The command that makes a comparison again: robots without their folders, which are of this machine only, and the
    options that figures depend on."""
    line = ["rbdgen", "compare", *map(comparison.short_name, args.robots)]
    told = [*NAMES, *ROBOT, *(MEASURING if args.measure else ())]
    for name in dict.fromkeys(told):
        value = getattr(args, name, None)
        if value is None or value == []:
            continue
        values = value if isinstance(value, list | tuple) else [value]
        flag = name.replace("_", "-")
        line += [f"--{flag}", ",".join(map(str, values))]
    return shlex.join([*line, "--measure"] if args.measure else line)


def _settle(args: argparse.Namespace) -> None:
    """Give a measurement's options the values that hold where nothing is said; ConfigError for one without it."""
    for name, usual in MEASURING.items():
        if getattr(args, name) is None:
            setattr(args, name, usual)
        elif not args.measure:
            raise ConfigError(f"{name}: only with --measure, which simulates")


def _designs(args: argparse.Namespace, functions: tuple[str, ...]) -> tuple[Choice, ...]:
    """The designs that are asked for, for each robot."""
    values = {name: getattr(args, name, None) for name in NAMES if name != "functions"}
    return combinations(Options(functions=functions, ii=DEFAULT_II), values)


def _asked(choice: Choice) -> str:
    """The values that a design was asked for with, in words."""
    asked = []
    for name, value in choice.position.items():
        if value is not None and name != "functions":
            asked.append(f"{name} {value}")
    return ", ".join(asked)


def operands_of(robot: Robot, settings: TraceOptions, q: np.ndarray) -> Mapping[str, np.ndarray]:
    """Operands whose range is declared with them, at configurations (n, nq)."""
    return bounded_others(robot, settings, q, random_others(robot, settings, len(q), 1))


def _timings(
    args: argparse.Namespace,
    robots: Mapping[str, Robot],
    functions: tuple[str, ...],
    progress: Reporter,
) -> list[tuple[str, Timing]]:
    """Times of the functions on this machine, with the robot's name."""
    timings: list[tuple[str, Timing]] = []
    for name, robot in robots.items():
        progress.stage(f"{name}: what this machine does today")
        today = time_today(
            robot,
            urdf_of(name),
            args.base or "fixed",
            functions,
            BATCHES,
            progress=progress.count,
            others=partial(operands_of, robot, TraceOptions(functions=functions)),
        )
        own = time_software(robot, functions, BATCHES, progress=progress.count)
        timings += [(name, timing) for timing in (*today, *own)]
    return timings


def _print(args: argparse.Namespace, content: dict[str, Any]) -> None:
    """Write and print the comparison, and plot it last: a plot that fails leaves the table."""
    texts = {
        "compare.csv": comparison_text.csv_text(content),
        "compare.json": json.dumps(content, indent=2) + "\n",
        "compare.tex": comparison_text.latex_text(content),
    }
    files = write_files(texts, args.output)
    if args.csv or args.latex:
        print(texts["compare.csv" if args.csv else "compare.tex"], end="")
    else:
        wrote = "\n".join(f"wrote {f}" for f in files)
        print_result(args, content, comparison_text.text(content) + "\n\n" + wrote)
    if args.plot:
        plots.save(plots.comparison_plot(content, plots.EVERY_FIGURE), args.plot)
        if not (args.csv or args.latex or args.json):
            print(f"wrote {args.plot}")
