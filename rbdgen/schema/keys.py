"""The keys of a file, as its schema describes them: for the documentation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rbdgen.schema.checking import schema

EVERYWHERE = "all"


@dataclass(frozen=True)
class Key:
    """One key: its ``path``, in which ``*`` is a name and ``[]`` each of a list; ``where`` it is: in files of all
    designs, or of some; and what it ``means``."""

    path: str
    where: str
    means: str


def described_keys(name: str) -> tuple[Key, ...]:
    """The described keys of the file ``name``.json, in the order of its schema."""
    return tuple(_keys(schema(name), "", EVERYWHERE))


def _keys(definition: Mapping[str, Any], path: str, where: str) -> Iterator[Key]:
    where = definition.get("in", where)
    if "description" in definition:
        yield Key(path, where, definition["description"])
    for key, inner in definition.get("properties", {}).items():
        yield from _keys(inner, f"{path}.{key}".lstrip("."), where)
    for inner in definition.get("patternProperties", {}).values():
        yield from _keys(inner, f"{path}.*", where)
    if "items" in definition:
        yield from _keys(definition["items"], f"{path}[]", where)
