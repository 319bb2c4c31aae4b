"""Shared parts of benches: tables, printed and stored, verdicts on targets, and commands in fresh processes."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from page import Bench, revision

from rbdgen.errors import RbdgenWarning
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


ROBOTS = Path(__file__).resolve().parents[2] / "shared" / "robots"
"""Folder of the public URDFs, where there is one beside the project."""
Part = Callable[[Targets, argparse.Namespace], None]
"""A part of a bench, which gets its targets and arguments."""

_writing: list[Bench] = []
"""The bench that is run, if its tables are to be written."""


def arguments(
    description: str | None, parts: Iterable[str] = (), robots: bool = False
) -> argparse.ArgumentParser:
    """A bench's parser with the options that all have, with ``--part`` where it has ``parts``, and with ``--robots``
    where it reads public URDFs. ``description``: the bench's text, whose first line counts."""
    parser = argparse.ArgumentParser(description=(description or "").split("\n")[0])
    parser.add_argument(
        "--write",
        action="store_true",
        help="also write the tables into docs/measurements, and make the page of it",
    )
    names = tuple(parts)
    if names:
        parser.add_argument(
            "--part", choices=names, action="append", help="only this part; may be repeated"
        )
    if robots:
        parser.add_argument(
            "--robots", type=Path, default=ROBOTS, help="directory of the public URDFs"
        )
    return parser


def parse(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The command's arguments; from here on tables are written if that is asked for."""
    args = parser.parse_args()
    warnings.simplefilter("ignore", RbdgenWarning)
    if args.write:
        bench = Path(sys.argv[0])
        given = [_told(argument) for argument in sys.argv[1:] if argument != "--write"]
        line = shlex.join(["python", f"bench/{bench.name}", *given])
        _writing.append(Bench(bench.stem, line, revision()))
    return args


def measure(args: argparse.Namespace, parts: Mapping[str, Part]) -> int:
    """Run the parts that a command names, or all; the exit status."""
    targets = Targets()
    for name in args.part or parts:
        parts[name](targets, args)
    return targets.finish()


def public(folder: Path, name: str) -> Path:
    """A public URDF. SystemExit where it is not there."""
    if not (folder / name).exists():
        print(
            f"{folder}: holds no {name}; give the directory of the public URDFs with --robots",
            file=sys.stderr,
        )
        raise SystemExit(2)
    return folder / name


def _told(argument: str) -> str:
    """An argument as the page says it: where folders outside of the project lie is left out."""
    if argument.startswith((os.sep, "..")):
        path = Path(argument)
        return f"DIR/{path.name}" if path.suffix else "DIR"
    return argument


def section(
    title: str, head: Sequence[str], rows: Sequence[Sequence[Any]], note: str = "", keys: int = 0
) -> None:
    """Print one table, with a ``note`` on this run, and write it if that was asked for. With ``keys`` rows take the
    place of those that are written with the same first cells, and others stay."""
    heading = f"{title}: {note}" if note else title
    print(f"\n{heading}\n\n{table(head, rows)}", flush=True)
    for bench in _writing:
        bench.write(title, head, rows, keys, note)


def accelerator(functions: str, report: dict[str, Any]) -> None:
    """A row of one simulation of the public iiwa URDF, beside others on the page."""
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
