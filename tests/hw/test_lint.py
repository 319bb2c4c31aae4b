"""Verilator has nothing to say about a build's Verilog but what is waived by name, and every waiver is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from rbdgen.functions.registry import common
from rbdgen.protocol.frames import IDENTITY_BYTES
from rbdgen_hw.emit import axi_verilog, design_verilog, link_verilog, uart_verilog
from rbdgen_sim import verilator
from tests.conftest import design

IDENTITY = bytes(range(IDENTITY_BYTES))


def write(directory: Path, robot: str, **options: object) -> tuple[str, list[Path]]:
    """A design's name, and the files of its Verilog and its shells'."""
    d = design(robot, **options)
    texts = {
        "": design_verilog(d),
        "_uart": uart_verilog(d, IDENTITY, 100e6, 3e6),
        "_link": link_verilog(d, IDENTITY),
        "_axi": axi_verilog(d, IDENTITY),
    }
    for suffix, text in texts.items():
        (directory / f"{d.name}{suffix}.v").write_text(text)
    return d.name, [directory / f"{d.name}{suffix}.v" for suffix in texts]


@pytest.mark.parametrize("options", [{"functions": common(), "ii": 4}, {"device": "ecp5"}])
def test_a_build_lints_clean(options: dict, tmp_path: Path) -> None:
    name, (core, *shells) = write(tmp_path, "pendulum2", **options)
    assert verilator.lint([core], name) == []
    for shell in shells:
        assert verilator.lint([core, shell], shell.stem) == []


@pytest.mark.parametrize(
    "options",
    [
        {"functions": common(), "ii": 4, "replicas": 2},
        {"replicas": 3},
        {"replicas": 2, "calibratable": True},
    ],
)
def test_several_accelerators_lint_clean(options: dict, tmp_path: Path) -> None:
    d = design("pendulum2", **options)
    core, shell = tmp_path / "core.v", tmp_path / "axi.v"
    core.write_text(design_verilog(d))
    shell.write_text(axi_verilog(d, IDENTITY))
    assert verilator.lint([core], d.name) == []
    assert verilator.lint([core, shell], f"{d.name}_axi") == []


def test_every_waiver_is_needed_and_reasoned(tmp_path: Path) -> None:
    said = ""
    for options in ({"functions": common(), "ii": 4}, {}):
        _, (core, *shells) = write(tmp_path, "pendulum2", **options)
        for shell in shells:
            arguments = [
                "--lint-only",
                "-Wall",
                "-Wno-fatal",
                "--top-module",
                shell.stem,
                str(core),
                str(shell),
            ]
            said += verilator.run(arguments, tmp_path).stdout
    for waiver, reason in verilator.WAIVERS.items():
        assert f"%Warning-{waiver}:" in said, waiver
        assert len(reason.split()) > 5
