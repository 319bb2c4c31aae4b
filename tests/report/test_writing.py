"""Directories that files are written into."""

from __future__ import annotations

import errno
import fcntl
from pathlib import Path

import pytest

from rbdgen.errors import ConfigError
from rbdgen.report.files import occupied


def test_a_directory_is_for_one_at_a_time(tmp_path: Path) -> None:
    directory = tmp_path / "new" / "design"
    with occupied(directory):
        with (
            pytest.raises(ConfigError, match=r"design: is in use: another rbdgen writes into it; "),
            occupied(directory),
        ):
            pass
        with occupied(tmp_path / "new" / "other"):
            pass
    with occupied(directory):
        pass
    assert not list(directory.iterdir())


def test_a_file_system_without_locks_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(handle: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    with occupied(tmp_path):
        pass


def test_what_is_no_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(ConfigError, match=r"file: cannot be written: .*; choose another directory"),
        occupied(tmp_path / "file"),
    ):
        pass
