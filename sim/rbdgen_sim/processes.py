"""What the programs that simulate get of this process's environment, and what their logs say."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

_OTHERS = ("WAVES", "GUI", "MAKEFLAGS", "MFLAGS")
"""Variables that cocotb's runner obeys and that are the user's for other things, and flags of a make that called us,
which are not for Verilator's make."""
_OTHERS_PREFIXES = ("PYTEST_", "COCOTB_")


def bench_environment() -> dict[str, str]:
    """The environment for a process that runs cocotb, from this one's, with the same modules to import."""
    environment = {}
    for name, value in os.environ.items():
        if name not in _OTHERS and not name.startswith(_OTHERS_PREFIXES):
            environment[name] = value
    # absolute, as the process has another working folder, in which no module is to be looked for
    environment["PYTHONPATH"] = os.pathsep.join(str(Path(p).absolute()) for p in sys.path if p)
    environment["PYTHONSAFEPATH"] = "1"
    return environment


def log_lines(log: Path) -> list[str]:
    """The lines of ``log`` that are not empty."""
    text = log.read_text(encoding="utf-8", errors="replace")
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line]


def last_line(log: Path) -> str:
    """The last line of ``log`` that is not empty."""
    lines = log_lines(log)
    return lines[-1] if lines else "no output"


def telling_line(log: Path) -> str:
    """The line of ``log`` that says most: the first with the word error, else the last that is not empty."""
    for line in log_lines(log):
        if re.search(r"error", line, re.IGNORECASE):
            return line
    return last_line(log)
