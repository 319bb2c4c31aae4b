"""Loading a bitstream into a board."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from rbdgen.errors import ToolError
from rbdgen_boards.board import Board

BITSTREAM = "{bitstream}"
"""In a board's ``program``, what stands for the bitstream's file name."""
INSTALL = {
    "openFPGALoader": "install it with: apt-get install openfpgaloader",
    "vivado": "install AMD Vivado and put it on PATH",
}
"""How to get a programmer."""


def require_programmer(board: Board) -> None:
    """ToolError without the program that :func:`load` runs."""
    programmer = board.program[0]
    if shutil.which(programmer) is None:
        raise ToolError(f"{programmer} is missing; {INSTALL[programmer]}, or leave --load out")


def load(board: Board, bitstream: Path) -> None:
    """Program ``board``; ToolError if the programmer is missing or finds no board."""
    programmer, *rest = board.program
    arguments = [bitstream.name if argument == BITSTREAM else argument for argument in rest]
    found = shutil.which(programmer)
    if found is None:
        raise ToolError(
            f"{programmer} is missing; {INSTALL[programmer]}, then run in {bitstream.parent}: "
            f"{' '.join([programmer, *arguments])}"
        )
    done = subprocess.run(
        [found, *arguments],
        cwd=bitstream.parent,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        said = (done.stderr + done.stdout).strip().splitlines()
        reason = said[-1] if said else "no output"
        raise ToolError(
            f"{programmer}: {reason}; plug the board in and switch it on, then use --load again"
        )
