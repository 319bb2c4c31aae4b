"""Tasks per second at the host by link, what the accelerator computes beside what a link brings, and which binds; and
how long a lone call takes.

All of it is modelled, in reports of simulations and of builds as well: the accelerator's rate is the schedule's promise
at a clock, a link's follows from the protocol (:mod:`rbdgen.protocol.links`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rbdgen.compiler import Design
from rbdgen.protocol.links import USUAL, Link, get_link
from rbdgen.report.columns import paragraph, table

CORE = "core"
"""Name of what binds where it is no link."""
PREFIXES = {1e9: " G", 1e6: " M", 1e3: " k"}
"""Of rates as text, the larger first."""
DIGITS = 6
"""Significant digits of rates in JSON."""


def host_rates(design: Design, clock: float) -> dict[str, Any]:
    """The report's ``host``: for each function of ``design`` at ``clock`` MHz the tasks per second of the accelerator,
    and through each link in and out of it, at the host, and what binds. The links are the board's, or the usual ones
    where there is no board."""
    own = design.target.link
    links = [get_link(name) for name in USUAL] if own is None else [own]
    return {
        "figures": "modelled",
        "clock_mhz": round(clock, 3),
        "of_board": own is not None,
        "core": {name: _rounded(_core(design, name, clock)) for name in design.network.functions},
        "links": [_link_rates(design, link, clock) for link in links],
    }


def _core(design: Design, function: str, clock: float) -> float:
    """Tasks of a function per second that the accelerators promise."""
    return 1e6 * clock / design.machine.mean_interval(function, design.tasks)


def _link_rates(design: Design, link: Link, clock: float) -> dict[str, Any]:
    """Rates by one link."""
    functions = {}
    for name in design.network.functions:
        bits = link.task_bits(design.tasks, name)
        rates = link.rates(design.tasks, name, clock)
        ways = {CORE: _core(design, name, clock), "in": rates.into, "out": rates.out}
        binds = min(ways, key=lambda way: ways[way])
        functions[name] = {
            "task_bytes": round(bits.into / 8, 2),
            "result_bytes": round(bits.out / 8, 2),
            "in_per_second": _rounded(rates.into),
            "out_per_second": _rounded(rates.out),
            "tasks_per_second": _rounded(ways[binds]),
            "binds": binds,
            "alone_us": _rounded(1e6 * _alone(design, link, name, clock)),
        }
    return {"name": link.name, "left_out": link.left_out, "functions": functions}


def _alone(design: Design, link: Link, function: str, clock: float) -> float:
    """Seconds from a call of one task to its answer by a link."""
    return link.alone_seconds(design.tasks, function, design.promised_latency(function), clock)


def _rounded(x: float) -> float:
    return float(f"{x:.{DIGITS}g}")


def rate_text(x: float) -> str:
    """A rate to three digits, in thousands or millions where it is so large."""
    for unit, prefix in PREFIXES.items():
        if x >= unit:
            return f"{x / unit:.3g}{prefix}"
    return f"{x:.3g}"


def host_text(host: Mapping[str, Any]) -> str:
    """The table for people, and what it does not count."""
    return f"{host_table(host)}\n{alone_table(host)}\n{host_notes(host)}"


def host_table(host: Mapping[str, Any], of: str = "") -> str:
    """A row for each function, a column for the accelerator and each link; ``of``: what to say before it."""
    links: Sequence[Mapping[str, Any]] = host["links"]
    rows = []
    for name, core in host["core"].items():
        cells = [_cell(link["functions"][name]) for link in links]
        rows.append([name, rate_text(core), *cells])
    heads = ["function", "accelerator", *(link["name"] for link in links)]
    title = f"{of}tasks per second, at the host by link, modelled, at {host['clock_mhz']:g} MHz:"
    return "\n".join([paragraph(title, "  "), table(heads, rows)])


def alone_table(host: Mapping[str, Any]) -> str:
    """A row for each function, a column for each link: how long a lone call takes."""
    links: Sequence[Mapping[str, Any]] = host["links"]
    rows = []
    for name in host["core"]:
        rows.append([name, *(f"{link['functions'][name]['alone_us']:.3g}" for link in links)])
    title = f"microseconds from a lone call to its answer, modelled, at {host['clock_mhz']:g} MHz:"
    heads = ["function", *(link["name"] for link in links)]
    return "\n".join([paragraph(title, "  "), table(heads, rows)])


def host_notes(host: Mapping[str, Any]) -> str:
    """Notes on the table's cells, and on what of the links is not counted."""
    first = "(behind a rate what binds: the accelerator's core, or the link's way in or out)"
    lines = [f"not counted of {link['name']}: {link['left_out']}" for link in host["links"]]
    return "\n".join([paragraph(first), *(paragraph(line, "  ") for line in lines)])


def _cell(found: Mapping[str, Any]) -> str:
    return f"{rate_text(found['tasks_per_second'])}, {found['binds']}"
