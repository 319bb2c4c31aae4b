"""Manners of the process: interrupts and requests to end, closed and full outputs, character sets, directories."""

from __future__ import annotations

import errno
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rbdgen.cli import commands, main, process
from tests.cli.test_cli import last_error, run
from tests.conftest import few

COMMAND = [sys.executable, "-m", "rbdgen.cli.main"]
SMALL = ("pendulum2", "--word", "18", "--evidence", "0")
INTERRUPTED = """
import signal, sys, time
from rbdgen.cli import process
from rbdgen.cli.main import main
from rbdgen_hw import emit

process.AGAIN = float(sys.argv.pop(1))
# whoever runs the tests in the background may have interrupts ignored
signal.signal(signal.SIGINT, signal.default_int_handler)

class Dropped:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

def verilog(design):
    Dropped()
    time.sleep(5)
    return "module late; endmodule"

emit.design_verilog = verilog
sys.exit(main(sys.argv[1:]))
"""
"""An interrupt while Verilog is written that arrives in a destructor, where Python drops it."""

LOADING = """
import importlib.abc, os, signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)

class Interrupt(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == sys.argv[1]:
            os.kill(os.getpid(), int(sys.argv[2]))

sys.meta_path.insert(0, Interrupt())
from rbdgen.cli.main import main
sys.exit(main(["robots"]))
"""
"""A signal that arrives while a module is loaded."""


@pytest.mark.parametrize("module", ["rbdgen.cli.parser", "numpy"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_modules_load_is_one_line(module: str, number: signal.Signals) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADING, module, str(int(number))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (128 + number, "rbdgen: stopped\n")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device", "/tmp/a"),
            "/tmp/a: No space left .*; free",
        ),
        (FileNotFoundError(errno.ENOENT, "No such file", "a b"), "a b: No such file; run again"),
        (OSError(errno.EIO, "Input/output error"), "system: Input/output error; mend that"),
        (OSError("two\nlines"), "system: two lines; mend that"),
    ],
)
def test_errors_of_the_system_are_one_line(
    error: OSError, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(arguments: object) -> None:
        raise error

    monkeypatch.setattr(main, "_run", fail)
    assert main.main(["robots"]) == 2
    assert re.fullmatch(rf"rbdgen: error: {told}[^\n]*\n", capsys.readouterr().err)


def test_a_working_folder_that_is_gone_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert main.main(["generate", *SMALL]) == 2
    assert capsys.readouterr().err.startswith("rbdgen: error: working folder: it is not there any")


@pytest.mark.parametrize("command", ["generate", "simulate"])
def test_a_path_that_no_configuration_can_have_is_refused_first(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main([command, "g\udce9n/arm.urdf"]) == 2
    assert capsys.readouterr().err.startswith(
        "rbdgen: error: robot: the path b'g\\xe9n/arm.urdf' has"
    )


@pytest.mark.parametrize("again", few([0.0, 0.01, 0.5], 0.01))
def test_an_interrupt_in_a_destructor_is_not_lost(again: float, tmp_path: Path) -> None:
    arguments = ["generate", *SMALL, "-o", str(tmp_path / "out")]
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(again), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 128 + signal.SIGINT
    assert done.stderr.splitlines()[-1] == "rbdgen: stopped"
    assert not (tmp_path / "out").exists()
    assert time.monotonic() - began < 30


def children(pid: int) -> set[int]:
    """The processes that a process has started, and those that they have."""
    own = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    found = {int(child) for child in own}
    for child in tuple(found):
        found |= children(child)
    return found


def alive(pid: int) -> bool:
    """Whether a process is there and not only waiting for its parent to see that it ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's list of children")
def test_a_request_to_end_reaches_the_workers(tmp_path: Path) -> None:
    arguments = ["explore", "iiwa14", "--functions", "all", "--ii", "1,2,3,4", "--jobs", "2"]
    process = subprocess.Popen(
        [*COMMAND, *arguments, "-o", str(tmp_path)], stderr=subprocess.PIPE, text=True
    )
    workers: set[int] = set()
    deadline = time.monotonic() + 60
    while len(workers) < 3 and time.monotonic() < deadline:  # two workers and what watches them
        time.sleep(0.2)
        workers = children(process.pid)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM
    assert err.splitlines()[-1] == "rbdgen: stopped"
    deadline = time.monotonic() + 10
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(workers) >= 3
    assert not any(map(alive, workers))


@pytest.mark.parametrize(
    ("redirection", "message"),
    [
        (">&-", "standard output: is closed; send it to a file, or to /dev/null"),
        (
            ">/dev/full",
            "standard output: No space left on device; the results are not all there, send them elsewhere",
        ),
    ],
)
def test_output_that_does_not_arrive_is_an_error(redirection: str, message: str) -> None:
    line = shlex.join([*COMMAND, "robots"])
    done = subprocess.run(
        f"{line} {redirection}", shell=True, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == f"rbdgen: error: {message}\n"


def test_closed_standard_error_does_not_reach_the_output() -> None:
    line = shlex.join([*COMMAND, "layout", *SMALL, "--json"])
    usual = subprocess.run(line, shell=True, capture_output=True, text=True, check=True)
    closed = subprocess.run(
        f"{line} 2>&-", shell=True, stdout=subprocess.PIPE, text=True, check=True
    )
    assert closed.stdout == usual.stdout


@pytest.mark.parametrize("locale", ["C", "en_US.ISO-8859-1"])
@pytest.mark.slow
def test_files_do_not_depend_on_the_character_set(locale: str, tmp_path: Path) -> None:
    plain = os.environ | {"LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    usual = os.environ | {"PYTHONUTF8": "1"}
    for folder, environment in (("plain", plain), ("usual", usual)):
        directory = tmp_path / folder
        subprocess.run(
            [*COMMAND, "generate", *SMALL, "-o", str(directory)],
            env=environment,
            capture_output=True,
            check=True,
        )
    names = sorted(p.name for p in (tmp_path / "usual").iterdir())
    assert names == sorted(p.name for p in (tmp_path / "plain").iterdir())
    for name in names:
        assert (tmp_path / "plain" / name).read_bytes() == (tmp_path / "usual" / name).read_bytes()


@pytest.mark.parametrize(
    "arguments",
    [
        ("generate", *SMALL, "-o"),
        ("simulate", *SMALL, "-o"),
        ("build", "pendulum2", "--board", "tang_mega_138k_pro", "-o"),
        ("compare", "pendulum2", "-o"),
        ("explore", "pendulum2", "-o"),
    ],
)
def test_a_directory_that_cannot_be_written_is_found_before_the_work(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    directory = tmp_path / "file" / "out"
    status, out, err = run(capsys, *arguments, directory)
    assert (status, out) == (2, "")
    assert err.startswith(f"rbdgen: error: {directory}: cannot be written: ")
    assert err.endswith("choose another directory with -o\n")


def test_two_designs_do_not_share_a_directory(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    directory = tmp_path / "out"
    assert run(capsys, "generate", *SMALL, "-o", directory)[0] == 0
    before = {p.name: p.read_bytes() for p in directory.iterdir()}
    status, _, err = run(capsys, "generate", *SMALL, "--functions", "m", "-o", directory)
    assert status == 2
    assert last_error(err) == (
        f"rbdgen: error: {directory}: holds rbd_pendulum2_id, not rbd_pendulum2_m; choose another directory with -o, "
        "or remove it"
    )
    assert {p.name: p.read_bytes() for p in directory.iterdir()} == before
    assert run(capsys, "generate", *SMALL, "--ii", "2", "-o", directory)[0] == 0


def test_want_of_memory_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RBDGEN_CACHE", str(tmp_path))

    def too_large(*arguments: object, **named: object) -> None:
        raise MemoryError

    monkeypatch.setattr(commands, "compile_robot", too_large)
    status, _, err = run(capsys, "layout", "pendulum2")
    assert status == 2
    assert last_error(err).startswith("rbdgen: error: memory: not enough for this; ")


def test_the_environment_is_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (None, "yes"):
        monkeypatch.delenv(process.SAFE_PATH, raising=False)
        if value is not None:
            monkeypatch.setenv(process.SAFE_PATH, value)
        before = dict(os.environ)
        with process.own_modules():
            assert os.environ[process.SAFE_PATH] == (value or "1")
        assert dict(os.environ) == before
        assert main.main(["robots"]) == 0
        assert dict(os.environ) == before
