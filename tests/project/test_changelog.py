"""The changelog: fragments are folded into an entry, and those that are there can be."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
FRAGMENTS = ROOT / "changelog.d"
KNOWN = ("README.md", "template.md.jinja")


def fold(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "towncrier", "build", "--version", "9.8.7"]
    command += ["--date", "2030-01-02", "--yes"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_fragments_are_folded_into_an_entry(tmp_path: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copy(ROOT / "CHANGELOG.md", tmp_path)
    fragments = tmp_path / "changelog.d"
    fragments.mkdir()
    shutil.copy(FRAGMENTS / "template.md.jinja", fragments)
    (fragments / "boards.changed.md").write_text("An unknown board\nprints the list.\n")
    (fragments / "arms.added.md").write_text("Arms.\n")
    (fragments / "boards.added.md").write_text("Boards.\n")
    before = (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8")
    done = fold(tmp_path)
    assert done.returncode == 0, done.stderr
    entry = (
        "## [9.8.7] - 2030-01-02\n\n### Added\n\n- Arms.\n- Boards.\n\n"
        "### Changed\n\n- An unknown board\n  prints the list.\n\n"
    )
    begin = "<!-- releases begin here -->\n\n"
    expected = before.replace(begin, begin + entry)
    assert (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8") == expected
    assert [path.name for path in fragments.iterdir()] == ["template.md.jinja"]


def test_fragments_have_a_kind_and_a_text() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        kinds = [kind["directory"] for kind in tomllib.load(file)["tool"]["towncrier"]["type"]]
    for path in FRAGMENTS.iterdir():
        if path.name not in KNOWN:
            assert re.fullmatch(rf"[a-z0-9-]+\.({'|'.join(kinds)})\.md", path.name)
            assert path.read_text(encoding="utf-8").strip()
