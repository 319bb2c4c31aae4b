"""Branch coverage of a test run, in all of its processes: `make coverage`, `python -m pytest -p tests.branches`.

A pytest plugin around SlipCover, with which tests take twice as long: hence not in `make test`. It prints a line for
each folder. What a test's child processes execute is not counted.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from slipcover import FileMatcher, ImportManager, Slipcover, merge_coverage

SOURCES = ("rbdgen", "hw/rbdgen_hw", "sim/rbdgen_sim", "boards/rbdgen_boards")
KEY = "branches"
"""Under which a worker sends what it found."""
KINDS = ("covered_lines", "missing_lines", "covered_branches", "missing_branches")
EVERYTHING = "all"
WORST = 12
"""Files that are listed: those with the most branches that no test takes."""

_tracer = Slipcover(branch=True, source=list(SOURCES))
# before anything of the project is imported
ImportManager(_tracer, FileMatcher(SOURCES)).__enter__()
_found: list[dict[str, Any]] = []


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send what this worker found to the one that prints."""
    output = getattr(session.config, "workeroutput", None)
    coverage = json.loads(json.dumps(_tracer.get_coverage()))
    if output is None:
        _found.append(coverage)
    else:
        output[KEY] = json.dumps(coverage)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a worker found."""
    sent = getattr(node, "workeroutput", {}).get(KEY)
    if sent:
        _found.append(json.loads(sent))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print a line for each folder, and the files that tests reach least of."""
    if not _found:
        return
    first, *others = _found
    for other in others:
        first = merge_coverage(first, other)
    folders: dict[str, Counter[str]] = {}
    files: dict[str, Counter[str]] = {}
    for name, file in first["files"].items():
        files[name] = Counter({kind: file["summary"][kind] for kind in KINDS})
        path = Path(name).parent
        folder = "/".join(path.parts[:2])
        for row in (folder, EVERYTHING):
            folders.setdefault(row, Counter()).update(files[name])
    terminalreporter.section("branch coverage")
    for name, counts in sorted(folders.items(), key=lambda row: (row[0] == EVERYTHING, row[0])):
        terminalreporter.write_line(f"{name:24} {_shares(counts)}")
    terminalreporter.write_line("most branches not taken:")
    worst = sorted(files, key=lambda name: (-files[name]["missing_branches"], name))
    for name in worst[:WORST]:
        terminalreporter.write_line(f"{name:44} {_shares(files[name])}")


def _shares(counts: Counter[str]) -> str:
    """Lines and branches that were reached, of all."""
    parts = []
    for kind in ("lines", "branches"):
        reached = counts[f"covered_{kind}"]
        count = reached + counts[f"missing_{kind}"]
        share = reached / count if count else 1.0
        parts.append(f"{share:7.1%} of {count:6,} {kind}")
    return ", ".join(parts)
