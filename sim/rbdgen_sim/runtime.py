"""Verilator's own runtime, compiled once: its objects are the same for every design, and most of a small one's time."""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import os
import platform
import subprocess
import time
import zipfile
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
CACHE, SUFFIX = "runtime", ".zip"
"""Where they are kept (:mod:`rbdgen.caching`), and how their files' names end."""
LEAD = 3600.0
"""Seconds: longer than Verilator takes for any design."""
SETTINGS = ("CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS")
"""What of the environment changes how they are compiled."""


def place(directory: Path, *flags: str) -> None:
    """Put the objects that were kept into the ``directory`` that a design is to be compiled in. ``flags``: what else
    they depend on."""
    kept = cached(CACHE, digits(*flags), SUFFIX)
    if kept is None:
        return
    directory.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(io.BytesIO(kept.content)) as archive:
        for name in OBJECTS:
            if name in archive.namelist():
                path = directory / name
                path.write_bytes(archive.read(name))
                # make takes them only if they are newer than its makefile, which is not written yet
                later = time.time() + LEAD
                os.utime(path, (later, later))


def save(directory: Path, *flags: str) -> None:
    """Keep the objects of a design that was compiled, unless they are kept."""
    key = digits(*flags)
    if cached(CACHE, key, SUFFIX) is not None:
        return
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in OBJECTS:
            path = directory / name
            if path.is_file():
                archive.writestr(name, path.read_bytes())
    keep(CACHE, key, SUFFIX, content.getvalue())


def digits(*flags: str) -> str:
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
