"""Verilator has nothing to say about a build's Verilog but what is waived by name, and every waiver is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from rbdgen import Design, compile_robot, load_robot
from rbdgen.functions.registry import common
from rbdgen.protocol.frames import IDENTITY_BYTES
from rbdgen_hw.emit import axi_verilog, design_verilog, link_verilog, uart_verilog
from rbdgen_hw.library import to_verilog
from rbdgen_hw.packaging.fusesoc import WAIVERS, waivers
from rbdgen_hw.shells.datagrams import DatagramShell
from rbdgen_sim import verilator
from tests.conftest import design, in_words

IDENTITY = bytes(range(IDENTITY_BYTES))


def datagrams_verilog(d: Design) -> str:
    """The shell of a board with Ethernet without its MAC, which is LiteEth's."""
    shell = DatagramShell(d, IDENTITY, 1000)
    return to_verilog(shell, f"{d.name}_datagrams", "// A shell.\n", {"i": "in", "o": "out"})


def write(d: Design, directory: Path, *suffixes: str) -> tuple[Path, Path, list[Path]]:
    """The files of a design's waivers, its Verilog, and those of shells by how their names end."""
    texts = {
        "": design_verilog(d),
        "_uart": "_uart" in suffixes and uart_verilog(d, IDENTITY, 100e6, 3e6),
        "_link": "_link" in suffixes and link_verilog(d, IDENTITY),
        "_axi": "_axi" in suffixes and axi_verilog(d, IDENTITY),
        "_datagrams": "_datagrams" in suffixes and datagrams_verilog(d),
    }
    paths = []
    for suffix, text in texts.items():
        if text:
            paths.append(directory / f"{d.name}{suffix}.v")
            paths[-1].write_text(text, encoding="utf-8")
    waived = directory / f"{d.name}.vlt"
    waived.write_text(waivers(path.name for path in paths), encoding="utf-8")
    return waived, paths[0], paths[1:]


@pytest.mark.parametrize("options", [{"functions": common(), "ii": 4}, {"device": "ecp5"}])
@pytest.mark.slow
def test_a_build_lints_clean(options: dict, tmp_path: Path) -> None:
    d = design("pendulum2", **options)
    waived, core, shells = write(d, tmp_path, "_uart", "_link", "_axi", "_datagrams")
    assert verilator.lint([waived, core], d.name) == []
    for shell in shells:
        assert verilator.lint([waived, core, shell], shell.stem) == []


@pytest.mark.parametrize(
    "options",
    [
        {"functions": common(), "ii": 4, "replicas": 2},
        {"replicas": 2, "calibratable": True},
        pytest.param({"replicas": 3}, marks=pytest.mark.thorough),
        # results of hundreds of bits in one beat, and longer words
        {"functions": common(), "ii": 1},
        pytest.param(
            {"functions": common(), "ii": 1, "error": {"all": 1e-6}}, marks=pytest.mark.thorough
        ),
        pytest.param(
            {"functions": ("id", "step", "roll"), "ii": 2, "time_step": 0.005},
            marks=pytest.mark.thorough,
        ),
        {
            "functions": common(),
            "ii": 4,
            "device": "xcup",
            "calibratable": True,
            "moving_base": True,
            "forces": True,
        },
    ],
)
@pytest.mark.slow
def test_the_ip_core_lints_clean(options: dict, tmp_path: Path) -> None:
    d = compile_robot(load_robot("pendulum2"), in_words(**options))
    waived, core, (shell,) = write(d, tmp_path, "_axi")
    assert verilator.lint([waived, core], d.name) == []
    assert verilator.lint([waived, core, shell], f"{d.name}_axi") == []


@pytest.mark.thorough
def test_a_wide_robot_lints_clean(tmp_path: Path) -> None:
    """A quadruped's mass matrix in one beat."""
    d = compile_robot(load_robot("hyq", "floating"), in_words(functions=("id", "m"), ii=1))
    assert d.tasks.result.beat_bits > 1500
    waived, core, (shell,) = write(d, tmp_path, "_axi")
    assert verilator.lint([waived, core, shell], f"{d.name}_axi") == []


def test_waivers_hold_in_their_files_only(tmp_path: Path) -> None:
    d = design("pendulum2")
    waived, core, _ = write(d, tmp_path)
    other = tmp_path / "other.v"
    other.write_text(
        "module other(input a, output b);\n  wire c = a;\n  assign b = 1'b0;\nendmodule\n"
    )
    (complaint,) = verilator.lint([waived, core, other], "other")
    assert complaint.startswith("%Warning-UNUSEDSIGNAL")


@pytest.mark.thorough
def test_every_waiver_is_needed_and_reasoned(tmp_path: Path) -> None:
    said = ""
    for options in ({"functions": common(), "ii": 4}, {}):
        d = design("pendulum2", **options)
        _, core, shells = write(d, tmp_path, "_uart", "_link", "_axi")
        for shell in shells:
            said += "\n".join(verilator.lint([core, shell], shell.stem))
    for waiver, reason in WAIVERS.items():
        assert f"%Warning-{waiver}:" in said, waiver
        assert len(reason.split()) > 5
