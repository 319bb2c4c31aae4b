"""The comparison of ``rbdgen compare``: one row per robot, function and implementation, as object, table and CSV.

Every row says how its figures are known. Ours come from a simulation's report; nothing that a schedule promised or a
model estimated is among them, except the clock, which is named as the device model's.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from rbdgen.model.urdf import ROOT_JOINT
from rbdgen.report.published import Figure, figures_for, general_figures, robot_key
from rbdgen.report.tables import table
from rbdgen.timing.today import Timing

SCHEMA = "rbdgen.compare/1"
"""Name and version of the comparison's structure."""
RTL, HERE = "measured, RTL simulation", "measured, this machine, this run"
"""How our figures and the machine's timings are known; published ones have the kinds of ``published.toml``."""
KINDS = {
    "measured": "measured earlier, on the work's own code",
    "read": "read in the source",
    "inferred": "inferred from the source",
}

RESOURCES = {"dsp": "DSP", "lut": "LUT", "lut_share": "of LUTs", "ff_share": "of flip-flops", "watt": "W"}
"""Units of published resources."""


@dataclass(frozen=True)
class Row:
    """One line. Cycles are of the whole design. ``latency_us`` is from a task's last operand to its last result, or one
    call; ``task_us`` the time per task at full rate. ``multipliers`` are what the function uses, by kind."""

    robot: str
    function: str
    implementation: str
    known: str
    latency_cycles: float | None = None
    interval_cycles: float | None = None
    clock_mhz: float | None = None
    latency_us: float | None = None
    task_us: float | None = None
    variable_multipliers: int | None = None
    constant_multipliers: int | None = None
    multiplier_width: str = ""
    batch: int | None = None
    workers: int | None = None
    max_relative_error: float | None = None
    resources: str = ""
    leaves_out: str = ""
    how: str = ""
    source: str = ""


def design_label(report: dict[str, Any]) -> str:
    """What tells our designs of one robot apart."""
    return f"rbdgen, II {report['ii']}, {report['word']} bits, {report['device']}"


def our_row(robot: str, function: str, report: dict[str, Any]) -> Row:
    """A row from a simulation's report."""
    f, clock = report["functions"][function], report["clock_mhz"]
    return Row(
        robot,
        function,
        design_label(report),
        RTL,
        latency_cycles=f["latency_cycles"],
        interval_cycles=f["ii_cycles"],
        clock_mhz=clock,
        latency_us=f["latency_cycles"] / clock,
        task_us=f["ii_cycles"] / clock,
        variable_multipliers=f["multipliers"]["variable"],
        constant_multipliers=f["multipliers"]["constant"],
        multiplier_width=", ".join(f"{n} of {size}" for size, n in report["multiplier_widths"].items()),
        max_relative_error=f["max_relative_error"],
        how=f"{f['tasks']} tasks, {f['mismatches']} mismatches; the clock is the device model's, not place and route's",
    )


def published_row(robot: str, function: str, figure: Figure) -> Row:
    """A row from a published figure."""
    return Row(
        robot,
        function,
        figure.work,
        KINDS[figure.kind],
        latency_cycles=figure.latency_cycles,
        interval_cycles=figure.interval_cycles,
        clock_mhz=figure.clock_mhz,
        latency_us=figure.microseconds,
        task_us=figure.microseconds_per_task,
        variable_multipliers=figure.multipliers.get("variable"),
        constant_multipliers=figure.multipliers.get("constant"),
        multiplier_width=figure.multipliers.get("width", ""),
        resources=resource_text(figure),
        leaves_out=figure.leaves_out,
        how=figure.how,
        source=figure.source,
    )


def resource_text(figure: Figure) -> str:
    """Resources of a published figure in a line."""
    return ", ".join(f"{value} {RESOURCES[key]}" for key, value in figure.resources.items())


def timed_row(robot: str, timing: Timing) -> Row:
    """A row from a timing on this machine; the latency is that of a call for one state."""
    single = timing.microseconds if timing.batch == 1 else None
    return Row(
        robot,
        timing.function,
        timing.implementation,
        HERE if timing.microseconds is not None else "not measured",
        latency_us=single,
        task_us=timing.microseconds,
        batch=timing.batch,
        workers=timing.workers,
        how=timing.how or timing.note,
    )


def comparison(
    reports: Sequence[tuple[str, dict[str, Any]]],
    timings: Sequence[tuple[str, Timing]],
    machine: dict[str, Any],
) -> dict[str, Any]:
    """The whole comparison: ``reports`` are simulations' reports and ``timings`` measurements, each with the robot as
    the user named it. ValueError for a report that was not measured."""
    for robot, report in reports:
        if not report["figures"].startswith("measured"):
            raise ValueError(f"report of {robot}: must be measured, not {report['figures']}")
    rows: list[Row] = []
    keys = {}
    for robot in dict.fromkeys(name for name, _ in reports):
        mine = [report for name, report in reports if name == robot]
        key = robot_key((short_name(robot), mine[0]["robot"]), own_joints(mine[0]))
        keys[robot] = key
        for function in mine[0]["functions"]:
            rows += [our_row(robot, function, report) for report in mine]
            rows += [published_row(robot, function, figure) for figure in figures_for(key, function)]
            rows += [timed_row(robot, t) for name, t in timings if name == robot and t.function == function]
    general = general_figures(set(keys.values()))
    designs = [
        {
            "robot": robot,
            "design": design_label(report),
            "multipliers": report["multipliers"],
            "multiplier_widths": report["multiplier_widths"],
            "multiplier_blocks": report["multiplier_blocks"],
            "simulator": report["simulator"],
            "mismatches": sum(f["mismatches"] for f in report["functions"].values()),
            "functions": report["functions"],
        }
        for robot, report in reports
    ]
    return {
        "schema": SCHEMA,
        "machine": machine,
        "designs": designs,
        "rows": [asdict(r) for r in rows],
        "also_published": [
            {
                "work": f.work,
                "known": KINDS[f.kind],
                "robots": list(f.robots),
                "claim": f.claim or resource_text(f),
                "leaves_out": f.leaves_out,
                "how": f.how,
                "source": f.source,
            }
            for f in general
        ],
    }


def own_joints(report: dict[str, Any]) -> int:
    """Joints of a report's robot, without the one that carries its base."""
    return sum(row["joint"] != ROOT_JOINT for row in report["tree"])


def short_name(robot: str) -> str:
    """A robot's name without the folders and the suffix of its file."""
    return robot.rsplit("/", 1)[-1].removesuffix(".urdf").removesuffix(".xml")


def csv_text(content: dict[str, Any]) -> str:
    """All rows as CSV."""
    out = io.StringIO()
    writer = csv.DictWriter(out, [f.name for f in fields(Row)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(content["rows"])
    return out.getvalue()


def _number(x: float | None, digits: int = 3) -> str:
    return "" if x is None else f"{x:.{digits}g}" if x < 1000 else f"{x:.0f}"


def _wanted(row: dict[str, Any], batches: Sequence[int]) -> bool:
    return row["batch"] is None or row["batch"] in (batches[0], batches[-1])


def text(content: dict[str, Any]) -> str:
    """A table per robot and function, with notes; of the batches the smallest and the largest."""
    rows, parts, notes = content["rows"], [], {}
    batches = sorted({r["batch"] for r in rows if r["batch"] is not None}) or [1]

    def note(row: dict[str, Any]) -> str:
        said = [row["how"]]
        if row["leaves_out"] and not row["leaves_out"].startswith("nothing"):
            said.append(f"leaves out {row['leaves_out']}")
        said += [row["source"]]
        line = "; ".join(s for s in said if s)
        return f"[{notes.setdefault(line, len(notes) + 1)}]" if line else ""

    for design in content["designs"]:
        m, widths = design["multipliers"], design["multiplier_widths"]
        parts.append(
            f"{short_name(design['robot'])}: {design['design']}: {m['variable']} variable multipliers "
            f"({', '.join(f'{n} of {size} bits' for size, n in widths.items())}; {design['multiplier_blocks']} device "
            f"blocks), {m['constant']} constant as shifts and adds; {design['simulator']}, "
            f"{design['mismatches']} mismatches"
        )
    head = [
        "",
        "how known",
        "latency cyc",
        "interval cyc",
        "MHz",
        "latency µs",
        "µs per task",
        "var mult",
        "const mult",
    ]
    for robot, function in dict.fromkeys((r["robot"], r["function"]) for r in rows):
        lines = []
        for r in rows:
            if (r["robot"], r["function"]) != (robot, function) or not _wanted(r, batches):
                continue
            name = r["implementation"]
            if r["batch"]:
                name += f", batch {r['batch']}, {r['workers']} core{'s' if r['workers'] > 1 else ''}"
            if r["resources"]:
                name += f" ({r['resources']})"
            cells = [name, r["known"], _number(r["latency_cycles"], 4), _number(r["interval_cycles"], 4)]
            cells += [_number(r["clock_mhz"]), _number(r["latency_us"]), _number(r["task_us"])]
            cells += [_number(r["variable_multipliers"], 9), _number(r["constant_multipliers"], 9), note(r)]
            lines.append(cells)
        parts.append(f"{short_name(robot)}, {function}\n\n" + table([*head, "notes"], lines))
    machine = content["machine"]
    pin = machine["pin"] or "not installed"
    parts.append(
        f"This machine: {machine['processor']}, {machine['cores']} cores, Python {machine['python']}, "
        f"NumPy {machine['numpy']}, Pinocchio {pin}"
    )
    parts.append("\n".join(f"[{k}] {line}" for line, k in notes.items()))
    if content["also_published"]:
        also = (
            f"- {p['work']} ({p['known']}): {p['claim']}; {p['how']}; {p['source']}" for p in content["also_published"]
        )
        parts.append("Also published, without figures for one function:\n" + "\n".join(also))
    return "\n\n".join(p for p in parts if p)
