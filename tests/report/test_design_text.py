"""Reports as text: eighty columns, whole words, and trees of any depth."""

from __future__ import annotations

from typing import Any

import pytest

from rbdgen.report import design_text
from rbdgen.report.columns import WIDTH
from rbdgen.report.design import design_report
from tests.conftest import design

DESIGNS = [
    ("iiwa14", {"functions": ("id", "fd", "did"), "ii": 4}),
    ("hyq", {"ii": 4}),
    ("hyq", {}),
]


def link(name: str, parent: str, joint: str = "joint") -> dict[str, Any]:
    """A row of a report's tree."""
    return {"link": name, "parent": parent, "joint": joint, "type": "revolute"}


@pytest.mark.parametrize(("robot", "options"), DESIGNS)
@pytest.mark.slow
def test_layouts_keep_within_eighty_columns(robot: str, options: dict[str, Any]) -> None:
    report = design_report(design(robot, **options))
    text = design_text.layout(report)
    assert max(map(len, text.splitlines())) <= WIDTH
    words = set(text.split())
    assert {row["name"] for row in report["submodules"]} <= words
    assert {row["link"] for row in report["tree"]} <= words
    for reason in report["layout"]:
        assert " ".join(reason.split()) in " ".join(text.split())


def test_a_tree_that_fits_is_indented() -> None:
    rows = [link("a", "base"), link("b", "a"), link("c", "base")]
    assert design_text.tree({"tree": rows}) == (
        "base\n├─ a  (joint, revolute)\n│  └─ b  (joint, revolute)\n└─ c  (joint, revolute)"
    )


def test_a_long_chain_is_not_indented() -> None:
    rows = [link(f"link{k}", f"link{k - 1}") for k in range(1, 41)]
    rows += [link("left", "link40"), link("right", "link40"), link("tip", "right")]
    lines = design_text.tree({"tree": rows}).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert lines[:3] == ["link0", "link1  (joint, revolute)", "link2  (joint, revolute)"]
    assert lines[-4:] == [
        "├─ left  (joint, revolute)",
        "└─ right  (joint, revolute)",
        "   tip  (joint, revolute)",
        "(a link right below another is its only child)",
    ]


def test_a_joint_with_a_long_name_stands_below_its_link() -> None:
    joint = "j" * 60
    lines = design_text.tree(
        {"tree": [link("l" * 30, "base", joint), link("m", "l" * 30)]}
    ).splitlines()
    assert lines[1:3] == ["└─ " + "l" * 30, f"     ({joint}, revolute)"]
