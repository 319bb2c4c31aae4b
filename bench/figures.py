"""What the benches share: tables, printed and on the page, verdicts on targets, and commands in fresh processes."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from page import Page, revision

from rbdgen.report.columns import table


class Targets:
    """Compares figures with their limits and counts the misses."""

    def __init__(self) -> None:
        self.missed = 0

    def _verdict(self, good: bool) -> str:
        self.missed += not good
        return "ok" if good else "MISSED"

    def at_most(self, value: float, limit: float) -> str:
        """Whether a limit is kept, in a word."""
        return self._verdict(value <= limit)

    def at_least(self, value: float, limit: float) -> str:
        """Whether a target is reached, in a word."""
        return self._verdict(value >= limit)

    def equal(self, value: object, expected: object) -> str:
        """Whether two things are the same, in a word."""
        return self._verdict(value == expected)

    def finish(self) -> int:
        """Print how many targets were missed; the exit status."""
        print(f"\n{self.missed} targets missed")
        return 1 if self.missed else 0


_pages: list[Page] = []
"""The page that tables are written to, if any is."""


def arguments(description: str) -> argparse.ArgumentParser:
    """A bench's parser with the option that all have. ``description``: the bench's text, whose first line counts."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument(
        "--write", action="store_true", help="also write the tables into docs/measurements.md"
    )
    return parser


def parse(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The command's arguments; from here on tables go to the page if it is asked for."""
    args = parser.parse_args()
    if args.write:
        bench = Path(sys.argv[0])
        given = [argument for argument in sys.argv[1:] if argument != "--write"]
        # where folders lie on this machine is nobody's business
        given = ["DIR" if Path(argument).is_absolute() else argument for argument in given]
        line = shlex.join(["python", f"bench/{bench.name}", *given])
        _pages.append(Page(bench.stem, line, revision()))
    return args


def section(
    title: str, head: Sequence[str], rows: Sequence[Sequence[Any]], note: str = "", keys: int = 0
) -> None:
    """Print one table, with a ``note`` that is for this run only, and put it on the page if that was asked for. With
    ``keys`` rows there take the place of those with the same first cells, and others stay."""
    heading = f"{title}: {note}" if note else title
    print(f"\n{heading}\n\n{table(head, rows)}", flush=True)
    for page in _pages:
        page.write(title, head, rows, keys)


def accelerator(functions: str, report: dict[str, Any]) -> None:
    """What one simulation of the public iiwa URDF says of the accelerator, beside others on the page."""
    measured = report["functions"]
    multipliers = report["multipliers"]
    latencies = {name: f["latency_cycles"] for name, f in measured.items()}
    row = [
        functions,
        report["ii"],
        multipliers["variable"],
        multipliers["constant"],
        max(f["ii_cycles"] for f in measured.values()),
        ", ".join(f"{name} {cycles}" for name, cycles in latencies.items()),
    ]
    head = [
        "functions",
        "II",
        "multipliers, sines and cosines included",
        "constant multiplications, as shifts and adds",
        "cycles between tasks",
        "cycles from the last operand to the last result",
    ]
    section("Accelerators of the public iiwa URDF, 18-bit words", head, [row], keys=2)


def command(*arguments: str) -> tuple[dict[str, Any], float, float]:
    """JSON of a ``rbdgen`` command run in a fresh process, its seconds, and its peak memory in GiB: of the process or
    of the largest that it ran."""
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as complaints:
        line = [sys.executable, "-m", "rbdgen", *arguments, "--json"]
        process = subprocess.Popen(line, stdout=output, stderr=complaints, env=os.environ)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - begin
        output.seek(0)
        complaints.seek(0)
        if process.returncode:
            raise SystemExit(
                f"rbdgen {' '.join(arguments)}: {complaints.read().strip().splitlines()[-1]}"
            )
        return json.load(output), seconds, usage.ru_maxrss / 2**20
