"""Bitstreams of engines that were made with a release: a package of their own, ``rbdgen-bitstreams``, for boards whose
users have no tools. Its index says of each what it is of, and which bytes it has."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from rbdgen.errors import ConfigError
from rbdgen.installation import release
from rbdgen_boards.board import Board
from rbdgen_boards.engines import board_engine

PACKAGE = "rbdgen_bitstreams"
DISTRIBUTION = "rbdgen-bitstreams"
"""Its name where packages are installed from."""
INDEX, SCHEMA = "index.json", "rbdgen.bitstreams/1"
PROJECT = """\
# Bitstreams of rbdgen's engines, one for each board; made by 'make bitstreams'.
[build-system]
requires = ["hatchling>=1.28,<2"]
build-backend = "hatchling.build"

[project]
name = "{distribution}"
version = "{version}"
description = "Bitstreams of rbdgen's engines, one for each board"
license = "Apache-2.0"
requires-python = ">=3.11"

[tool.hatch.build.targets.wheel]
packages = ["{package}"]
"""


@dataclass(frozen=True)
class Released:
    """A bitstream: its file's ``name``, its bytes, and the ``report`` of how it was made."""

    name: str
    content: bytes
    report: dict[str, Any]


def key_of(board: Board) -> str:
    """What a bitstream is of: the version of rbdgen, the engine, and all that is known of the board."""
    about = release(), board_engine(board).identity.hex(), repr(board)
    return hashlib.sha256("\n".join(about).encode()).hexdigest()


def find_released(board: Board) -> Released | None:
    """The bitstream of a board's engine that was made with this release, where the package with it is installed.
    ConfigError where its file is not the one that was made."""
    try:
        folder = resources.files(PACKAGE)
        index = json.loads(folder.joinpath(INDEX).read_text(encoding="utf-8"))
    except (ModuleNotFoundError, FileNotFoundError):
        return None
    entry = index["boards"].get(board.name)
    # one of another version, or of a board's file that was changed since, is none of this board
    if index["schema"] != SCHEMA or entry is None or entry["key"] != key_of(board):
        return None
    file = folder.joinpath(entry["file"])
    content = file.read_bytes() if file.is_file() else b""
    if hashlib.sha256(content).hexdigest() != entry["sha256"]:
        raise ConfigError(
            f"{DISTRIBUTION}: {entry['file']} is not what {INDEX} says; install the package again, or remove it"
        )
    return Released(entry["file"], content, entry["report"])


def package_files(made: Mapping[str, tuple[Board, Released]]) -> dict[str, str | bytes]:
    """The files of a package with these bitstreams, by board."""
    entries, files = {}, {}
    for name, (board, own) in sorted(made.items()):
        file = f"{name}_{own.name}"
        digest = hashlib.sha256(own.content).hexdigest()
        entries[name] = {"key": key_of(board), "file": file, "sha256": digest, "report": own.report}
        files[f"{PACKAGE}/{file}"] = own.content
    index = {"schema": SCHEMA, "version": release(), "boards": entries}
    return {
        "pyproject.toml": PROJECT.format(
            distribution=DISTRIBUTION, version=release(), package=PACKAGE
        ),
        f"{PACKAGE}/__init__.py": '"""Bitstreams of rbdgen\'s engines, one for each board."""\n',
        f"{PACKAGE}/{INDEX}": json.dumps(index, indent=2) + "\n",
        **files,
    }
