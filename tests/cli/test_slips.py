"""Slips of the keyboard: each is one line with what was probably meant, and exit status 2."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_cli import last_error, run

SLIPS = {
    "layuot iiwa14": r"did you mean 'layout'\?",
    "simualte iiwa14": r"did you mean 'simulate'\?",
    "Layout iiwa14": r"did you mean 'layout'\?",
    "--layout iiwa14": r"did you mean 'layout'\?",
    "list": r"did you mean 'robots'\?",
    "compile iiwa14": r"did you mean 'generate'\?",
    "iiwa14": "rbdgen layout iiwa14",
    "arm.urdf layout": r"rbdgen layout arm\.urdf",
    "layout iiwa14 --fucntions id": r"did you mean '--functions'\?",
    "layout iiwa14 --Functions id": r"did you mean '--functions'\?",
    "layout iiwa14 -functions id": r"did you mean '--functions'\?",
    "layout iiwa14 --word_length 18": r"did you mean '--word'\?",
    "layout iiwa14 --force_limit 3 --payloads x": r"did you mean '--(payload|force-limit)'\?",
    "layout iiwa14 —functions id": r"did you mean '--functions'\?",
    "layout iiwa14 -ii 4": r"did you mean '--ii'\?",
    "layout iiwa14 ii=4": r"did you mean '--ii=4'\?",
    "layout iiwa14 -f id": r"did you mean '--f\w+",
    "layout iiwa14 --functions id did": "names are parted by commas",
    "layout iiwa14 --functions id, did": "names are parted by commas",
    "layout iiwa14 --functions id|did": r"names are parted by commas: id,did",
    "layout iiwa14 --functions idd": r"did you mean \w+\?",
    "layout iiwa14 id,did": "--functions id,did",
    "layout iiwa14 hyq": "'rbdgen compare' takes several",
    "layout --robot iiwa14": "give its name or path alone",
    "layout iwa14": r"did you mean iiwa14\?",
    "layout iiwa14 --tasks 100": "--tasks is an option of simulate",
    "layout iiwa14 -o here": "-o is an option of generate",
    "layout iiwa14 --for aera": r"did you mean 'area'\?",
    "layout iiwa14 --device ecp": r"did you mean 'ecp5'\?",
    "layout iiwa14 --board ulx3s": r"did you mean ulx3s_85f",
    "layout iiwa14 --machine engin": r"did you mean 'engine'\?",
    "emit iiwa14 --target cudaa": r"did you mean 'cuda'\?",
    "boards --jsn": r"did you mean '--json'\?",
    "help laytou": r"did you mean 'layout'\?",
    "completion bsh": r"did you mean 'bash'\?",
}
"""Slips, and what is suggested; a bar stands for a space inside an argument."""


@pytest.mark.parametrize("line", SLIPS)
def test_a_slip_is_one_line_with_a_suggestion(
    line: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = run(capsys, *(word.replace("|", " ") for word in line.split(" ")))
    assert (status, out) == (2, "")
    assert re.search(SLIPS[line], last_error(err)), err
    assert list(tmp_path.iterdir()) == []


def test_there_are_enough_slips() -> None:
    assert len(SLIPS) >= 30


def test_rbdgen_alone_says_what_one_does_first(capsys: pytest.CaptureFixture[str]) -> None:
    """Every command that it names is one, and it fits a terminal."""
    status, out, err = run(capsys)
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    named = re.findall(r"^  rbdgen (\w+)", out, re.M)
    assert len(named) >= 4
    for command in named:
        assert run(capsys, command, "--help")[0] == 0


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_is_no_slip(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, flag)
    assert (status, out.startswith("usage: rbdgen")) == (0, True)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("layout", "usage: rbdgen layout"),
        ("ii", "--ii CYCLES: initiation interval"),
        ("--for", "--for GOAL: "),
        ("difd", "difd: "),
        ("svg", "--svg: an option of layout"),
    ],
)
def test_help_explains_a_word(word: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "help", "--", word)
    assert (status, out.startswith(said)) == (0, True)


def test_quiet_says_nothing_beside_results(capsys: pytest.CaptureFixture[str]) -> None:
    design = ("layout", "pendulum2", "--word", "18")
    usual, quiet = run(capsys, *design), run(capsys, *design, "-q")
    assert usual[0] == quiet[0] == 0
    assert usual[1] == quiet[1]
    assert "rbdgen: read robot" in usual[2]
    assert not [line for line in quiet[2].splitlines() if "warning:" not in line]


def test_verbose_says_when_stages_begin(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "layout", "pendulum2", "--word", "18", "-v")
    assert status == 0
    assert re.search(r"^rbdgen: \d+\.\d s: read robot$", err, re.M)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_get_what_completes(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "completion", shell)
    assert status == 0
    assert "_ARGCOMPLETE" in out


def completions(line: str) -> list[str]:
    """What bash would offer behind a line."""
    asked = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line))}
    script = f"{sys.executable} -m rbdgen 8>&1 9>/dev/null"
    environment = {**os.environ, **asked, "_ARGCOMPLETE_IFS": "\n"}
    done = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    return [word.strip() for word in done.stdout.splitlines()]


def test_commands_robots_and_functions_are_completed() -> None:
    assert completions("rbdgen lay") == ["layout"]
    assert completions("rbdgen layout ii") == ["iiwa14"]
    assert {"id,did", "id,difd"} <= set(completions("rbdgen layout iiwa14 --functions id,di"))
    assert "ecp5" in completions("rbdgen layout iiwa14 --device ec")
