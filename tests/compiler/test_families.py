"""Families of algorithms side by side: those that take the robot, and of the functions only what makes a difference."""

from __future__ import annotations

import pytest

from rbdgen import Options, UnsupportedError, with_frames
from rbdgen.compiler import compare_families
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
