"""JSON files and others like them, read: whatever they hold, an object of plain values, or an error in one line."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rbdgen.errors import ConfigError, dotted, short

DEEPEST = 40
"""How deep objects and lists may be inside each other."""
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
        content, too_deep = None, True
    except ValueError as error:
        raise ConfigError(f"{path}: must be a {kind} file: {error}; {remedy}") from None
    if too_deep:
        raise ConfigError(f"{path}: must be nested at most {DEEPEST} deep; {remedy}")
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: must hold a {kind} object; {remedy}")
    return content


def _json(text: str) -> Any:
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
    """What an object holds that no JSON file does, by its path, in a line; None where it could have been read."""
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
                value.encode()
        level = inner
    return not level
