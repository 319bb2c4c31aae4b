"""Results of place and route, kept by all that they depend on."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rbdgen.caching import cached, drop, keep
from rbdgen_boards.flow import Assumption, Request, Routed
from rbdgen_hw.yosys import yosys_version

RESULT = "routed.json"
CACHE, SUFFIX = "routed", ".zip"
"""Where results are kept (:mod:`rbdgen.caching`), and how their files' names end."""


MODELS = "models"
"""The folder of this package that only simulations read."""


def own_text() -> str:
    """The text of all flows: what they ask of their tools, and how they read the answers."""
    own = Path(__file__).parent
    # below the package only: a folder above it may have that name as well
    files = sorted(p for p in own.rglob("*.py") if MODELS not in p.relative_to(own).parts)
    return "".join(path.read_text(encoding="utf-8") for path in files)


def key(request: Request, tools: Sequence[str]) -> str:
    """The name of a request's result: a hash of all that it depends on, versions of ``tools`` among it."""
    content = {
        "flow": own_text(),
        "request": asdict(request),
        "tools": [yosys_version(), *tools],
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def stored(name: str, directory: Path, files: Sequence[str]) -> Routed | None:
    """The result of that name, with its files put into ``directory``; None if there is none."""
    kept = cached(CACHE, name, SUFFIX)
    if kept is None:
        return None
    with zipfile.ZipFile(io.BytesIO(kept.content)) as archive:
        content = json.loads(archive.read(RESULT))
        for file in files:
            (directory / file).write_bytes(archive.read(file))
    # JSON has lists where records have tuples
    content["critical_path"] = tuple(content["critical_path"])
    content["assumptions"] = tuple(Assumption(**stated) for stated in content["assumptions"])
    content["cached"] = True
    return Routed(**content)


def store(name: str, directory: Path, files: Sequence[str], routed: Routed) -> None:
    """Put a result into the cache."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.write(directory / file, file)
        archive.writestr(RESULT, json.dumps(asdict(routed)))
    keep(CACHE, name, SUFFIX, whole.getvalue())


def forget(name: str) -> None:
    """Take a result out of the cache."""
    drop(CACHE, name, SUFFIX)
