"""The controller in the shape of ros2_control: on a device, and where that is late, dies, or flags its tasks."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from rbdgen import Design
from rbdgen.emulation import bit_true_shell, manifest_of
from rbdgen.host.transport import Transport
from rbdgen.shells.shell import ShellModel
from tests.conftest import design
from tests.host.native import CPP, SANITIZED, needs_compiler, on_tcp, run, runtime, written

FOLDER = Path(__file__).parents[2] / "examples" / "ros2_controller"
PATIENT, HURRIED = 20_000_000, 100_000
"""µs that a device may take: the model is not for real time."""

pytestmark = needs_compiler


def arm() -> Design:
    return design("iiwa14", functions=("id",))


def emit_software(folder: Path) -> None:
    command = [sys.executable, "-m", "rbdgen", "emit", "iiwa14", "--functions", "id,fd"]
    run(*command, "-o", folder)


@cache
def controller() -> Path:
    """The example, compiled with warnings as errors and with the sanitizers."""
    folder = Path(mkdtemp())
    prefix = written(manifest_of(arm()), folder)
    emit_software(folder / "software")
    objects = []
    for source in (*(folder / "software/src").glob("*.c"), folder / f"{prefix}_device.c"):
        objects.append(source.with_suffix(".o"))
        run(
            "cc",
            "-std=c99",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-O1",
            f"-I{folder}/software/include",
            "-c",
            source,
            "-o",
            objects[-1],
        )
    made = folder / "controller"
    paths = (f"-I{folder}", f"-I{folder}/software/include")
    parts = (FOLDER / "main.cpp", *objects, runtime(*SANITIZED), "-lm")
    run(*CPP, *SANITIZED, *paths, *parts, "-o", made)
    return made


@dataclass(frozen=True)
class Told:
    """What the example prints."""

    device: int
    software: int
    held: int
    gravity: int
    late: int
    limited: int
    farthest: float
    longest: float
    text: str

    @property
    def cycles(self) -> int:
        return self.device + self.software + self.held + self.gravity


def play(device: Transport, cycles: int, deadline: int, speed: float) -> Told:
    """What the controller does with ``device`` behind a port."""
    with on_tcp(device) as (_, host, port):
        words = [controller(), host, port, str(cycles), str(deadline), str(speed)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    counts = re.match(
        r"device (\d+), software (\d+), held (\d+), gravity (\d+), late (\d+), limited (\d+)\n",
        done.stdout,
    )
    figures = re.search(
        r"farthest (\S+) rad, longest update (\S+) ms, allocations 0\n", done.stdout
    )
    assert counts, done.stdout
    assert figures, done.stdout
    return Told(*map(int, counts.groups()), *map(float, figures.groups()), done.stdout)


class Change:
    """A device that is as it is for so many writings, and then has ``happen`` before each."""

    def __init__(self, shell: ShellModel, writings: int, happen: Callable[[], None]) -> None:
        self.shell, self.left, self.happen = shell, writings, happen

    def write(self, data: bytes) -> None:
        self.left -= 1
        if self.left < 0:
            self.happen()
        self.shell.write(data)

    def read(self) -> bytes:
        return self.shell.read()

    def close(self) -> None:
        pass


@pytest.mark.slow
def test_the_arm_follows_by_the_device() -> None:
    told = play(bit_true_shell(arm()), 300, PATIENT, 1.0)
    assert (told.device, told.cycles, told.limited) == (300, 300, 0)
    assert told.farthest < 2e-3


def test_software_goes_on_where_the_device_dies() -> None:
    def die() -> None:
        raise OSError

    told = play(Change(bit_true_shell(arm()), 100, die), 300, PATIENT, 1.0)
    assert 50 < told.device < 100
    assert (told.software, told.cycles) == (300 - told.device, 300)
    assert told.farthest < 2e-3
    assert re.search(r"tcp 127\.0\.0\.1:\d+", told.text)


def test_a_device_that_is_late_is_not_waited_for() -> None:
    def stall() -> None:
        time.sleep(1.5)

    told = play(Change(bit_true_shell(arm()), 100, stall), 300, HURRIED, 1.0)
    assert told.cycles == 300
    assert told.late >= 3
    assert told.software > 200
    # a busy machine may stop the program meanwhile
    assert HURRIED * 1e-3 <= told.longest < 1400
    assert told.farthest < 2e-3
    assert "device: did not answer in time" in told.text


def test_states_that_the_device_was_not_made_for_hold_the_command_and_then_the_arm() -> None:
    """A reference that is too fast: accelerations are limited, and the arm slows down before it follows again."""
    told = play(bit_true_shell(arm()), 600, PATIENT, 5.0)
    assert (told.software, told.cycles) == (0, 600)
    assert told.device > 100
    assert told.held > 5
    assert told.gravity > 0
    assert 0 < told.limited < 600
    assert re.search(r"^outside: v\[[0-6]\]$", told.text, re.M)


def test_a_device_that_is_not_there_is_an_error() -> None:
    words = [controller(), "127.0.0.1", "1", "10", "1000", "1"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("tcp 127.0.0.1:1: cannot be connected to")


@pytest.mark.skipif(shutil.which("cmake") is None, reason="no CMake")
@pytest.mark.slow
def test_cmake_builds_it(tmp_path: Path) -> None:
    for name in ("host", "software"):
        (tmp_path / name).mkdir()
    written(manifest_of(arm()), tmp_path / "host")
    emit_software(tmp_path / "software")
    build = tmp_path / "build"
    run("cmake", "-S", FOLDER, "-B", build, f"-DARM={tmp_path}")
    run("cmake", "--build", build)
    assert (build / "ros2_controller").is_file()
