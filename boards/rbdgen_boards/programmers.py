"""Programs that put a bitstream on a board. A board's file chooses one of these, and nothing else is run."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from rbdgen.errors import ConfigError, ToolError, short

BITSTREAM = "{bitstream}"
"""In a board's ``program``, what stands for the bitstream's file name."""
PROGRAMMERS = {
    "openFPGALoader": "install it with: apt-get install openfpgaloader",
    "dfu-util": "install it with: apt-get install dfu-util",
    "iceprog": "install it with: apt-get install fpga-icestorm",
    "vivado": "install AMD Vivado and put it on PATH",
}
"""Remedies, by the program that is missing."""
SCRIPTED = ("vivado", "-mode", "batch", "-source", "program.tcl")
"""The only way to call the one that runs scripts: that of the flow, in the bitstream's folder."""
WORD = re.compile(r"[\w.:,={}-]+", re.ASCII)
"""Arguments of the others: no paths, so that no other file is read or written."""


def check_program(program: Sequence[str]) -> None:
    """ConfigError unless a board's command is one of a known programmer."""
    name, *arguments = program
    if name not in PROGRAMMERS:
        raise ConfigError(
            f"program: must begin with one of {', '.join(PROGRAMMERS)}, not {short(name)}"
        )
    if name == SCRIPTED[0] and tuple(program) != SCRIPTED:
        raise ConfigError(f"program: must be {list(SCRIPTED)} where {name} is run")
    for argument in arguments:
        if not WORD.fullmatch(argument):
            raise ConfigError(
                f"program: arguments are words without spaces and slashes, not {short(argument)}"
            )


def require_programmer(program: Sequence[str]) -> None:
    """ToolError without the program that :func:`load` runs."""
    name = program[0]
    if shutil.which(name) is None:
        raise ToolError(
            f"{name} is missing; {PROGRAMMERS[name]}, or leave the board alone: build without --load, flash with --keep"
        )


def load(program: Sequence[str], bitstream: Path) -> None:
    """Put a bitstream on the board; ToolError if the programmer is missing or finds no board."""
    name, *rest = program
    # the name alone: it runs in the bitstream's folder, and so does who is told the command
    arguments = [bitstream.name if argument == BITSTREAM else argument for argument in rest]
    found = shutil.which(name)
    if found is None:
        raise ToolError(
            f"{name} is missing; {PROGRAMMERS[name]}, then run in {bitstream.parent}: {' '.join([name, *arguments])}"
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
        raise ToolError(f"{name}: {reason}; plug the board in and switch it on, then try again")
