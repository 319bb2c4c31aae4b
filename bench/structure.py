"""Prints what the code looks like in figures: ``make figures``, a few seconds.

Tokens per code line of every folder, nested comprehensions, the most complex functions, and import cycles
(:mod:`code_structure` says how they are counted). Exit status 1 if a folder is too dense, a function too complex, or
files import each other in a circle.
"""

from __future__ import annotations

import sys

from code_structure import DENSEST, MOST_COMPLEX, cycles, folders, functions
from figures import Targets, arguments, parse, section

SHOWN = 10
"""Functions that are shown, the most complex ones."""


def density(targets: Targets) -> None:
    """Tokens per code line, and nested comprehensions, by folder."""
    found = folders()
    rows = []
    for folder in found:
        verdict = targets.at_most(folder.density, DENSEST)
        rows.append([folder.name, folder.lines, f"{folder.density:.2f}", verdict, folder.nested])
    lines = sum(folder.lines for folder in found)
    tokens = sum(folder.tokens for folder in found)
    nested = sum(folder.nested for folder in found)
    rows.append(["all", lines, f"{tokens / lines:.2f}", "", nested])
    head = ["folder", "code lines", "tokens per line", "", "nested comprehensions"]
    section(f"Density, at most {DENSEST} tokens per line", head, rows)


def complexity(targets: Targets) -> None:
    """The most complex functions."""
    found = functions()
    rows = []
    for function in found[:SHOWN]:
        verdict = targets.at_most(function.complexity, MOST_COMPLEX)
        place = f"{function.path}:{function.line}"
        rows.append([function.name, place, function.complexity, verdict])
    over = sum(function.complexity > MOST_COMPLEX for function in found)
    head = ["function", "where", "complexity", ""]
    note = f"{SHOWN} of {len(found)} functions, {over} are over that"
    section(f"Complexity, at most {MOST_COMPLEX}", head, rows, note)


def imports(targets: Targets) -> None:
    """Files that import each other in a circle."""
    found = cycles()
    rows = [["import cycles", len(found), targets.at_most(len(found), 0)]]
    rows += [["a cycle", ", ".join(files), ""] for files in found]
    section("Import cycles", ["what", "found", ""], rows)


def main() -> int:
    """Print all tables; 1 if one has a miss."""
    parse(arguments(__doc__))
    targets = Targets()
    density(targets)
    complexity(targets)
    imports(targets)
    return targets.finish()


if __name__ == "__main__":
    sys.exit(main())
