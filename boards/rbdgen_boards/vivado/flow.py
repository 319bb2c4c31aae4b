"""AMD devices: a Vivado project as Tcl, run where Vivado is on PATH, else left ready with instructions.

Three systems, by a board's ``system``: ``pins`` (a serial line on the board's pins), ``zynq`` (the processor's DMA
feeds the AXI streams) and ``pcie`` (the host's DMA does).
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import ClassVar

from rbdgen.devices.xc7 import XC7
from rbdgen.devices.xcup import XCUP
from rbdgen.errors import ToolError
from rbdgen_boards.board import Board
from rbdgen_boards.flow import Clocking, Flow, Progress, Request, Routed
from rbdgen_boards.synthesis import Synthesis
from rbdgen_boards.vivado.clock import managed_clock
from rbdgen_boards.vivado.constraints import xdc
from rbdgen_boards.vivado.project import (
    BITSTREAM,
    CONSTRAINTS,
    PROGRAM,
    SCRIPT,
    TIMING,
    UTILISATION,
    instructions,
    program,
    project,
)
from rbdgen_boards.vivado.reports import achieved_clock, used

LOG = "vivado.log"
COMMAND = ("vivado", "-mode", "batch", "-source", SCRIPT, "-log", LOG, "-nojournal")


class Vivado(Flow):
    """AMD's devices with AMD's own tool. Its results are not kept: a project is run once."""

    name = "vivado"
    maker = "Vivado"
    syntheses: ClassVar = {
        "xc7": Synthesis(XC7.synthesis),
        "xcup": Synthesis(XCUP.synthesis),
    }

    def clocking(self, board: Board, clock: float, directory: Path) -> Clocking:
        if board.shell == "uart":
            return managed_clock(board, clock)
        # the system around an AXI shell makes the board's clock
        return Clocking("", "", board.clock)

    def build(self, request: Request, directory: Path, progress: Progress) -> Routed | None:
        board = request.board
        files = {
            **request.sources,
            SCRIPT: project(board, request.sources, request.streams, request.running),
            PROGRAM: program(),
            "README.txt": instructions(board),
        }
        if board.pins:
            files[CONSTRAINTS] = xdc(board)
        for name, text in files.items():
            (directory / name).write_text(text, encoding="utf-8")
        if not available():
            return None
        progress("Vivado")
        return run(directory, request.running)


def available() -> bool:
    """Whether Vivado is on PATH."""
    return shutil.which("vivado") is not None


def run(directory: Path, clock: float) -> Routed:
    """Run the project in ``directory``, made for ``clock`` in MHz. ToolError with Vivado's own complaint."""
    done = subprocess.run(
        COMMAND,
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        errors = [line for line in done.stdout.splitlines() if line.startswith("ERROR")]
        reason = errors[0] if errors else "no reason given"
        raise ToolError(f"vivado failed: {reason} (log: {directory / LOG})")
    timing = (directory / TIMING).read_text(encoding="utf-8")
    utilisation = (directory / UTILISATION).read_text(encoding="utf-8")
    return Routed(achieved_clock(timing, clock), used(utilisation), (), BITSTREAM)
