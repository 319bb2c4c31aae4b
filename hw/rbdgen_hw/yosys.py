"""Yosys, from the package ``pyosys``: run in a process of its own, as its errors end the process."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from rbdgen.errors import ToolError

_DRIVER = """
import sys
from pyosys import libyosys
design = libyosys.Design()
for line in open("script.ys", encoding="utf-8"):
    libyosys.run_pass(line.strip(), design)
"""


def run_yosys(script: Sequence[str], files: Mapping[str, str], result: str) -> str:
    """Run the commands of ``script`` in a directory that holds ``files``; the text of the file ``result``.

    ToolError with Yosys's own last line where it fails, or where the package is missing.
    """
    with tempfile.TemporaryDirectory(prefix="rbdgen-yosys-") as name:
        directory = Path(name)
        for path, text in files.items():
            (directory / path).write_text(text, encoding="utf-8")
        (directory / "script.ys").write_text("\n".join(script) + "\n", encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-P", "-c", _DRIVER], cwd=directory, capture_output=True, text=True, check=False
        )
        if done.returncode or not (directory / result).exists():
            if "No module named 'pyosys'" in done.stderr:
                raise ToolError("Python package 'pyosys' is missing; install it with: pip install 'rbdgen[hw]'")
            lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
            raise ToolError(f"yosys failed with status {done.returncode}: {lines[-1] if lines else 'no output'}")
        return (directory / result).read_text(encoding="utf-8")
