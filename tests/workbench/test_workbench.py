"""Designs in Python: targets, and files, pictures, simulations and builds as the commands make them."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

import rbdgen
from rbdgen import Budget, ConfigError, Design, Options, Target, ToolError
from rbdgen.cli.main import main
from rbdgen.host.manifest import read_manifest
from rbdgen.model.setup import Setup
from rbdgen.workbench import Silent

ROBOT = Setup().load("pendulum2")
OPTIONS = Options(("id",), ii=2, word=18)


@pytest.fixture(scope="module")
def made() -> Design:
    """A small design."""
    return rbdgen.compile_robot(ROBOT, OPTIONS)


def test_a_design_is_short_to_look_at(made: Design) -> None:
    assert repr(made).startswith("<Design rbd_pendulum2_id: w18, ii2, ")
    assert repr(made).endswith(", for generic125>")
    assert len(repr(made)) < 100


def test_a_board_is_a_target() -> None:
    target = Target.of_board("ulx3s_85f")
    design = rbdgen.compile_robot(ROBOT, Options(word=18), target=target)
    assert (design.options.device, design.options.ii) == ("ecp5", 1)
    assert design.target is target
    assert repr(design).endswith(", for ulx3s_85f>")
    kept = Target.of_board("ulx3s_85f", keeps_interval=True)
    assert rbdgen.compile_robot(ROBOT, Options(ii=3, word=18), target=kept).options.ii == 3
    few = Target.of_board("ulx3s_85f", multipliers=4)
    assert rbdgen.compile_robot(ROBOT, Options(word=18), target=few).options.ii > 1


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^board 'ulx3s_95f': unknown; did you mean ulx3s_85f\?"):
        Target.of_board("ulx3s_95f")
    board = Target.of_board("ulx3s_85f")
    with pytest.raises(
        ConfigError, match=r"^device and board: ulx3s_85f has ecp5, not 'xcup'; leave device out$"
    ):
        rbdgen.compile_robot(ROBOT, Options(device="xcup", word=18), target=board)
    with pytest.raises(ConfigError, match=r"^board 'None': unknown; known boards: "):
        Target.of_board(None)  # type: ignore[arg-type] # what a caller may give all the same
    with pytest.raises(ConfigError, match=r"^budget and target: give one of them"):
        rbdgen.compile_robot(ROBOT, OPTIONS, budget=Budget(multipliers=9), target=board)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("iiwa14", OPTIONS, None), "robot: must be a Robot, such as rbdgen.load_robot gives"),
        ((ROBOT, OPTIONS, "ulx3s_85f"), "target: must be a Target, such as rbdgen.Target.of_board"),
    ],
)
def test_a_name_in_place_of_what_it_names_is_a_line(given: tuple, message: str) -> None:
    robot, options, target = given
    with pytest.raises(ConfigError, match=re.escape(message)):
        rbdgen.compile_robot(robot, options, target=target)


def test_boards_that_are_not_installed_are_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rbdgen_boards", None)
    monkeypatch.setitem(sys.modules, "rbdgen_boards.board", None)
    with pytest.raises(ToolError, match=r"^Python package 'rbdgen_boards' is missing; it comes"):
        Target.of_board("ulx3s_85f")


def test_files_are_those_of_the_command(made: Design, tmp_path: Path) -> None:
    files = rbdgen.save(made, tmp_path / "own", robot="pendulum2")
    assert files[0].name == f"{made.name}.v"
    assert read_manifest(tmp_path / "own").name == made.name
    folder = str(tmp_path / "command")
    asked = ["--functions", "id", "--ii", "2", "--word", "18", "--evidence", "0"]
    assert main(["generate", "pendulum2", *asked, "-o", folder]) == 0
    for file in files:
        assert file.read_bytes() == (tmp_path / "command" / file.name).read_bytes(), file.name


def test_pictures_are_drawn(made: Design, tmp_path: Path) -> None:
    tree, trace = tmp_path / "tree.svg", tmp_path / "trace.json"
    assert rbdgen.draw(made, svg=tree, trace=trace) == [tree, trace]
    assert "<svg" in tree.read_text(encoding="utf-8")
    assert json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    with pytest.raises(ConfigError, match=r"^--chart: must end in \.svg, not "):
        rbdgen.draw(made, chart=tmp_path / "chart.png")


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="without Icarus")
@pytest.mark.slow
def test_designs_are_simulated(made: Design, tmp_path: Path) -> None:
    told: list[str] = []

    class Listener(Silent):
        def stage(self, name: str) -> None:
            told.append(name)

    folder = tmp_path / "simulated"
    run = rbdgen.simulate(made, folder, tasks=5, simulator="icarus", progress=Listener())
    assert (run.mismatches, run.misused) == (0, ())
    assert json.loads((folder / "simulation.json").read_text())["robot"] == "pendulum2"
    assert told == ["write Verilog", "simulate with icarus"]
    with pytest.raises(ConfigError, match=r"^tasks: must be at least 2 to measure an interval"):
        rbdgen.simulate(made, folder, tasks=1)
    with pytest.raises(ConfigError, match=r"^wave-format: only with --waves"):
        rbdgen.simulate(made, folder, simulator="icarus", wave_format="fst")


def test_a_build_needs_a_board_and_its_tools(made: Design, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^board: none is known of this design; give one$"):
        rbdgen.build(made, tmp_path)
    with pytest.raises(ConfigError, match=r"^ip: board ulx3s_85f has no Ethernet; leave --ip out"):
        rbdgen.build(made, tmp_path, board="ulx3s_85f", ip="192.168.1.5")
