"""Yosys, from the package ``pyosys``: run in a process of its own, as its errors end the process."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from rbdgen.errors import ToolError
from rbdgen.installation import missing

_DRIVER = """
import sys
from pyosys import libyosys
design = libyosys.Design()
for line in open("script.ys", encoding="utf-8"):
    libyosys.run_pass(line.strip(), design)
"""


def yosys_version() -> str:
    """Name and version of the Yosys that :func:`run_script` runs. ToolError if there is none."""
    try:
        return f"pyosys {importlib.metadata.version('pyosys')}"
    except importlib.metadata.PackageNotFoundError:
        raise missing("pyosys", "hw") from None


def run_script(script: Sequence[str], directory: Path, log: str = "yosys.log") -> None:
    """Run the commands of ``script`` in ``directory``, output into the file ``log`` there.

    ToolError with Yosys's own last line where it fails, or where the package is missing.
    """
    yosys_version()
    (directory / "script.ys").write_text("\n".join(script) + "\n", encoding="utf-8")
    path = directory / log
    with path.open("w", encoding="utf-8") as output:
        done = subprocess.run(
            # -P: no modules are looked for in the working folder
            [sys.executable, "-P", "-c", _DRIVER],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode:
        lines = [
            line
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines()
            if line.strip()
        ]
        complaints = [line for line in lines if "ERROR" in line] or lines[-1:] or ["no output"]
        raise ToolError(f"yosys failed with status {done.returncode}: {complaints[-1]}")


def run_yosys(script: Sequence[str], files: Mapping[str, str], result: str) -> str:
    """Run the commands of ``script`` in a directory that holds ``files``; the text of the file ``result``.

    ToolError as for :func:`run_script`.
    """
    with tempfile.TemporaryDirectory(prefix="rbdgen-yosys-") as name:
        directory = Path(name)
        for path, text in files.items():
            (directory / path).write_text(text, encoding="utf-8")
        run_script(script, directory)
        return (directory / result).read_text(encoding="utf-8")
