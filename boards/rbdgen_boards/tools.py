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
from rbdgen.installation import remedy

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


@cache
def command(tool: Tool) -> tuple[tuple[str, ...], str]:
    """The command that calls ``tool``, and its version. ToolError if there is none that will do, with how to install
    it."""
    native = _native(tool)
    if native is not None:
        said = subprocess.run([native, "--version"], capture_output=True, text=True, check=False)
        # some programs print their version as an error
        lines = (said.stdout + said.stderr).strip().splitlines()
        return (native,), lines[0] if lines else tool.name
    version = _package_version(tool)
    if tool.module is not None:
        module, function = tool.module, "main"
    else:
        entries = importlib.metadata.distribution(tool.package).entry_points
        scripts = [entry for entry in entries if entry.group == "console_scripts"]
        entry = next(entry for entry in scripts if entry.name == tool.script)
        module, function = entry.module, entry.attr
    start = f"import sys; from {module} import {function}; sys.exit({function}())"
    # -P: no modules are looked for in the working folder
    return (sys.executable, "-P", "-c", start), f"{tool.package} {version}"


def _native(tool: Tool) -> str | None:
    """The native program on PATH, where there is one and nothing stands in for it. Scripts beside this Python are those
    of packages."""
    if tool.module is not None:
        return None
    found = shutil.which(tool.name)
    if found is None or Path(found).parent == Path(sys.executable).parent:
        return None
    return found


def _package_version(tool: Tool) -> str:
    """The version of the package that has ``tool``. ToolError if there is none, or one that is too new."""
    try:
        version = importlib.metadata.version(tool.package)
    except importlib.metadata.PackageNotFoundError:
        raise ToolError(f"{tool.name} is missing; {remedy('build')}") from None
    numbers = tuple(int(part) for part in re.findall(r"\d+", version))
    if tool.below and numbers[: len(tool.below)] >= tool.below:
        limit = ".".join(map(str, tool.below))
        raise ToolError(
            f"{tool.package} {version} is too new for {tool.name} here; install it with: "
            f"pip install '{tool.package}<{limit}'"
        )
    return version


def data(tool: Tool, path: str) -> Path | None:
    """A file that comes with ``tool`` in its package from PyPI; None where the native one is run, or it has no such
    file."""
    if command(tool)[0][0] != sys.executable:
        return None
    # a distribution's name has hyphens where its module has underscores
    folder = tool.package.replace("-", "_")
    package = importlib.metadata.distribution(tool.package).locate_file(folder)
    found = Path(str(package)) / path
    return found if found.is_file() else None


def version(tool: Tool) -> str:
    """The version that :func:`run` runs."""
    return command(tool)[1]


def run(
    tool: Tool,
    arguments: Sequence[str],
    directory: Path,
    log: str,
    hopeless: Callable[[str], bool] | None = None,
) -> bool:
    """Run ``tool`` in ``directory``, its output into the file ``log`` there; False where it was stopped because what it
    had said was ``hopeless``. ToolError with its own last complaint."""
    path = directory / log
    # a file, no pipe: it is read while the program runs
    with path.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            [*command(tool)[0], *arguments],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            if hopeless is not None and not _hopeful(process, path, hopeless):
                return False
            process.wait()
        finally:
            # an interrupt must not leave a router at work
            if process.poll() is None:
                process.kill()
                process.wait()
    if process.returncode:
        complaint = _complaint(_said(path))
        raise ToolError(
            f"{tool.name} failed with status {process.returncode}: {complaint} (log: {path})"
        )
    return True


def _hopeful(process: subprocess.Popen[bytes], log: Path, hopeless: Callable[[str], bool]) -> bool:
    """Look at what ``process`` says until it ends, or until that is ``hopeless``: False then."""
    while process.poll() is None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(GLANCE)
        if hopeless(_said(log)):
            return False
    return True


def _said(log: Path) -> str:
    # the last character may be half written
    return log.read_text(encoding="utf-8", errors="replace")


def _complaint(said: str) -> str:
    """The line of a program's output that says why it failed."""
    lines = [line for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    if errors:
        return errors[0]
    return lines[-1] if lines else "no output"
