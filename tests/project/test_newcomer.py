"""What a newcomer does first: the README's first command in a checkout of its own and a fresh environment, and the
first picture after it, in the time that patience lasts."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.patience import Wait

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FIRST = re.search(r"^## Start$.*?^```sh\n(.*?)^```$", README, re.M | re.S)
ACTIVATE = re.search(r"^## Use$.*?^```sh\n(.*?)$", README, re.M | re.S)
PICTURE = "rbdgen layout iiwa14 --svg layout.svg --chart timing.svg"
"""The tutorial names both options."""
SECONDS = 100.0


def checkout(folder: Path) -> None:
    """Files that git knows, as they are here, and nothing that was built or installed."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())
            (folder / name).chmod((ROOT / name).stat().st_mode)


@pytest.mark.thorough
@pytest.mark.slow
def test_a_picture_is_there_after_the_first_command(tmp_path: Path) -> None:
    """Packages come from pip's cache where they are in it."""
    assert FIRST is not None
    assert ACTIVATE is not None
    checkout(tmp_path)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "RBDGEN"))}
    own = {"RBDGEN_CACHE": str(tmp_path / "cache")}
    # this environment is not the reader's
    path = kept["PATH"].split(os.pathsep)
    mine = str(ROOT / ".venv/bin")
    own["PATH"] = os.pathsep.join(folder for folder in path if folder != mine)
    kept.pop("VIRTUAL_ENV", None)
    script = "\n".join(["set -e", FIRST[1], ACTIVATE[1], PICTURE])
    wait = Wait()
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=tmp_path,
        env=kept | own,
        capture_output=True,
        text=True,
        check=False,
    )
    took = wait.seconds()
    assert done.returncode == 0, done.stderr
    assert (tmp_path / ".venv/bin/rbdgen").exists()
    for name in ("layout.svg", "timing.svg"):
        assert (tmp_path / name).read_text(encoding="utf-8").startswith("<svg")
    assert took <= SECONDS, f"{took:.0f} s"
