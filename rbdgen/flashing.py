"""An engine on a board, once for all robots: its bitstream, netlists that are verified, and the board programmed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rbdgen.compiler.engines import resident_designs
from rbdgen.errors import ToolError
from rbdgen.installation import optional_module
from rbdgen.machines.options import ENGINE
from rbdgen.model.load import load_robot
from rbdgen.options import Options
from rbdgen.options.options import VERIFIED_TASKS
from rbdgen.report.files import occupied, write_files
from rbdgen.resident import program_of
from rbdgen.workbench import SILENT, BoardTools, Progress, Verified, verify_netlists

ENGINE_FILE, ENGINE_SCHEMA = "engine.json", "rbdgen.engine/1"
"""The report of a board's engine, and name and version of its structure."""


def flash(
    board: str,
    folder: Path,
    seed: int = 1,
    program: bool = True,
    progress: Progress = SILENT,
    verify: bool = False,
    tasks: int = VERIFIED_TASKS,
) -> dict[str, Any]:
    """The bitstream of a board's engine, in ``folder``, and the board programmed with it, if it is to be; the report.
    It comes from the package of this release's bitstreams where that is installed and has one, unless it is to be
    verified, or from the user's cache where it was made before. ``verify``: netlists run so many ``tasks`` of each of
    some robots and must give the same bits. Of a board whose vendor's tool is not there everything but the bitstream is
    made. ConfigError where no engine is made for the board, ToolError where a tool is missing or fails, a clock is not
    met, or a netlist differs."""
    known = optional_module("rbdgen_boards.board", "build").get_board(board)
    engines = optional_module("rbdgen_boards.engines", "build")
    # before a tool is looked for, or a folder made
    engines.board_engine(known)
    found = None if verify else _released(known, folder, program, progress)
    if found is not None:
        return found
    tools = BoardTools(board, verify=verify, load=program)
    with occupied(folder):
        made = engines.build_engine(
            tools.board, seed, folder / tools.board.name, progress.stage, tools.addresses
        )
        report = {"schema": ENGINE_SCHEMA, **made.report()}
        if made.unmet:
            _write(report | {"programmed": False}, folder)
            raise ToolError(
                f"board {board}: {'; '.join(made.unmet)}: the board was left alone; try another --seed, or a lower "
                f"engine.megahertz in the board's file (report: {folder / ENGINE_FILE})"
            )
        if verify:
            verified = _verify_engine(made, tasks, folder, progress)
            report["verified"] = verified.report
            if verified.complaints:
                made.withdraw()
                _write(report | {"programmed": False}, folder)
            verified.require_equality(folder / ENGINE_FILE)
        if program:
            progress.stage("program the board")
            # what programs a board of a vendor also makes its bitstream, and was seen to be there
            assert made.bitstream is not None
            tools.programmers.load(tools.board.program, made.bitstream)
        report["programmed"] = program
        _write(report, folder)
    return report


def _released(board: Any, folder: Path, program: bool, progress: Progress) -> dict[str, Any] | None:
    """The same with a bitstream that was made with this release, for which no tools are needed; None where there is
    none."""
    released = optional_module("rbdgen_boards.released", "build")
    programmers = optional_module("rbdgen_boards.programmers", "build")
    made = released.find_released(board)
    if made is None:
        return None
    if program:
        programmers.require_programmer(board.program)
    with occupied(folder):
        (file,) = write_files({made.name: made.content}, folder / board.name)
        if program:
            progress.stage("program the board")
            programmers.load(board.program, file)
        report = made.report | {"bitstream": str(file), "cached": True, "programmed": program}
        _write(report, folder)
    return report


def _write(report: dict[str, Any], folder: Path) -> None:
    write_files({ENGINE_FILE: json.dumps(report, indent=2) + "\n"}, folder)


VERIFIED_ROBOTS = ("pendulum2", "ur5")
"""Robots that a board's engine is verified with, by inverse dynamics."""


def _verify_engine(made: Any, tasks: int, folder: Path, progress: Progress) -> Verified:
    """The netlists of a board's engine, with programs of :data:`VERIFIED_ROBOTS`, one after the other."""
    cases = []
    for name in VERIFIED_ROBOTS:
        robot = load_robot(name)
        options = Options(functions=("id",), machine=ENGINE)
        design = next(resident_designs(robot, options, made.engine, progress.stage))
        cases.append((design, program_of(design, made.engine)))
    return verify_netlists(made, cases, tasks, folder, progress)
