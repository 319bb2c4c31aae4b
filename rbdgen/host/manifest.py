"""``manifest.json``: what the host knows of one accelerator, read and checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rbdgen.errors import ConfigError
from rbdgen.host.frames import IDENTITY_BYTES
from rbdgen.host.tasks import FunctionFormat, OperandWord, Packing, ResultWord, TaskFormat
from rbdgen.ir.fixed import Format

MANIFEST_SCHEMA = "rbdgen.manifest/1"
"""Name and version of the manifest's structure."""


@dataclass(frozen=True)
class Entry:
    """Where a word belongs: its ``vector`` or matrix and the ``index`` in it."""

    vector: str
    index: tuple[int, ...]


@dataclass(frozen=True)
class Shape:
    """Of a vector or matrix: ``size`` without batch dimensions; of a ``symmetric`` one the lower triangle is sent."""

    size: tuple[int, ...]
    symmetric: bool


@dataclass(frozen=True)
class Manifest:
    """One accelerator: ``identity`` as in :class:`rbdgen.host.frames.Status`, the layout of its packets, the shapes of
    vectors by name, and for each function its vectors and where its operand and result words belong, in their order."""

    name: str
    robot: str
    joint_names: tuple[str, ...]
    identity: bytes
    tasks: TaskFormat
    shapes: Mapping[str, Shape]
    operand_vectors: Mapping[str, tuple[str, ...]]
    result_vectors: Mapping[str, tuple[str, ...]]
    operands: Mapping[str, tuple[Entry, ...]]
    results: Mapping[str, tuple[Entry, ...]]


def manifest_from(content: Mapping[str, Any]) -> Manifest:
    """The manifest from the object in its file. ConfigError if it has another schema or lacks a key."""
    if content.get("schema") != MANIFEST_SCHEMA:
        raise ConfigError(f"manifest: schema must be {MANIFEST_SCHEMA!r}, not {content.get('schema')!r}")
    try:
        return _read(content)
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(
            f"manifest: broken at {error}; write it again with 'rbdgen generate' or 'rbdgen build'"
        ) from None


def _read(content: Mapping[str, Any]) -> Manifest:
    formats, operands, results = {}, {}, {}
    for name, f in content["functions"].items():
        formats[name] = FunctionFormat(
            name,
            f["code"],
            tuple(
                OperandWord(w["name"], Format(w["width"], w["frac"]), (w["codes"][0], w["codes"][1]))
                for w in f["operands"]
            ),
            tuple(ResultWord(w["name"], Format(w["width"], w["frac"])) for w in f["results"]),
        )
        operands[name] = tuple(Entry(w["vector"], tuple(w["index"])) for w in f["operands"])
        results[name] = tuple(Entry(w["vector"], tuple(w["index"])) for w in f["results"])
    bits = content["word_bits"]
    parameters = tuple(
        OperandWord(w["name"], Format(w["width"], w["frac"]), (w["codes"][0], w["codes"][1]))
        for w in content["parameters"]
    )
    task, result = (Packing(bits, content[f"{part}_words_per_beat"]) for part in ("task", "result"))
    layout = TaskFormat(formats, task, result, parameters)
    shapes = {name: Shape(tuple(s["shape"]), s["symmetric"]) for name, s in content["vectors"].items()}
    identity = bytes.fromhex(content["verilog_sha256"])[:IDENTITY_BYTES]
    if len(identity) != IDENTITY_BYTES:
        raise ValueError("verilog_sha256")
    names = tuple(content["joint_names"])
    takes, gives = (
        {name: tuple(f[key]) for name, f in content["functions"].items()}
        for key in ("operand_vectors", "result_vectors")
    )
    return Manifest(content["name"], content["robot"], names, identity, layout, shapes, takes, gives, operands, results)


def read_manifest(path: Path) -> Manifest:
    """The manifest in a file or in a build directory; ConfigError naming it."""
    path = path / "manifest.json" if path.is_dir() else path
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; give a manifest.json that generate or build wrote") from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: must be a JSON file: {error}") from None
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: must hold a JSON object")
    try:
        return manifest_from(content)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
