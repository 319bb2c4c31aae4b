"""Bitstreams that were made with a release: found by what they are of, without tools; and not where they are another
version's or were changed."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from rbdgen import flashing, workbench
from rbdgen.errors import ConfigError
from rbdgen.report.files import write_files
from rbdgen_boards import programmers, released
from rbdgen_boards.board import get_board
from rbdgen_boards.released import INDEX, PACKAGE, Released, find_released, package_files

BOARD = get_board("ulx3s_85f")
MADE = Released("bitstream.bit", bytes(range(256)), {"board": BOARD.name, "clock_mhz": 60.0})


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The installed package, with one board's bitstream."""
    folder = tmp_path / "installed"
    write_files(package_files({BOARD.name: (BOARD, MADE)}), folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, PACKAGE, raising=False)
    yield folder / PACKAGE
    sys.modules.pop(PACKAGE, None)


def test_without_the_package_there_is_none() -> None:
    assert find_released(BOARD) is None


def test_it_is_found_by_what_it_is_of(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_released(BOARD) == replace(MADE, name="ulx3s_85f_bitstream.bit")
    assert find_released(get_board("ulx3s_45f")) is None
    assert find_released(replace(BOARD, rate=115200)) is None
    monkeypatch.setattr(released, "release", lambda: "9.9")
    assert find_released(BOARD) is None


def test_one_that_was_changed_is_refused(package: Path) -> None:
    (package / "ulx3s_85f_bitstream.bit").write_bytes(b"another")
    with pytest.raises(ConfigError, match=r"^rbdgen-bitstreams: ulx3s_85f_bitstream\.bit is not"):
        find_released(BOARD)
    # nothing of the machine that made it
    index = json.loads((package / INDEX).read_text())
    assert index["boards"]["ulx3s_85f"]["report"] == MADE.report


def test_a_board_gets_it_without_tools(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*given: object, **named: object) -> None:
        raise AssertionError("no tools are needed")

    loaded: list[Path] = []
    monkeypatch.setattr(flashing, "BoardTools", none)
    monkeypatch.setattr(workbench, "BoardTools", none)
    monkeypatch.setattr(programmers, "require_programmer", lambda program: None)
    monkeypatch.setattr(programmers, "load", lambda program, file: loaded.append(file))
    folder = tmp_path / "engine"
    report = flashing.flash(BOARD.name, folder)
    (file,) = loaded
    assert file.read_bytes() == MADE.content
    assert report["programmed"]
    assert report["bitstream"] == str(file)
    assert json.loads((folder / flashing.ENGINE_FILE).read_text()) == report
    with pytest.raises(AssertionError, match="no tools"):
        flashing.flash(BOARD.name, tmp_path / "b", verify=True, progress=SimpleNamespace())
