"""Results of place and route, kept by all that they depend on."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rbdgen_boards.flow import Request, Routed
from rbdgen_hw.yosys import yosys_version

RESULT = "routed.json"


def cache_directory() -> Path:
    """Where results are kept: ``$RBDGEN_CACHE``, else ``rbdgen`` in the user's cache directory."""
    chosen = os.environ.get("RBDGEN_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "rbdgen"


def own_text() -> str:
    """The text of all flows: what they ask of their tools, and how they read the answers."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return "".join(path.read_text(encoding="utf-8") for path in files)


def key(request: Request, tools: Sequence[str]) -> str:
    """The name of a request's result: a hash of all that it depends on, versions of ``tools`` among it."""
    content = {
        "flow": own_text(),
        "request": asdict(request),
        "tools": [yosys_version(), *tools],
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def cached(name: str, directory: Path, files: Sequence[str]) -> Routed | None:
    """The result of that name, with its files put into ``directory``; None if there is none."""
    folder = cache_directory() / name
    try:
        content = json.loads((folder / RESULT).read_text(encoding="utf-8"))
        for file in files:
            shutil.copy(folder / file, directory / file)
    except (OSError, ValueError):
        return None
    content["critical_path"] = tuple(content["critical_path"])
    content["cached"] = True
    return Routed(**content)


def keep(name: str, directory: Path, files: Sequence[str], routed: Routed) -> None:
    """Put a result into the cache; a cache that cannot be written is no error."""
    folder = cache_directory()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".writing-", dir=folder))
        for file in files:
            shutil.copy(directory / file, staging / file)
        (staging / RESULT).write_text(json.dumps(asdict(routed)), encoding="utf-8")
        shutil.rmtree(folder / name, ignore_errors=True)
        staging.rename(folder / name)
    except OSError:
        return
