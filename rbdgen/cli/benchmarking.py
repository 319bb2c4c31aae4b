"""``rbdgen benchmark``: the same functions by everything that is here, and a page of it."""

from __future__ import annotations

import argparse
import json
import shlex
from datetime import UTC, datetime
from typing import Any

from rbdgen.benchmark import text
from rbdgen.benchmark.adapters import Hardware, adapters
from rbdgen.benchmark.adapters.adapter import Adapter
from rbdgen.benchmark.cells import Cell
from rbdgen.benchmark.results import add, losses, read_results, results
from rbdgen.benchmark.running import run
from rbdgen.benchmark.task import Task, check_functions
from rbdgen.cli.comparing import urdf_of
from rbdgen.cli.console import print_result, reporter
from rbdgen.compiler import Options
from rbdgen.errors import ConfigError
from rbdgen.installation import commit, version
from rbdgen.model import Setup
from rbdgen.processor_times import machine
from rbdgen.report.comparison import short_name
from rbdgen.report.files import check_robot_name, check_writable, write_files

ROBOTS = ("iiwa14",)
"""Robots where none are named."""
TOLD = ("functions", "base", "only", "states", "batches", "seed", "ii", "tasks", "simulator")
"""Options that results depend on, and say."""


def benchmark(args: argparse.Namespace) -> None:
    """``rbdgen benchmark``."""
    check_writable(args.output)
    asked = Hardware(
        args.ii, args.simulator, args.tasks, args.output, args.built, args.port, args.udp, args.spi
    )
    if args.built is None and (args.port or args.udp or args.spi):
        raise ConfigError(
            "built: missing; --port, --udp and --spi are ways to the board of --built"
        )
    chosen = _chosen(adapters(asked), args.only)
    functions = check_functions(Options(functions=args.functions).functions)
    # files that are to be added are read before anything is measured
    others = [(path, read_results(path)) for path in args.add or ()]
    tasks = _tasks(args, functions)
    # what is added must be of these robots
    for path, other in others:
        add(results(tasks, [], _run(args)), other, path)
    for task in tasks:
        # what is wrong with a robot is said before anything is measured
        _ = task.oracle
    cells: list[Cell] = []
    with reporter() as progress:
        for task in tasks:
            cells += run(task, chosen, progress.stage)
    content = results(tasks, cells, _run(args))
    for path, other in others:
        add(content, other, path)
    texts = {
        "benchmark.json": json.dumps(content, indent=1) + "\n",
        "benchmark.md": text.markdown(content),
        "benchmark.html": text.html(content),
    }
    for task in tasks:
        own = json.dumps(task.states_content()) + "\n"
        texts[f"states_{task.name}.json"] = own
    files = write_files(texts, args.output)
    wrote = "\n".join(f"wrote {f}" for f in files)
    print_result(args, content | {"losses": losses(content)}, f"{text.plain(content)}\n\n{wrote}")


def _tasks(args: argparse.Namespace, functions: tuple[str, ...]) -> list[Task]:
    """The robots with their states; ConfigError for two of one name."""
    found: dict[str, Task] = {}
    batches = tuple(args.batches)
    for given in args.robots or ROBOTS:
        check_robot_name(given)
        robot = Setup(base=args.base).load(given) if args.base else Setup().load(given)
        name = short_name(given)
        if name in found:
            raise ConfigError(f"robot {name!r}: is named twice; rename one of the files")
        found[name] = Task(
            name,
            robot,
            urdf_of(given),
            args.base or "fixed",
            functions,
            max(args.states, *batches),
            args.seed,
            batches,
        )
    return list(found.values())


def _chosen(known: tuple[Adapter, ...], only: list[str] | None) -> list[Adapter]:
    """Those that are asked for, or all. ConfigError for one that there is not."""
    by_key = {adapter.key: adapter for adapter in known}
    for key in only or ():
        if key not in by_key:
            raise ConfigError(f"only: no implementation {key!r}; there are {', '.join(by_key)}")
    return [by_key[key] for key in only] if only else list(known)


def _run(args: argparse.Namespace) -> dict[str, Any]:
    """When, by which command and where it is measured."""
    # robots without their folders, which are of this machine only
    line = ["rbdgen", "benchmark", *map(short_name, args.robots or ROBOTS)]
    for name in TOLD:
        value = getattr(args, name)
        if value is not None:
            listed = value if isinstance(value, list | tuple) else [value]
            line += [f"--{name}", ",".join(map(str, listed))]
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "command": shlex.join(line),
        "rbdgen": version(),
        "commit": commit(),
        "machine": machine(),
    }
