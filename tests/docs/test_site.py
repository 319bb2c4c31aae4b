"""The documentation site: builds without a warning, its examples give what they say, its links to files hold."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))


def sphinx(builder: str, out: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", builder, str(ROOT / "docs"), str(out)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_site_builds_without_warnings(tmp_path: Path) -> None:
    done = sphinx("html", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    for page in PAGES:
        assert (tmp_path / page.relative_to(ROOT / "docs")).with_suffix(".html").exists()


def test_examples_give_what_they_say(tmp_path: Path) -> None:
    done = sphinx("doctest", tmp_path)
    output = (tmp_path / "output.txt").read_text(encoding="utf-8")
    assert done.returncode == 0, output
    ran = re.search(r"^ +(\d+) tests$", output, re.M)
    assert ran, output
    assert int(ran[1]) == sum(len(re.findall(r"^>>> ", page.read_text(encoding="utf-8"), re.M)) for page in PAGES)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda p: p.name)
def test_files_that_pages_name_exist(page: Path) -> None:
    """A path in backquotes, and a link in the README, is a file or folder of the project."""
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:rbdgen|hw|sim|boards|tests|docs|examples|bench)/[\w/.]*)`", text))
    named |= set(re.findall(r"\]\(((?:docs|LICENSE)[\w/.]*)\)", text))
    named |= {
        f"rbdgen/{n}" for n in re.findall(r"`((?:algo|golden|layout|passes|schedule|ir|report|model)/\w+\.py)`", text)
    }
    missing = sorted(name for name in named if not (ROOT / name).exists())
    assert missing == []
