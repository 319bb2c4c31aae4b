"""Netlists run the RTL's tasks and give the same bits; with any bit of them changed, they do not."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rbdgen import Design, workbench
from rbdgen.installation import release
from rbdgen.report.design import design_identity
from rbdgen.workbench import Verified, built_manifest
from rbdgen_boards.board import Board, get_board
from rbdgen_boards.ecp5 import Ecp5
from rbdgen_boards.flow import Clocking, Flow, Progress, Request, Routed
from rbdgen_boards.flows import FLOWS, obstacle
from rbdgen_boards.models.netlist_verilog import netlist_verilog
from rbdgen_boards.synthesis import (
    AFTER_SYNTHESIS,
    NETLIST,
    Netlist,
    keep_netlist,
    read_netlist,
    synthesise,
)
from rbdgen_boards.top import TOP, board_top
from rbdgen_hw.emit import design_verilog, uart_verilog
from rbdgen_hw.primitives import overrides
from rbdgen_sim.comparison import Comparison, Mismatch, behind, compare
from rbdgen_sim.device import SerialBoard, build_board
from tests.cli.test_cli import last_error, run
from tests.conftest import design as small_design

SMALL = ("--word", "12", "--ii", "8", "--rounding", "truncate", "--overflow", "flag")
BOARD = get_board("ulx3s_85f")
MEGAHERTZ = 40.0
TASKS = 60


@pytest.mark.slow
@pytest.mark.parametrize(
    ("board", "functions"),
    [
        pytest.param("ulx3s_85f", "id", marks=pytest.mark.thorough),
        pytest.param("tang_mega_138k_pro", "id,fd", marks=pytest.mark.thorough),
    ],
)
def test_netlists_of_a_board_give_the_rtls_bits(
    board: str, functions: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given = ("build", "pendulum2", "--board", board, "--functions", functions, *SMALL)
    given += ("--clock", "40", "--verify", "netlist", "-o", str(tmp_path), "--json")
    status, out, _ = run(capsys, *given)
    assert status == 0
    report = json.loads(out)
    verified = report["verified"]["netlist"]
    for stage in ("synthesis", "routed"):
        assert verified[stage] == {"tasks": 1000, "mismatches": 0}
    assert verified["seconds"] > 0
    assert json.loads((tmp_path / "build.json").read_text()) == report
    # what is kept is enough to do it again
    again, out, _ = run(capsys, *given[:-1], "--tasks", "20")
    assert again == 0
    assert "(from the cache)" in out
    assert "netlists simulated: 20 tasks after synthesis, 20 after place and route, 0 " in out


@pytest.fixture(scope="module")
def synthesised(tmp_path_factory: pytest.TempPathFactory) -> tuple[Design, str, Netlist]:
    """A board for inverse dynamics of two joints: its design, its Verilog, and its netlist after synthesis."""
    work = tmp_path_factory.mktemp("synthesised")
    design = small_design("pendulum2", functions=("id",), word=10, device="ecp5", ii=8)
    verilog = design_verilog(design)
    identity = design_identity(design, verilog, release())
    shell = f"{design.name}_uart"
    clocking = "  assign clock = clk;\n  assign settled = 1'b1;\n"
    sources = {
        "design.v": verilog,
        "shell.v": uart_verilog(design, identity, MEGAHERTZ * 1e6, BOARD.rate),
        "top.v": board_top(BOARD, shell, clocking),
    }
    blocks = overrides(verilog, Ecp5.multiplier)
    synthesise(work, sources, blocks, Ecp5.syntheses["ecp5"])
    keep_netlist(work / NETLIST, work / AFTER_SYNTHESIS, TOP, {})
    return design, verilog, read_netlist(work / AFTER_SYNTHESIS)


def outcome(design: Design, verilog: str, netlist: Netlist, work: Path) -> Comparison:
    """What a netlist of a board answers."""
    assert Ecp5.models is not None
    file = work / "netlist.v"
    file.write_text(netlist_verilog(netlist, Ecp5.models, "netlist"))
    program = build_board([file], "netlist", work)
    line = SerialBoard(program, MEGAHERTZ * 1e6, BOARD.rate)
    try:
        known = built_manifest(design, verilog)
        return compare(design, known, behind(line), TASKS, 1, lambda done, total: None)
    finally:
        line.close()


def cells_of(netlist: Netlist, kind: str, part: str) -> list[dict[str, Any]]:
    """Cells of a type with ``part`` in their names, in the order of these."""
    found = []
    for name in sorted(netlist["cells"]):
        cell = netlist["cells"][name]
        if cell["type"] == kind and part in name:
            found.append(cell)
    assert found, (kind, part)
    return found


def flip(cell: dict[str, Any], parameter: str, bit: int) -> None:
    """Change one bit of a parameter."""
    digits = [*cell["parameters"][parameter]]
    digits[-1 - bit] = "1" if digits[-1 - bit] == "0" else "0"
    cell["parameters"][parameter] = "".join(digits)


def broken(netlist: Netlist, fault: str) -> Netlist:
    """A netlist with one thing in it changed."""
    made = copy.deepcopy(netlist)
    if fault == "table":
        flip(cells_of(made, "LUT4", "multiplier_shared")[0], "INIT", 0)
    elif fault == "memory":
        flip(cells_of(made, "DP16KD", "table")[0], "INITVAL_00", 20 * 5 + 6)
    elif fault == "set":
        cell = cells_of(made, "TRELLIS_FF", "head")[0]
        cell["parameters"]["REGSET"] = "SET"
    elif fault == "connection":
        cell = cells_of(made, "TRELLIS_FF", "q_joint1")[0]
        cell["connections"]["DI"] = ["0"]
    return made


@pytest.mark.slow
def test_a_netlist_after_synthesis_gives_the_rtls_bits(synthesised, tmp_path: Path) -> None:
    design, verilog, netlist = synthesised
    found = outcome(design, verilog, netlist, tmp_path)
    assert found == Comparison(TASKS, 0)
    assert found.report() == {"tasks": TASKS, "mismatches": 0}


@pytest.mark.parametrize(
    "fault",
    [
        "table",
        pytest.param("memory", marks=pytest.mark.thorough),
        pytest.param("set", marks=pytest.mark.thorough),
        pytest.param("connection", marks=pytest.mark.thorough),
    ],
)
@pytest.mark.slow
def test_one_thing_that_is_wrong_is_seen(fault: str, synthesised, tmp_path: Path) -> None:
    design, verilog, netlist = synthesised
    changed = broken(netlist, fault)
    assert changed != netlist
    found = outcome(design, verilog, changed, tmp_path)
    assert found.mismatches > 0
    assert found.first or found.silence
    assert str(found)


class Fake(Flow):
    """What makes a bitstream of nothing."""

    name = "ecp5"
    maker = "nothing"
    attempts = 1
    models = Ecp5.models
    kept = ("bitstream.bit",)

    def clocking(self, board: Board, clock: float, directory: Path) -> Clocking:
        return Clocking("", "", clock)

    def build(self, request: Request, directory: Path, progress: Progress) -> Routed:
        (directory / "bitstream.bit").write_bytes(b"bits")
        return Routed(request.clock, {}, (), "bitstream.bit")


def test_a_bitstream_whose_netlist_differs_is_none(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Mismatch("id", 7, "tau_joint1", 5, 4)
    found = Comparison(1000, 3, first)
    assert found.report() == {"tasks": 1000, "mismatches": 3, "first": str(first)}
    stages = {"synthesis": Comparison(1000, 0).report(), "routed": found.report()}
    verified = Verified({"netlist": stages | {"seconds": 1.0}}, (f"netlist: {found}",))
    monkeypatch.setitem(FLOWS, "ecp5", Fake())
    monkeypatch.setattr(workbench, "verify_netlists", lambda *given: verified)
    given = ("--board", "ulx3s_85f", "--verify", "netlist", "-o", str(tmp_path / "a"))
    status, _, err = run(capsys, "build", "pendulum2", *given)
    assert status == 2
    assert last_error(err) == (
        "rbdgen: error: verify: netlist: 3 of 1000 results differ; the first: id, task 7, tau_joint1: 4 instead of 5; "
        f"the bitstream was removed; please report this as a bug with {tmp_path / 'a/config.toml'}"
    )
    report = json.loads((tmp_path / "a/build.json").read_text())
    assert report["bitstream"] is None
    assert report["verified"] == verified.report
    assert not (tmp_path / "a/ulx3s_85f/bitstream.bit").exists()
    # nor is it offered again
    status, out, _ = run(capsys, "build", "pendulum2", *given[:2], "-o", given[-1], "--json")
    assert status == 0
    assert not json.loads(out)["cached"]


def test_tasks_are_those_of_a_verification(capsys, tmp_path: Path) -> None:
    given = ("--board", "ulx3s_85f", "--tasks", "5", "-o", str(tmp_path / "a"))
    status, _, err = run(capsys, "build", "pendulum2", *given)
    assert status == 2
    assert last_error(err) == "rbdgen: error: tasks: only with --verify, which runs them"


REFUSED = {
    "kr260": "is built by Vivado, whose netlists cannot be simulated here",
    "crosslink_nx_evn": "is built by nextpnr, whose netlists cannot be simulated here",
}
"""Boards whose netlists are not simulated, and why."""
ABLE = "leave --verify out, or take one of "


def test_streams_into_a_system_reach_no_pins() -> None:
    assert obstacle(BOARD) is None
    said = obstacle(replace(BOARD, shell="axi"))
    assert said == "has no link by which tasks reach a netlist's pins here"


@pytest.mark.parametrize("board", REFUSED)
def test_a_board_whose_netlist_cannot_run_is_refused(
    board: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given = ("--board", board, "--verify", "netlist", "-o", str(tmp_path / "a"))
    status, _, err = run(capsys, "build", "pendulum2", *given)
    assert status == 2
    said = last_error(err)
    assert said.startswith(f"rbdgen: error: verify: board {board} {REFUSED[board]}; {ABLE}")
    assert said.endswith("ulx3s_85f, upduino_3")
    assert not (tmp_path / "a").exists()
