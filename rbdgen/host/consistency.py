"""What a manifest's parts must have to do with each other, beyond what its schema says of each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rbdgen.errors import ConfigError, short
from rbdgen.host.stream_keys import packet_keys, stream_keys
from rbdgen.ir.number_formats import Format
from rbdgen.operands import UNIT_VECTORS
from rbdgen.protocol.tasks import CALIBRATE, HEADER_BITS, NUMBER_BITS, Packing, TaskFormat
from rbdgen.schema.checking import must_be

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
    _check_places(content, tasks)
    _check_same("", content, stream_keys(tasks))
    if not tasks.parameters and "loading" in content:
        raise ConfigError("loading must not be there without parameters")
    for name, function in functions.items():
        _check_same(f"functions.{name}.", function, packet_keys(tasks, name))


def _check_same(path: str, content: Mapping[str, Any], follows: Mapping[str, Any]) -> None:
    """That ``content`` has what follows from the rest."""
    for key, wanted in follows.items():
        found = content.get(key)
        if isinstance(wanted, dict) and isinstance(found, dict) and found.keys() == wanted.keys():
            _check_same(f"{path}{key}.", found, wanted)
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
        if vectors[vector]["symmetric"]:
            _check_symmetric(f"{path}[{k}]", shape, index)
        if (vector, *index) in found:
            raise ConfigError(f"{path}[{k}] must be another entry of {vector} than those before it")
        found.add((vector, *index))


def _check_symmetric(path: str, shape: Sequence[int], index: Sequence[int]) -> None:
    if len(shape) != 2 or shape[0] != shape[1] or index[1] > index[0]:
        raise must_be(f"{path}.index", f"in the lower triangle of a square, not of {shape}", index)


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
