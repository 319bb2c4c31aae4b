"""``rbdgen simulate --waves``: the format that is asked for, how to open it, and what is refused by name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rbdgen.cli.commands import viewing
from tests.cli.test_cli import last_error, run

SMALL = ("simulate", "pendulum2", "--word", "18", "--tasks", "2", "--simulator", "amaranth")


def test_a_waveform_comes_with_a_viewer(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, err = run(capsys, *SMALL, "--waves", "-o", tmp_path)
    assert status == 0, err
    path = tmp_path / "waves.vcd"
    assert path.read_bytes().startswith(b"$")
    opening = [line for line in out.splitlines() if line.startswith("open it with")]
    assert len(opening) == 1
    assert re.search(rf"(gtkwave|surfer) {re.escape(str(path))}", opening[0])


def test_only_viewers_that_are_here_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "surfer"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert viewing(Path("my waves.fst")) == "open it with: surfer 'my waves.fst'"
    program.unlink()
    said = "open it with GTKWave or Surfer, such as: gtkwave waves.fst"
    assert viewing(Path("waves.fst")) == said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--waves", "--wave-format", "fst"],
            r"wave-format: amaranth writes vcd, not 'fst'; choose another with --wave-format or --simulator$",
        ),
        (["--wave-format", "vcd"], r"wave-format: only with --waves, which asks for a waveform$"),
    ],
)
def test_what_cannot_be_written_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, out, err = run(capsys, *SMALL, *arguments, "-o", tmp_path)
    assert (status, out) == (2, "")
    assert re.search(message, last_error(err)), err
    assert list(tmp_path.iterdir()) == []
