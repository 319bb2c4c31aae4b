"""The set-up explains itself and fails in one line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def setup(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a copy of setup.sh in ``folder``, which also holds the only programs that it finds."""
    shutil.copy(ROOT / "setup.sh", folder)
    environment = {"PATH": str(folder)}
    command = ["/bin/sh", "setup.sh", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with the programs that every system has, and ones that pretend to be the tools."""
    for name in ("dirname", "id", "cat", "cksum", "sh"):
        found = shutil.which(name)
        assert found is not None
        (tmp_path / name).symlink_to(found)
    for name in ("make", "g++", "perl", "iverilog"):
        pretend(tmp_path / name, "exit 0")
    return tmp_path


def pretend(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.mark.parametrize("arguments", [(), ("install",)])
def test_setup_says_its_usage(arguments: tuple[str, ...], programs: Path) -> None:
    done = setup(programs, *arguments)
    assert (done.returncode, done.stderr) == (2, "setup.sh: usage: sh setup.sh demo|test\n")


def test_setup_refuses_an_old_python(programs: Path) -> None:
    pretend(programs / "python3", 'case "$2" in *sys.exit*) exit 1 ;; *) echo 3.9.2 ;; esac')
    done = setup(programs, "demo")
    assert (done.returncode, done.stderr) == (
        2,
        "setup.sh: Python 3.11 or newer is needed, and python3 is 3.9.2\n",
    )


def test_setup_names_what_it_cannot_install(programs: Path) -> None:
    pretend(programs / "python3", "echo 3.11")
    (programs / "id").unlink()
    pretend(programs / "id", "echo 1000")
    (programs / "iverilog").unlink()
    done = setup(programs, "test")
    assert (done.returncode, done.stderr) == (2, "setup.sh: please install, as root: iverilog\n")


def test_make_alone_lists_the_targets() -> None:
    make = shutil.which("make")
    assert make is not None
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")}
    done = subprocess.run(
        [make], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    for target in ("help", "test", "demo", "bench", "lint", "format", "clean"):
        assert f"make {target} " in done.stdout


def test_every_dependency_has_its_reason() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    for requirement in (
        entry for group in groups for entry in group if not entry.startswith("rbdgen[")
    ):
        assert f'"{requirement}", # ' in text, requirement


def test_the_image_has_what_the_set_up_installs() -> None:
    """Debian packages that setup.sh needs, and extras that there are."""
    script = (ROOT / "setup.sh").read_text(encoding="utf-8")
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    needed = set(re.findall(r'need "?([\w+-]+)', script)) - {"libpython3-dev", "libpython"}
    assert {"make", "g++", "perl", "python3-venv"} <= needed
    assert [name for name in needed if not re.search(rf"[ ]{re.escape(name)}[ \n]", image)] == []
    (python,) = re.findall(r"libpython(3\.\d+)", image)
    assert "bookworm" in image
    assert python == "3.11"  # that of bookworm
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extras,) = re.findall(r"rbdgen\[([\w,]+)\]", image)
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
