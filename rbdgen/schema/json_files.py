"""JSON files, read and compared with their schemas: what is wrong is said by its path in the file, in one line.

Whatever a file holds, what is read is an object of plain values. Its keys are listed for the documentation.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import fastjsonschema

from rbdgen.errors import ConfigError, dotted, short

KINDS = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "object": "an object",
    "array": "a list",
    "boolean": "true or false",
    "null": "null",
}
"""JSON's types in words."""


@lru_cache
def schema(name: str) -> dict[str, Any]:
    """The schema of the file ``name``.json."""
    path = Path(__file__).with_name(f"{name}.json")
    return json.loads(path.read_text(encoding="utf-8"))


@lru_cache
def _validator(name: str) -> Callable[[Any], Any]:
    return fastjsonschema.compile(schema(name), use_default=False)


def check(content: Any, name: str) -> None:
    """ConfigError unless ``content`` is as the schema of ``name`` says: the path of what is wrong, what it must be, and
    what it is."""
    try:
        _validator(name)(content)
    except fastjsonschema.JsonSchemaValueException as error:
        raise ConfigError(_complaint(error)) from None


def must_be(path: str, wanted: str, value: Any) -> ConfigError:
    """The complaint of a value at ``path``."""
    return ConfigError(f"{dotted(path)} must be {wanted}, not {short(value)}")


def version_complaint(content: Mapping[str, Any], wanted: str) -> str | None:
    """The difference of the schema that ``content`` names from ``wanted``, its name and version; None where it is
    that."""
    found = content.get("schema")
    if found == wanted:
        return None
    # an older file of ours deserves another word than a file of something else
    name, _, version = wanted.partition("/")
    of, _, number = found.partition("/") if isinstance(found, str) else ("", "", "")
    if of != name or not number.isascii() or not number.isdigit() or len(number) > 9:
        return f"schema must be {wanted!r}, not {short(found)}"
    age = "an older" if int(number) < int(version) else "a newer"
    return f"of {age} version, {found!r}, where this rbdgen reads {wanted!r}"


def _complaint(error: Any) -> str:
    """The fault that fastjsonschema found, in a line."""
    _, _, path = error.name.partition(".")
    definition, value = error.definition, error.value
    if error.rule == "required":
        missing = next(key for key in definition["required"] if key not in value)
        return f"lacks {dotted(path, missing)}"
    if error.rule == "dependencies":
        keys = (
            key
            for have, keys in definition["dependencies"].items()
            if have in value
            for key in keys
        )
        missing = next(key for key in keys if key not in value)
        return f"lacks {dotted(path, missing)}"
    if error.rule == "additionalProperties":
        known = definition.get("properties", {})
        unknown = next(key for key in value if key not in known and not _named(key, definition))
        return f"{dotted(path) or 'it'} must not have the key {short(unknown)}"
    return str(must_be(path or "it", _demand(definition), value))


def _named(key: str, definition: Mapping[str, Any]) -> bool:
    """Whether a key is one of an object's names."""
    return bool(definition.get("patternProperties")) and key.isidentifier() and key.isascii()


def _demand(definition: Mapping[str, Any]) -> str:
    """A definition's demand in words."""
    if "enum" in definition:
        return f"one of {', '.join(definition['enum'])}"
    kinds = definition["type"]
    kinds = [kinds] if isinstance(kinds, str) else kinds
    text = definition.get("title") or " or ".join(KINDS[kind] for kind in kinds)
    if "minimum" in definition and "array" not in kinds:
        text += f" from {definition['minimum']:g} to {definition['maximum']:g}"
    if "minItems" in definition:
        least, most = definition["minItems"], definition["maxItems"]
        text += f" of {least}" + (f" to {most}" if most > least else "")
    if "maxLength" in definition and "title" not in definition:
        text += f" of at most {definition['maxLength']} characters"
    if definition.get("minProperties"):
        text += " that is not empty"
    return text


DEEPEST = 40
"""Largest depth of objects and lists inside each other."""
MOST_DIGITS = 4000
"""Of a number: Python's own limit is hardly more."""
LARGEST_INTEGER = 10**MOST_DIGITS
"""From there on a whole number has more."""


def read_json(path: Path, missing: str, remedy: str) -> dict[str, Any]:
    """The object in a JSON file. ConfigError naming the file, what is wrong with it, and the ``remedy``; ``missing``:
    that for a file that is not there."""
    return read_object(path, "JSON", missing, remedy, _json)


def read_object(
    path: Path, kind: str, missing: str, remedy: str, parse: Callable[[str], Any]
) -> dict[str, Any]:
    """The same of a file of another ``kind``, whose text ``parse`` reads; it raises ValueError for one that is none."""
    try:
        content = parse(path.read_text(encoding="utf-8"))
        too_deep = not _check_depth(content)
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; {missing}") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}; {remedy}") from None
    except RecursionError:
        # the parser gave up before the depth could be counted
        content, too_deep = None, True
    except ValueError as error:
        raise ConfigError(f"{path}: must be a {kind} file: {error}; {remedy}") from None
    if too_deep:
        raise ConfigError(f"{path}: must be nested at most {DEEPEST} deep; {remedy}")
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: must hold a {kind} object; {remedy}")
    return content


def _json(text: str) -> Any:
    # Python reads NaN and numbers of any length, which no other reader does
    return json.loads(text, parse_constant=_no_constant, parse_float=_float, parse_int=_integer)


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is too large for 64 bits")
    return value


def _integer(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a number has {len(text)} digits")
    return int(text)


def plain_fault(content: Any) -> str | None:
    """Something in an object that no JSON file holds, by its path, in a line; None where it could have been read."""
    if not isinstance(content, Mapping):
        return f"must be an object, not {short(content)}"
    level: list[tuple[str, Any]] = [("", content)]
    for _ in range(DEEPEST + 1):
        inner: list[tuple[str, Any]] = []
        for path, value in level:
            if isinstance(value, Mapping):
                unnamed = next((key for key in value if not isinstance(key, str)), None)
                if unnamed is not None:
                    return f"{dotted(path) or 'it'} must have names for keys, not {short(unnamed)}"
                inner += [(f"{path}.{key}".lstrip("."), own) for key, own in value.items()]
            elif isinstance(value, list | tuple):
                inner += [(f"{path}[{k}]", own) for k, own in enumerate(value)]
            elif isinstance(value, float) and not math.isfinite(value):
                return f"{dotted(path)} must be finite, not {short(value)}"
            elif isinstance(value, int) and abs(value) >= LARGEST_INTEGER:
                return f"{dotted(path)} must have at most {MOST_DIGITS} digits, not {short(value)}"
            elif not isinstance(value, str | int | float | bool | None):
                return f"{dotted(path)} must be a value of JSON, not {short(value)}"
        level = inner
    return f"must be nested at most {DEEPEST} deep" if level else None


def _check_depth(content: Any) -> bool:
    """Whether objects and lists are at most so deep inside each other. ValueError for text that no file can hold."""
    level = [content]
    for _ in range(DEEPEST + 1):
        inner: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                inner += [*value, *value.values()]
            elif isinstance(value, list):
                inner += value
            elif isinstance(value, str) and not value.isascii():
                # a lone surrogate is text for Python, and nothing that can be written
                value.encode()
        level = inner
    return not level


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
