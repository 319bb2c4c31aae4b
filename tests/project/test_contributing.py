"""What contributors meet: checks before a commit, templates of issues."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
TEMPLATES = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml"))


def hooks() -> dict[str, dict[str, Any]]:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    return {hook["id"]: hook for repository in config["repos"] for hook in repository["hooks"]}


def test_checks_before_a_commit_are_understood() -> None:
    command = [sys.executable, "-m", "pre_commit", "validate-config"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("message", "good"),
    [
        ("schedule: short functions get earlier deadlines\n\nWhy.\n", True),
        ("bench, docs: measurements are JSON\n", True),
        ("hw/rbdgen_hw: a register less\n", True),
        ("Merge branch 'ops'\n", True),
        ("Short functions get earlier deadlines\n\nschedule: why\n", False),
        ("schedule:\n", False),
    ],
)
def test_a_message_begins_with_its_area(message: str, good: bool) -> None:
    hook = hooks()["message"]
    assert hook["args"] == ["--negate", "--multiline"]
    assert (re.search(hook["entry"], message, re.MULTILINE) is not None) == good


def test_there_are_three_templates() -> None:
    assert [path.stem for path in TEMPLATES] == ["bug", "numbers", "robot"]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_templates_ask_for_version_and_robot(path: Path) -> None:
    template = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert template["name"]
    assert template["description"]
    fields = {field["id"]: field for field in template["body"]}
    assert len(fields) == len(template["body"])
    assert {"version", "robot"} <= fields.keys()
    assert "rbdgen --version" in fields["version"]["attributes"]["description"]
    for name in ("version", "robot"):
        assert fields[name]["validations"] == {"required": True}
