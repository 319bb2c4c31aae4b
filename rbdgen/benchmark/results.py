"""The results' file, which others can add to: how it is made, read, and put together with those of other machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rbdgen.benchmark.cells import COUNTED, STATUSES, VALIDATED, Cell
from rbdgen.benchmark.task import Task
from rbdgen.errors import ConfigError
from rbdgen.schema.json_files import check, read_json, version_complaint

SCHEMA = "rbdgen.benchmark/1"
"""Name and version of the file's structure, and of the rules that its cells follow."""
FIGURES = {
    "single_us": "one call, µs",
    "latency_us": "latency, µs",
    "batch_us": "µs per state of a batch",
}
"""Figures of which less is better, and what they are called in a sentence."""


def results(tasks: Sequence[Task], cells: Sequence[Cell], run: Mapping[str, Any]) -> dict[str, Any]:
    """The file of one ``run``: its date, command, version and machine."""
    return {
        "schema": SCHEMA,
        "statuses": dict(STATUSES),
        "robots": [task.content() for task in tasks],
        "runs": [dict(run)],
        "cells": [asdict(cell) | {"run": 0} for cell in cells],
    }


def read_results(path: Path) -> dict[str, Any]:
    """A file of results. ConfigError naming the file for one that is not there, of another version, or not as the
    schema says."""
    remedy = "'rbdgen benchmark' writes such files as benchmark.json"
    content = read_json(path, remedy, remedy)
    complaint = version_complaint(content, SCHEMA)
    if complaint:
        raise ConfigError(
            f"{path}: {complaint}; measure it with this version, or read it with that one"
        )
    try:
        check(content, "benchmark")
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}; {remedy}") from None
    runs, robots = len(content["runs"]), {robot["name"] for robot in content["robots"]}
    for k, cell in enumerate(content["cells"]):
        if cell["run"] >= runs:
            raise ConfigError(f"{path}: cells[{k}].run must be below {runs}, not {cell['run']}")
        if cell["robot"] not in robots:
            raise ConfigError(f"{path}: cells[{k}].robot {cell['robot']!r} is not among its robots")
    return content


def add(content: dict[str, Any], other: Mapping[str, Any], path: Path) -> None:
    """Add the runs and cells of another file to ``content``. ConfigError, and nothing is added, where its robots or
    states are others."""
    known = {robot["name"]: robot for robot in content["robots"]}
    for robot in other["robots"]:
        own = known.get(robot["name"])
        if own is None:
            raise ConfigError(
                f"{path}: is of robot {robot['name']!r}, and this benchmark of {', '.join(known)}; name the same robots"
            )
        if own["identity"] != robot["identity"]:
            raise ConfigError(
                f"{path}: its robot {robot['name']!r} is another one, or has other states: identity "
                f"{robot['identity']} ({robot['states']} states, seed {robot['seed']}), here {own['identity']} "
                f"({own['states']}, {own['seed']})"
            )
    first = len(content["runs"])
    content["runs"] += other["runs"]
    for cell in other["cells"]:
        content["cells"].append(dict(cell) | {"run": first + cell["run"]})


def figures(cell: Mapping[str, Any]) -> dict[str, float]:
    """A cell's figures by :data:`FIGURES`, those that it has: medians, and the best batch."""
    found = {}
    for name in ("single_us", "latency_us"):
        if cell[name]:
            found[name] = cell[name]["median"]
    if cell["batches"]:
        found["batch_us"] = min(batch["us"] for batch in cell["batches"])
    return found


def losses(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Where another's validated cell is better than the best of rbdgen's that was timed, by robot, function and figure;
    within one run only, as machines differ."""
    found = []
    for _, cells in _contests(content):
        for figure in FIGURES:
            sides: dict[bool, tuple[float, str]] = {}
            for cell in cells:
                x = figures(cell).get(figure)
                if x is not None and (cell["ours"] not in sides or x < sides[cell["ours"]][0]):
                    sides[cell["ours"]] = x, cell["implementation"]
            if len(sides) == 2 and sides[False][0] < sides[True][0]:
                (theirs, name), (ours, own) = sides[False], sides[True]
                found.append(
                    {
                        "robot": cells[0]["robot"],
                        "function": cells[0]["function"],
                        "figure": figure,
                        "ours": ours,
                        "by": own,
                        "theirs": theirs,
                        "implementation": name,
                    }
                )
    return found


def _contests(
    content: Mapping[str, Any],
) -> Iterator[tuple[tuple[Any, ...], list[Mapping[str, Any]]]]:
    """The validated cells of each robot and function in each run."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for cell in content["cells"]:
        # cycles of a simulation are at a modelled clock, and without a host
        if cell["status"] == VALIDATED and cell["called"] != COUNTED:
            groups.setdefault((cell["run"], cell["robot"], cell["function"]), []).append(cell)
    yield from groups.items()


def slower_calls(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Where each of rbdgen's ways to be called from Python is slower at one call than the best other one is."""
    found = []
    for _, cells in _contests(content):
        called = [c for c in cells if c["called"] == "from Python" and c["single_us"]]
        others = [c for c in called if not c["ours"]]
        if not others:
            continue
        best = min(others, key=lambda c: c["single_us"]["median"])
        for cell in called:
            if cell["ours"] and cell["single_us"]["median"] > best["single_us"]["median"]:
                found.append(
                    {
                        "robot": cell["robot"],
                        "function": cell["function"],
                        "figure": "single_us",
                        "ours": cell["single_us"]["median"],
                        "by": cell["implementation"],
                        "theirs": best["single_us"]["median"],
                        "implementation": best["implementation"],
                    }
                )
    return found
