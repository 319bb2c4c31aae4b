"""Prints the times of comparisons and sweeps beside the targets: ``make bench-compare``.

Everything is measured here and now: ``compare iiwa14 hyq atlas --measure`` with a fresh folder, compilers included; a
sweep of 24 points on two processes and on a Dask cluster of two workers, row for row; and the same sweep killed
half-way and started again. ``--part`` chooses one part. Exit status 1 if a target is missed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from figures import Part, Targets, arguments, command, measure, parse, public, section

COMPARE_SECONDS = 600
"""Limit of a comparison of three robots."""
SWEEP = ("--ii", "1,2,4,6,8,12", "--word", "16,18,20,24", "--tasks", "500")
"""24 points."""
POINTS = 24


def compare(targets: Targets, robots: Path) -> None:
    """The comparison of an arm, a quadruped and a humanoid."""
    with tempfile.TemporaryDirectory() as work:
        content, seconds, memory = command(
            "compare", "iiwa14", "hyq", str(robots / "atlas.urdf"), "--measure", "-o", work
        )
    wrong = sum(d["mismatches"] for d in content["designs"])
    rows = [
        [
            "seconds, compilers included",
            f"{seconds:.0f}",
            COMPARE_SECONDS,
            targets.at_most(seconds, COMPARE_SECONDS),
        ],
        ["mismatches", wrong, 0, targets.at_most(wrong, 0)],
        ["GiB", f"{memory:.1f}", "", ""],
    ]
    for design in content["designs"]:
        for name, f in design["functions"].items():
            what = f"{Path(design['robot']).stem}, {name}: interval, latency, multipliers"
            rows.append(
                [what, f["ii_cycles"], f["latency_cycles"], design["multipliers"]["variable"]]
            )
    section("compare iiwa14 hyq atlas", ["what", "measured", "limit", ""], rows)


def sweeps(targets: Targets) -> None:
    """One sweep on processes, on Dask, and killed half-way."""
    import distributed

    with tempfile.TemporaryDirectory() as work:
        local, seconds, _ = command(
            "explore", "iiwa14", *SWEEP, "--jobs", "2", "-o", f"{work}/local"
        )
        rows = [["2 processes: seconds", f"{seconds:.0f}", "", ""]]
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster:
            address = cluster.scheduler_address
            remote, seconds, _ = command(
                "explore", "iiwa14", *SWEEP, "--dask", address, "-o", f"{work}/dask"
            )
        rows.append(["Dask LocalCluster, 2 workers: seconds", f"{seconds:.0f}", "", ""])
        differ = sum(a != b for a, b in zip(local["rows"], remote["rows"], strict=True))
        rows += [
            ["points", len(local["rows"]), POINTS, targets.at_least(len(local["rows"]), POINTS)],
            ["rows that differ", differ, 0, targets.at_most(differ, 0)],
        ]
        before = killed(Path(work) / "again")
        again, seconds, _ = command(
            "explore", "iiwa14", *SWEEP, "--jobs", "2", "-o", f"{work}/again"
        )
        differ = sum(a != b for a, b in zip(local["rows"], again["rows"], strict=True))
        redone = len(before) - again["taken"] + sum(stamp(p) != t for p, t in before.items())
        rows += [
            ["killed: points that were finished", len(before), "", ""],
            ["started again: seconds", f"{seconds:.0f}", "", ""],
            ["finished points that were redone", redone, 0, targets.at_most(redone, 0)],
            ["rows that differ", differ, 0, targets.at_most(differ, 0)],
        ]
    section("explore iiwa14, 24 points", ["what", "measured", "limit", ""], rows)


def stamp(path: Path) -> int:
    """When a file was written."""
    return path.stat().st_mtime_ns


def killed(folder: Path) -> dict[Path, int]:
    """Start the sweep, kill it with half of its points finished; these, and when they were written."""
    line = [
        sys.executable,
        "-m",
        "rbdgen",
        "explore",
        "iiwa14",
        *SWEEP,
        "--jobs",
        "2",
        "-o",
        str(folder),
    ]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(line, stdout=quiet, stderr=quiet, start_new_session=True) as process:
        while process.poll() is None and len(list(folder.glob("points/*.json"))) < POINTS // 2:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
    return {p: stamp(p) for p in folder.glob("points/*.json")}


PARTS: dict[str, Part] = {
    "compare": lambda targets, args: compare(targets, public(args.robots, "atlas.urdf").parent),
    "sweeps": lambda targets, _: sweeps(targets),
}


def main() -> int:
    """Print the parts; 1 if a target is missed."""
    return measure(parse(arguments(__doc__, PARTS, robots=True)), PARTS)


if __name__ == "__main__":
    sys.exit(main())
