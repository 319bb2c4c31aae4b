"""Reading a build's folder: what is broken, older or missing is named, with what would help."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rbdgen.cli.main import main
from rbdgen.errors import ConfigError
from rbdgen.report.files import read_build
from rbdgen.schema.json_files import schema
from tests.conftest import few
from tests.mutants import mutants


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The report of a small build."""
    folder = tmp_path_factory.mktemp("build")
    assert main(["generate", "pendulum2", "-o", str(folder), "--json"]) == 0
    return json.loads((folder / "report.json").read_text())


def write(folder: Path, name: str, content: object) -> None:
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))


def simulated(report: dict[str, Any]) -> dict[str, Any]:
    """A simulation of a report's design."""
    measured = {"tasks": 9, "tasks_mixed": 3, "mismatches": 0, "overflows": 0}
    measured |= {"max_relative_error": 1e-4, "rms_relative_error": 1e-5, "latency_cycles_steady": 9}
    measured["errors"] = {"tau": {"max": [1e-4, 2e-5], "rms": [1e-5, 0.0]}}
    functions = {name: f | measured for name, f in report["functions"].items()}
    made = {"simulator": "x", "seed": 0, "build_seconds": 0, "run_seconds": 0.1}
    return (
        report
        | made
        | {
            "functions": functions,
            "simulated": {"command": "", "versions": {"python": "3", "x": None}},
        }
    )


def routed(report: dict[str, Any]) -> dict[str, Any]:
    """Place and route of a report's design."""
    made = {"board": "b", "running_clock_mhz": 50, "timing_met": True, "clock_mhz": 61.5}
    made["microseconds"] = {"id": {"interval": 0.0163, "latency": 0.0651}}
    return report | made | {"resources": {"multipliers": {"used": None, "available": 9}}}


def complaint(folder: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        read_build(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_build_is_read(report: dict[str, Any], tmp_path: Path) -> None:
    write(tmp_path, "report.json", report)
    build = read_build(tmp_path)
    assert (build.report, build.simulation, build.routed, build.config) == (report, None, None, "")
    assert set(build.pictures.values()) == {""}


def test_what_is_no_build_is_named(tmp_path: Path) -> None:
    assert re.search(
        r"nowhere: no such directory; give one that 'rbdgen gen", complaint(tmp_path / "nowhere")
    )
    assert re.search(r"not a build: holds no report\.json", complaint(tmp_path))
    write(tmp_path, "file", "")
    assert "no such directory" in complaint(tmp_path / "file")


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            "rbdgen.report/1",
            r"of an older version, 'rbdgen\.report/1', where this rbdgen reads 'rbdgen\.report/\d+'",
        ),
        ("rbdgen.report/999", r"of a newer version, 'rbdgen\.report/999'"),
        ("something/1", r"schema must be 'rbdgen\.report/\d+', not 'something/1'"),
        (None, r"schema must be 'rbdgen\.report/\d+', not None"),
    ],
)
def test_versions_are_named(
    schema: str | None, message: str, report: dict[str, Any], tmp_path: Path
) -> None:
    write(tmp_path, "report.json", report | {"schema": schema})
    assert re.search(message + ".*; write it anew with 'rbdgen generate'", complaint(tmp_path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"report\.json: must be a JSON file: Expecting value"),
        ('{"schema": "rbdgen.re', r"report\.json: must be a JSON file: Unterminated string"),
        ("[1]", r"report\.json: must hold a JSON object"),
        ('{"schema": NaN}', r"must be a JSON file: NaN is no number of JSON"),
    ],
)
def test_what_is_no_report_is_named(text: str, message: str, tmp_path: Path) -> None:
    write(tmp_path, "report.json", text)
    assert re.search(message, complaint(tmp_path))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("functions", [], r"broken: functions must be an object"),
        ("functions", {"id": {}}, r"broken: lacks functions\.id\.ii_cycles"),
        ("tree", {}, r"broken: tree must be a list"),
        ("tree", [{"joint": 3}], r"broken: lacks tree\[0\]\.type"),
        ("ii", "4", r"broken: ii must be a whole number from 1 to 1e\+06, not '4'"),
        ("ii", True, r"broken: ii must be a whole number .*, not True"),
    ],
)
def test_broken_parts_are_named(
    key: str, value: object, message: str, report: dict[str, Any], tmp_path: Path
) -> None:
    write(tmp_path, "report.json", report | {key: value})
    assert re.search(message, complaint(tmp_path))


def test_every_missing_key_is_named(report: dict[str, Any], tmp_path: Path) -> None:
    for key in schema("report")["required"]:
        if key == "schema":
            continue
        write(tmp_path, "report.json", {k: v for k, v in report.items() if k != key})
        assert f"broken: lacks {key};" in complaint(tmp_path)


def test_a_simulation_of_another_design_is_left_out(report: dict[str, Any], tmp_path: Path) -> None:
    write(tmp_path, "report.json", report)
    write(tmp_path, "simulation.json", simulated(report) | {"ii": 7})
    build = read_build(tmp_path)
    assert build.simulation is None
    assert (
        "simulation.json is of another design than report.json, and left out; simulate again"
        in build.notes
    )


def test_figures_of_place_and_route(report: dict[str, Any], tmp_path: Path) -> None:
    write(tmp_path, "report.json", report)
    write(tmp_path, "build.json", routed(report))
    build = read_build(tmp_path)
    assert build.routed
    assert build.routed["clock_mhz"] == 61.5
    assert main(["report", str(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_text()
    assert "61.5" in page
    assert "0.0651" in page
    assert "by place and route" in page
    write(tmp_path, "build.json", routed(report) | {"timing_met": None, "resources": {}})
    assert main(["report", str(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_text()
    assert "not routed" in page
    assert "by place and route" not in page


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", few(["report.json", "simulation.json", "build.json"], "build.json")
)
def test_mutants_of_a_build_are_a_page_or_a_line(
    name: str, report: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        "report.json": report,
        "simulation.json": simulated(report),
        "build.json": routed(report),
    }
    for other, content in files.items():
        write(tmp_path, other, content)
    statuses: Counter[int] = Counter()
    for text in mutants(files[name], 120, seed=5):
        (tmp_path / name).write_text(text, encoding="utf-8")
        status = main(["report", str(tmp_path)])
        said = capsys.readouterr().err.splitlines()
        statuses[status] += 1
        if status:
            assert [line[:15] for line in said if "note" not in line] == ["rbdgen: error: "]
            assert len(said[-1]) < len(str(tmp_path)) + 400
    assert set(statuses) == {0, 2}
    assert statuses[2] > 30
