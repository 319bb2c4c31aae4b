"""The comparison of ``rbdgen compare``: one row per robot, function and implementation.

Every row says how its figures are known, and every figure whether it is measured, modelled or published. Ours are what
schedules promise, or what simulations measured; the clock is the device model's in both. Not here: where others are
better (:mod:`rbdgen.report.published`), and the comparison as text (:mod:`rbdgen.report.comparison_text`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rbdgen.errors import counted
from rbdgen.model.urdf import ROOT_JOINT
from rbdgen.processor_times import Timing
from rbdgen.report.published import (
    Figure,
    elsewhere,
    figures_for,
    general_figures,
    losses,
    robot_key,
    without_figures,
)

SCHEMA = "rbdgen.compare/2"
"""Name and version of the comparison's structure."""
PROMISED = "modelled: the schedule's promise"
RTL, HERE = "measured, RTL simulation", "measured, this machine, this run"
"""Evidence for our figures and the machine's timings; published ones have the kinds of ``published.toml``."""
KINDS = {
    "measured": "measured earlier, on the work's own code",
    "read": "published: read in the source",
    "inferred": "modelled: inferred from the source",
}
MEASURED, MODELLED, PUBLISHED = "measured", "modelled", "published"
"""Evidence for a single figure."""
KIND_OF_FIGURES = {"measured": MEASURED, "read": PUBLISHED, "inferred": MODELLED}
"""The same for what is in ``published.toml``; a clock there is always published."""
FIGURES = (
    "latency_cycles",
    "interval_cycles",
    "clock_mhz",
    "latency_us",
    "task_us",
    "variable_multipliers",
    "constant_multipliers",
    "max_relative_error",
    "luts",
    "per_multiplier",
    "per_lut",
)
"""A row's figures."""
SIMULATED = "latency_cycles", "interval_cycles", "max_relative_error"
"""Figures that a simulation measures of an accelerator; the rest are the model's."""

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
    call; ``task_us`` the time per task at full rate. ``multipliers`` are what the function uses, by kind; ``luts`` are
    of the whole design. ``per_multiplier`` and ``per_lut`` are tasks per second for each of its variable multipliers
    (of works that tell DSP blocks only: for each of these) and each look-up table. ``cells`` says of each figure that
    is there how it is known: measured, modelled or published. ``source``, ``where`` and ``address`` say where it can be
    looked up."""

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
    luts: int | None = None
    per_multiplier: float | None = None
    per_lut: float | None = None
    resources: str = ""
    leaves_out: str = ""
    how: str = ""
    device: str = ""
    precision: str = ""
    source: str = ""
    where: str = ""
    address: str = ""
    cells: Mapping[str, str] = field(default_factory=dict)


def design_label(report: dict[str, Any]) -> str:
    """Label that tells our designs of one robot apart."""
    replicas = report.get("replicas", 1)
    several = f"{replicas} accelerators, " if replicas > 1 else ""
    pace = f"II {report['ii']}"
    if "engine" in report:
        several = f"{report['engine']['cores']} × " if report["engine"]["cores"] > 1 else ""
        pace = counted(report["engine"]["lanes"], "lane")
    return f"rbdgen, {several}{pace}, {report['precision']}, {report['device']}"


def made_text(made: Mapping[str, Any]) -> str:
    """When and by what figures of this run were made, in a line; empty where that is not known."""
    if not made:
        return ""
    commit = f", commit {made['commit']}" if made["commit"] else ""
    return f"rbdgen {made['version']}{commit}, {made['date']}: {made['command']}"


def _densities(values: Mapping[str, Any], multipliers: float | None) -> dict[str, float]:
    """Tasks per second for each multiplier and look-up table, as far as rate and counts are known."""
    if not values["task_us"]:
        return {}
    rate = 1e6 / values["task_us"]
    counts = {"per_multiplier": multipliers, "per_lut": values["luts"]}
    return {name: rate / count for name, count in counts.items() if count}


def our_row(
    robot: str, function: str, report: dict[str, Any], made: Mapping[str, Any] | None = None
) -> Row:
    """A row from a simulation's report, or from a design's with the schedule's promises; ``made`` in this run."""
    f, clock = report["functions"][function], report["clock_mhz"]
    widths = [f"{count} of {size}" for size, count in report["multiplier_widths"].items()]
    simulated = is_measured(report)
    values: dict[str, Any] = {
        "latency_cycles": f["latency_cycles"],
        "interval_cycles": f["ii_cycles"],
        "clock_mhz": clock,
        "latency_us": f["latency_cycles"] / clock,
        "task_us": f["ii_cycles"] / clock,
        "variable_multipliers": f["multipliers"]["variable"],
        "constant_multipliers": f["multipliers"]["constant"],
        "luts": report["modelled_resources"]["luts"],
    }
    values |= _densities(values, report["multipliers"]["variable"])
    how = "the clock is the device model's, not place and route's"
    if simulated:
        values["max_relative_error"] = f["max_relative_error"]
        how = f"{f['tasks']} tasks, {f['mismatches']} mismatches; {how}"
    return Row(
        robot,
        function,
        design_label(report),
        RTL if simulated else PROMISED,
        **values,
        multiplier_width=", ".join(widths),
        how=how,
        device=report["device"],
        precision=report["precision"],
        source=made_text(made or {}),
        cells={key: MEASURED if simulated and key in SIMULATED else MODELLED for key in values},
    )


def is_measured(report: dict[str, Any]) -> bool:
    """Whether a report is a simulation's."""
    return report["figures"].startswith("measured")


def published_row(robot: str, function: str, figure: Figure) -> Row:
    """A row from a published figure."""
    values: dict[str, Any] = {
        "latency_cycles": figure.latency_cycles,
        "interval_cycles": figure.interval_cycles,
        "clock_mhz": figure.clock_mhz,
        "latency_us": figure.microseconds,
        "task_us": figure.microseconds_per_task,
        "variable_multipliers": figure.multipliers.get("variable"),
        "constant_multipliers": figure.multipliers.get("constant"),
        "luts": figure.resources.get("lut"),
    }
    counted = figure.multipliers.get("variable") or figure.resources.get("dsp")
    values |= _densities(values, counted)
    known = {key: value for key, value in values.items() if value is not None}
    resources = ("resources",) if figure.resources else ()
    return Row(
        robot,
        function,
        figure.work,
        KINDS[figure.kind],
        **known,
        multiplier_width=figure.multipliers.get("width", ""),
        resources=resource_text(figure),
        leaves_out=figure.leaves_out,
        how=figure.how,
        device=figure.device,
        precision=figure.precision,
        source=figure.source,
        where=figure.where,
        address=figure.address,
        cells={key: _published_kind(figure, key) for key in (*known, *resources)},
    )


def _published_kind(figure: Figure, key: str) -> str:
    """Evidence for one figure of a work; what was measured in cycles and is published in MHz is published in µs."""
    kind = KIND_OF_FIGURES[figure.kind]
    if key == "clock_mhz":
        return PUBLISHED
    if key in ("luts", "per_lut") and kind == MEASURED:
        return PUBLISHED
    if key.endswith(("_us", "per_multiplier")) and figure.clock_mhz and kind == MEASURED:
        return PUBLISHED
    return kind


def resource_text(figure: Figure) -> str:
    """Resources of a published figure in a line."""
    return ", ".join(f"{value} {RESOURCES[key]}" for key, value in figure.resources.items())


def timed_row(robot: str, timing: Timing, made: Mapping[str, Any] | None = None) -> Row:
    """A row from a timing on this machine; the latency is that of a call for one state."""
    single = timing.microseconds if timing.batch == 1 else None
    timed: dict[str, Any] = {"latency_us": single, "task_us": timing.microseconds}
    known = {key: value for key, value in timed.items() if value is not None}
    return Row(
        robot,
        timing.function,
        timing.implementation,
        HERE if known else "not measured",
        **known,
        batch=timing.batch,
        workers=timing.workers,
        how=timing.how or timing.note,
        precision="double",
        source=made_text(made or {}) if known else "",
        cells=dict.fromkeys(known, MEASURED),
    )


def comparison(
    reports: Sequence[tuple[str, dict[str, Any]]],
    timings: Sequence[tuple[str, Timing]] = (),
    machine: dict[str, Any] | None = None,
    made: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The whole comparison: ``reports`` are designs' or simulations', and ``timings`` measurements on ``machine``,
    each with the robot as the user named it. ``made``: date, command, version and commit of this run."""
    rows: list[Row] = []
    keys: dict[str, str | None] = {}
    for robot in dict.fromkeys(name for name, _ in reports):
        mine = [report for name, report in reports if name == robot]
        timed = [timing for name, timing in timings if name == robot]
        names = short_name(robot), mine[0]["robot"]
        # another robot may go by the same name: its joints must be as many
        keys[robot] = robot_key(names, own_joints(mine[0]))
        rows += _robot_rows(robot, keys[robot], mine, timed, made)
    written = [asdict(row) for row in rows]
    known = set(keys.values())
    return {
        "schema": SCHEMA,
        "made": dict(made) if made else None,
        "machine": machine,
        "designs": [_design(robot, report) for robot, report in reports],
        "rows": written,
        "losses": losses(written, (PROMISED, RTL)),
        "elsewhere": elsewhere({row.function for row in rows}, known),
        "without_figures": without_figures(keys),
        "also_published": [_statement(figure) for figure in general_figures(known)],
    }


def _robot_rows(
    robot: str,
    key: str | None,
    reports: Sequence[dict[str, Any]],
    timings: Sequence[Timing],
    made: Mapping[str, Any] | None,
) -> list[Row]:
    """One robot's rows, function by function: ours, those that were published of its ``key``, and this machine's."""
    rows = []
    for function in reports[0]["functions"]:
        rows += [our_row(robot, function, report, made) for report in reports]
        rows += [published_row(robot, function, figure) for figure in figures_for(key, function)]
        for timing in timings:
            if timing.function == function:
                rows.append(timed_row(robot, timing, made))
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
        **_simulated(report),
        "functions": report["functions"],
        "host": report.get("host"),
    }


def _simulated(report: dict[str, Any]) -> dict[str, Any]:
    """Evidence for a design's cycles, and the simulator that measured them."""
    if not is_measured(report):
        return {"known": PROMISED}
    wrong = sum(f["mismatches"] for f in report["functions"].values())
    return {"known": RTL, "simulator": report["simulator"], "mismatches": wrong}


def _statement(figure: Figure) -> dict[str, Any]:
    """Statement that was published about no function in particular."""
    return {
        "work": figure.work,
        "known": KINDS[figure.kind],
        "robots": list(figure.robots),
        "claim": figure.claim or resource_text(figure),
        "leaves_out": figure.leaves_out,
        "how": figure.how,
        "device": figure.device,
        "precision": figure.precision,
        "source": figure.source,
        "where": figure.where,
        "address": figure.address,
    }


def own_joints(report: dict[str, Any]) -> int:
    """Joints of a report's robot, without the one that carries its base and those that follow others."""
    return sum(row["joint"] != ROOT_JOINT and "follows" not in row for row in report["tree"])


def short_name(robot: str) -> str:
    """A robot's name without the folders and the suffix of its file."""
    return robot.rsplit("/", 1)[-1].removesuffix(".urdf").removesuffix(".xml")
