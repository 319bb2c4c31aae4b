"""The code stays readable: no folder too dense, no function too complex, no files that import each other."""

from __future__ import annotations

import pytest

from bench.code_structure import DENSEST, MOST_COMPLEX, Folder, cycles, folders, functions


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: folder.name)
def test_lines_say_one_thing(folder: Folder) -> None:
    """``make figures`` prints the figures of all folders."""
    assert folder.density <= DENSEST


def test_functions_do_one_thing() -> None:
    found = functions()
    over = [function for function in found if function.complexity > MOST_COMPLEX]
    assert over == []


def test_no_files_import_each_other() -> None:
    assert cycles() == []
