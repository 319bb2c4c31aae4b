"""``rbdgen explore`` on the command line."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path

import pytest

from rbdgen.installation import remedy
from tests.cli.test_cli import last_error, run

SMALL = ("explore", "pendulum2", "--ii", "1,4", "--word", "12,18", "--tasks", "20", "--jobs", "2")


@pytest.mark.slow
def test_explore_writes_rows_and_plot(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, err = run(capsys, *SMALL, "-o", tmp_path)
    assert status == 0, err
    assert "0 of 4 points were finished before" in out
    assert re.search(r"^ *1 +18 .*front$", out, re.M)
    with (tmp_path / "explore.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(r["ii"], r["word"]) for r in rows] == [
        ("1", "12"),
        ("1", "18"),
        ("4", "12"),
        ("4", "18"),
    ]
    assert "<svg" in (tmp_path / "pareto.svg").read_text()
    first = {p: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
    status, out, _ = run(capsys, *SMALL, "-o", tmp_path)
    assert "4 of 4 points were finished before" in out
    assert {p: p.read_bytes() for p in first} == first


def test_without_matplotlib_the_table_is_printed_and_kept(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    few = ("explore", "pendulum2", "--ii", "4", "--tasks", "20", "--jobs", "1")
    status, out, err = run(capsys, *few, "-o", tmp_path)
    missing = f"Python package 'matplotlib' is missing; {remedy('report')}"
    assert status == 0
    assert err.splitlines()[0] == f"rbdgen: note: no plot: {missing}"
    assert re.search(r"front$", out, re.M)
    assert json.loads((tmp_path / "explore.json").read_text())["rows"][0]["ii"] == 4
    assert (tmp_path / "explore.csv").is_file()
    assert not (tmp_path / "pareto.svg").exists()
    assert "pareto.svg" not in out
    # a plot that was asked for is an error, before anything is done
    status, out, err = run(capsys, *few, "-o", tmp_path, "--plot", tmp_path / "x.svg")
    assert status == 2
    assert (out, err) == ("", f"rbdgen: error: {missing}\n")


def test_explore_json_has_the_choices(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, err = run(
        *(
            capsys,
            "explore",
            "pendulum2",
            "--functions",
            "id",
            "--functions",
            "m,minv",
            "--ii",
            "2",
        ),
        *(
            "--mass-matrix",
            "ldl,mminvgen",
            "--tasks",
            "20",
            "--jobs",
            "1",
            "-o",
            tmp_path,
            "--json",
        ),
    )
    assert status == 0, err
    rows = json.loads(out)["rows"]
    assert [(r["functions"], r["mass_matrix"]) for r in rows] == [
        (f, m) for f in (["id"], ["m", "minv"]) for m in ("ldl", "mminvgen")
    ]
    assert all(r["status"] == "ok" and r["figures"].startswith("promised") for r in rows)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pendulum3"], r"robot 'pendulum3'.*did you mean pendulum2\?"),
        (["pendulum2", "--functions", "dif"], r"function 'dif': unknown; did you mean difd"),
        (
            ["pendulum2", "--device", "xcu"],
            r"device: must be one of .*, not 'xcu'; did you mean 'xcup'\?",
        ),
        (["pendulum2", "--ii", "1,x"], r"ii: must be a whole number, not 'x'"),
        (["pendulum2", "--jobs", "0"], r"jobs: must be at least 1, not 0$"),
        (["pendulum2", "--tasks", "0"], r"tasks: must be at least 1, not 0$"),
        (
            ["pendulum2", "--plot", "x.gif"],
            r"plot x\.gif: must end in \.svg, \.png, \.pdf, not '\.gif'$",
        ),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = run(capsys, "explore", *arguments)
    assert (status, out) == (2, "")
    assert re.search(message, last_error(err)), err
    assert list(tmp_path.iterdir()) == []


def test_nothing_that_can_be_built_is_an_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, out, err = run(
        capsys,
        "explore",
        "iiwa14",
        *("--functions", "minv", "--word", "8", "--jobs", "1"),
        "-o",
        tmp_path,
    )
    assert (status, out) == (2, "")
    assert re.search(
        r"no point can be built; the first: word: 8 bits are too few for 'iiwa14'",
        last_error(err),
    )
