"""``manifest.json``: what the host knows of one accelerator, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rbdgen.errors import ConfigError, short
from rbdgen.host.consistency import check_consistency
from rbdgen.host.identity import KEY, identity_of
from rbdgen.ir.number_formats import Format
from rbdgen.protocol.tasks import FunctionFormat, OperandWord, Packing, ResultWord, TaskFormat
from rbdgen.schema.checking import check, version_complaint
from rbdgen.schema.reading import plain_fault, read_json

MANIFEST_SCHEMA = "rbdgen.manifest/7"
"""Name and version of the manifest's structure."""
MANIFEST_FILE = "manifest.json"
"""Its file's name in the directory of a design."""
REMEDY = "write it again with 'rbdgen generate' or 'rbdgen build'"


@dataclass(frozen=True)
class Entry:
    """Where a word belongs: its ``vector`` or matrix and the ``index`` in it."""

    vector: str
    index: tuple[int, ...]


@dataclass(frozen=True)
class UnitVector:
    """Entries of a vector that must be of unit length together: those of a ``joint``, ``size`` from the ``first`` on, a
    (cos, sin) or a quaternion."""

    joint: str
    first: int
    size: int


@dataclass(frozen=True)
class Shape:
    """Of a vector or matrix: ``size`` without batch dimensions; of a ``symmetric`` one the lower triangle is sent;
    the ``unit`` of its entries, or those of some and of others; whether these must be ``whole`` numbers, and which of
    them must be of unit length."""

    size: tuple[int, ...]
    symmetric: bool
    unit: str = ""
    whole: bool = False
    unit_vectors: tuple[UnitVector, ...] = ()


@dataclass(frozen=True)
class Manifest:
    """One accelerator: its ``identity`` (:mod:`rbdgen.host.identity`), the layout of its packets, the shapes
    of vectors by name, and for each function its vectors, the golden function of the same results, what it is in a few
    words, and where its operand and result words belong, in their order."""

    name: str
    robot: str
    joint_names: tuple[str, ...]
    identity: bytes
    tasks: TaskFormat
    shapes: Mapping[str, Shape]
    operand_vectors: Mapping[str, tuple[str, ...]]
    result_vectors: Mapping[str, tuple[str, ...]]
    methods: Mapping[str, str]
    summaries: Mapping[str, str]
    operands: Mapping[str, tuple[Entry, ...]]
    results: Mapping[str, tuple[Entry, ...]]


ManifestSource = Manifest | Path | str
"""A manifest, or where its file is."""


def known_manifest(manifest: ManifestSource) -> Manifest:
    """The manifest itself, read where it is a file. ConfigError for one that cannot be read, or is neither."""
    if isinstance(manifest, Manifest):
        return manifest
    if not isinstance(manifest, Path | str):
        raise ConfigError(
            f"manifest: must be a Manifest or where its file is, not {type(manifest).__name__}; read an object by "
            "manifest_from"
        )
    return read_manifest(Path(manifest))


def manifest_from(content: Mapping[str, Any]) -> Manifest:
    """The manifest from the object in its file. ConfigError if it is of another version, was changed since it was
    written, holds what no JSON file does, or is not as its schema and the rest of it say."""
    fault = plain_fault(content)
    if fault is not None:
        raise ConfigError(f"manifest: {fault}; {REMEDY}")
    complaint = version_complaint(content, MANIFEST_SCHEMA)
    if complaint is not None:
        raise ConfigError(f"manifest: {complaint}; {REMEDY}")
    found, written = identity_of(content).hex(), content.get(KEY)
    if found != written:
        raise ConfigError(
            f"manifest: was changed since it was written: it says identity {short(written)}, but has {found!r}; "
            f"{REMEDY}"
        )
    try:
        check(content, "manifest")
        known = _read(content)
        check_consistency(content, known.tasks)
    except ConfigError as error:
        raise ConfigError(f"manifest: {error}; {REMEDY}") from None
    return known


def _operand(word: Mapping[str, Any]) -> OperandWord:
    low, high = word["codes"]
    return OperandWord(word["name"], _format(word), (low, high))


def _result(word: Mapping[str, Any]) -> ResultWord:
    return ResultWord(word["name"], _format(word))


def _format(word: Mapping[str, Any]) -> Format:
    return Format(word["width"], word["frac"])


def _entry(word: Mapping[str, Any]) -> Entry:
    return Entry(word["vector"], tuple(word["index"]))


def _read(content: Mapping[str, Any]) -> Manifest:
    formats, operands, results = {}, {}, {}
    for name, f in content["functions"].items():
        taken = tuple(map(_operand, f["operands"]))
        given = tuple(map(_result, f["results"]))
        formats[name] = FunctionFormat(name, f["code"], taken, given)
        operands[name] = tuple(map(_entry, f["operands"]))
        results[name] = tuple(map(_entry, f["results"]))
    parameters = tuple(map(_operand, content["parameters"]))
    lanes = content["replicas"]
    task, result = (Packing(tuple(content[f"{part}_places"]), lanes) for part in ("task", "result"))
    layout = TaskFormat(formats, task, result, parameters)
    shapes = {}
    for name, s in content["vectors"].items():
        parts = tuple(UnitVector(**part) for part in s["unit_vectors"])
        shapes[name] = Shape(tuple(s["shape"]), s["symmetric"], s["unit"], s["whole"], parts)
    names = tuple(content["joint_names"])
    takes = {name: tuple(f["operand_vectors"]) for name, f in content["functions"].items()}
    gives = {name: tuple(f["result_vectors"]) for name, f in content["functions"].items()}
    return Manifest(
        content["name"],
        content["robot"],
        names,
        bytes.fromhex(content[KEY]),
        layout,
        shapes,
        takes,
        gives,
        {name: f["method"] for name, f in content["functions"].items()},
        {name: f["summary"] for name, f in content["functions"].items()},
        operands,
        results,
    )


def read_manifest(path: Path) -> Manifest:
    """The manifest in a file or in a build directory; ConfigError naming it."""
    path = path / MANIFEST_FILE if path.is_dir() else path
    content = read_json(path, "give a manifest.json that generate or build wrote", REMEDY)
    try:
        return manifest_from(content)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
