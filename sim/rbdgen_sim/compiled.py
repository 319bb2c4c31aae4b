"""Compiled simulations in the user's cache, and Verilator's own runtime, compiled once: its objects are the same for
every design, and most of a small one's time.

A program is taken from the cache, and never from where it was put to run.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import os
import platform
import subprocess
import tempfile
import time
import zipfile
import zlib
from functools import cache
from pathlib import Path

from rbdgen.caching import cached, keep

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
