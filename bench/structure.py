"""Prints the code in figures: ``make figures``, a few seconds.

Tokens per code line of every folder, nested comprehensions, the most complex functions, import cycles, files and lines,
tests of operations, comments and docstrings (:mod:`code_structure` says how they are counted). Exit status 1 if one
misses its target.
"""

from __future__ import annotations

import sys

from code_structure import (
    DENSEST,
    LEAST_COMMENTS,
    MOST_COMPLEX,
    MOST_FILES,
    MOST_LINES,
    MOST_QUESTIONS,
    MOST_TESTS,
    SHORT,
    all_words,
    cycles,
    files,
    folders,
    functions,
    tests_of_operations,
    words,
)
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


def sizes(targets: Targets) -> None:
    """Files and lines of the packages."""
    found = files()
    rows = [
        ["files", found.count, MOST_FILES, targets.at_most(found.count, MOST_FILES)],
        ["lines", found.lines, MOST_LINES, targets.at_most(found.lines, MOST_LINES)],
        ["files with one importer", found.with_one_importer, "", ""],
        [f"files under {SHORT} lines", found.short, "", ""],
        [f"files under {SHORT} lines with one importer", found.short_with_one_importer, "", ""],
        ["names that several files have", found.repeated_names, "", ""],
    ]
    section("Files of the four packages", ["what", "found", "at most", ""], rows)


def operations(targets: Targets) -> None:
    """Tests of operations outside of where they belong."""
    found = tests_of_operations()
    total = sum(found.values())
    rows = [["all", total, targets.at_most(total, MOST_TESTS)]]
    rows += [[path, count, ""] for path, count in list(found.items())[:SHOWN]]
    head = ["where", "tests of operations", ""]
    note = f"{SHOWN} of {len(found)} files"
    section(f"Tests of operations outside of their tables, at most {MOST_TESTS}", head, rows, note)


def comments(targets: Targets) -> None:
    """Comments, and docstrings that open with a question word."""
    found = words()
    together = all_words(found.values())
    rows = [
        [name, f"{w.comments_per_hundred:.1f}", "", f"{w.share_of_questions:.1%}", ""]
        for name, w in found.items()
    ]
    enough = targets.at_least(together.comments_per_hundred, LEAST_COMMENTS)
    few = targets.at_most(together.share_of_questions, MOST_QUESTIONS)
    per_hundred, share = together.comments_per_hundred, together.share_of_questions
    rows.append(["all", f"{per_hundred:.1f}", enough, f"{share:.1%}", few])
    head = ["folder", "comments per 100 lines", "", "docstrings with What, How, Which first", ""]
    limits = f"at least {LEAST_COMMENTS} comments, at most {MOST_QUESTIONS:.0%} questions"
    section(f"Comments and docstrings, {limits}", head, rows)


def main() -> int:
    """Print all tables; 1 if one has a miss."""
    parse(arguments(__doc__))
    targets = Targets()
    density(targets)
    complexity(targets)
    imports(targets)
    sizes(targets)
    operations(targets)
    comments(targets)
    return targets.finish()


if __name__ == "__main__":
    sys.exit(main())
