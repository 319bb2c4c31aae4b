"""Compiled simulations in the user's cache: a program is taken from there, and never from where it was put to run."""

from __future__ import annotations

import tempfile
import zlib
from pathlib import Path

from rbdgen.caching import cached, keep

CACHE, SUFFIX = "simulation", ".z"
"""Where programs are kept, and how their files' names end."""


def fetch_program(digest: str, program: Path) -> bool:
    """Put the program that was kept under a digest into the file ``program``; whether there is one."""
    found = cached(CACHE, digest, SUFFIX)
    if found is None:
        return False
    place_program(zlib.decompress(found.content), program)
    return True


def keep_program(digest: str, program: Path) -> None:
    """Keep the file ``program`` under a digest of all that it was made of."""
    keep(CACHE, digest, SUFFIX, zlib.compress(program.read_bytes(), 1))


def place_program(content: bytes, program: Path) -> None:
    """Write a program's file whole; what had its name is replaced, even while it runs."""
    with tempfile.TemporaryDirectory(prefix=".writing-", dir=program.parent) as folder:
        fresh = Path(folder) / program.name
        fresh.write_bytes(content)
        fresh.chmod(0o755)
        fresh.replace(program)
