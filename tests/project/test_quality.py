"""Lint, format, types and import direction: the rules of pyproject.toml hold for the whole tree."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(sys.executable).parent

CHECKS = {
    "lint": [sys.executable, "-m", "ruff", "check", "--no-cache", "."],
    "format": [sys.executable, "-m", "ruff", "format", "--check", "--no-cache", "."],
    "types": [sys.executable, "-m", "pyright", "--pythonpath", sys.executable],
    "imports": [str(SCRIPTS / "lint-imports"), "--no-cache"],
}


@pytest.mark.parametrize("package", ["rbdgen", "rbdgen_hw", "rbdgen_sim", "rbdgen_boards"])
def test_packages_say_that_they_are_typed(package: str) -> None:
    assert resources.files(package).joinpath("py.typed").is_file()


@pytest.mark.parametrize("check", CHECKS)
def test_rules_hold(check: str) -> None:
    paths = [
        *(str(ROOT / folder) for folder in (".", "hw", "sim", "boards")),
        os.environ.get("PYTHONPATH", ""),
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run(
        CHECKS[check], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"\n{done.stdout}{done.stderr}"
