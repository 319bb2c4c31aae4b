"""Clock, constants and modelled resources on the command line and in a configuration file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rbdgen.cli.main import main
from rbdgen.report.files import read_config
from tests.cli.test_cli import run


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:
    """What ``rbdgen layout`` says as JSON."""
    status, out, err = run(capsys, "layout", *arguments, "--evidence", "0", "--json")
    assert status == 0, err
    return json.loads(out)


def test_a_slower_clock_takes_fewer_cycles(capsys: pytest.CaptureFixture[str]) -> None:
    usual, slow = report(capsys, "pendulum2"), report(capsys, "pendulum2", "--clock", "40")
    assert (usual["clock_mhz"], slow["clock_mhz"]) == (125.0, 40.0)
    assert slow["functions"]["id"]["latency_cycles"] < usual["functions"]["id"]["latency_cycles"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--clock", "0"), "clock: must be 1 to 1000 MHz, not 0"),
        (
            ("--clock", "600"),
            "takes 3 ns, more than the period of 1.66667 ns; use a slower clock or a shorter word",
        ),
        (
            ("--for", "host"),
            "goal (--for): host is for the link of a board; give --board, or another goal such as",
        ),
        (("--constants", "luts"), "constants: must be one of auto, logic, multipliers, not 'luts'"),
    ],
)
def test_what_cannot_be_is_one_line(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = run(capsys, "layout", "pendulum2", *arguments)
    assert status == 2
    assert message in err
    assert sum("error:" in line for line in err.splitlines()) == 1


def test_constants_on_multipliers_are_counted_as_what_they_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    logic = report(capsys, "iiwa14", "--ii", "4", "--constants", "logic")
    shared = report(capsys, "iiwa14", "--ii", "4", "--constants", "multipliers")
    assert shared["multiplications"] == logic["multiplications"]
    assert shared["multipliers"]["constant"] < logic["multipliers"]["constant"]
    assert shared["multipliers"]["variable"] > logic["multipliers"]["variable"]
    assert shared["modelled_resources"]["luts"] < logic["modelled_resources"]["luts"]
    assert {f["binds"] for f in shared["roofline"]["functions"].values()} <= {
        "multipliers",
        "memory",
        "streams",
    }


def test_both_survive_the_configuration_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--clock", "100", "--constants", "multipliers", "--ii", "3")
    status, _, err = run(capsys, "generate", "pendulum2", *given, "-o", tmp_path)
    assert status == 0, err
    _, _, options = read_config(tmp_path / "config.toml")
    assert (options["clock"], options["constants"]) == (100.0, "multipliers")
    again = tmp_path / "again"
    assert main(["generate", "--config", str(tmp_path / "config.toml"), "-o", str(again)]) == 0
    (first,) = tmp_path.glob("*.v")
    assert (again / first.name).read_text() == first.read_text()


@pytest.mark.thorough
def test_a_board_without_enough_logic_moves_constants(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--functions", "did", "--board", "ulx3s_85f", "--word", "18")
    found = report(capsys, "iiwa14", *asked)
    assert any("constant factors take slots of multipliers" in line for line in found["layout"])
    assert found["multiplier_blocks"] <= 156


def test_a_board_gets_several_accelerators_and_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    found = report(capsys, "pendulum2", "--board", "vcu118")
    assert (found["ii"], found["replicas"]) == (1, 5)
    assert found["functions"]["id"]["ii_cycles"] == 0.2
    assert found["roofline"]["functions"]["id"]["link_bound"] < 0.2
    status, out, _ = run(capsys, "layout", "pendulum2", "--board", "vcu118")
    assert status == 0
    # lines are broken at spaces
    out = " ".join(out.split())
    assert "5 accelerators behind one stream" in out
    assert "5 accelerators side by side: a task every 0.2 cycles; PCI Express 3.0 x16" in out
    assert "function accelerator PCI Express 3.0 x16 id 1.25 G 1.23 G, in" in out
    assert report(capsys, "pendulum2", "--board", "vcu118", "--replicas", "1")["replicas"] == 1


def test_their_number_is_in_the_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = run(
        capsys, "generate", "pendulum2", "--replicas", "3", "-o", str(tmp_path / "a")
    )
    assert status == 0, err
    configuration = tmp_path / "a" / "config.toml"
    _, _, options = read_config(configuration)
    assert options["replicas"] == 3
    manifest = json.loads((tmp_path / "a" / "manifest.json").read_text())
    assert manifest["replicas"] == 3
    again = str(tmp_path / "b")
    assert run(capsys, "generate", "--config", str(configuration), "-o", again)[0] == 0
    verilog = "rbd_pendulum2_id.v"
    assert (tmp_path / "a" / verilog).read_text() == (tmp_path / "b" / verilog).read_text()


@pytest.mark.slow
def test_a_design_for_its_link_comes_again_from_its_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("generate", "pendulum2", "--board", "ulx3s_85f", "--for", "host")
    assert run(capsys, *asked, "-o", str(tmp_path / "a"))[0] == 0
    configuration = str(tmp_path / "a" / "config.toml")
    again = run(capsys, "generate", "--config", configuration, "-o", str(tmp_path / "b"), "--json")
    report = json.loads(again[1])
    assert report["ii"] > 8
    assert report["host"]["links"][0]["functions"]["id"]["binds"] == "in"
    assert report["host"] == json.loads((tmp_path / "a" / "report.json").read_text())["host"]
    verilog = "rbd_pendulum2_id.v"
    assert (tmp_path / "a" / verilog).read_text() == (tmp_path / "b" / verilog).read_text()


def test_a_serial_line_refuses_several(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--board", "ulx3s_85f", "--replicas", "2", "-o", str(tmp_path / "a")]
    status, _, err = run(capsys, "build", "pendulum2", *arguments)
    assert status == 2
    assert "error: replicas: a link of bytes feeds one accelerator, not 2; leave replicas" in err
