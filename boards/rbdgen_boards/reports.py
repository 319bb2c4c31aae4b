"""nextpnr's report of a routed design, which is the same for all of its families: clocks, and the slowest path."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from rbdgen_boards.flow import path_line


def slowest_clock(report: Mapping[str, Any], others: Collection[str] = ()) -> str:
    """nextpnr's name of the clock that is met least, but for ``others``."""
    reached = {name: clock["achieved"] for name, clock in report["fmax"].items()}
    return min(reached.keys() - set(others), key=lambda name: (reached[name], name))


def slowest_lines(report: Mapping[str, Any], clock: str) -> tuple[str, ...]:
    """The slowest path from register to register of a ``clock``, a line per step."""
    for path in report["critical_paths"]:
        # nextpnr writes the edge before the clock's name
        if path["from"].endswith(clock) and path["to"].endswith(clock):
            return _path_lines(path["path"])
    return ()


def _path_lines(steps: list[dict[str, Any]]) -> tuple[str, ...]:
    lines = []
    total = 0.0
    for step in steps:
        total += step["delay"]
        source = step["from"]
        sink = step["to"]
        where = f"{source['cell']}.{source['port']} -> {sink['cell']}.{sink['port']}"
        lines.append(path_line(total, step["type"], where))
    return tuple(lines)
