"""Measures how long installing the wheel takes, and how soon commands of a new installation answer; minutes.

Figures are medians over new environments, in which nothing was run before; packages come from pip's cache, which one
installation fills that does not count.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from figures import Targets, arguments, parse, section

ROOT = Path(__file__).parents[1]
HEAD = ("what", "seconds", "at most", "")


class Installation:
    """A new environment in ``folder`` with ``wheel``; ``seconds`` that its installation took."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.programs = folder / "bin"
        self.folder = folder
        venv.create(folder, with_pip=True)
        begin = time.perf_counter()
        pip = [self.programs / "python", "-m", "pip", "install", "--quiet", wheel]
        subprocess.run(pip, check=True)
        self.seconds = time.perf_counter() - begin

    def until(self, *command: str, first: bool = False) -> float:
        """Seconds until a program ends, or until its ``first`` output; with an empty cache of rbdgen's."""
        with TemporaryDirectory() as cache:
            begin = time.perf_counter()
            process = subprocess.Popen(
                [self.programs / command[0], *command[1:]],
                cwd=self.folder,
                env={**os.environ, "RBDGEN_CACHE": cache, "PYTHONPATH": ""},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            assert process.stdout is not None
            process.stdout.read(1)
            answered = time.perf_counter()
            process.stdout.read()
            if process.wait():
                raise SystemExit(f"{' '.join(command)}: failed with status {process.returncode}")
            return (answered if first else time.perf_counter()) - begin


Measure = Callable[[Installation], float]

MEASURES: tuple[tuple[str, float, Measure], ...] = (
    ("pip install of the wheel", 15, lambda made: made.seconds),
    ("import rbdgen", 0.25, lambda made: made.until("python", "-c", "import rbdgen")),
    ("rbdgen --help", 2, lambda made: made.until("rbdgen", "--help")),
    ("rbdgen layout iiwa14, first output", 2, lambda made: _layout(made, True)),
    ("rbdgen layout iiwa14, all", 5, lambda made: _layout(made, False)),
)
"""Measurements, their limits in seconds, and their commands."""


def _layout(made: Installation, first: bool) -> float:
    return made.until("rbdgen", "layout", "iiwa14", first=first)


def _wheel(folder: Path) -> Path:
    """The checkout's wheel, built into ``folder``."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (made,) = folder.iterdir()
    return made


def main() -> int:
    """Measure all; 1 if a limit is missed."""
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="environments (5)")
    args = parse(parser)
    targets = Targets()
    found: list[list[float]] = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "dist").mkdir()
        wheel = _wheel(folder / "dist")
        Installation(folder / "first", wheel)
        for number in range(args.rounds):
            made = Installation(folder / f"round{number}", wheel)
            found.append([measure(made) for _, _, measure in MEASURES])
    rows = []
    for (what, limit, _), seconds in zip(MEASURES, zip(*found, strict=True), strict=True):
        took = median(seconds)
        rows.append([what, f"{took:.2f}", limit, targets.at_most(took, limit)])
    section("What installing costs, and starting", HEAD, rows)
    return targets.finish()


if __name__ == "__main__":
    sys.exit(main())
