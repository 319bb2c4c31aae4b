"""``rbdgen compare`` and ``rbdgen report`` on the command line."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from tests.cli.test_cli import last_error, run

MEASURED = ("--measure", "--simulator", "amaranth", "--tasks", "4")
SMALL = ("compare", "pendulum2", "--ii", "2,4", *MEASURED)


@pytest.mark.slow
def test_compare_measures_and_times(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, err = run(capsys, *SMALL, "-o", tmp_path, "--plot", tmp_path / "p.svg", "--json")
    assert status == 0, err
    content = json.loads(out)
    assert content["schema"] == "rbdgen.compare/2"
    ours = [r for r in content["rows"] if r["known"] == "measured, RTL simulation"]
    assert [r["interval_cycles"] for r in ours] == [2, 4]
    for r in ours:
        (report,) = tmp_path.glob(f"*_ii{r['interval_cycles']}_*/simulation.json")
        measured = json.loads(report.read_text())["functions"]["id"]
        assert r["latency_cycles"] == measured["latency_cycles"]
    timed = [r for r in content["rows"] if r["known"] == "measured, this machine, this run"]
    assert {r["batch"] for r in timed} == {1, 4, 16, 64, 256, 1024, 4096}
    compiled = [r for r in timed if r["implementation"] == "rbdgen C"]
    assert {r["workers"] for r in compiled} == {1, content["machine"]["cores"]}
    assert {loss["figure"] for loss in content["losses"]} <= {"latency_us", "task_us"}
    assert all(r["task_us"] > 0 for r in timed)
    assert content["machine"]["cores"] >= 1
    assert "<svg" in (tmp_path / "p.svg").read_text()
    with (tmp_path / "compare.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [r["latency_cycles"] for r in rows[:2]] == [str(r["latency_cycles"]) for r in ours]


@pytest.mark.slow
def test_compare_prints_tables_and_csv(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    small = ("compare", "pendulum2", "--functions", "m", *MEASURED, "-o", tmp_path)
    status, out, err = run(capsys, *small)
    assert status == 0, err
    assert re.search(
        r"^rbdgen, II 12, +\d+= +12= +125~ .* \[1\]\nerror 0.001,\ngeneric125$", out, re.M
    )
    assert re.search(r"^\[1\] measured, RTL simulation; 4 tasks, 0 mismatches", out, re.M)
    assert "the clock is the device model's" in " ".join(out.split())
    assert "This machine: " in out
    status, out, err = run(capsys, *small, "--csv")
    assert status == 0, err
    assert (tmp_path / "compare.csv").read_text() == out


def test_compare_promises_at_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, err = run(capsys, "compare", "pendulum2", "--ii", "2", "-o", tmp_path, "--json")
    assert status == 0, err
    content = json.loads(out)
    assert [r["known"] for r in content["rows"]] == ["modelled: the schedule's promise"]
    status, promised, _ = run(capsys, "layout", "pendulum2", "--ii", "2", "--json")
    assert status == 0
    latency = json.loads(promised)["functions"]["id"]["latency_cycles"]
    assert content["rows"][0]["latency_cycles"] == latency
    assert {path.name for path in tmp_path.iterdir()} == {
        f"compare.{kind}" for kind in ("csv", "json", "tex")
    }
    assert json.loads((tmp_path / "compare.json").read_text()) == content
    made = content["made"]
    assert made["command"] == "rbdgen compare pendulum2 --functions id --ii 2"
    assert f", {made['date']}: {made['command']}" in content["rows"][0]["source"]
    status, out, _ = run(capsys, "compare", "pendulum2", "--ii", "2", "-o", tmp_path, "--latex")
    assert status == 0
    assert out == (tmp_path / "compare.tex").read_text()
    assert out.count(r"\\") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["compare", "iiwa14", "--simulator", "icarus"],
            r"simulator: only with --measure, which simulates$",
        ),
        (
            ["compare", "iiwa14", "hyk"],
            r"robot 'hyk': neither a file nor built in; did you mean hyq\?",
        ),
        (
            ["compare", "iiwa14", "--functions", "mnv"],
            r"function 'mnv': unknown; did you mean minv\?",
        ),
        (
            ["compare", "iiwa14", "--device", "generic12"],
            r"device: must be one of .*, not 'generic12'; did you mean 'generic125'\?",
        ),
        (
            ["compare", "iiwa14", "--derivative", "columms"],
            r"derivative: must be one of composite, columns, not 'columms'; did you mean 'columns'",
        ),
        (["compare", "iiwa14", "--plot", "p.jpg"], r"plot p\.jpg: must end in"),
        (
            ["compare", "iiwa14", "--tasks", "1"],
            r"tasks: must be at least 2 to measure an interval, not 1$",
        ),
        (["compare"], r"the following arguments are required: ROBOT"),
        (["compare", "iiwa14", "--json", "--csv"], r"not allowed with argument"),
        (["report", "nowhere"], r"nowhere: no such directory"),
        (["report", "."], r"not a build: holds no report\.json"),
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
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert re.search(message, last_error(err)), err
    assert list(tmp_path.iterdir()) == []


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("compare", "report", "explore"):
        status, out, _ = run(capsys, verb, "--help")
        assert status == 0
        assert f"  rbdgen {verb}" in out


def test_page_is_written_where_asked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(capsys, "generate", "pendulum2", "-o", tmp_path / "build")[0] == 0
    status, out, _ = run(
        capsys, "report", tmp_path / "build", "-o", tmp_path / "page.html", "--json"
    )
    assert status == 0
    content = json.loads(out)
    assert (content["robot"], content["measured"]) == ("pendulum2", False)
    assert Path(content["page"]) == tmp_path / "page.html"
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    (tmp_path / "file").write_text("in the way")
    status, out, err = run(
        capsys, "report", tmp_path / "build", "-o", tmp_path / "file" / "page.html"
    )
    assert (status, out) == (2, "")
    assert re.search(
        r"file: cannot be written: .*; choose another directory with -o$", last_error(err)
    )
