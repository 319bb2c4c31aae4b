"""What this machine is: what a timing depends on."""

from __future__ import annotations

import importlib.metadata
import platform
from pathlib import Path
from typing import Any

from rbdgen.forking import cores

PACKAGES = ("numpy", "pin")
"""Packages whose speed is measured."""


def machine() -> dict[str, Any]:
    """Processor, cores, Python, and the versions of what is timed (None: not installed)."""
    return {
        "processor": _processor(),
        "cores": cores(),
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }


def version(package: str) -> str | None:
    """An installed package's version."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    """The processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())
