"""``rbdgen load`` at a pseudo-terminal behind which an engine is emulated."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from rbdgen import flashing
from rbdgen.cli.main import main
from rbdgen.emulated_engine import EmulatedEngine
from rbdgen.emulation import bit_true_shell
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.resident import Resident
from rbdgen.shells.spi_model import SpiModel
from rbdgen_boards import engines, vivado
from rbdgen_boards.board import get_board
from rbdgen_boards.engines import EngineBuild, board_engine
from rbdgen_boards.flow import Routed
from tests.conftest import design
from tests.host.native import on_serial
from tests.host.test_spi import Spidev


@pytest.fixture
def engine() -> EmulatedEngine:
    return EmulatedEngine(Resident(Core()))


def told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Exit status, output and complaint of the command."""
    status = main(arguments)
    out, err = capsys.readouterr()
    return status, out, err.splitlines()[-1] if err else ""


@pytest.mark.slow
def test_robots_are_loaded_and_told(
    engine: EmulatedEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "program"
    with on_serial(engine) as (_, port, _baud):
        line = ["load", "pendulum2", "--functions", "id,fd", "--port", port]
        status, out, _ = told([*line, "-o", str(folder), "--json"], capsys)
        assert status == 0
        first = json.loads(out)
        assert first["functions"] == {"id": 0, "fd": 1}
        assert first["robots"] == ["pendulum2"]
        library = tmp_path / "library"
        status, _, _ = told(["emit", str(folder), "--target", "host", "-o", str(library)], capsys)
        assert status == 0
        assert "rbd_program PROGRAM" in (library / "rbd_pendulum2_id_fd_device.c").read_text()
        bare = tmp_path / "bare"
        assert told(["emit", str(folder), "--target", "bare", "-o", str(bare)], capsys)[0] == 0
        assert {p.name for p in bare.glob("*_program.*")} == {
            "rbd_pendulum2_id_fd_program.c",
            "rbd_pendulum2_id_fd_program.h",
        }
        status, out, _ = told(["load", "ur5", "--port", port], capsys)
        assert status == 0
        assert "the engine holds pendulum2, ur5" in out
        # from the folder, where it was made alone and clashes
        status, out, _ = told(["load", str(folder), "--port", port], capsys)
        assert status == 0
        assert "the engine holds pendulum2, ur5" in out
        status, out, _ = told(["load", "iiwa14", "--functions", "all", "--port", port], capsys)
        assert status == 0
        assert "the engine holds pendulum2, ur5, iiwa14" in out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["ur5", "--lanes", "2"], "--lanes: is of the engine, which is on the board already"),
        (["ur5", "--board", "ulx3s_85f"], "--board: is of the engine"),
        (["nobody.urdf"], "nobody.urdf: no such file"),
        (["ur5", "--ii", "3"], "ii"),
        (["ur5", "--word", "35"], "word: 35 bits are asked for, and words of the engine have 32"),
        (["pendulum2", "--functions", "roll"], "would do; no board's has that"),
        (["ur5", "--error", "1e-12"], "; an accelerator of its own by 'rbdgen generate"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    engine: EmulatedEngine,
    arguments: list[str],
    complaint: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with on_serial(engine) as (_, port, _baud):
        status, _, said = told(["load", *arguments, "--port", port], capsys)
    assert status == 2
    assert complaint in said


def test_a_design_for_one_robot_is_no_engine(capsys: pytest.CaptureFixture[str]) -> None:
    with on_serial(bit_true_shell(design("pendulum2"))) as (_, port, _baud):
        status, _, said = told(["load", "ur5", "--port", port], capsys)
    assert status == 2
    assert "to which no program can be loaded; flash the board's engine" in said


def test_boards_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = told(["boards", "--json"], capsys)
    assert status == 0
    rows = {row["name"]: row for row in json.loads(out)["boards"]}
    assert rows["ulx3s_85f"]["engine"]["lanes"] == 4
    assert rows["kv260"]["engine"]["lanes"] == 4
    assert rows["vcu118"]["engine"] is None
    assert rows["colorlight_i5"]["engine"]["lean"] is True
    assert main(["boards"]) == 0
    assert "4 lanes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("core", "complaint"),
    [
        (Core(depth=64), "more than there are; an engine with 512 would do"),
        (Core(words=64), r"'fd': needs \d+ words of each memory beside constants, \d+ more than"),
    ],
    ids=["program", "values"],
)
def test_a_robot_that_is_too_large_is_told_boards_that_would_do(
    core: Core, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with on_serial(EmulatedEngine(Resident(core))) as (_, port, _baud):
        status, _, said = told(["load", "ur5", "--functions", "id,fd", "--port", port], capsys)
    assert status == 2
    assert re.search(complaint, said)
    assert re.search(r"these boards' engines have that: .*ulx3s_85f", said)


def test_an_engine_whose_clocks_are_not_met_is_put_on_no_board(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    board = get_board("colorlight_i5")
    routed = Routed(60.0, {}, (), "bitstream.bit", clocks={"eth_rx_clk": 112.34})
    made = EngineBuild(board_engine(board), board, 62.5, routed, (), tmp_path, None)
    assert not made.report()["timing_met"]
    met = replace(routed, achieved=62.5, clocks={"eth_rx_clk": 125.0})
    assert replace(made, routed=met).report()["timing_met"]
    monkeypatch.setattr(engines, "build_engine", lambda *given: made)
    monkeypatch.setattr(
        flashing, "BoardTools", lambda *a, **b: SimpleNamespace(board=board, addresses=None)
    )
    folder = tmp_path / "engine"
    status, _, said = told(["flash", "--board", board.name, "-o", str(folder)], capsys)
    assert status == 2
    assert "eth_rx_clk reached 112.3 of 125 MHz; the engine reached 60.0 of 62.5 MHz: the" in said
    assert json.loads((folder / "engine.json").read_text())["programmed"] is False


@pytest.mark.parametrize("how", [["--keep"], [], ["--verify", "netlist"]])
@pytest.mark.parametrize("board", ["vcu118", "nowhere"])
def test_a_board_without_an_engine_is_told_before_a_tool_is_missed_or_a_folder_is_made(
    board: str, how: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "engine"
    status, _, said = told(["flash", "--board", board, *how, "-o", str(folder)], capsys)
    assert status == 2
    assert said.startswith(f"rbdgen: error: board {board}") or f"'{board}': unknown" in said
    assert not folder.exists()


@pytest.mark.parametrize(
    ("board", "shell"), [("pynq_z2", "axi_lite"), ("basys3", "uart")], ids=["port", "pins"]
)
@pytest.mark.slow
def test_a_vendors_engine_is_left_ready(
    board: str,
    shell: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    estimated = {"multipliers": 17, "luts": 4321, "registers": 567, "memories": 8}
    tops = []

    def estimate(sources: dict[str, str], top: str, how: object) -> dict[str, int]:
        tops.append(top)
        assert f"module {top}(" in "".join(sources.values())
        return estimated

    monkeypatch.setattr(vivado, "available", lambda: False)
    monkeypatch.setattr(vivado, "estimate", estimate)
    folder = tmp_path / "engine"
    status, out, _ = told(["flash", "--board", board, "--keep", "-o", str(folder)], capsys)
    assert status == 0
    assert "4321" in out
    assert f"{board}: no bitstream, as Vivado is not on PATH; follow {folder / board}/README" in out
    report = json.loads((folder / "engine.json").read_text())
    assert (report["bitstream"], report["timing_met"], report["programmed"]) == (None, None, False)
    assert report["running_clock_mhz"] == 100.0
    assert report["estimate"]["resources"]["luts"]["used"] == 4321
    name = board_engine(get_board(board)).name
    names = {p.name for p in (folder / board).iterdir()}
    assert names >= {f"{name}.v", f"{name}_{shell}.v", "build.tcl", "program.tcl", "README.txt"}
    assert tops == [f"{name}_axi_lite" if shell == "axi_lite" else "rbdgen_board"]


def test_a_robot_is_loaded_over_spi(
    engine: EmulatedEngine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "spidev", Spidev(SpiModel(engine)))
    monkeypatch.setattr(sys, "platform", "linux")
    line = [
        "load",
        "pendulum2",
        "--functions",
        "id",
        "--spi",
        "/dev/spidev0.0",
        "--hertz",
        "5000000",
    ]
    status, out, _ = told(line, capsys)
    assert status == 0
    assert "the engine holds pendulum2" in out
    assert sys.modules["spidev"].max_speed_hz == 5_000_000
    for wrong, option in (("--baud", "--spi"), ("--hertz", "--udp")):
        status, _, said = told(["load", "ur5", option, "x", wrong, "1"], capsys)
        assert status == 2
        assert said.startswith(f"rbdgen: error: {wrong}: is of a")


def test_a_port_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, said = told(["load", "ur5", "--port", "/dev/nothing_here"], capsys)
    assert status == 2
    assert said.startswith("rbdgen: error: port /dev/nothing_here: cannot be opened")
