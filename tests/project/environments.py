"""What tests of the distributions share: how they are built, and environments that have one of them, what it needs, and
nothing else. What it needs is taken from the environment of the tests, so that nothing is downloaded."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def build(folder: Path, target: str, directory: Path) -> Path:
    """The ``wheel`` or ``sdist`` of the project in ``folder``, built into the empty ``directory``."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(directory)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (made,) = directory.iterdir()
    return made


@dataclass(frozen=True)
class Environment:
    """A virtual environment in ``folder``, which is nobody's checkout. ``cache``: where its programs keep what can be
    made again, a folder of its own by default."""

    folder: Path
    cache: Path | None = None

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment, by its name, in the environment's ``work``."""
        program, *arguments = map(str, command)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "RBDGEN"))}
        return subprocess.run(
            [str(self.folder / "bin" / program), *arguments],
            cwd=self.folder / "work",
            env=kept | {"RBDGEN_CACHE": str(self.cache or self.folder / "cache")},
            capture_output=True,
            text=True,
            check=False,
        )

    def output(self, *command: str | Path) -> str:
        """What a program prints; it must not fail."""
        done = self.run(*command)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def written(self) -> list[Path]:
        """What is in ``work``."""
        return sorted((self.folder / "work").iterdir())


def environment(folder: Path, wheel: Path, *extras: str) -> Environment:
    """An environment in which ``wheel`` is installed with ``extras``."""
    venv.create(folder, symlinks=True)
    (folder / "work").mkdir()
    command = [sys.executable, "-m", "pip", "--python", str(folder), "install", "--quiet"]
    subprocess.run([*command, "--no-index", "--no-deps", str(wheel)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for distribution in _needed(_listed(wheel), {*extras}):
        for path in _installed(distribution):
            if not (packages / path.name).exists():
                (packages / path.name).symlink_to(path)
    return Environment(folder)


def _listed(wheel: Path) -> list[str]:
    """The requirements in the metadata of ``wheel``."""
    with ZipFile(wheel) as file:
        (name,) = (n for n in file.namelist() if n.endswith(".dist-info/METADATA"))
        lines = file.read(name).decode().splitlines()
    return [line.partition(": ")[2] for line in lines if line.startswith("Requires-Dist: ")]


def _needed(requirements: list[str], extras: set[str]) -> Iterator[metadata.Distribution]:
    """The distributions that are asked for, and those that they ask for; one may come again."""
    for text in requirements:
        wanted = Requirement(text)
        cases = [{"extra": extra} for extra in (extras or {""})]
        if wanted.marker and not any(map(wanted.marker.evaluate, cases)):
            continue
        found = metadata.distribution(wanted.name)
        yield found
        yield from _needed(found.requires or [], wanted.extras)


def _installed(distribution: metadata.Distribution) -> set[Path]:
    """The files and folders of a distribution in the folder of packages."""
    names = {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}
    return {Path(str(distribution.locate_file(name))) for name in names}
