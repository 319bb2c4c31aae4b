"""Files' content against its schema: what is wrong is said by its path in the file, in one line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
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
    """How the schema that ``content`` names differs from ``wanted``, its name and version; None where it is that."""
    found = content.get("schema")
    if found == wanted:
        return None
    name, _, version = wanted.partition("/")
    of, _, number = found.partition("/") if isinstance(found, str) else ("", "", "")
    if of != name or not number.isascii() or not number.isdigit() or len(number) > 9:
        return f"schema must be {wanted!r}, not {short(found)}"
    age = "an older" if int(number) < int(version) else "a newer"
    return f"of {age} version, {found!r}, where this rbdgen reads {wanted!r}"


def _complaint(error: Any) -> str:
    """What fastjsonschema found, in a line."""
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
    """What a definition asks for, in words."""
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
