"""The core file under the real FuseSoC: its targets lint, simulate and synthesise, and say when something is wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from rbdgen_hw.emit import design_verilog
from rbdgen_hw.packaging import core_of, ip_files
from rbdgen_hw.packaging.fusesoc import fusesoc
from rbdgen_sim import verilator
from tests.conftest import design

NAME = "rbd_pendulum2_id_m_axi"
# Yosys from PyPI has no Tcl, in which FuseSoC's scripts for it are written: Python's own reads them
YOSYS = f"""#!{sys.executable}
import sys
import tkinter
from pyosys import libyosys

design = libyosys.Design()

def run(*words):
    if words[0] != "-import":
        libyosys.run_pass(" ".join(words), design)

tcl = tkinter.Tcl()
tcl.createcommand("yosys", run)
tcl.eval("proc unknown args {{ yosys {{*}}$args }}")
tcl.evalfile(sys.argv[-1].removeprefix("tcl "))
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The IP core's folder."""
    d = design("pendulum2", functions=("id", "m"), ii=2)
    folder = tmp_path_factory.mktemp("ip")
    for name, text in ip_files(d, design_verilog(d), "1.2.3.dev4", 40).items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def core(written: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(written, tmp_path / "ip")


def fusesoc_run(core: Path, *arguments: str) -> tuple[int, str]:
    """Run FuseSoC with the tools from PyPI on PATH; the exit status and all that is said."""
    tools = core.parent / "tools"
    tools.mkdir(exist_ok=True)
    yosys = tools / "yosys"
    yosys.write_text(YOSYS, encoding="utf-8")
    yosys.chmod(0o755)
    environment = os.environ | verilator.environment()
    environment["PATH"] = f"{tools}{os.pathsep}{environment['PATH']}"
    # nothing is read or written but what is here
    environment |= {"HOME": str(tools), "XDG_CONFIG_HOME": str(tools), "XDG_CACHE_HOME": str(tools)}
    command = [sys.executable, "-m", "fusesoc.main", "--cores-root", str(core), "run", *arguments]
    done = subprocess.run(
        command,
        cwd=core.parent,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.slow
def test_lint_has_nothing_to_say(core: Path) -> None:
    status, said = fusesoc_run(core, "--target=lint", NAME)
    assert status == 0, said
    assert "%Warning" not in said
    # without the waivers the same target fails
    waivers = core / f"{NAME}.vlt"
    waivers.write_text("`verilator_config\n", encoding="utf-8")
    status, said = fusesoc_run(core, "--target=lint", NAME)
    assert status != 0
    assert "%Warning-UNUSEDSIGNAL" in said


@pytest.mark.slow
def test_the_simulation_passes_and_finds_a_wrong_bit(core: Path) -> None:
    status, said = fusesoc_run(core, "--target=sim", NAME)
    assert status == 0, said
    assert "PASS" in said
    status, said = fusesoc_run(core, "--target=sim", "--run", NAME, "--seed=7", "--stalls=0")
    assert status == 0, said
    results = core / f"{NAME}_tb_results.hex"
    first, rest = results.read_text(encoding="utf-8").split(" ", 1)
    wrong = f"{int(first, 16) ^ 1 << 12:0{len(first)}x}"
    results.write_text(f"{wrong} {rest}", encoding="utf-8")
    status, said = fusesoc_run(core, "--target=sim", NAME)
    assert status != 0, said
    assert "FAIL: 1 beats" in said


@pytest.mark.thorough
def test_synthesis_makes_a_netlist(core: Path) -> None:
    pytest.importorskip("tkinter")
    status, said = fusesoc_run(core, "--target=synth", NAME)
    assert status == 0, said
    (netlist,) = core.parent.glob("build/*/synth/*.json")
    text = netlist.read_text(encoding="utf-8")
    assert f'"{NAME}"' in text
    assert '"TRELLIS_FF"' in text
    # a source that is none
    (core / f"{NAME}.v").write_text(f"module {NAME}(;\n", encoding="utf-8")
    status, said = fusesoc_run(core, "--target=synth", NAME)
    assert status != 0


@pytest.mark.parametrize(
    ("device", "family"),
    [("gw5a", ["gowin", "-family", "gw5a"]), ("xc7", ["xilinx", "-family", "xc7"])],
)
def test_synthesis_is_for_the_designs_device(device: str, family: list[str]) -> None:
    text = fusesoc(core_of(design("pendulum2", device=device), bytes(16), "1.0"))
    targets = yaml.safe_load(text.removeprefix("CAPI=2:\n"))["targets"]
    options = targets["synth"]["flow_options"]
    assert [options["arch"], *options["yosys_synth_options"]] == family
    assert ("vivado" in targets) == (device == "xc7")
    # no bench was made
    assert "sim" not in targets


def test_vivado_gets_the_part(core: Path) -> None:
    d = design("pendulum2", device="xcup")
    made = core_of(d, bytes(16), "1.0", "xczu7ev-ffvc1156-2-e")
    (core / f"{NAME}.core").write_text(fusesoc(made), encoding="utf-8")
    for name in made.files:
        (core / name).write_text("", encoding="utf-8")
    (core / f"{made.name}.vlt").write_text("", encoding="utf-8")
    status, said = fusesoc_run(core, "--setup", "--target=vivado", made.name)
    assert status == 0, said
    scripts = [
        path.read_text(encoding="utf-8") for path in core.parent.glob("build/*/vivado/*.tcl")
    ]
    assert any("set_property part xczu7ev-ffvc1156-2-e " in script for script in scripts)
