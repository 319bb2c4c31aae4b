"""The documentation site: builds without a warning, its examples give what they say, its links to files hold."""

from __future__ import annotations

import base64
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rbdgen
from rbdgen import explore
from rbdgen.model import builtin_robots
from rbdgen.schema.json_files import described_keys

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where Sphinx keeps the pages as it read them, for all of its builders."""
    return tmp_path_factory.mktemp("read")


def sphinx(builder: str, out: Path, read: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", builder]
    command += ["-d", str(read), str(ROOT / "docs"), str(out)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def help_of(command: str, flag: str) -> str:
    line = [sys.executable, "-m", "rbdgen", command, flag]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_site_builds_without_warnings(tmp_path: Path, read: Path) -> None:
    done = sphinx("html", tmp_path, read)
    assert (done.returncode, done.stderr) == (0, "")
    for page in PAGES:
        assert (tmp_path / page.relative_to(ROOT / "docs")).with_suffix(".html").exists()
    protocol = (tmp_path / "protocol.html").read_text(encoding="utf-8")
    for key in described_keys("manifest"):
        assert f'<span class="pre">{key.path}</span>' in protocol
    boards = (tmp_path / "extending/board.html").read_text(encoding="utf-8")
    for key in described_keys("board"):
        assert f'<span class="pre">{key.path}</span>' in boards
    gallery = (tmp_path / "gallery.html").read_text(encoding="utf-8")
    pictures = re.findall(
        r'src="data:image/svg\+xml;base64,([^"]+)" alt="What (.*?) draws"', gallery
    )
    assert len(pictures) == (ROOT / "docs/gallery.md").read_text().count("{drawing}")
    for content, command in pictures:
        assert f"<title>{command.split()[2]}: " in base64.b64decode(content).decode()


def test_the_gallery_draws_every_built_in_robot() -> None:
    page = (ROOT / "docs/gallery.md").read_text(encoding="utf-8")
    drawn = re.findall(r"^```\{drawing\} (\S+)", page, re.M)
    assert set(drawn) == set(builtin_robots())


@pytest.mark.slow
def test_the_reference_has_every_option_and_every_public_name(tmp_path: Path, read: Path) -> None:
    done = sphinx("text", tmp_path, read)
    assert (done.returncode, done.stderr) == (0, "")
    options = (tmp_path / "reference/command_line.txt").read_text(encoding="utf-8")
    for command in ("layout", "explore", "build"):
        shown = help_of(command, "--help")
        if "--help-all" in shown:
            shown = help_of(command, "--help-all")
        named = set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", shown, re.M)) - {"--help", "--help-all"}
        assert len(named) > 5
        assert [option for option in named if f'"{option}' not in options] == []
    names = (tmp_path / "reference/api.txt").read_text(encoding="utf-8")
    for package in (rbdgen, rbdgen.golden, explore):
        for name in package.__all__:
            value = getattr(package, name)
            if not name.startswith("_") and not inspect.ismodule(value):
                assert f"{package.__name__}.{name}" in names


@pytest.mark.slow
def test_examples_give_what_they_say(tmp_path: Path, read: Path) -> None:
    done = sphinx("doctest", tmp_path, read)
    output = (tmp_path / "output.txt").read_text(encoding="utf-8")
    assert done.returncode == 0, output
    ran = re.search(r"^ +(\d+) tests$", output, re.M)
    assert ran, output
    assert int(ran[1]) == sum(
        len(re.findall(r"^>>> ", page.read_text(encoding="utf-8"), re.M)) for page in PAGES
    )


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda p: p.name)
def test_files_that_pages_name_exist(page: Path) -> None:
    """A path in backquotes, and a link in the README, is a file or folder of the project."""
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:rbdgen|hw|sim|boards|tests|docs|examples|bench)/[\w/.]*)`", text))
    named |= set(re.findall(r"\]\(((?:docs|LICENSE)[\w/.]*)\)", text))
    named |= {
        f"rbdgen/{n}"
        for n in re.findall(
            r"`((?:algo|golden|machines/pipeline|tracing|passes|ir|report|model)/\w+\.py)`", text
        )
    }
    missing = sorted(name for name in named if not (ROOT / name).exists())
    assert missing == []
