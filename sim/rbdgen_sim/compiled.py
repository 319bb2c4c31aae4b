"""Compiled simulations and where they are compiled: the user's cache, folders of this process's own, Verilator's
runtime.

The runtime is compiled once: its objects are the same for every design, and most of a small one's time. Folders have
names that every program takes. A program is taken from the cache, and never from where it was put to run.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from rbdgen.caching import cached, keep
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


OBJECTS = (
    "verilated.o",
    "verilated_dpi.o",
    "verilated_fst_c.o",
    "verilated_threads.o",
    "verilated_vcd_c.o",
    "verilated_vpi.o",
)
"""Objects that know nothing of a design."""
RUNTIME_CACHE, RUNTIME_SUFFIX = "runtime", ".zip"
"""Where they are kept (:mod:`rbdgen.caching`), and how their files' names end."""
LEAD = 3600.0
"""Seconds: longer than Verilator takes for any design."""
SETTINGS = ("CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS")
"""Variables of the environment that change how they are compiled."""


def place_runtime(directory: Path, *flags: str) -> None:
    """Put the objects that were kept into the ``directory`` that a design is to be compiled in. ``flags``: what else
    they depend on."""
    kept = cached(RUNTIME_CACHE, compiled_digest(*flags), RUNTIME_SUFFIX)
    if kept is None:
        return
    directory.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(io.BytesIO(kept.content)) as archive:
        for name in OBJECTS:
            # which of them a design is made with depends on its waveforms
            if name in archive.namelist():
                path = directory / name
                path.write_bytes(archive.read(name))
                # make takes them only if they are newer than its makefile, which is not written yet
                later = time.time() + LEAD
                os.utime(path, (later, later))


def save_runtime(directory: Path, *flags: str) -> None:
    """Keep the objects of a design that was compiled, unless they are kept."""
    key = compiled_digest(*flags)
    if cached(RUNTIME_CACHE, key, RUNTIME_SUFFIX) is not None:
        return
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in OBJECTS:
            path = directory / name
            if path.is_file():
                archive.writestr(name, path.read_bytes())
    keep(RUNTIME_CACHE, key, RUNTIME_SUFFIX, content.getvalue())


def compiled_digest(*flags: str) -> str:
    """A digest of what compiled objects depend on beside their sources: tools, machine, settings, and ``flags``."""
    settings = [f"{name}={os.environ.get(name, '')}" for name in SETTINGS]
    version = importlib.metadata.version("verilator")
    parts = [version, platform.machine(), _compiler(), *settings, *flags]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


@cache
def _compiler() -> str:
    """The C++ compiler's version; nothing where there is none, which others complain about."""
    command = [os.environ.get("CXX", "c++"), "--version"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError:
        return ""
    return done.stdout.decode(errors="replace")


PROGRAM_CACHE, PROGRAM_SUFFIX = "simulation", ".z"
"""Where programs are kept, and how their files' names end."""


def fetch_program(digest: str, program: Path) -> bool:
    """Put the program that was kept under a digest into the file ``program``; whether there is one."""
    found = cached(PROGRAM_CACHE, digest, PROGRAM_SUFFIX)
    if found is None:
        return False
    place_program(zlib.decompress(found.content), program)
    return True


def keep_program(digest: str, program: Path) -> None:
    """Keep the file ``program`` under a digest of all that it was made of."""
    keep(PROGRAM_CACHE, digest, PROGRAM_SUFFIX, zlib.compress(program.read_bytes(), 1))


def place_program(content: bytes, program: Path) -> None:
    """Write a program's file whole; what had its name is replaced, even while it runs."""
    with tempfile.TemporaryDirectory(prefix=".writing-", dir=program.parent) as folder:
        fresh = Path(folder) / program.name
        fresh.write_bytes(content)
        fresh.chmod(0o755)
        # the file of a running program cannot be written, but its name can be given to another
        fresh.replace(program)
