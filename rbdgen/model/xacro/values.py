"""Values that only xacro's expressions have: functions and namespaces. An attribute of any value is one of a list that
is written here, or it is not there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rbdgen.errors import short
from rbdgen.model.xacro.budget import LONGEST_TEXT, WIDEST, Budget, XacroError
from rbdgen.model.xacro.texts import formatted


@dataclass(frozen=True, repr=False)
class Function:
    """What an expression may call. ``kind``: the type that it converts to, if it does."""

    name: str
    call: Callable[..., Any]
    kind: type | None = None

    def __repr__(self) -> str:
        return self.name


class Namespace:
    """Names behind a point."""

    def __init__(self, name: str, names: Mapping[str, Any]) -> None:
        self.name = name
        self.names = names

    def get(self, name: str) -> Any:
        """The value of a name."""
        if name not in self.names:
            raise XacroError(f"{self.name} has {short(name)}, which is not evaluated")
        return self.names[name]

    def __repr__(self) -> str:
        return self.name


_SEARCHED = "startswith endswith find rfind index rindex count"
_CHANGED = (
    "lower upper strip lstrip rstrip title capitalize swapcase casefold removeprefix removesuffix"
)
_PARTED = "split rsplit splitlines partition rpartition"
_ASKED = "isdigit isdecimal isnumeric isalpha isalnum isspace islower isupper isidentifier"
_OF_TEXTS = frozenset(f"{_SEARCHED} {_CHANGED} {_PARTED} {_ASKED}".split())
"""Methods of texts whose results are no longer than the text."""
_OF_LISTS = frozenset({"index", "count"})
_PADDING = frozenset({"zfill", "ljust", "rjust", "center"})


def method_of(value: Any, name: str, budget: Budget) -> Function | None:
    """The method ``name`` of a text, list, dictionary or number; None where it has none that may be called."""
    if isinstance(value, str):
        call = _of_text(value, name, budget)
    elif isinstance(value, dict):
        call = _of_dictionary(value, name, budget)
    elif isinstance(value, list | tuple) and name in _OF_LISTS:
        call = _walked(getattr(value, name), value, budget)
    elif isinstance(value, list) and name == "copy":
        call = value.copy
    elif isinstance(value, float) and name == "is_integer":
        call = value.is_integer
    else:
        call = None
    return None if call is None else Function(name, call)


def _walked(call: Callable[..., Any], value: Any, budget: Budget) -> Callable[..., Any]:
    """``call``, which compares what is in ``value`` with its argument."""

    def compared(item: Any, *bounds: int) -> Any:
        budget.walk(value, item)
        return call(item, *bounds)

    return compared


def _of_text(value: str, name: str, budget: Budget) -> Callable[..., Any] | None:
    def replaced(old: str, new: str, most: int = -1) -> str:
        count = value.count(old)
        if most >= 0:
            count = min(count, most)
        _room_for(len(value) + count * max(len(new) - len(old), 0))
        return value.replace(old, new, most)

    def joined(parts: Any) -> str:
        texts = budget.items(parts)
        between = len(value) * len(texts)
        _room_for(between + sum(map(len, texts)))
        return value.join(texts)

    def padded(width: int, *fill: str) -> str:
        if width > max(WIDEST, len(value)):
            raise XacroError(f"width {short(width)} is above {WIDEST}")
        return getattr(value, name)(width, *fill)

    if name in _OF_TEXTS:
        return getattr(value, name)
    if name in _PADDING:
        return padded
    own = {
        "replace": replaced,
        "join": joined,
        "format": lambda *given, **named: formatted(value, given, named, budget),
    }
    return own.get(name)


def _room_for(length: int) -> None:
    """XacroError for a text that would become too long."""
    if length > LONGEST_TEXT:
        raise XacroError(f"a text has more than {LONGEST_TEXT:,} characters")


def _of_dictionary(value: dict[Any, Any], name: str, budget: Budget) -> Callable[..., Any] | None:
    def got(key: Any, default: Any = None) -> Any:
        budget.walk(key)
        return value.get(key, default)

    own = {
        "get": got,
        "keys": lambda: list(value),
        "values": lambda: list(value.values()),
        "items": lambda: list(value.items()),
        "copy": value.copy,
    }
    return own.get(name)
