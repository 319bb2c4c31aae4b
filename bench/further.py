"""Functions beside the seven in simulated hardware: an arm and a quadruped on a floating base, by both machines.

Each function's tasks run alone and mixed with those of its group under random stalls, every result compared; errors are
those of entries over their own largest values at 2,000 fresh states, of tasks that raise no flag. Exit status 1 if a
result differs or an error is above its target.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from figures import Targets, arguments, parse, section

TASKS = 2000
LEAST_ERROR = 1e-3
USUAL, LARGEST, PIPELINE = "engine, 4 lanes", "engine, 8 lanes", "pipeline, II 12"
MACHINES = {
    USUAL: ("--machine", "engine", "--lanes", "4"),
    LARGEST: ("--machine", "engine", "--lanes", "8"),
    PIPELINE: ("--ii", "12"),
}
ARM = ("iiwa14", "--frame", "tip=link7:0,0,0.1")
QUADRUPED = (
    "hyq",
    "--base",
    "floating",
    "--frame",
    "lf=lf_lowerleg:0,0,-0.33;rh=rh_lowerleg:0,0,-0.33",
)
ROBOTS = {"iiwa14": ARM, "hyq, floating": QUADRUPED}
FINER = ("--error", "7e-4")
"""Of formats that are found for 1e-3 fresh states take up to 1.2e-3."""
CONTACTS = {
    "iiwa14": ("--contact", "tip", "--constraint-damping", "0.1"),
    "hyq, floating": ("--contact", "lf,rh"),
}
"""What contacts are; an arm that is stretched out takes a damping."""
SLIDING = {
    "iiwa14": ("--contact", "tip:z", "--constraint-damping", "0.1", *FINER),
    "hyq, floating": (
        *("--contact", "lf:z,rh:z", "--reference", "local_world_aligned"),
        *("--error", "2.5e-4"),
    ),
}
"""Fresh states of two sliding feet take up to 2.6 of the error that formats are found for."""
WIDE = {"hyq, floating": ("--word", "35")}
"""Words of 32 bits miss an error of 1e-3."""
LONG = {"iiwa14": ("--word", "32")}
"""Formats that are found for an error of 1e-3 let a third of the tasks overflow."""
LOOPS = {
    "iiwa14": ("--loop", "tip:base", "--contact-rate", "20"),
    "hyq, floating": (
        "--frame",
        "lf=lf_lowerleg:0.35,0,0;bar=rf_lowerleg:0.35,0,0.414",
        "--loop",
        "lf:bar",
        "--contact-rate",
        "20",
    ),
}
"""An arm whose tip turns about the base's origin, and a quadruped with a bar from one fore foot to the other."""
DAMPED = {
    "iiwa14": ("--constraint-damping", "0.001"),
    "hyq, floating": ("--constraint-damping", "0.01"),
}


@dataclass(frozen=True)
class Group:
    """``functions`` of one accelerator, with ``words`` of each robot, and the machines and robots they are made for."""

    functions: tuple[str, ...]
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    machines: tuple[str, ...] = (USUAL, PIPELINE)
    robots: tuple[str, ...] = tuple(ROBOTS)


GROUPS = (
    Group(("com", "cmm", "dcmm", "energy", "coriolis")),
    Group(("dcent",)),
    Group(("hid",)),
    Group(("hfd",), dict.fromkeys(ROBOTS, FINER)),
    Group(("djac", "dfe")),
    Group(("impulse",), CONTACTS),
    Group(("dcfd",), {robot: (*words, *FINER) for robot, words in CONTACTS.items()}),
    Group(("dscfd",), SLIDING),
    Group(("lfd", "loop"), LOOPS),
    Group(("ik",), DAMPED),
    Group(("regressor", "eregressor")),
    Group(("dadpi",)),
    Group(("d2id",), robots=("iiwa14",)),
    Group(("d2id",), WIDE, (USUAL,), robots=("hyq, floating",)),
    Group(("d2id",), {"hyq, floating": FINER}, (PIPELINE,), robots=("hyq, floating",)),
    Group(("d2fd",), machines=(USUAL,), robots=("iiwa14",)),
    Group(("d2fd",), LONG, (PIPELINE,), robots=("iiwa14",)),
    Group(("d2fd",), WIDE, (LARGEST,), robots=("hyq, floating",)),
)


def simulated(words: Sequence[str]) -> dict[str, Any] | str:
    """What ``rbdgen simulate`` says of a design; or why there is none."""
    with TemporaryDirectory() as folder:
        line = [sys.executable, "-m", "rbdgen.cli.main", "simulate", *words, "--json", "-o", folder]
        done = subprocess.run(line, capture_output=True, text=True)
        if done.returncode == 2:
            return done.stderr.strip().splitlines()[-1].removeprefix("rbdgen: error: ")
        found = json.loads(done.stdout)
        report = json.loads((Path(folder) / "report.json").read_text(encoding="utf-8"))
        return found | {"evidence": report["evidence"]}


def rows_of(
    targets: Targets, robot: str, machine: str, group: Group, tasks: int
) -> list[list[str | int | float | None]]:
    """Rows of a table: a function each."""
    words = [*ROBOTS[robot], "--functions", ",".join(group.functions), *MACHINES[machine]]
    words += group.words.get(robot, ())
    found = simulated([*words, "--tasks", str(tasks)])
    if isinstance(found, str):
        return [
            [robot, machine, name, None, None, None, 0, None, "", found, "", None]
            for name in group.functions
        ]
    rows: list[list[str | int | float | None]] = []
    for name in group.functions:
        own = found["functions"][name]
        words_of_program = own.get("program", {}).get("words")
        known = found["evidence"]["functions"][name]
        error = max(output["max_relative"] for output in known["outputs"].values())
        flagged = sum(known["flagged"].values())
        row = [robot, machine, name, own["ii_cycles"], own["latency_cycles"], words_of_program]
        row += [own["tasks"], own["mismatches"], targets.equal(own["mismatches"], 0)]
        row += [f"{error:.1e}", targets.at_most(error, LEAST_ERROR), flagged]
        rows.append(row)
    return rows


def main() -> int:
    """Run all groups; 1 if anything differs or a target is missed."""
    parser = arguments(__doc__)
    parser.add_argument("--tasks", type=int, default=TASKS, help="tasks of each function")
    parser.add_argument("--only", metavar="F,…", help="only groups with one of these functions")
    parser.add_argument("--robot", choices=ROBOTS, help="only this robot")
    parser.add_argument("--machine", choices=MACHINES, help="only this machine")
    args = parse(parser)
    targets = Targets()
    chosen = set(args.only.split(",")) if args.only else set()
    head = ["robot", "machine", "function", "interval", "latency", "words of program"]
    head += ["tasks", "mismatches", "", "largest error of an entry", "", "flagged"]
    for group in GROUPS:
        if chosen and not chosen & set(group.functions):
            continue
        for robot in group.robots:
            for machine in group.machines:
                if args.robot not in (None, robot) or args.machine not in (None, machine):
                    continue
                rows = rows_of(targets, robot, machine, group, args.tasks)
                section("Functions beside the seven, an error of 1e-3", head, rows, keys=3)
    return targets.finish()


if __name__ == "__main__":
    sys.exit(main())
