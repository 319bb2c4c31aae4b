"""The comparison (:mod:`rbdgen.report.comparison`) as text in eighty columns, as CSV, and as LaTeX.

A sign after every figure says how it is known; notes below say the rest of it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from rbdgen.errors import counted
from rbdgen.report.columns import paragraph, table
from rbdgen.report.comparison import (
    FIGURES,
    MEASURED,
    MODELLED,
    PROMISED,
    PUBLISHED,
    Row,
    made_text,
    short_name,
)
from rbdgen.report.host_rate import host_notes, host_table
from rbdgen.report.published import CONTESTED

SIGNS = {MEASURED: "=", MODELLED: "~", PUBLISHED: "^"}
"""Signs after figures."""
LEGEND = "Every figure is = measured, ~ modelled or ^ published."
HEAD = (
    "",
    "latency cyc",
    "interval cyc",
    "MHz",
    "latency µs",
    "µs per task",
    "var mult",
    "const mult",
    "notes",
)
SHOWN = FIGURES[: len(HEAD) - 2]
"""The figures under the heads."""


def csv_text(content: dict[str, Any]) -> str:
    """All rows as CSV, with a column for each figure that says how it is known."""
    out = io.StringIO()
    names = [f.name for f in fields(Row) if f.name != "cells"]
    known = [f"{figure}_known" for figure in (*FIGURES, "resources")]
    # csv ends lines as DOS does
    writer = csv.DictWriter(out, [*names, *known], lineterminator="\n")
    writer.writeheader()
    for row in content["rows"]:
        kinds = {f"{figure}_known": kind for figure, kind in row["cells"].items()}
        values = {name: row[name] for name in names}
        writer.writerow(values | kinds)
    return out.getvalue()


def text(content: dict[str, Any]) -> str:
    """A table per robot and function; where others are better, what else was published; notes. Of the batches the
    smallest and the largest."""
    notes = _Notes()
    parts = [_design_text(design) for design in content["designs"]]
    rows = shown_rows(content["rows"])
    for robot, function in dict.fromkeys((row["robot"], row["function"]) for row in rows):
        mine = [row for row in rows if (row["robot"], row["function"]) == (robot, function)]
        lines = [_cells(row, notes) for row in mine]
        parts.append(f"{short_name(robot)}, {function}\n\n" + table(HEAD, lines))
        parts.append(density_text(mine))
    parts.append(LEGEND)
    parts.append(lost_text(content))
    parts.append(hosts_text(content))
    parts += further_texts(content)
    parts.append(machine_text(content))
    if content["made"]:
        parts.append(paragraph(f"Made by {made_text(content['made'])}", "  "))
    parts.append(notes.text())
    return "\n\n".join(part for part in parts if part)


def machine_text(content: dict[str, Any]) -> str:
    """The machine that timings were measured on; the way to them where there are none."""
    machine = content["machine"]
    if machine is None:
        return paragraph(
            "Nothing was measured in this run: --measure simulates the accelerators and times this machine."
        )
    pin = machine["pin"] or "not installed"
    return paragraph(
        f"This machine: {machine['processor']}, {machine['cores']} cores, Python {machine['python']}, "
        f"NumPy {machine['numpy']}, Pinocchio {pin}",
        "  ",
    )


def lost_text(content: dict[str, Any]) -> str:
    """A paragraph on where the accelerators do not win."""
    lost = content["losses"]
    if not lost:
        return paragraph("No figure above is better than the best of the accelerators'.")
    promised = any(design["known"] == PROMISED for design in content["designs"])
    ours = "promised" if promised else "simulated"
    lines = [f"Where the {ours} accelerators do not win:", *map(loss_text, lost)]
    return "\n".join(paragraph(line, "  ") for line in lines)


def hosts_text(content: dict[str, Any]) -> str:
    """Rates that a host would get of each accelerator, by the usual links."""
    parts = []
    known = [design for design in content["designs"] if design["host"]]
    for design in known:
        of = f"{short_name(design['robot'])}, {design['design']}: "
        parts.append(host_table(design["host"], of))
    parts += [host_notes(design["host"]) for design in known[:1]]
    return "\n\n".join(parts)


def further_texts(content: dict[str, Any]) -> list[str]:
    """Figures that were published of other functions of the robots, or of no function or robot in particular."""
    found = []
    others = content["elsewhere"]
    if others:
        asked = ",".join(entry["function"] for entry in others)
        lines = [f"Others published other functions of this robot; ask for --functions {asked}:"]
        for entry in others:
            lines.append(f"- {entry['function']}, {entry['summary']}: {'; '.join(entry['works'])}")
        found.append(lines)
    missing = content["without_figures"]
    if missing:
        robots = ", ".join(map(short_name, missing["robots"]))
        known = ", ".join(missing["published"])
        found.append(
            [f"No figures were published of {robots}; there are such of {known} ({DERIVATIVES})."]
        )
    also = content["also_published"]
    if also:
        lines = ["Also published, without figures for one function of one robot:"]
        found.append([*lines, *map(statement_text, also)])
    return ["\n".join(paragraph(line, "  ") for line in lines) for lines in found]


DERIVATIVES = "for accelerators try 'rbdgen compare iiwa14 --functions difd'"
"""The function that most accelerators were published of."""


class _Notes:
    """Remarks below the tables, each once, by number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def reference(self, row: Mapping[str, Any]) -> str:
        """The number of a row's remark."""
        return f"[{self.numbers.setdefault(remark(row), len(self.numbers) + 1)}]"

    def text(self) -> str:
        """All remarks."""
        lines = [f"[{number}] {line}" for line, number in self.numbers.items()]
        return "\n".join(paragraph(line, "    ") for line in lines)


def remark(row: Mapping[str, Any]) -> str:
    """Evidence for a row, and remarks on it."""
    said = [row["known"], row["how"]]
    left_out = row["leaves_out"]
    # the data file says so where a figure is of the whole
    if left_out and not left_out.startswith("nothing"):
        said.append(f"leaves out {left_out}")
    said += [f"device: {row['device']}", f"precision: {row['precision']}"] if row["address"] else []
    said += [row["source"], row["where"], row["address"]]
    return "; ".join(filter(None, said))


def shown_rows(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of the smallest and the largest batch, and those without one."""
    batches = {row["batch"] for row in rows if row["batch"] is not None}
    wanted = {None, min(batches, default=1), max(batches, default=1)}
    return [row for row in rows if row["batch"] in wanted]


def _design_text(design: Mapping[str, Any]) -> str:
    """One of our designs in a paragraph."""
    multipliers = design["multipliers"]
    widths = [f"{count} of {size} bits" for size, count in design["multiplier_widths"].items()]
    modelled = design["modelled_resources"]
    known = design["known"]
    if "simulator" in design:
        known += f" by {design['simulator']}, {design['mismatches']} mismatches"
    return paragraph(
        f"{short_name(design['robot'])}: {design['design']}: {multipliers['variable']} variable multipliers "
        f"({', '.join(widths)}; {design['multiplier_blocks']} device blocks), {multipliers['constant']} constant as "
        f"shifts and adds; by the model {modelled['luts']} look-up tables and {modelled['registers']} registers; "
        f"cycles {known}",
        "  ",
    )


def full_name(row: Mapping[str, Any]) -> str:
    """An implementation with its batch and cores, and with resources where they are known."""
    name = row["implementation"]
    if row["batch"]:
        name += f", batch {row['batch']}, {counted(row['workers'], 'core')}"
    if row.get("resources"):
        name += f" ({row['resources']}{SIGNS[row['cells']['resources']]})"
    return name


def loss_text(loss: Mapping[str, Any]) -> str:
    """One figure that another has better, in a line."""
    theirs = _marked(loss["theirs"], loss["theirs_known"])
    ours = _marked(loss["ours"], loss["ours_known"])
    where = f"{short_name(loss['robot'])}, {loss['function']}, {CONTESTED[loss['figure']]}"
    return f"- {where}: {theirs} by {full_name(loss)}; ours {ours}"


def statement_text(said: Mapping[str, Any]) -> str:
    """Statements that were published of no function or robot in particular, and what of it is not known."""
    what = f"{said['work']} ({said['known']}): {said['claim']}"
    return f"- {what}; {said['how']}; not known: {said['leaves_out']}; {_place(said)}"


def _place(said: Mapping[str, Any]) -> str:
    """Where a figure can be looked up."""
    return f"{said['source']}; {said['where']}; {said['address']}"


def density_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rates for each multiplier and each look-up table, of accelerators; nothing where none is known."""
    lines = []
    for row in rows:
        if row["per_multiplier"] is None and row["per_lut"] is None:
            continue
        figures = [_marked(row[figure], row["cells"].get(figure, "")) for figure in DENSITIES]
        lines.append([row["function"], row["implementation"], *figures])
    if not lines:
        return ""
    return "\n\n".join((DENSITY_TITLE, table(("", "", *DENSITIES.values()), lines)))


DENSITIES = {
    "luts": "look-up tables",
    "per_multiplier": "per multiplier",
    "per_lut": "per table",
}
"""Figures by what hardware takes, and their heads."""
DENSITY_TITLE = "Tasks per second, by what the whole accelerator takes"


def latex_text(content: Mapping[str, Any]) -> str:
    """The rows as a table of LaTeX (booktabs); in comments how it was made, and of each row how it is known and its
    source."""
    notes = _Notes()
    lines = []
    for row in shown_rows(content["rows"]):
        figures = [_latex_figure(row, figure) for figure in SHOWN]
        name = [short_name(row["robot"]), row["function"], full_name(row)]
        reference = notes.reference(row)
        lines.append(" & ".join([*map(_latex, name), *figures, reference]) + r" \\")
    head = " & ".join(_latex(name) for name in ("robot", "function", "implementation", *HEAD[1:]))
    made = made_text(content["made"] or {})
    parts = [
        f"% {made}" if made else "% rbdgen compare",
        "% needs booktabs; = measured, ~ modelled, ^ published",
        rf"\begin{{tabular}}{{lll{'r' * len(SHOWN)}r}}",
        r"\toprule",
        head + r" \\",
        r"\midrule",
        *lines,
        r"\bottomrule",
        r"\end{tabular}",
        "",
        *(rf"% [{number_}] {line}" for line, number_ in notes.numbers.items()),
    ]
    return "\n".join(parts) + "\n"


LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "µ": r"\textmu{}",
    "×": r"$\times$",
    "⁻¹": "$^{-1}$",
}
"""Signs that LaTeX has words for."""


def _latex(text: str) -> str:
    """Text that LaTeX prints as it is."""
    known = sorted(LATEX, key=len, reverse=True)
    pattern = "|".join(map(re.escape, known))
    return re.sub(pattern, lambda found: LATEX[found[0]], text)


def _latex_figure(row: Mapping[str, Any], figure: str) -> str:
    """A figure with its sign raised; nothing where there is none."""
    x = row[figure]
    if x is None:
        return ""
    signs = {"=": "=", "~": r"\sim", "^": r"\wedge"}
    return f"${number(x)}^{{{signs[SIGNS[row['cells'][figure]]]}}}$"


def _cells(row: Mapping[str, Any], notes: _Notes) -> list[str]:
    """A row of the table, under :data:`HEAD`."""
    figures = [_marked(row[figure], row["cells"].get(figure, "")) for figure in SHOWN]
    return [full_name(row), *figures, notes.reference(row)]


def _marked(x: float | None, kind: str) -> str:
    """A figure with the sign of how it is known; nothing for None."""
    return "" if x is None else f"{number(x)}{SIGNS[kind]}"


def number(x: float) -> str:
    """A figure to three digits, or in whole numbers where it is large or has no fraction."""
    return f"{x:.0f}" if x >= 1000 or x == int(x) else f"{x:.3g}"
