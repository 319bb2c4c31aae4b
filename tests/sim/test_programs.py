"""Programs that simulate come from the user's cache or are made anew, never from the folder that they run in."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from rbdgen_sim import device, verilator
from rbdgen_sim.compiled import fetch_program, keep_program, place_program

DIGEST = "0c" * 32


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache."""
    monkeypatch.setenv("RBDGEN_CACHE", str(tmp_path / "cache"))


def test_a_program_that_was_kept_replaces_what_has_its_name(tmp_path: Path) -> None:
    program = tmp_path / "device"
    assert not fetch_program(DIGEST, program)
    place_program(b"made", program)
    keep_program(DIGEST, program)
    elsewhere = tmp_path / "another's"
    elsewhere.write_bytes(b"planted")
    program.unlink()
    program.symlink_to(elsewhere)
    assert fetch_program(DIGEST, program)
    assert (program.read_bytes(), elsewhere.read_bytes()) == (b"made", b"planted")
    assert program.stat().st_mode & 0o777 == 0o755


def test_a_device_that_lies_in_the_folder_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders: list[Path] = []

    def run(arguments: Sequence[str], directory: Path) -> subprocess.CompletedProcess[str]:
        folders.append(directory)
        Path(arguments[list(arguments).index("-o") + 1]).write_bytes(b"made")
        return subprocess.CompletedProcess([], 0, "")

    monkeypatch.setattr(verilator, "run", run)
    work = tmp_path / "my work"
    work.mkdir()
    source = work / "top.v"
    source.write_text("module top; endmodule")
    for text in ("module top; endmodule", "module top; endmodule", "module top; wire a; endmodule"):
        source.write_text(text)
        (work / device.PROGRAM).write_bytes(b"planted")
        assert device.build_device([source], "top", work).read_bytes() == b"made"
    assert len(folders) == 2
    assert not any(folder.exists() or " " in str(folder) for folder in folders)
