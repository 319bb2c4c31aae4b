"""Prints errors by entry, and what they cost: ``make bench-entries``.

Every figure is measured here and now, by the bit-true model and by the compiler's own resource model. ``--part
robots``: the largest error of any entry beside its own largest value, at fresh states of motions and of free torques,
with default options. ``--part cost``: what an error of each entry takes beside one of the largest entry, and with
ranges of motions only. ``--part savings``: what formats cost without what makes them cheap. ``--robots DIR`` holds
public URDFs. Exit status 1 if a target is missed.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from figures import Part, Targets, arguments, measure, parse, section

from rbdgen import Design, Options, RbdgenError, Robot, compile_robot
from rbdgen.functions.registry import common
from rbdgen.model import Placement
from rbdgen.model.setup import Setup
from rbdgen.report.design import design_report
from rbdgen.report.evidence import evidence
from rbdgen.tracing.equivalent import EquivalentRobot, equivalent

FUNCTIONS = (*common(), "nle", "g", "fk", "jac")
ASKED = 1e-3
"""The error of each entry with default options."""
MISSED = 1.05
"""Times the target, at most, at states that formats were not found at."""
STATES = 40_000
"""Fresh states: half of motions, half of free torques."""
EVIDENCE_STATES, EVIDENCE_SECONDS = 2000, 1.0
"""States of the evidence that commands print, and the time that it may take for the built-in arm."""
INTERVALS = 1, 12
LARGEST = {"all": f"largest:{ASKED:g}"}
COSTS = {"motion": 1.15, "both": 1.35}
"""Look-up tables beside those of an error of the largest entry, at most, by ranges."""


@dataclass(frozen=True)
class Case:
    """A robot as a bench has it: a built-in name or a file of public URDFs, on a base, with a frame and forces."""

    file: str
    frame: str
    base: str = "fixed"
    forces: bool = False

    @property
    def title(self) -> str:
        """The robot in a table."""
        parts = [self.file.removesuffix(".urdf")]
        parts += [self.base] if self.base != "fixed" else []
        return ", ".join(parts + ["forces"] * self.forces)

    def load(self, directory: Path) -> Robot | None:
        """The robot; None where its file is not there."""
        source: str | Path = self.file
        if self.file.endswith(".urdf"):
            source = directory / self.file
            if not source.exists():
                return None
        setup = Setup(self.base, frame={self.frame: ()})
        return setup.load(str(source))


CASES = (
    Case("pendulum2", "link2"),
    Case("ur5", "wrist_3_link"),
    Case("iiwa14", "link7"),
    Case("hyq", "lf_lowerleg"),
    Case("iiwa.urdf", "lbr_iiwa_link_7", forces=True),
    Case("iiwa_rbd_accel.urdf", "lbr_iiwa_link_7"),
    Case("hyq_simple.urdf", "lf_lowerleg", base="floating"),
    Case("baxter_simple.urdf", "left_wrist"),
)


def robots(targets: Targets, directory: Path) -> None:
    """The largest errors of entries of eight robots with default options."""
    rows = []
    for case in CASES:
        robot = case.load(directory)
        if robot is None:
            continue
        options = Options(functions=FUNCTIONS, ii=12, forces=case.forces)
        begin = time.process_time()
        design = compile_robot(robot, options)
        seconds = time.process_time() - begin
        for row in _rows_of(design, targets):
            rows.append([case.title, *row, round(seconds)])
    head = ["robot", "function", "output", "largest error", "at", "kind of states", "of target"]
    head += ["", "not definite", "flagged", "compiled in, s"]
    section(f"Errors of entries, default options, II 12, {STATES} fresh states", head, rows)


def _rows_of(design: Design, targets: Targets) -> list[list[Any]]:
    """A row for each function: its output with the largest error of an entry."""
    rows = []
    found = evidence(design, STATES)["functions"]
    for function, f in found.items():
        outputs = f["outputs"]
        name = max(outputs, key=lambda vector: outputs[vector]["target_share"])
        e = outputs[name]
        kinds = e.get("by_states", {"motion": e})
        kind = max(kinds, key=lambda k: kinds[k]["max_relative"])
        indefinite = sum(output["indefinite"] for output in outputs.values())
        share = e["max_relative"] / ASKED
        rows.append(
            [
                *(function, name, f"{e['max_relative']:.2e}", e["worst"]["label"], kind),
                *(f"{share:.2f}", targets.at_most(share, MISSED)),
                *(indefinite, f["flagged"]["overflow"]),
            ]
        )
    return rows


def cost(targets: Targets, directory: Path) -> None:
    """Costs of errors by entry, by the model."""
    head = ["robot", "II", "ranges", "error of", "bits, mean", "look-up tables", "registers"]
    head += ["blocks", "latency of fd, dfd", "tables beside the first", ""]
    title = f"What errors by entry take, all seven functions, error {ASKED:g}, by the model"
    for case in CASES:
        robot = case.load(directory)
        if robot is not None:
            # large robots take minutes: what is there is shown
            section(title, head, _costs_of(case, robot, targets), keys=4)


def _costs_of(case: Case, robot: Robot, targets: Targets) -> list[list[Any]]:
    """A row for each interval and meaning of the error."""
    rows: list[list[Any]] = []
    for ii in INTERVALS:
        before = 0
        for ranges, error in (("both", LARGEST), ("motion", {}), ("both", {})):
            of = "largest entry" if error else "each entry"
            options = Options(functions=common(), ii=ii, ranges=ranges, error=error)
            try:
                figures = _figures(compile_robot(robot, options))
            except RbdgenError as refused:
                rows.append([case.title, ii, ranges, of, str(refused)[:60], *[""] * 6])
                continue
            before = before or figures["luts"]
            ratio = figures["luts"] / before
            verdict = ""
            if case.file == "iiwa14" and not error:
                verdict = targets.at_most(ratio, COSTS[ranges])
            rows.append([case.title, ii, ranges, of, *figures.values(), f"{ratio:.2f}", verdict])
    return rows


def _figures(design: Design) -> dict[str, Any]:
    """Figures of a design's cost."""
    report = design_report(design)
    resources = report["modelled_resources"]
    latencies = [report["functions"][f]["latency_cycles"] for f in ("fd", "dfd")]
    return {
        "bits": report["formats"]["signal_bits"]["mean"],
        "luts": resources["luts"],
        "registers": resources["registers"],
        "blocks": report["multiplier_blocks"],
        "latency": ", ".join(map(str, latencies)),
    }


def savings() -> None:
    """Costs of formats of the built-in arm without each of what makes them cheap."""
    robot = Setup().load("iiwa14")
    usual = Options(functions=common(), ii=12)
    tried = {
        "a length for each signal, in coordinates that save products": (usual, equivalent),
        "one length for all signals": (replace(usual, formats="uniform"), equivalent),
        "the links' own coordinates": (usual, _as_it_is),
    }
    rows = []
    for what, (options, frames) in tried.items():
        with patch("rbdgen.tracing.building.equivalent", frames):
            rows.append([what, *_figures(compile_robot(robot, options)).values()])
    head = ["formats", "bits, mean", "look-up tables", "registers", "blocks", "latency of fd, dfd"]
    section(
        "What makes formats cheap, iiwa14, all seven functions, II 12, by the model", head, rows
    )


def _as_it_is(robot: Robot) -> EquivalentRobot:
    """A robot in place of its equivalent."""
    return EquivalentRobot(robot, tuple(Placement() for _ in robot.bodies), robot)


def quickness(targets: Targets) -> None:
    """The time of the evidence that commands print."""
    design = compile_robot(Setup().load("iiwa14"), Options(functions=common(), ii=12))
    evidence(design, 10)
    begin = time.perf_counter()
    evidence(design, EVIDENCE_STATES)
    seconds = time.perf_counter() - begin
    rows = [["iiwa14", EVIDENCE_STATES, f"{seconds:.2f}", EVIDENCE_SECONDS]]
    rows[0].append(targets.at_most(seconds, EVIDENCE_SECONDS))
    section(
        "Evidence by entry, all seven functions",
        ["robot", "states", "seconds", "at most", ""],
        rows,
    )


PARTS: dict[str, Part] = {
    "robots": lambda targets, args: robots(targets, args.robots),
    "cost": lambda targets, args: cost(targets, args.robots),
    "savings": lambda *_: savings(),
    "quickness": lambda targets, _: quickness(targets),
}


def main() -> int:
    """Print the parts; 1 if a target is missed."""
    return measure(parse(arguments(__doc__, PARTS, robots=True)), PARTS)


if __name__ == "__main__":
    sys.exit(main())
