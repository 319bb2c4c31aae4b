"""The code stays readable: no folder too dense, no function too complex, no files that import each other."""

from __future__ import annotations

import pytest

from bench.code_structure import DENSEST, MOST_COMPLEX, cycles, folders, functions


@pytest.mark.lint
def test_lines_say_one_thing() -> None:
    """``make figures`` prints the figures of all folders."""
    dense = [folder for folder in folders() if folder.density > DENSEST]
    assert dense == []


@pytest.mark.lint
def test_functions_do_one_thing() -> None:
    found = functions()
    over = [function for function in found if function.complexity > MOST_COMPLEX]
    assert over == []


def test_no_files_import_each_other() -> None:
    assert cycles() == []
