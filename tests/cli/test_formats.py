"""Error targets, evidence and choices of formats on the command line and in a configuration file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rbdgen.cli.main import main
from rbdgen.report.files import read_config
from tests.cli.test_cli import run


def test_an_error_target_comes_with_its_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(
        capsys, "layout", "pendulum2", "--functions", "id,did", "--error", "1e-4", "--json"
    )
    report = json.loads(out)
    assert status == 0
    assert report["formats"]["search"] == "signal"
    assert report["formats"]["error"] == {"all": 1e-4}
    found = report["evidence"]
    assert found["states"] == 2000
    for function in ("id", "did"):
        assert found["functions"][function]["flagged"] == {"overflow": 0, "range": 0}
        for e in found["functions"][function]["outputs"].values():
            assert 1e-4 / 20 <= e["max_relative"] <= e["target"] == 1e-4
            assert e["target_share"] == pytest.approx(e["max_relative"] / 1e-4)
            assert e["indefinite"] == 0
            assert 0 < e["rms_relative"] < e["max_relative"]
            assert e["single_precision"]["max_relative"] < 1e-5
            assert set(e["worst"]) == {"entry", "label", "q", "v", "a", "tau"}


def test_evidence_is_a_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(
        capsys, "layout", "pendulum2", "--evidence", "500", "--rounding", "truncate"
    )
    assert status == 0
    heads = re.search(
        r"^function .* of +max .* worst +flagged$\n^ .* that +error .* entry$", out, re.M
    )
    assert heads, out
    assert "at 500 fresh states" in out


@pytest.mark.slow
def test_targets_and_choices_survive_the_configuration_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--error", "did=1e-4,id.tau=1e-3", "--overflow", "flag", "--rounding", "nearest")
    status, _, err = run(
        capsys, "generate", "pendulum2", "--functions", "id,did", *given, "-o", tmp_path
    )
    assert status == 0, err
    _, _, options = read_config(tmp_path / "config.toml")
    assert options["error"] == {"did": 1e-4, "id.tau": 1e-3}
    assert (options["overflow"], options["rounding"]) == ("flag", "nearest")
    again = tmp_path / "again"
    assert main(["generate", "--config", str(tmp_path / "config.toml"), "-o", str(again)]) == 0
    (first,) = tmp_path.glob("*.v")
    assert (again / first.name).read_text() == first.read_text()


def test_one_number_in_a_configuration_file_is_for_all(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('robot = "pendulum2"\nerror = 1e-3\n')
    assert read_config(path)[2]["error"] == {"all": 1e-3}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--error", "1e-4", "--word", "18"], "word and error: give one of them"),
        (
            ["--error", "small"],
            "error.all: must be a number, or one behind entry:, largest:, abs:, not 'small'",
        ),
        (["--error", "nan"], "error.all: must be 1e-12 or more and below 1, not nan"),
        (["--error", "fd=1e-3"], "error: 'fd' is no function or output of this design"),
        (["--error", "1e-12"], "is out of reach"),
        (["--rounding", "up"], "rounding: must be one of auto, nearest, truncate, not 'up'"),
        (["--evidence", "-1"], "evidence: must be at least 0, not -1"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, "layout", "pendulum2", *arguments)
    assert status == 2
    assert message in err.splitlines()[-1]
    assert not out
