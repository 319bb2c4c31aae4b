"""How a design was produced: versions, and a digest of its arithmetic."""

from __future__ import annotations

import hashlib
import platform
from importlib import metadata

from rbdgen.compiler import Design
from rbdgen.ir.text import to_text

VERSIONED = ("rbdgen", "numpy", "networkx", "amaranth", "pyosys")
"""Packages on whose versions the bytes of a design depend."""


def versions(packages: tuple[str, ...] = VERSIONED) -> dict[str, str | None]:
    """Versions of Python and of packages; None for one that is not installed."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def graph_digest(design: Design) -> str:
    """SHA-256 of the fixed-point graph's text: two reports with the same digest are of the same arithmetic."""
    return hashlib.sha256(to_text(design.fixed).encode()).hexdigest()
