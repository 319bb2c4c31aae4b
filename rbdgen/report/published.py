"""Figures that others published or that were measured on their work, and what a comparison says of these rivals beyond
its rows: where they are better, and what else they published. The data file is ``published.toml``.

Not for our own figures: those are measured anew in every run.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from rbdgen.functions import registry

DATA = Path(__file__).with_name("published.toml")
KINDS = ("measured", "read", "inferred")
"""Kinds of evidence: measured by rbdgen's authors on the other's own code, read in the source, or inferred."""


@dataclass(frozen=True)
class Figure:
    """One published figure; what is not known is None.

    ``robots`` are keys of the data file's robots and ``functions`` codes such as ``difd``; empty means any.
    ``latency_cycles`` and ``interval_cycles`` count the whole clocked design; ``latency_us`` is one call or task;
    ``claim`` is a statement without absolute figures. ``leaves_out`` says what the figure does not include. It is
    found at ``where`` (a table, a figure, a file) of ``source``, whose ``address`` is a DOI's or a page's.
    """

    work: str
    source: str
    address: str
    where: str
    device: str
    precision: str
    kind: str
    leaves_out: str
    how: str
    robots: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    latency_cycles: float | None = None
    interval_cycles: float | None = None
    clock_mhz: float | None = None
    latency_us: float | None = None
    multipliers: Mapping[str, Any] = field(default_factory=dict)
    resources: Mapping[str, Any] = field(default_factory=dict)
    claim: str = ""

    @property
    def microseconds(self) -> float | None:
        """Latency in µs: as stated, or of the cycles at the clock."""
        if self.latency_us is None and self.latency_cycles is not None and self.clock_mhz:
            return self.latency_cycles / self.clock_mhz
        return self.latency_us

    @property
    def microseconds_per_task(self) -> float | None:
        """Interval in µs, where interval and clock are known."""
        if self.interval_cycles and self.clock_mhz:
            return self.interval_cycles / self.clock_mhz
        return None


@lru_cache
def published_figures() -> tuple[Figure, ...]:
    """All figures, in the data file's order."""
    content = tomllib.loads(DATA.read_text(encoding="utf-8"))
    sources = content["sources"]
    figures = [_figure(entry, sources) for entry in content["figure"]]
    # a work's calls are one entry of the file, and each of their latencies is a figure
    for calls in content["calls"]:
        for robot, by_function in calls["latency_us"].items():
            for function, latency in by_function.items():
                entry = dict(calls)
                entry["robots"] = [robot]
                entry["functions"] = [function]
                entry["latency_us"] = latency
                figures.append(_figure(entry, sources))
    return tuple(figures)


def _figure(entry: Mapping[str, Any], sources: Mapping[str, Mapping[str, str]]) -> Figure:
    values = dict(entry)
    source = sources[entry["source"]]
    values["source"], values["address"] = source["text"], source["address"]
    for key in ("robots", "functions"):
        values[key] = tuple(values.get(key, ()))
    return Figure(**values)


@lru_cache
def _robots() -> dict[str, tuple[tuple[str, ...], int]]:
    content = tomllib.loads(DATA.read_text(encoding="utf-8"))["robots"]
    robots = {}
    for key, robot in content.items():
        robots[key] = tuple(robot["names"]), robot["joints"]
    return robots


def robot_key(names: tuple[str, ...], joints: int) -> str | None:
    """The robot of the data file that goes by one of ``names`` and has ``joints`` degrees of freedom; None: none."""
    for key, (known, count) in _robots().items():
        if count == joints and any(name.lower() in known for name in names):
            return key
    return None


def robot_names() -> list[str]:
    """The robots of the data file."""
    return list(_robots())


def figures_for(robot: str | None, function: str) -> tuple[Figure, ...]:
    """The figures about this robot (a key) and this function; not those about several functions at once."""
    figures = published_figures()
    return tuple(f for f in figures if robot in f.robots and function in f.functions)


def general_figures(robots: set[str | None]) -> tuple[Figure, ...]:
    """Figures over all functions, about any of these robots or about none in particular."""
    general = (figure for figure in published_figures() if not figure.functions)
    return tuple(f for f in general if not f.robots or robots & set(f.robots))


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
