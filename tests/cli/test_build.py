"""``rbdgen build``, ``synth`` and ``generate --ip``: what they write, and one line for anything the user can mend."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rbdgen.installation import remedy
from rbdgen_boards import tools, vivado
from rbdgen_boards.ecp5 import Ecp5
from tests.cli.test_cli import last_error, run


def test_a_vendors_board_is_left_ready(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(vivado, "available", lambda: False)
    estimated = {"multipliers": 12, "luts": 3456, "registers": 789, "memories": 0}
    monkeypatch.setattr(vivado, "estimate", lambda sources, top, how: estimated)
    status, out, _ = run(
        capsys, "build", "pendulum2", "--board", "kr260", "-o", tmp_path / "a", "--json"
    )
    report = json.loads(out)
    assert status == 0
    assert (report["board"], report["bitstream"], report["timing_met"]) == ("kr260", None, None)
    assert report["resources"]["multipliers"] == {"used": None, "available": 1248}
    assert report["estimate"]["resources"]["luts"] == {"used": 3456, "available": 117120}
    # at the clock of the board, which is not the model's
    assert (report["host"]["clock_mhz"], report["running_clock_mhz"]) == (100.0, 100.0)
    assert report["host"]["links"][0]["name"] == "the processor's port"
    assert report["host"]["core"]["id"] == 1e8 / report["functions"]["id"]["ii_cycles"]
    names = {p.name for p in (tmp_path / "a/kr260").iterdir()}
    assert names >= {
        "rbd_pendulum2_id.v",
        "rbd_pendulum2_id_axi.v",
        "build.tcl",
        "program.tcl",
        "README.txt",
    }
    assert json.loads((tmp_path / "a/build.json").read_text()) == report
    script = (tmp_path / "a/kr260/build.tcl").read_text()
    assert "-part xck26-sfvc784-2LV-c" in script
    assert "-reference rbd_pendulum2_id_axi accelerator" in script
    status, out, _ = run(capsys, "build", "pendulum2", "--board", "kr260", "-o", tmp_path / "a")
    assert "no bitstream, as Vivado is not on PATH; follow" in out
    assert "(estimated by Yosys's synth_xilinx; Vivado comes to other numbers)" in out
    monkeypatch.setattr("shutil.which", lambda name: None)
    status, _, err = run(
        capsys, "build", "pendulum2", "--board", "kr260", "-o", tmp_path / "b", "--load"
    )
    assert status == 2
    assert err == (
        "rbdgen: error: vivado is missing; install AMD Vivado and put it on PATH, or leave the board alone: "
        "build without --load, flash with --keep\n"
    )
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--board", "ulx3"],
            "board 'ulx3': unknown; did you mean ulx3s_85f? known boards: arty_a7_100, basys3, butterstick,",
        ),
        (
            ["--board", "ulx3s_85f", "--device", "xc7"],
            "device and board: ulx3s_85f has ecp5, not 'xc7'; leave device out",
        ),
        (["--board", "ulx3s_85f", "--clock", "0"], "clock: must be 1 to 1000 MHz, not 0"),
        (
            ["--board", "ulx3s_85f", "--functions", "id,m", "--ii", "1", "--word", "18"],
            "board ulx3s_85f: ",
        ),
        (
            ["--board", "ulx3s_85f", "--ip", "10.0.0.2"],
            "ip: board ulx3s_85f has no Ethernet; leave --ip out",
        ),
        (
            ["--board", "ulx3s_85f", "--mac", "02:00:00:00:00:01"],
            "mac: board ulx3s_85f has no Ethernet; leave --mac out",
        ),
        (
            ["--board", "ecpix5_85f", "--ip", "192.168.1.300"],
            "ip: '192.168.1.300' is no IPv4 address; give four numbers such as 192.168.1.50",
        ),
        (
            ["--board", "ecpix5_85f", "--mac", "ff:ff:ff:ff:ff:ff"],
            "mac: ff:ff:ff:ff:ff:ff is no address of a single station; the first byte must be even",
        ),
    ],
)
@pytest.mark.slow
def test_what_cannot_be_built_is_one_line(
    capsys, arguments: list[str], message: str, tmp_path: Path
) -> None:
    status, _, err = run(capsys, "build", "iiwa14", *arguments, "-o", tmp_path / "x")
    assert status == 2
    assert last_error(err).startswith(f"rbdgen: error: {message}")
    assert not (tmp_path / "x").exists()


def test_a_missing_tool_is_said_before_anything_is_done(
    capsys, monkeypatch, tmp_path: Path
) -> None:
    absent = tools.Tool("nextpnr-nowhere", "no-such-package", "no-such-script")
    monkeypatch.setattr(Ecp5, "needs", (absent,))
    status, _, err = run(capsys, "build", "pendulum2", "--board", "ulx3s_85f", "-o", tmp_path / "x")
    assert status == 2
    assert last_error(err) == f"rbdgen: error: nextpnr-nowhere is missing; {remedy('build')}"
    assert "read robot" not in err


def test_one_unit_is_synthesised(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(
        capsys, "synth", "pendulum2", "--unit", "Rb_1", "--device", "ecp5", "--json"
    )
    report = json.loads(out)
    assert status == 0
    assert report["unit"] == "Rb_link1"
    assert report["family"] == "ecp5"
    assert report["cells"].get("LUT4", 0) + report["cells"].get("CCU2C", 0) > 0
    status, _, err = run(capsys, "synth", "pendulum2", "--unit", "Rf_7")
    assert status == 2
    assert last_error(err).startswith("rbdgen: error: unit 'Rf_7': there is none; did you mean Rf_")


def test_the_ip_core_is_written_beside_the_design(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given = ("generate", "pendulum2", "--ip", "--board", "arty_a7_100")
    status, out, _ = run(capsys, *given, "-o", tmp_path / "a", "--json")
    assert status == 0
    names = {p.name for p in (tmp_path / "a/ip").iterdir()}
    assert names == {
        "rbd_pendulum2_id.v",
        "rbd_pendulum2_id_axi.v",
        "component.xml",
        "package_ip.tcl",
        "rbd_pendulum2_id_axi.core",
        "rbd_pendulum2_id_axi_litex.py",
        "rbd_pendulum2_id_axi.h",
        "rbd_pendulum2_id_axi.rdl",
        "rbd_pendulum2_id_axi.vlt",
        "rbd_pendulum2_id_axi_tb.sv",
        "rbd_pendulum2_id_axi_tb_tasks.hex",
        "rbd_pendulum2_id_axi_tb_results.hex",
    }
    assert {str(tmp_path / "a/ip" / n) for n in names} <= set(json.loads(out)["files"])
    assert (tmp_path / "a/ip/rbd_pendulum2_id.v").read_bytes() == (
        tmp_path / "a/rbd_pendulum2_id.v"
    ).read_bytes()
    # Vivado's part is the board's, unless it is given
    assert "-part xc7a100tcsg324-1\n" in (tmp_path / "a/ip/package_ip.tcl").read_text()
    asked = ("--part", "xc7a35tcpg236-1")
    assert run(capsys, *given, *asked, "-o", tmp_path / "b")[0] == 0
    assert "-part xc7a35tcpg236-1\n" in (tmp_path / "b/ip/package_ip.tcl").read_text()


def test_the_core_with_registers_has_a_driver(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given = ("generate", "pendulum2", "--machine", "engine", "--ip", "--bus", "wishbone")
    assert run(capsys, *given, "-o", tmp_path / "a")[0] == 0
    folder = tmp_path / "a/ip"
    name = "rbd_pendulum2_id"
    assert {p.name for p in folder.iterdir() if p.is_file()} == {
        f"{name}.v",
        *(f"{name}_wishbone{end}" for end in (".v", ".core", "_litex.py", ".rdl", ".h", ".vlt")),
    }
    # the same driver is written of the design's directory
    status, _, _ = run(capsys, "emit", tmp_path / "a", "--target", "bare", "-o", tmp_path / "b")
    assert status == 0
    driver = {p.name: p.read_bytes() for p in (folder / "driver").iterdir()}
    alone = {p.name: p.read_bytes() for p in (tmp_path / "b").iterdir() if p.name != "LICENSE"}
    assert driver == alone
    # what goes through no register is refused before anything is written
    wide = ("generate", "pendulum2", "--ii", "2", "--ip", "--bus", "axi-lite")
    status, _, err = run(capsys, *wide, "-o", tmp_path / "c")
    assert status == 2
    assert last_error(err).startswith("rbdgen: error: rbd_pendulum2_id: tasks have beats of 4")
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--bus", "wishbone"),
            "bus: is what the IP core is packaged for; give --ip as well",
        ),
        (
            ("--ip", "--part", "xc7; exec rm"),
            "part: must be an order code of letters, digits and dashes",
        ),
        (
            ("--part", "xc7a35tcpg236-1"),
            "part: is what the IP core is packaged for; give --ip as well",
        ),
    ],
)
def test_a_part_that_is_none_is_one_line(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, _, err = run(capsys, "generate", "pendulum2", *arguments, "-o", tmp_path / "a")
    assert status == 2
    assert last_error(err).startswith(f"rbdgen: error: {message}")
    assert not (tmp_path / "a").exists()
