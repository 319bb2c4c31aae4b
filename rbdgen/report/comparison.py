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
from rbdgen.report.columns import table
from rbdgen.report.published import (
    Figure,
    figures_for,
    general_figures,
    published_figures,
    robot_key,
)
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

RESOURCES = {
    "dsp": "DSP",
    "lut": "LUT",
    "lut_share": "of LUTs",
    "ff_share": "of flip-flops",
    "watt": "W",
}
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
    several = f"{report['replicas']} accelerators, " if report["replicas"] > 1 else ""
    return f"rbdgen, {several}II {report['ii']}, {report['precision']}, {report['device']}"


def our_row(robot: str, function: str, report: dict[str, Any]) -> Row:
    """A row from a simulation's report."""
    f, clock = report["functions"][function], report["clock_mhz"]
    widths = [f"{count} of {size}" for size, count in report["multiplier_widths"].items()]
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
        multiplier_width=", ".join(widths),
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
    keys: set[str | None] = set()
    for robot in dict.fromkeys(name for name, _ in reports):
        mine = [report for name, report in reports if name == robot]
        timed = [timing for name, timing in timings if name == robot]
        key = robot_key((short_name(robot), mine[0]["robot"]), own_joints(mine[0]))
        keys.add(key)
        rows += _robot_rows(robot, key, mine, timed)
    return {
        "schema": SCHEMA,
        "machine": machine,
        "designs": [_design(robot, report) for robot, report in reports],
        "rows": [asdict(row) for row in rows],
        "elsewhere": _elsewhere(rows, keys),
        "losses": losses(rows),
        "also_published": [_statement(figure) for figure in general_figures(keys)],
    }


def _elsewhere(rows: Sequence[Row], keys: set[str | None]) -> list[dict[str, Any]]:
    """Functions that were published of these robots and not asked for, with who did."""
    asked = {row.function for row in rows}
    found: dict[str, list[str]] = {}
    for figure in published_figures():
        for function in figure.functions:
            if function not in asked and keys & set(figure.robots):
                works = found.setdefault(function, [])
                if figure.work not in works:
                    works.append(figure.work)
    return [{"function": function, "works": works} for function, works in sorted(found.items())]


def losses(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Where another implementation is faster than the fastest of our simulated designs: by robot, function and figure,
    the fastest other one."""
    found = []
    for robot, function in dict.fromkeys((row.robot, row.function) for row in rows):
        mine = [row for row in rows if (row.robot, row.function) == (robot, function)]
        for figure in ("latency_us", "task_us"):
            known = [row for row in mine if getattr(row, figure) is not None]
            own = [getattr(row, figure) for row in known if row.known == RTL]
            others = [row for row in known if row.known != RTL]
            if not own or not others:
                continue
            best = min(others, key=lambda row: getattr(row, figure))
            if getattr(best, figure) < min(own):
                found.append(
                    {
                        "robot": robot,
                        "function": function,
                        "figure": figure,
                        "ours": min(own),
                        "theirs": getattr(best, figure),
                        "implementation": best.implementation,
                        "batch": best.batch,
                        "workers": best.workers,
                    }
                )
    return found


def _robot_rows(
    robot: str,
    key: str | None,
    reports: Sequence[dict[str, Any]],
    timings: Sequence[Timing],
) -> list[Row]:
    """One robot's rows, function by function: ours, those that were published of its ``key``, and this machine's."""
    rows = []
    for function in reports[0]["functions"]:
        rows += [our_row(robot, function, report) for report in reports]
        rows += [published_row(robot, function, figure) for figure in figures_for(key, function)]
        for timing in timings:
            if timing.function == function:
                rows.append(timed_row(robot, timing))
    return rows


def _design(robot: str, report: dict[str, Any]) -> dict[str, Any]:
    """One of our designs: what all its functions have in common."""
    return {
        "robot": robot,
        "design": design_label(report),
        "multipliers": report["multipliers"],
        "multiplier_widths": report["multiplier_widths"],
        "multiplier_blocks": report["multiplier_blocks"],
        "modelled_resources": report["modelled_resources"],
        "simulator": report["simulator"],
        "mismatches": sum(f["mismatches"] for f in report["functions"].values()),
        "functions": report["functions"],
    }


def _statement(figure: Figure) -> dict[str, Any]:
    """What was published about no function in particular."""
    return {
        "work": figure.work,
        "known": KINDS[figure.kind],
        "robots": list(figure.robots),
        "claim": figure.claim or resource_text(figure),
        "leaves_out": figure.leaves_out,
        "how": figure.how,
        "source": figure.source,
    }


def own_joints(report: dict[str, Any]) -> int:
    """Joints of a report's robot, without the one that carries its base and those that follow others."""
    return sum(row["joint"] != ROOT_JOINT and "follows" not in row for row in report["tree"])


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


HEAD = (
    "",
    "how known",
    "latency cyc",
    "interval cyc",
    "MHz",
    "latency µs",
    "µs per task",
    "var mult",
    "const mult",
    "notes",
)


def text(content: dict[str, Any]) -> str:
    """A table per robot and function, with notes; of the batches the smallest and the largest."""
    notes = _Notes()
    parts = [_design_text(design) for design in content["designs"]]
    rows = _shown(content["rows"])
    for robot, function in dict.fromkeys((row["robot"], row["function"]) for row in rows):
        mine = [row for row in rows if (row["robot"], row["function"]) == (robot, function)]
        lines = [_cells(row, notes) for row in mine]
        parts.append(f"{short_name(robot)}, {function}\n\n" + table(HEAD, lines))
    machine = content["machine"]
    pin = machine["pin"] or "not installed"
    parts.append(
        f"This machine: {machine['processor']}, {machine['cores']} cores, Python {machine['python']}, "
        f"NumPy {machine['numpy']}, Pinocchio {pin}"
    )
    parts.append(notes.text())
    if content["losses"]:
        lost = [_loss_text(loss) for loss in content["losses"]]
        parts.append("Where the simulated accelerators do not win:\n" + "\n".join(lost))
    if content["elsewhere"]:
        also = [f"- {e['function']}: {', '.join(e['works'])}" for e in content["elsewhere"]]
        asked = ",".join(e["function"] for e in content["elsewhere"])
        head = f"Others published other functions of this robot; ask for --functions {asked}:"
        parts.append(head + "\n" + "\n".join(also))
    if content["also_published"]:
        also = [_statement_text(statement) for statement in content["also_published"]]
        parts.append("Also published, without figures for one function:\n" + "\n".join(also))
    return "\n\n".join(part for part in parts if part)


class _Notes:
    """Remarks below the tables, each once, by number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def reference(self, row: dict[str, Any]) -> str:
        """The number of a row's remark; empty if there is nothing to say."""
        said = [row["how"]]
        left_out = row["leaves_out"]
        if left_out and not left_out.startswith("nothing"):
            said.append(f"leaves out {left_out}")
        said.append(row["source"])
        line = "; ".join(filter(None, said))
        if not line:
            return ""
        return f"[{self.numbers.setdefault(line, len(self.numbers) + 1)}]"

    def text(self) -> str:
        """All remarks."""
        return "\n".join(f"[{number}] {line}" for line, number in self.numbers.items())


def _shown(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of the smallest and the largest batch, and those without one."""
    batches = {row["batch"] for row in rows if row["batch"] is not None}
    wanted = {None, min(batches, default=1), max(batches, default=1)}
    return [row for row in rows if row["batch"] in wanted]


def _design_text(design: dict[str, Any]) -> str:
    """One of our designs in a line."""
    multipliers = design["multipliers"]
    widths = [f"{count} of {size} bits" for size, count in design["multiplier_widths"].items()]
    modelled = design["modelled_resources"]
    return (
        f"{short_name(design['robot'])}: {design['design']}: {multipliers['variable']} variable multipliers "
        f"({', '.join(widths)}; {design['multiplier_blocks']} device "
        f"blocks), {multipliers['constant']} constant as shifts and adds; by the model {modelled['luts']} look-up "
        f"tables and {modelled['registers']} registers; {design['simulator']}, "
        f"{design['mismatches']} mismatches"
    )


WORDS = {"latency_us": "latency", "task_us": "time per task"}
"""What figures are called in a sentence."""


def _loss_text(loss: dict[str, Any]) -> str:
    """One figure that another has better, in a line."""
    who = loss["implementation"]
    if loss["batch"]:
        plural = "s" if loss["workers"] > 1 else ""
        who += f", batch {loss['batch']}, {loss['workers']} core{plural}"
    return (
        f"- {short_name(loss['robot'])}, {loss['function']}, {WORDS[loss['figure']]}: {_number(loss['theirs'])} µs "
        f"by {who}, ours {_number(loss['ours'])}"
    )


def _statement_text(said: dict[str, Any]) -> str:
    what = f"{said['work']} ({said['known']}): {said['claim']}"
    return f"- {what}; {said['how']}; {said['source']}"


def _cells(row: dict[str, Any], notes: _Notes) -> list[str]:
    """A row of the table, under :data:`HEAD`."""
    name = row["implementation"]
    if row["batch"]:
        plural = "s" if row["workers"] > 1 else ""
        name += f", batch {row['batch']}, {row['workers']} core{plural}"
    if row["resources"]:
        name += f" ({row['resources']})"
    return [
        name,
        row["known"],
        _number(row["latency_cycles"], 4),
        _number(row["interval_cycles"], 4),
        _number(row["clock_mhz"]),
        _number(row["latency_us"]),
        _number(row["task_us"]),
        _number(row["variable_multipliers"], 9),
        _number(row["constant_multipliers"], 9),
        notes.reference(row),
    ]


def _number(x: float | None, digits: int = 3) -> str:
    """A figure with so many digits, large ones in whole numbers; nothing for None."""
    if x is None:
        return ""
    return f"{x:.{digits}g}" if x < 1000 else f"{x:.0f}"
