"""Machine code from C, made by the system's compiler when it is first needed, and kept in the user's cache.

A library is kept under all that it depends on: its text, how it is compiled, and the processor, so that one of another
machine is never loaded.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from rbdgen.caching import cached, drop, keep
from rbdgen.errors import ToolError
from rbdgen.processes import cores

SUFFIX = ".so"
"""The ending of libraries' names."""
VARIABLE = "RBDGEN_CC"
"""The environment's variable that names another compiler than ``cc``; empty: there is none."""
PATIENCE = 600
"""Seconds that the compiler may take for a file."""
Progress = Callable[[str], None]
"""Is told what is going on."""


def compiler() -> str | None:
    """The system's C compiler; None where there is none."""
    return shutil.which(os.environ.get(VARIABLE, "cc"))


def required_compiler() -> str:
    """The system's C compiler. ToolError where there is none, with the package that has one."""
    found = compiler()
    if found is None:
        name = os.environ.get(VARIABLE, "cc")
        raise ToolError(
            f"C compiler {name!r}: not found; install one (Debian and Ubuntu: apt install gcc; Fedora: dnf install "
            f"gcc), or name one in {VARIABLE}"
        )
    return found


@cache
def version(compiler: str) -> str:
    """A compiler's own words on its version."""
    try:
        line = [compiler, "--version"]
        return subprocess.run(line, check=True, capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


@cache
def processor() -> str:
    """The properties of this processor that machine code depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    for line in lines:
        if line.startswith(("flags", "Features")):
            return line
    return platform.processor()


def key(texts: Mapping[str, str], flags: Sequence[str], compiler: str) -> str:
    """Digits that differ where compiled libraries might."""
    parts = [*flags, compiler, version(compiler), platform.machine(), processor()]
    for name, text in sorted(texts.items()):
        parts += [name, text]
    digits = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return digits[:32]


def library(
    kind: str,
    texts: Mapping[str, str],
    flags: Sequence[str],
    libraries: Sequence[str] = (),
    progress: Progress = lambda stage: None,
) -> ctypes.CDLL:
    """The library of C files ``texts`` (by name; those ending in .h are only included), compiled with ``flags`` and
    linked with ``libraries``. ``kind`` is the folder of the cache that it is kept in. ToolError without a compiler,
    and where compiling fails."""
    chosen = required_compiler()
    own = key(texts, [*flags, *libraries], chosen)
    kept = cached(kind, own, SUFFIX)
    if kept is not None:
        try:
            return _loaded(kept.path)
        except OSError:
            # damaged, or for another machine: make it anew
            drop(kind, own, SUFFIX)
    with tempfile.TemporaryDirectory() as work:
        made = _compiled(Path(work), texts, flags, libraries, chosen, progress)
        stored = keep(kind, own, SUFFIX, made.read_bytes())
        try:
            return _loaded(stored or made)
        except OSError as error:
            raise ToolError(
                f"C compiler {chosen!r}: made a library that cannot be loaded: {error}"
            ) from None


def _loaded(path: Path) -> ctypes.CDLL:
    """The library in a file; in children of this process it computes on one core."""
    found = ctypes.CDLL(str(path))
    if hasattr(os, "register_at_fork") and hasattr(found, "omp_set_num_threads"):
        # a child has the state of OpenMP's other threads but not the threads, and would wait for them for ever
        os.register_at_fork(after_in_child=lambda: found.omp_set_num_threads(1))
    return found


def _compiled(
    work: Path,
    texts: Mapping[str, str],
    flags: Sequence[str],
    libraries: Sequence[str],
    compiler: str,
    progress: Progress,
) -> Path:
    """The library's file in a folder; its sources are compiled side by side."""
    sources = []
    for name, text in texts.items():
        path = work / name
        path.write_text(text, encoding="utf-8")
        if path.suffix == ".c":
            sources.append(path)
    # the longest first, so that it does not run alone at the end
    sources.sort(key=lambda path: -path.stat().st_size)

    def compiled(source: Path) -> Path:
        progress(f"compile {source.name}")
        target = source.with_suffix(".o")
        run([compiler, *flags, "-fPIC", "-c", str(source), "-o", str(target)])
        return target

    with ThreadPoolExecutor(cores()) as pool:
        objects = list(pool.map(compiled, sources))
    made = work / f"library{SUFFIX}"
    parts = [str(path) for path in objects]
    run([compiler, *flags, "-shared", "-o", str(made), *parts, *libraries])
    if not made.is_file():
        raise ToolError(f"C compiler {compiler!r}: made no library; name another one in {VARIABLE}")
    return made


def run(line: Sequence[str]) -> None:
    """Run the compiler. ToolError where it fails, with its first complaint."""
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise ToolError(f"C compiler {line[0]!r}: not done after {PATIENCE} seconds") from None
    except OSError as error:
        raise ToolError(f"C compiler {line[0]!r}: cannot be run: {error.strerror}") from None
    if done.returncode:
        complaints = [text for text in done.stderr.splitlines() if "error" in text]
        told = (complaints or done.stderr.splitlines() or ["no message"])[0]
        raise ToolError(f"C compiler {line[0]!r}: failed: {told.strip()}")
