"""What the benchmarks share: tables, verdicts on targets, and commands run in fresh processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

from rbdgen.report.tables import table


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


def section(title: str, head: list[str], rows: list[list[Any]]) -> None:
    """Print one table."""
    print(f"\n{title}\n\n{table(head, rows)}", flush=True)


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
            raise SystemExit(f"rbdgen {' '.join(arguments)}: {complaints.read().strip().splitlines()[-1]}")
        return json.load(output), seconds, usage.ru_maxrss / 2**20
