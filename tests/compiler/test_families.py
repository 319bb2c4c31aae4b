"""Families of algorithms side by side: those that take the robot, and of the functions only what makes a difference."""

from __future__ import annotations

from typing import Any

import pytest

from rbdgen import ConfigError, Options, UnsupportedError, with_frames
from rbdgen.compiler import compare_families, families
from rbdgen.report import design_text
from rbdgen.report.design import families_table
from tests.chains import snake


def inertia_families(frame: str, chosen: str = "factors") -> list[str]:
    robot = with_frames(snake(3), {frame: ()})
    options = Options(("laminv",), word=24, operational_space=chosen)
    return [f.algorithms["operational_space"] for f in compare_families(robot, options)]


def test_families_that_take_the_robot_are_compared() -> None:
    assert inertia_families("l3") == ["factors", "schur"]
    assert inertia_families("l2") == ["factors"]


def test_the_chosen_family_must_take_the_robot() -> None:
    with pytest.raises(UnsupportedError, match="takes one frame, on the last link 'l3'"):
        inertia_families("l2", "schur")


def test_a_family_without_formats_says_so_beside_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lower = families.lower

    def refuse(traced: Any, choice: Options, ranges: Any) -> Any:
        if choice.mass_matrix == "mminvgen":
            raise ConfigError("m.0.0: its error is 1e-2\nask for less")
        return lower(traced, choice, ranges)

    monkeypatch.setattr(families, "lower", refuse)
    options = Options(("m", "minv"), word=24)
    rows = families_table(compare_families(snake(2), options), options)
    told = {row["mass_matrix"]: (row["variable"], row["problem"]) for row in rows}
    assert told["mminvgen"] == (None, "m.0.0: its error is 1e-2 ask for less")
    assert all(
        counted and not problem for name, (counted, problem) in told.items() if name != "mminvgen"
    )
    text = design_text.families({"families": rows}).splitlines()
    assert text[-1] == "note 1: m.0.0: its error is 1e-2 ask for less"
    assert sum("note 1" in line for line in text) == 2
