"""The user's cache: what was cut short, damaged or made by others is not taken from it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rbdgen import RbdgenWarning, caching
from rbdgen.caching import Kept, cached, drop, keep

KEY, OTHER = "0a" * 16, "0b" * 32


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    caching._complain.cache_clear()
    monkeypatch.setenv("RBDGEN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_was_kept_is_found(folder: Path) -> None:
    assert cached("kind", KEY, ".bin") is None
    path = keep("kind", KEY, ".bin", b"content")
    assert path is not None
    assert cached("kind", KEY, ".bin") == Kept(path, b"content")
    assert cached("kind", OTHER, ".bin") is None
    assert [p.name for p in (folder / "kind").iterdir()] == [path.name]
    assert not folder.stat().st_mode & 0o022


def test_names_end_in_several_parts(folder: Path) -> None:
    assert keep("things", KEY, ".json.gz", b"content")
    kept = cached("things", KEY, ".json.gz")
    assert kept is not None
    assert kept.content == b"content"


def test_what_is_cut_short_is_not_taken() -> None:
    path = keep("kind", KEY, ".bin", b"content")
    assert path is not None
    path.write_bytes(b"cont")
    assert cached("kind", KEY, ".bin") is None
    assert not path.exists()


def test_what_others_can_write_is_not_taken() -> None:
    path = keep("kind", KEY, ".bin", b"content")
    assert path is not None
    path.chmod(0o666)
    assert cached("kind", KEY, ".bin") is None


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    path = keep("kind", KEY, ".bin", b"content")
    assert path is not None
    elsewhere = path.rename(tmp_path / "elsewhere")
    path.symlink_to(elsewhere)
    assert cached("kind", KEY, ".bin") is None


def test_a_folder_of_ones_own_is_closed_to_others(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    keep("kind", KEY, ".bin", b"content")
    assert folder.stat().st_mode & 0o777 == 0o755
    assert cached("kind", KEY, ".bin") is not None


def test_a_folder_of_somebody_else_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert keep("kind", KEY, ".bin", b"content") is not None
    mine = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    with pytest.warns(RbdgenWarning, match=r"^cache: .* belongs to another user and is not used"):
        assert cached("kind", KEY, ".bin") is None
    assert keep("kind", OTHER, ".bin", b"content") is None
    assert len(list((folder / "kind").iterdir())) == 1


def test_a_place_that_cannot_be_a_folder_is_no_cache(folder: Path) -> None:
    folder.write_text("")
    assert keep("kind", KEY, ".bin", b"content") is None
    assert cached("kind", KEY, ".bin") is None


def test_files_of_others_in_its_folder_stay(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching, "MOST_FILES", 1)
    names = (
        "drawing.bin",
        f"{KEY}.bin",
        f"{KEY}-notes.bin",
        f"{KEY}-{'z' * 32}.bin",
        ".writing-a-book",
    )
    (folder / "kind" / f"{KEY}-{'0' * 32}.d").mkdir(parents=True)
    for name in names:
        (folder / "kind" / name).write_text("work")
        os.utime(folder / "kind" / name, (0, 0))
    keep("kind", OTHER, ".bin", b"earlier")
    assert cached("kind", KEY, ".bin") is None
    path = keep("kind", KEY, ".bin", b"content")
    assert path is not None
    assert sorted(p.name for p in (folder / "kind").iterdir() if p.is_file()) == sorted(
        [*names, path.name]
    )
    drop("kind", KEY, ".bin")
    assert sorted(p.name for p in (folder / "kind").iterdir() if p.is_file()) == sorted(names)


def test_the_files_not_used_for_longest_go_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caching, "MOST_FILES", 2)
    paths = []
    for number in range(3):
        path = keep("kind", f"{number:032x}", ".bin", b"content")
        assert path is not None
        os.utime(path, (number, number))
        paths.append(path)
    keep("kind", KEY, ".bin", b"content")
    assert [path.exists() for path in paths] == [False, False, True]


def test_a_key_is_digits(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"^key must be 32 to 64 hexadecimal digits, not '\*'$"):
        keep("kind", "*", ".bin", b"content")
