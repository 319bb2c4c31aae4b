"""Every n-th file of those with chosen tests: `make thorough PART=2/5`, `python -m pytest -p tests.parts --part 2/5`.

A pytest plugin. A file's tests stay together: they share designs, and commands of the tutorial follow each other.
Continuous integration runs one part, which a commit decides; the parts together are all tests.
"""

from __future__ import annotations

import re

import pytest


def _part(words: str) -> tuple[int, int]:
    """``K/N``: the k-th of n parts, from 1. Raises :class:`pytest.UsageError` for anything else."""
    found = re.fullmatch(r"([0-9]+)/([0-9]+)", words)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise pytest.UsageError(f"--part {words}: is not K/N with 1 <= K <= N, as 2/5 is")
    return int(found[1]), int(found[2])


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--part``."""
    parser.addoption("--part", default="1/1", metavar="K/N", help="run the K-th of N parts")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what is in the part; what marks leave out is gone by now."""
    part, parts = _part(str(config.getoption("part")))
    files = list(dict.fromkeys(item.path for item in items))
    chosen = set(files[part - 1 :: parts])
    config.hook.pytest_deselected(items=[item for item in items if item.path not in chosen])
    items[:] = [item for item in items if item.path in chosen]
