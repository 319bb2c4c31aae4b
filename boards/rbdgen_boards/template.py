"""A board's file to begin with: every key with what it means, and values of a board that is built as it stands."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

from rbdgen.schema.json_files import schema
from rbdgen_boards.board import PACKAGE

EXAMPLE = "example.toml"
"""File of this package with the values."""


def template() -> str:
    """The text of the file."""
    example = resources.files(PACKAGE).joinpath(EXAMPLE).read_text(encoding="utf-8")
    lines = [
        "# The board's documentation: https://",
        "# Every key of a board's file is here; those that begin with # are left out.",
        *_table(schema("board"), tomllib.loads(example), ""),
    ]
    return "\n".join(lines) + "\n"


def _table(definition: Mapping[str, Any], example: Mapping[str, Any], path: str) -> Iterator[str]:
    """Lines of a table: its plain keys, then the tables in it, as TOML has them."""
    keys = definition.get("properties", {})
    if path:
        # a table without values of its own here is left out, header and all
        yield f"{'' if example else '# '}[{path}]"
    for key, inner in keys.items():
        if inner["type"] == "object":
            continue
        yield _said(inner)
        value = example.get(key)
        yield f"# {key} =" if value is None else f"{key} = {json.dumps(value)}"
    for name, value in example.items() if not keys else ():
        yield f"{name} = {json.dumps(value)}"
    for key, inner in keys.items():
        if inner["type"] == "object":
            yield ""
            if "description" in inner:
                yield _said(inner)
            yield from _table(inner, example.get(key, {}), f"{path}.{key}".lstrip("."))


def _said(definition: Mapping[str, Any]) -> str:
    """A comment with what a key means; names need no quotes there."""
    return f"# {definition['description'].replace('`', '')}"
