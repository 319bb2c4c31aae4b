"""What a comparison says of rivals beyond its rows: where they are better, and what else they published.

Not here: their figures (:mod:`rbdgen.report.published`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from rbdgen.functions import registry
from rbdgen.report.published import published_figures, robot_names

CONTESTED = {
    "latency_us": "latency, µs",
    "task_us": "time per task, µs",
    "latency_cycles": "latency, cycles",
    "interval_cycles": "interval, cycles",
    "variable_multipliers": "variable multipliers",
}
"""Figures of which less is better, and what they are called in a sentence."""


def losses(rows: Sequence[Mapping[str, Any]], ours: Collection[str]) -> list[dict[str, Any]]:
    """Where another implementation is better than the best of our accelerators: by robot, function and figure, the best
    other one. Rows whose ``known`` is among ``ours`` are our accelerators."""
    found = []
    for robot, function in dict.fromkeys((row["robot"], row["function"]) for row in rows):
        mine = [row for row in rows if (row["robot"], row["function"]) == (robot, function)]
        for figure in CONTESTED:
            known = [row for row in mine if row[figure] is not None]
            own = [row for row in known if row["known"] in ours]
            others = [row for row in known if row["known"] not in ours]
            if own and others:
                found += _lost(figure, _least(own, figure), _least(others, figure))
    return found


def _least(rows: Sequence[Mapping[str, Any]], figure: str) -> Mapping[str, Any]:
    return min(rows, key=lambda row: row[figure])


def _lost(
    figure: str, own: Mapping[str, Any], other: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """A loss, if it is one."""
    if other[figure] >= own[figure]:
        return
    yield {
        "robot": own["robot"],
        "function": own["function"],
        "figure": figure,
        "ours": own[figure],
        "ours_known": own["cells"][figure],
        "theirs": other[figure],
        "theirs_known": other["cells"][figure],
        "implementation": other["implementation"],
        "batch": other["batch"],
        "workers": other["workers"],
    }


def elsewhere(asked: Collection[str], keys: Collection[str | None]) -> list[dict[str, Any]]:
    """Functions that were published of robots (``keys`` of the data file) and not ``asked`` for, with who did."""
    works: dict[str, dict[str, None]] = {}
    for figure in published_figures():
        if not set(keys).intersection(figure.robots):
            continue
        for function in figure.functions:
            if function not in asked:
                works.setdefault(function, {})[figure.work] = None
    return [
        {"function": name, "summary": registry.function(name).summary, "works": list(works[name])}
        for name in sorted(works)
    ]


def without_figures(keys: Mapping[str, str | None]) -> dict[str, list[str]]:
    """The robots (by name, with their key in the data file) of which nothing was published, and those of which there is
    something; empty where every robot has a key."""
    missing = [robot for robot, key in keys.items() if key is None]
    return {"robots": missing, "published": robot_names()} if missing else {}
