"""Lint, format, types and import direction: the rules of pyproject.toml hold for the whole tree."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib import resources
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(sys.executable).parent

HOST = ROOT / "rbdgen/host/pyproject.toml"
"""What rbdgen-host is made of, for older versions of Python as well."""


def light() -> list[str]:
    """The files and folders that rbdgen-host has."""
    project = tomllib.loads(HOST.read_text(encoding="utf-8"))
    taken = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    return [name for name in taken.values() if name != "rbdgen/LICENSE"]


CHECKS = {
    "lint": [sys.executable, "-m", "ruff", "check", "--no-cache", "."],
    "format": [sys.executable, "-m", "ruff", "format", "--check", "--no-cache", "."],
    "types": [sys.executable, "-m", "pyright", "--pythonpath", sys.executable],
    "types, Python 3.10": [
        *(sys.executable, "-m", "pyright", "--pythonpath", sys.executable),
        *("--pythonversion", "3.10", *light()),
    ],
    "imports": [str(SCRIPTS / "lint-imports"), "--no-cache"],
}


@pytest.mark.parametrize("package", ["rbdgen", "rbdgen_hw", "rbdgen_sim", "rbdgen_boards"])
def test_packages_say_that_they_are_typed(package: str) -> None:
    assert resources.files(package).joinpath("py.typed").is_file()


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.lint
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
