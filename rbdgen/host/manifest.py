"""``manifest.json``: one accelerator as its host knows it, read and checked.

A manifest's identity is of all that it says, the Verilog's digest among it: another format, layout or program is
another identity. By it a host knows that its manifest is the device's. Only who wrote it does not count: the same
design has the same identity whatever version made it. Keys that follow from the layout are made here for who writes the
file, and compared for who reads it; the schema says the rest (:mod:`rbdgen.schema`).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rbdgen.errors import ConfigError, short
from rbdgen.host.places import MovablePlace
from rbdgen.ir.number_formats import Format
from rbdgen.operands import UNIT_VECTORS
from rbdgen.protocol.directory import Extent
from rbdgen.protocol.entries import is_above
from rbdgen.protocol.frames import IDENTITY_BYTES
from rbdgen.protocol.loading import LOW_BITS
from rbdgen.protocol.tasks import (
    CALIBRATE,
    FLAG_BITS,
    FUNCTION_BITS,
    HEADER_BITS,
    NUMBER_BITS,
    TAG_BITS,
    Flag,
    FunctionFormat,
    OperandWord,
    Packing,
    ResultWord,
    Room,
    TaskFormat,
    resident_format,
)
from rbdgen.schema.json_files import check, must_be, plain_fault, read_json, version_complaint


def stream_keys(tasks: TaskFormat) -> dict[str, Any]:
    """Of the whole accelerator, by key."""
    return {
        "ports": {name: asdict(port) for name, port in tasks.ports.items()},
        **_loading(tasks),
        "header": {"function_bits": FUNCTION_BITS, "tag_bits": TAG_BITS, "flag_bits": FLAG_BITS},
        "flags": {flag.name: flag.value for flag in Flag},
        "task_places": list(tasks.task.places),
        "result_places": list(tasks.result.places),
        "replicas": tasks.replicas,
    }


def packet_keys(tasks: TaskFormat, function: str) -> dict[str, int]:
    """Of one function, by key."""
    return {
        "task_beats": tasks.task_beats(function),
        "result_beats": tasks.result_beats(function),
        "task_bytes": tasks.task_bytes(function),
        "result_bytes": tasks.result_bytes(function),
    }


def _loading(tasks: TaskFormat) -> dict[str, Any]:
    """Of tasks that load parameters; nothing where there are none, and where they are written as programs are."""
    if not tasks.parameters or tasks.resident:
        return {}
    words = tasks.task_words[CALIBRATE]
    return {
        "loading": {
            "code": CALIBRATE,
            "task_beats": tasks.task.beats(words),
            "result_beats": tasks.result.beats(0),
            "task_bytes": tasks.task.packet_bytes(words),
            "result_bytes": tasks.result.packet_bytes(0),
        }
    }


LONGEST = Room((1 << 15) - 1, (1 << 15) - 1)
"""The longest packets of programs that a host may see: an engine's own are shorter."""


def programs_tasks(functions: Iterable[FunctionFormat] = ()) -> TaskFormat:
    """The streams of an engine whose programs have these functions, as far as a host must know them."""
    return resident_format(LOW_BITS, LONGEST, functions)


MOST_ENTRIES = 1 << 20
"""Of a vector or matrix."""


def check_consistency(content: Mapping[str, Any], tasks: TaskFormat) -> None:
    """ConfigError naming what in ``content`` does not go with the rest, which is laid out as ``tasks`` says."""
    functions = content["functions"]
    for name, vector in content["vectors"].items():
        if math.prod(vector["shape"]) > MOST_ENTRIES:
            raise must_be(
                f"vectors.{name}.shape", f"of at most {MOST_ENTRIES} entries", vector["shape"]
            )
        _check_unit_vectors(f"vectors.{name}.unit_vectors", vector)
    _check_differ("functions.*.code", [f["code"] for f in functions.values()])
    _check_differ("parameters[].name", [p["name"] for p in content["parameters"]])
    for name, function in functions.items():
        _check_function(f"functions.{name}", function, content["vectors"])
    for k, parameter in enumerate(content["parameters"]):
        _check_limits(f"parameters[{k}]", parameter)
    _check_payloads(content)
    _check_movable(content)
    _check_places(content, tasks)
    _check_same("", content, stream_keys(tasks))
    if not tasks.parameters and "loading" in content:
        raise ConfigError("loading must not be there without parameters")
    for name, function in functions.items():
        _check_same(f"functions.{name}.", function, packet_keys(tasks, name))


def _check_payloads(content: Mapping[str, Any]) -> None:
    """That what links carry adds to parameters that there are."""
    known = {p["name"] for p in content["parameters"]}
    for link, own in content.get("payloads", {}).items():
        for name in own:
            if name not in known:
                raise must_be(f"payloads.{short(link)}", "of parameters that there are", name)


def _check_movable(content: Mapping[str, Any]) -> None:
    """That frames whose places are parameters are known."""
    known = content.get("movable", {})
    for k, parameter in enumerate(content["parameters"]):
        frame = parameter.get("frame")
        if frame is not None and frame not in known:
            raise must_be(f"parameters[{k}].frame", f"one of {', '.join(known) or 'none'}", frame)


def _check_same(path: str, content: Mapping[str, Any], follows: Mapping[str, Any]) -> None:
    """That ``content`` has what follows from the rest."""
    for key, wanted in follows.items():
        found = content.get(key)
        if isinstance(wanted, dict) and isinstance(found, dict) and found.keys() == wanted.keys():
            _check_same(f"{path}{key}.", found, wanted)
        # what could be computed is compared: programs in C read it from the file
        elif found != wanted:
            raise must_be(f"{path}{key}", f"{short(wanted)}, as the rest says", found)


def _check_unit_vectors(path: str, vector: Mapping[str, Any]) -> None:
    """That the parts of unit length are entries of the vector, each once, and as many as such vectors have."""
    behind = 0
    for k, part in enumerate(vector["unit_vectors"]):
        if part["size"] not in UNIT_VECTORS:
            raise must_be(f"{path}[{k}].size", "2 or 4", part["size"])
        if len(vector["shape"]) != 1 or part["first"] + part["size"] > vector["shape"][0]:
            raise must_be(f"{path}[{k}]", f"inside the shape {vector['shape']}", part)
        # in order and without overlaps: an entry belongs to one of them
        if part["first"] < behind:
            raise must_be(
                f"{path}[{k}].first", f"at least {behind}, behind the others", part["first"]
            )
        behind = part["first"] + part["size"]


def _check_differ(path: str, values: Sequence[Any]) -> None:
    for value in values:
        if values.count(value) > 1:
            raise ConfigError(f"{path} must differ, but {value!r} is there twice")


def _check_function(
    path: str, function: Mapping[str, Any], vectors: Mapping[str, Mapping[str, Any]]
) -> None:
    if function["code"] == CALIBRATE:
        raise must_be(
            f"{path}.code", f"another than {CALIBRATE}, which loads parameters", CALIBRATE
        )
    for part in ("operand", "result"):
        named = function[f"{part}_vectors"]
        _check_differ(f"{path}.{part}_vectors", named)
        for name in named:
            if name not in vectors:
                raise must_be(f"{path}.{part}_vectors", "names of vectors", name)
        words = function[f"{part}s"]
        _check_words(f"{path}.{part}s", words, named, vectors)
    for k, word in enumerate(function["operands"]):
        _check_limits(f"{path}.operands[{k}]", word)


def _check_words(
    path: str,
    words: Sequence[Mapping[str, Any]],
    named: Sequence[str],
    vectors: Mapping[str, Mapping[str, Any]],
) -> None:
    """That words are entries of the vectors that are named, each of another one."""
    found = set()
    for k, word in enumerate(words):
        vector, index = word["vector"], word["index"]
        if vector not in named:
            raise must_be(f"{path}[{k}].vector", f"one of {', '.join(named)}", vector)
        shape = vectors[vector]["shape"]
        if len(index) != len(shape) or any(i >= n for i, n in zip(index, shape, strict=True)):
            raise must_be(f"{path}[{k}].index", f"inside the shape {shape} of {vector}", index)
        # an entry below the diagonal is filled in across it: what differs there must come behind
        if vectors[vector]["symmetric"]:
            across = (vector, *index[:-2], *reversed(index[-2:]))
            _check_symmetric(f"{path}[{k}]", shape, index, across in found)
        if (vector, *index) in found:
            raise ConfigError(f"{path}[{k}] must be another entry of {vector} than those before it")
        found.add((vector, *index))


def _check_symmetric(path: str, shape: Sequence[int], index: Sequence[int], behind: bool) -> None:
    """``behind``: whether that across the diagonal was sent before."""
    if len(shape) < 2 or shape[-2] != shape[-1]:
        raise must_be(f"{path}.index", f"in the lower triangle of a square, not of {shape}", index)
    if behind and not is_above(index):
        raise must_be(f"{path}.index", "before that of the entry across the diagonal", index)


def _check_limits(path: str, word: Mapping[str, Any]) -> None:
    low, high = word["codes"]
    known = Format(word["width"], word["frac"])
    if not known.minimum <= low <= high <= known.maximum:
        wanted = f"ascending, from {known.minimum} to {known.maximum}"
        raise must_be(f"{path}.codes", wanted, word["codes"])
    if word["lower"] > word["upper"]:
        raise must_be(f"{path}.lower", f"at most upper, {word['upper']!r}", word["lower"])


def _check_places(content: Mapping[str, Any], tasks: TaskFormat) -> None:
    """That every word has room at its place."""
    for key, packing, packets in (
        ("task_places", tasks.task, _task_widths(tasks)),
        ("result_places", tasks.result, _result_widths(tasks)),
    ):
        for widths in packets:
            _check_room(key, packing, widths, content[key])


def _check_room(key: str, packing: Packing, widths: Iterable[int], places: Sequence[int]) -> None:
    for k, bits in enumerate(widths):
        place = k % packing.words_per_beat
        if places[place] < bits:
            raise must_be(f"{key}[{place}]", f"at least {bits}, as a word there has", places[place])


def _task_widths(tasks: TaskFormat) -> Iterator[list[int]]:
    for function in tasks.functions.values():
        yield [HEADER_BITS, *(word.format.width for word in function.operands)]
    for word in tasks.parameters:
        yield [HEADER_BITS, NUMBER_BITS, word.format.width]


def _result_widths(tasks: TaskFormat) -> Iterator[list[int]]:
    for function in tasks.functions.values():
        yield [HEADER_BITS, *(word.format.width for word in function.results)]


KEY = "identity"
"""Of the identity in the manifest."""
GENERATOR = "generator"
"""Of what wrote the manifest, in it."""


def identity_of(content: Mapping[str, Any]) -> bytes:
    """The identity that belongs to a manifest's other keys."""
    # sorted and without spaces, so that the same content has the same bytes wherever it was written
    others = {key: value for key, value in content.items() if key not in (KEY, GENERATOR)}
    text = json.dumps(others, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).digest()[:IDENTITY_BYTES]


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
class ProgramFacts:
    """The identity of the ``engine`` that a program is for, what it takes of it, and where its parameters stand among
    constants: the address of the first, and how far the others are from each other (``parameter_step``)."""

    engine: bytes
    extent: Extent
    parameter: int
    parameter_step: int


@dataclass(frozen=True)
class Manifest:
    """One accelerator: its ``identity`` (:mod:`rbdgen.host.manifest`), the layout of its packets, the shapes
    of vectors by name, and for each function its vectors, the golden function of the same results, what it is in a few
    words, and where its operand and result words belong, in their order. ``digest`` is of its Verilog, or of the
    ``program`` that it is; ``nominal`` are values of parameters by name, ``payloads`` what links' loads add to them,
    ``carried`` the loads that these values are with, and ``movable`` the frames whose places can be loaded."""

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
    digest: str = ""
    program: ProgramFacts | None = None
    nominal: Mapping[str, float] = field(default_factory=dict)
    payloads: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)
    carried: Mapping[str, Sequence[float]] = field(default_factory=dict)
    movable: Mapping[str, MovablePlace] = field(default_factory=dict)


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
    # before the schema: a file that was changed by hand is told so, not which key is odd
    found, written = identity_of(content).hex(), content.get(KEY)
    if found != written:
        raise ConfigError(
            f"manifest: was changed since it was written: it says identity {short(written)}, but has {found!r}; "
            f"{REMEDY}"
        )
    try:
        # the schema first: what follows relies on every key being there
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
    program = _program(content.get("program"))
    layout = TaskFormat(formats, task, result, parameters, LONGEST if program else None)
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
        content["verilog_sha256"],
        program,
        {p["name"]: p["nominal"] for p in content["parameters"]},
        content.get("payloads", {}),
        content["setup"].get("payload", {}),
        {frame: _movable(content, frame) for frame in content.get("movable", {})},
    )


def _movable(content: Mapping[str, Any], frame: str) -> MovablePlace:
    """A frame whose place can be loaded."""
    own = content["movable"][frame]
    named = {p["entry"]: p["name"] for p in content["parameters"] if p.get("frame") == frame}
    origin, rotation = np.array(own["origin"]), np.array(own["rotation"])
    return MovablePlace(own["link"], origin, rotation, own["reach"], named)


OF_PROGRAM = ("engine", "parameter", "parameter_step")
"""Keys of a program beside its extent's."""


def program_keys(facts: ProgramFacts) -> dict[str, Any]:
    """Of a program, by key."""
    named = {
        "engine": facts.engine.hex(),
        "parameter": facts.parameter,
        "parameter_step": facts.parameter_step,
    }
    return named | asdict(facts.extent)


def _program(content: Mapping[str, Any] | None) -> ProgramFacts | None:
    if content is None:
        return None
    extent = {key: value for key, value in content.items() if key not in OF_PROGRAM}
    return ProgramFacts(
        bytes.fromhex(content["engine"]),
        Extent(**extent),
        content["parameter"],
        content["parameter_step"],
    )


def read_manifest(path: Path) -> Manifest:
    """The manifest in a file or in a build directory; ConfigError naming it."""
    path = path / MANIFEST_FILE if path.is_dir() else path
    content = read_json(path, "give a manifest.json that generate or build wrote", REMEDY)
    try:
        return manifest_from(content)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
