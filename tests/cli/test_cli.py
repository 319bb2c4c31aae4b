"""The command line: what it prints, what it writes, and one line with status 2 for anything the user can mend."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rbdgen.cli.main import main
from tests.conftest import SHARED_ROBOTS, few

HEADER_KEYS = {"schema", "robot", "multipliers", "functions"}
FUNCTION_KEYS = {"ii_cycles", "latency_cycles", "multipliers", "multiplier_utilization"}
MEASURED_KEYS = FUNCTION_KEYS | {
    "tasks",
    "mismatches",
    "overflows",
    "max_relative_error",
    "rms_relative_error",
}


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """Exit status, standard output and standard error."""
    try:
        status = main([str(a) for a in arguments])
    except SystemExit as stop:
        status = int(stop.code or 0)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def last_error(err: str) -> str:
    """The error line; everything before it is progress, notes and warnings."""
    lines = err.strip().splitlines()
    assert "Traceback" not in err
    assert sum("error:" in line for line in lines) == 1
    return lines[-1]


def test_robots_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "robots", "--json")
    assert status == 0
    rows = {r["name"]: r["joints"] for r in json.loads(out)["robots"]}
    assert rows == {"iiwa14": 7, "hyq": 12, "ur5": 6, "pendulum2": 2}
    status, out, _ = run(capsys, "robots")
    assert status == 0
    assert "iiwa14" in out


def test_layout_promises(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "layout", "iiwa14", "--json", "--ii", "2")
    report = json.loads(out)
    assert status == 0
    assert report.keys() >= HEADER_KEYS
    assert report["functions"]["id"].keys() >= FUNCTION_KEYS
    assert report["functions"]["id"]["ii_cycles"] == 2
    assert set(report["multipliers"]) == {"variable", "constant"}


def test_layout_shows_tree_and_submodules(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "layout", "pendulum2")
    assert status == 0
    assert "└─" in out
    assert re.search(r"^Rf_\w+ ", out, re.M)


def test_layout_says_how_deep_algorithms_for_chains_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = ("layout", "pendulum2", "--word", "26", "--evidence", "0", "--forward-dynamics")
    status, out, _ = run(capsys, *given, "hybrid", "--functions", "fd")
    assert status == 0
    assert "links at once" in out
    assert re.search(r"^hybrid +fd +\d+ +2 +\d+ +\d+ \(factors\) +\d+ links$", out, re.M)
    status, out, _ = run(capsys, *given, "hybrid", "--functions", "fd", "--json")
    (depth,) = json.loads(out)["depth"]
    assert depth["algorithm"] == "hybrid"
    assert depth["pays_from"] <= depth["longest"]
    status, out, _ = run(capsys, *given, "factors", "--functions", "fd", "--json")
    assert json.loads(out)["depth"] == []


def test_generate_writes_all_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, _ = run(capsys, "generate", "pendulum2", "-o", tmp_path / "a", "--json")
    assert status == 0
    assert {Path(f).name for f in json.loads(out)["files"]} == {
        p.name for p in (tmp_path / "a").iterdir()
    }
    names = {p.name for p in (tmp_path / "a").iterdir()}
    pictures = {"layout.svg", "timing.svg"}
    assert (
        names
        == {"rbd_pendulum2_id.v", "manifest.json", "report.json", "config.toml", "graph.txt"}
        | pictures
    )


def test_generate_writes_a_testbench(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    given = ("generate", "pendulum2", "--word", "18", "--evidence", "0", "--json")
    bench = "rbd_pendulum2_id_tb"
    names = {f"{bench}.sv", f"{bench}_tasks.hex", f"{bench}_results.hex"}
    lines = {}
    for where, tasks in (("a", ()), ("b", ("20",)), ("c", ("20",))):
        status, out, _ = run(capsys, *given, "-o", tmp_path / where, "--testbench", *tasks)
        assert status == 0
        assert names <= {Path(f).name for f in json.loads(out)["files"]}
        lines[where] = (tmp_path / where / f"{bench}_tasks.hex").read_text().count("task")
    # one lone task, 24 at full rate, the mixed ones
    assert lines == {"a": 525, "b": 45, "c": 45}
    for name in names:
        assert (tmp_path / "b" / name).read_bytes() == (tmp_path / "c" / name).read_bytes()
    status, _, err = run(capsys, *given, "-o", tmp_path / "d", "--testbench", "--replicas", "2")
    assert status == 2
    assert "testbench: drives one accelerator" in err
    assert not (tmp_path / "d").exists()


def test_generated_configuration_generates_the_same_bytes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert (
        run(capsys, "generate", "pendulum2", "-o", tmp_path / "a", "--ii", "3", "--word", "16")[0]
        == 0
    )
    assert (
        run(capsys, "generate", "--config", tmp_path / "a/config.toml", "-o", tmp_path / "b")[0]
        == 0
    )
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


def test_how_a_robot_is_set_up_survives_the_configuration(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    setup = ("--armature", "joint1=0.25,joint2=0.1", "--gravity=0,-9.81,0")
    given = ("generate", "pendulum2", "--ii", "3", "--word", "16")
    assert run(capsys, *given, *setup, "-o", tmp_path / "a")[0] == 0
    config = tmp_path / "a/config.toml"
    assert run(capsys, "generate", "--config", config, "-o", tmp_path / "b")[0] == 0
    assert run(capsys, *given, "-o", tmp_path / "c")[0] == 0
    name = "rbd_pendulum2_id.v"
    texts = [(tmp_path / folder / name).read_bytes() for folder in "abc"]
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]
    # what is given on the command line comes first
    again = ("generate", "--config", config, "--armature", "joint1=0", "--gravity=0,0,-9.81")
    assert run(capsys, *again, "-o", tmp_path / "d")[0] == 0
    assert (tmp_path / "d" / name).read_bytes() == texts[2]


def test_an_armature_of_no_joint_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "layout", "pendulum2", "--armature", "elbow=1")
    assert status == 2
    assert "armature: no joint 'elbow' of 'pendulum2'" in last_error(err)


@pytest.mark.slow
def test_bytes_do_not_depend_on_the_process(tmp_path: Path) -> None:
    for seed, where in (("1", "a"), ("2", "b")):
        subprocess.run(
            [sys.executable, "-m", "rbdgen", "generate", "pendulum2", "-o", str(tmp_path / where)],
            check=True,
            capture_output=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        )
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


@pytest.mark.parametrize("simulator", few(["amaranth", "icarus", "verilator"], "icarus"))
@pytest.mark.slow
def test_simulate_measures(
    simulator: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arguments = [
        "simulate",
        "pendulum2",
        "--tasks",
        "30",
        "--simulator",
        simulator,
        "-o",
        tmp_path,
        "--json",
        "--waves",
    ]
    status, out, err = run(capsys, *arguments)
    assert status == 0, err
    report = json.loads(out)
    measured = report["functions"]["id"]
    assert report.keys() >= HEADER_KEYS
    assert measured.keys() >= MEASURED_KEYS
    assert (measured["tasks"], measured["mismatches"], measured["overflows"]) == (30, 0, 0)
    assert measured["ii_cycles"] == 1
    assert 0 < measured["rms_relative_error"] < measured["max_relative_error"] < 1e-3
    evidence = report.pop("evidence")
    assert json.loads((tmp_path / "simulation.json").read_text()) == report
    assert json.loads((tmp_path / "report.json").read_text())["evidence"] == evidence
    assert len(list(tmp_path.glob("waves.*"))) == 1


def test_simulate_prints_a_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, _ = run(
        capsys, "simulate", "pendulum2", "--tasks", "20", "--simulator", "amaranth", "-o", tmp_path
    )
    assert status == 0
    assert re.search(r"^id +mismatches against the integer model +0$", out, re.M)
    assert re.search(r"^id +interval, cycles \(steady\) +1$", out, re.M)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["layout", "iiwa15"], r"iiwa15.*iiwa14"),
        (["layout", "no/such.urdf"], r"no/such\.urdf"),
        (["layout", "iiwa14", "--ii", "0"], r"ii: must be 1 to 4096 cycles, not 0$"),
        (["layout", "iiwa14", "--ii", "two"], r"ii: must be a whole number, not 'two'"),
        (["layout", "iiwa14", "--word", "1"], r"word: must be 8 to 35 bits, not 1$"),
        (
            ["layout", "iiwa14", "--device", "ecp6"],
            r"device: must be one of ecp5, .*, not 'ecp6'; did you mean 'ecp5'\?",
        ),
        (["layout", "iiwa14", "--functions", "dif"], r"function 'dif': unknown; did you mean difd"),
        (
            ["layout", "hyq", "--base", "floating", "--root", "lf_lowerlag"],
            r"did you mean 'lf_lowerleg'",
        ),
        (
            ["layout", "hyq", "--root", "lf_lowerleg"],
            r"is fixed at 'trunk'; give it a mobile --base first",
        ),
        (["layout", "iiwa14", "--multipliers", "0"], r"multipliers: must be at least 1, not 0$"),
        (
            ["layout", "iiwa14", "--rate", "1e12"],
            r"rate: must be above 0 and at most 1\.25e\+08 tasks/s",
        ),
        (
            ["layout", "iiwa14", "--board", "ulx3s"],
            r"board 'ulx3s': unknown; did you mean ulx3s_85f",
        ),
        (
            ["layout", "iiwa14", "--calibratable", "--derivative", "columns"],
            r"calibratable and derivative: calibratable needs derivative composite",
        ),
        (["layout"], r"ROBOT: missing"),
        (["layout", "--config", "nothing.toml"], r"nothing\.toml: no such file"),
        (
            ["simulate", "iiwa14", "--simulator", "modelsim"],
            r"simulator: must be one of verilator, icarus, amaranth",
        ),
        (
            ["simulate", "pendulum2", "--tasks", "1", "--simulator", "amaranth"],
            r"tasks: must be at least 2",
        ),
        (
            ["simulate", "pendulum2", "--seed", "-1", "--tasks", "4", "--simulator", "amaranth"],
            r"seed",
        ),
        (["lay", "iiwa14"], r"invalid choice: 'lay'"),
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
    assert status == 2
    assert out == ""
    assert re.search(message, last_error(err)), err
    if arguments[0] != "simulate":
        assert list(tmp_path.iterdir()) == []


def test_a_robot_that_breaks_while_generating_leaves_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    bad = tmp_path / "bad.urdf"
    bad.write_text("<robot name='x'><link name='a'/><link name='b'/></robot>")
    status, _, err = run(capsys, "generate", bad, "-o", tmp_path / "out")
    assert status == 2
    last_error(err)
    assert not (tmp_path / "out").exists()


def test_a_directory_that_cannot_be_written_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    status, _, err = run(capsys, "generate", "pendulum2", "-o", tmp_path / "file")
    assert status == 2
    assert re.search(
        r"file: cannot be written: .*; choose another directory with -o$", last_error(err)
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ii = 'x'", r"ii: must be a whole number, not 'x'"),
        ("iii = 3", r"unknown key 'iii'; did you mean 'ii'\?; known keys: "),
        ("ii = ", r"must be a TOML file"),
        ("robot = 'pendulum2'\n[joints.nope]\nvelocity = 1.0", r"nope"),
        ("robot = 'pendulum2'\nword = 40", r"word: must be 8 to 35 bits, not 40"),
    ],
)
def test_bad_configuration_is_one_line(
    text: str, message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "c.toml"
    path.write_text(text)
    status, _, err = run(capsys, "layout", "--config", path)
    assert status == 2
    assert re.search(message, last_error(err)), err


@pytest.mark.parametrize("name", ["hyq_simple_float", "jaco_2_simple", "atlas"])
def test_public_robots_with_faults(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = SHARED_ROBOTS / f"{name}.urdf"
    if not path.exists():
        pytest.skip(f"{name}.urdf is not beside this checkout")
    status, _, err = run(capsys, "layout", path, "--json")
    if name == "hyq_simple_float":
        assert status == 2
        assert "hyq_simple_float.urdf" in last_error(err)
    else:
        assert status == 0
        assert re.search(r"^(rbdgen: warning:|  -) .*(inertia|triangle)", err, re.M | re.I)


def test_missing_package_is_named(tmp_path: Path) -> None:
    code = "import sys; sys.modules['amaranth'] = None; from rbdgen.cli.main import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "generate", "pendulum2", "-o", str(tmp_path / "out")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 2
    assert re.search(
        r"'amaranth.*' is missing; install it with: pip install 'amaranth==0\.5\.\*' 'pyosys==[\d.]+'$",
        last_error(result.stderr),
    )
    assert not (tmp_path / "out").exists()


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("robots", "layout", "generate", "simulate"):
        status, out, _ = run(capsys, verb, "--help")
        assert status == 0
        assert f"  rbdgen {verb}" in out
