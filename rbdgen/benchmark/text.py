"""The benchmark's page: tables as plain text, Markdown and HTML, all of the same sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from rbdgen.benchmark.cells import STATUSES, VALIDATED
from rbdgen.benchmark.results import FIGURES, losses, slower_calls
from rbdgen.report.columns import paragraph, table

HEAD = (
    "",
    "status",
    "error",
    "one call, µs",
    "latency, µs",
    "99%, µs",
    "batch, µs per state",
    "note",
)
TITLE = "Rigid-body dynamics: a benchmark"
RULES = (
    "Results at seeded states are compared with rbdgen's golden model in float64, before timing and after it; the "
    "error is the largest of any entry, over the entry's largest magnitude.",
    "One call: calls for one state, one after another. Latency: one such call by the clock at the host, its median "
    "and 99th percentile. Batch: the best size and number of cores, in the note. Medians of rounds in which all "
    "implementations take turns.",
    "Figures of RTL are cycles at the clock of a device's model, without a link to a host.",
)
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 24px auto; padding: 0 16px; color: #1f2933; }
table { border-collapse: collapse; margin: 8px 0 20px; display: block; overflow-x: auto; }
td, th { border-bottom: 1px solid #cbd2d9; padding: 3px 10px; text-align: left; vertical-align: top; }
.validated { color: #0b7a4b; } .inaccurate, .failed { color: #b42318; }
"""


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs, and rows under a head, if there are any."""

    title: str
    lines: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def number(x: float | None) -> str:
    """A figure to three digits; nothing for None."""
    return "" if x is None else f"{x:.3g}" if x < 1000 else f"{x:.0f}"


def sections(content: Mapping[str, Any]) -> list[Section]:
    """The page."""
    found = [Section(TITLE, RULES)]
    for k in range(len(content["runs"])):
        for robot in content["robots"]:
            own = [c for c in content["cells"] if (c["run"], c["robot"]) == (k, robot["name"])]
            for function in dict.fromkeys(cell["function"] for cell in own):
                cells = [cell for cell in own if cell["function"] == function]
                where = f", run {k + 1}" if len(content["runs"]) > 1 else ""
                rows = tuple(_row(cell) for cell in sorted(cells, key=_order))
                found.append(Section(f"{robot['name']}, {function}{where}", (), HEAD, rows))
    found.append(Section("What rbdgen loses", _lost(content)))
    found.append(Section("Runs", tuple(_run(k, run) for k, run in enumerate(content["runs"], 1))))
    words = tuple(f"{name}: {meaning}." for name, meaning in STATUSES.items())
    found.append(Section("Statuses", words))
    return found


def _order(cell: Mapping[str, Any]) -> tuple[bool, float]:
    """Validated cells first, the fastest first."""
    single = cell["single_us"] or cell["latency_us"]
    return cell["status"] != VALIDATED, single["median"] if single else float("inf")


def _row(cell: Mapping[str, Any]) -> tuple[str, ...]:
    name = cell["implementation"]
    if cell["version"]:
        name += f" {cell['version']}"
    single, latency = cell["single_us"] or {}, cell["latency_us"] or {}
    errors = [x for x in (cell["error_before"], cell["error_after"]) if x is not None]
    best = min(cell["batches"], key=lambda batch: batch["us"], default=None)
    notes = [cell["why"], cell["how"]]
    if best and best["states"] > 1:
        notes.append(f"batch of {best['states']:.0f} on {best['cores']:.0f} cores")
    return (
        name,
        cell["status"],
        f"{max(errors):.1e}" if errors else "",
        number(single.get("median")),
        number(latency.get("median")),
        number(latency.get("p99")),
        number(best["us"] if best else None),
        "; ".join(filter(None, notes)),
    )


def _lost(content: Mapping[str, Any]) -> tuple[str, ...]:
    """Losses in lines, or that there is none to tell."""
    if not any(cell["ours"] and cell["single_us"] for cell in content["cells"]):
        return ("Nothing of rbdgen's was timed.",)
    seen, lines = set(), []
    for lost in (*losses(content), *slower_calls(content)):
        line = (
            f"{lost['robot']}, {lost['function']}, {FIGURES[lost['figure']]}: {number(lost['theirs'])} by "
            f"{lost['implementation']}, {number(lost['ours'])} by {lost['by']}"
        )
        if line not in seen:
            seen.add(line)
            lines.append(line)
    return tuple(lines) or ("No figure above is better than rbdgen's best.",)


def _run(k: int, run: Mapping[str, Any]) -> str:
    machine = run["machine"]
    commit = f", commit {run['commit']}" if run.get("commit") else ""
    return (
        f"{k}: {run['date']}, rbdgen {run['rbdgen']}{commit}, {machine['processor']}, {machine['cores']} cores, "
        f"Python {machine['python']}: {run['command']}"
    )


def plain(content: Mapping[str, Any]) -> str:
    """The page for a terminal: notes of what was measured are left to the files."""
    parts = []
    for section in sections(content)[1:]:
        if not section.head:
            parts.append("\n".join([section.title, *(paragraph(x, "  ") for x in section.lines)]))
            continue
        rows = [(*row[:-1], row[-1] if row[2] == "" else "") for row in section.rows]
        notes = [f"{row[0]}: {row[-1]}" for row in rows if row[-1]]
        lines = [section.title, "", table(section.head[:-1], [row[:-1] for row in rows])]
        parts.append("\n".join([*lines, *(paragraph(note, "  ") for note in notes)]))
    return "\n\n".join(parts)


def markdown(content: Mapping[str, Any]) -> str:
    """The page in Markdown."""
    parts = []
    for depth, section in enumerate(sections(content)):
        parts.append(f"{'#' if depth == 0 else '##'} {section.title}")
        if section.head:
            rows = [section.head, ["---"] * len(section.head), *section.rows]
            parts.append("\n".join(_markdown_row(row) for row in rows))
        if section.lines:
            parts.append("\n".join(f"- {_escaped(line)}" for line in section.lines))
    return "\n\n".join(parts) + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_escaped, cells))} |"


def _escaped(text: str) -> str:
    """Text that neither ends a cell nor begins anything of Markdown's or HTML's."""
    for sign in "\\`*_<>|[]":
        text = text.replace(sign, f"\\{sign}")
    return text.replace("\n", " ")


def html(content: Mapping[str, Any]) -> str:
    """The page as one file of HTML that needs nothing from a network."""
    parts = []
    for depth, section in enumerate(sections(content)):
        level = 1 if depth == 0 else 2
        parts.append(f"<h{level}>{escape(section.title)}</h{level}>")
        if section.head:
            head = "".join(f"<th>{escape(name)}</th>" for name in section.head)
            rows = "\n".join(_html_row(row) for row in section.rows)
            parts.append(f"<table>\n<tr>{head}</tr>\n{rows}\n</table>")
        if section.lines:
            lines = "\n".join(f"<li>{escape(line)}</li>" for line in section.lines)
            parts.append(f"<ul>\n{lines}\n</ul>")
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{TITLE}</title>\n'
        f"<style>{STYLE}</style>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _html_row(cells: Sequence[str]) -> str:
    status = cells[1] if cells[1] in STATUSES else ""
    columns = []
    for k, cell in enumerate(cells):
        kind = f' class="{escape(status)}"' if k == 1 else ""
        columns.append(f"<td{kind}>{escape(cell)}</td>")
    return f"<tr>{''.join(columns)}</tr>"
