"""Folders that simulations are compiled and run in, this process's own, with names that every program takes; the
environment of the programs that run there, and their logs' last words.

Nothing that lies in a folder of the user's is run: it may be somebody else's. And make and shells, which Verilator
uses, split or change paths with a space, a quote or a dollar sign.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rbdgen.errors import ToolError

PLAIN = re.compile(r"[A-Za-z0-9_./+@-]+")
"""Paths that make, shells and Verilator take as they are."""
USUAL = ("/tmp", "/var/tmp")
"""Where a folder is made if the system's folder for temporary files has another kind of name."""


def is_plain(path: Path) -> bool:
    """Whether a path has only characters that every program takes."""
    return PLAIN.fullmatch(str(path)) is not None


def check_plain(program: str, path: Path) -> None:
    """ToolError if a ``program`` is installed in a folder from which it cannot be used."""
    if not is_plain(path):
        odd = next(c for c in str(path) if not PLAIN.fullmatch(c))
        raise ToolError(
            f"{program}: is installed in {str(path)!r}, and make does not take {odd!r} in a path (a space, a quote, "
            "a $ and the like); install it in a virtual environment with a plain path"
        )


def own_folder() -> tempfile.TemporaryDirectory[str]:
    """A new folder that only this user can use, and that is removed with the object. ToolError where there is no room
    for one with a plain name."""
    for place in (tempfile.gettempdir(), *USUAL):
        if not is_plain(Path(place)):
            continue
        try:
            return tempfile.TemporaryDirectory(
                prefix="rbdgen-", dir=place, ignore_cleanup_errors=True
            )
        except FileNotFoundError:
            continue
    raise ToolError(
        f"temporary files: {tempfile.gettempdir()!r} has a character that make does not take in a path; set TMPDIR "
        "to a folder with a plain path, without a space, a quote or a $"
    )


def copied(sources: Sequence[Path], folder: Path) -> list[Path]:
    """Copies of ``sources`` below ``folder``, in their order, with their own names where those are plain."""
    copies = []
    for number, source in enumerate(sources):
        # a folder for each: two sources may have the same name
        place = folder / str(number)
        place.mkdir(parents=True)
        name = Path(source.name)
        copy = place / (name if is_plain(name) else f"source{number}{source.suffix or '.v'}")
        shutil.copyfile(source, copy)
        copies.append(copy)
    return copies


def told_of(complaint: str, copies: Sequence[Path], sources: Sequence[Path]) -> str:
    """A complaint about ``copies``, said of the ``sources`` that they are of."""
    for copy, source in zip(copies, sources, strict=True):
        complaint = complaint.replace(str(copy), str(source))
    return complaint


_OTHERS = ("WAVES", "GUI", "MAKEFLAGS", "MFLAGS")
"""Variables that cocotb's runner obeys and that are the user's for other things, and flags of a make that called us,
which are not for Verilator's make."""
_OTHERS_PREFIXES = ("PYTEST_", "COCOTB_")


def bench_environment() -> dict[str, str]:
    """The environment for a process that runs cocotb, from this one's, with the same modules to import."""
    environment = {}
    for name, value in os.environ.items():
        if name not in _OTHERS and not name.startswith(_OTHERS_PREFIXES):
            environment[name] = value
    # absolute, as the process has another working folder, in which no module is to be looked for
    environment["PYTHONPATH"] = os.pathsep.join(str(Path(p).absolute()) for p in sys.path if p)
    environment["PYTHONSAFEPATH"] = "1"
    return environment


def log_lines(log: Path) -> list[str]:
    """The lines of ``log`` that are not empty."""
    text = log.read_text(encoding="utf-8", errors="replace")
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line]


def last_line(log: Path) -> str:
    """The last line of ``log`` that is not empty."""
    lines = log_lines(log)
    return lines[-1] if lines else "no output"


def telling_line(log: Path) -> str:
    """The line of ``log`` that says most: the first with the word error, else the last that is not empty."""
    for line in log_lines(log):
        if re.search(r"error", line, re.IGNORECASE):
            return line
    return last_line(log)
