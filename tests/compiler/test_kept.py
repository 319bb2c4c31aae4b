"""Designs from the cache: the same files as when they were compiled, the same warnings, and none for other input."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from rbdgen import Budget, Design, Options, RbdgenWarning, Target, compile_robot, load_robot
from rbdgen.caching import cache_folder
from rbdgen.compiler import DESIGNS, kept_design
from rbdgen_hw.emit import design_verilog

ROBOT = load_robot("pendulum2")


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache."""
    monkeypatch.setenv("RBDGEN_CACHE", str(tmp_path / "cache"))


NOTHING = Target()


def kept(options: Options, found: list[bool], target: Target = NOTHING) -> Design:
    """The design, which warns as it is compiled; ``found`` gets an entry where it was kept."""

    def compile_it() -> Design:
        warnings.warn("odd robot", RbdgenWarning, stacklevel=1)
        return compile_robot(ROBOT, options, target=target)

    with pytest.warns(RbdgenWarning, match="^odd robot$"):
        return kept_design(ROBOT, options, target, compile_it, lambda: found.append(True))


def test_a_design_is_compiled_once() -> None:
    options = Options(("id", "m"), ii=4, word=18)
    found: list[bool] = []
    first = kept(options, found)
    assert not found
    second = kept(options, found)
    assert found
    assert second.fixed == first.fixed
    assert second.plan.schedule.slots == first.plan.schedule.slots
    assert second.options == first.options
    text = design_verilog(compile_robot(ROBOT, options))
    assert design_verilog(first) == text  # written, and kept
    assert design_verilog(second) == text  # from the cache


def test_other_input_is_another_design() -> None:
    found: list[bool] = []
    keys = {
        kept(Options(("id",), ii=4, word=18), found).key,
        kept(Options(("id",), ii=4, word=20), found).key,
        kept(Options(("id",), ii=4, word=18), found, Target(budget=Budget(multipliers=20))).key,
    }
    assert not found
    assert len(keys) == 3


def test_a_design_that_was_changed_has_no_key() -> None:
    design = kept(Options(word=18), [])
    assert design.key
    assert not replace(design, why=("changed",)).key


def test_a_damaged_file_is_compiled_again() -> None:
    found: list[bool] = []
    options = Options(word=18)
    kept(options, found)
    (path,) = (cache_folder() / DESIGNS).iterdir()
    path.write_bytes(path.read_bytes()[:-10])
    kept(options, found)
    assert not found
