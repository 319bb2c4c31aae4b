"""The tutorial, as written: every command of it, from the wheel, in one folder and in its order, in the time that it
states."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
from pathlib import Path

import pytest

from tests.conftest import few
from tests.patience import Wait
from tests.project.environments import Environment, build, environment

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S)
PREPARED, STEPS = BLOCKS[0].splitlines(), BLOCKS[1:]
COMMANDS = [line for block in STEPS for line in block.splitlines()]
EXTRAS = re.findall(r"\[([\w,]+)\]", PREPARED[-1])[0].split(",")
"""What a reader installs beside what the demo needs."""
TABLES = re.findall(r"^```text\n(.*?)^```$", PAGE, re.M | re.S)
"""What commands print, as the page shows it."""
LEFT = {
    "report build/pendulum": "build/pendulum/report.html",
    "simulate": "build/pendulum/waves.fst",
    "build": "build/*/ulx3s_85f/bitstream.bit",
}
"""What commands leave behind, by how they begin."""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Where the commands run, one after another, with the cache of all tests: Verilator's own runtime is in it."""
    wheel = build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))
    made = environment(tmp_path_factory.mktemp("tutorial"), wheel, "sim", *EXTRAS)
    return dataclasses.replace(made, cache=Path(os.environ["RBDGEN_CACHE"]))


LONG = "rbdgen build", "rbdgen simulate", "rbdgen report"
"""Beginnings of commands that take longer, and of one that reads what they wrote."""
QUICK = [line for line in COMMANDS if not line.startswith(LONG)]
"""Commands that are tried whenever tests are; others build and simulate as well."""


def test_a_reader_is_told_what_to_install_before_it_is_needed() -> None:
    """The demo's extra is setup.sh's; a block that needs another comes after it was named."""
    assert PREPARED[:2] == ["sh setup.sh demo", ". .venv/bin/activate"]
    script = (ROOT / "setup.sh").read_text(encoding="utf-8")
    assert "demo) extra=sim ;;" in script
    assert {"report", "build"} <= set(EXTRAS)
    assert PAGE.index("import rbdgen") < PAGE.index("rbdgen.load")
    assert PAGE.index("A submodule is") < PAGE.index("submodule  var mult")


def test_every_command_says_how_long_it_takes() -> None:
    assert len(COMMANDS) >= 6
    assert [line for line in COMMANDS if not re.search(r"  # \d+ s$", line)] == []


@pytest.mark.slow
@pytest.mark.parametrize("line", few(COMMANDS, *QUICK))
def test_commands_pass_in_the_time_that_they_state(line: str, installed: Environment) -> None:
    command, seconds = line.split("  # ")
    words = shlex.split(command)
    assert words[0] == "rbdgen"
    wait = Wait()
    done = installed.run(*words)
    took = wait.seconds()
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    shown = [table for table in TABLES if table.splitlines()[0] in done.stdout.splitlines()]
    if words[1] in ("robots", "layout"):
        assert shown
        assert [table for table in shown if table not in done.stdout] == []
    for beginning, left in LEFT.items():
        if " ".join(words[1:]).startswith(beginning):
            assert list((installed.folder / "work").glob(left)), done.stdout
    assert took <= float(seconds.removesuffix(" s")), f"{command}: {took:.0f} s"
