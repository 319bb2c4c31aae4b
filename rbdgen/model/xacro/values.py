"""Values of xacro's expressions, and what a file may take of them: so many steps in all, so much in one value.

An attribute of a value is one of a list that is written here, or it is not there. A file may come from anywhere, and an
expression of a few characters can ask for more than a machine has: texts are formatted here too, with bounds on their
width.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any

from rbdgen.errors import short

MOST_STEPS = 2_000_000
"""Of one file with all that it includes: a step is about a microsecond. Large robots take a fifth of it."""
LONGEST_TEXT = 100_000
"""Characters of one text."""
MOST_ITEMS = 100_000
"""Of one list."""
MOST_BITS = 4096
"""Of one integer."""
WIDEST = 100
"""Of what a format pads, and digits behind its point."""
CALL = 10
"""Steps of a call."""
_PER_STEP = 16
"""Characters that are read or written in a step."""

Items = list | tuple | dict | set | frozenset
"""Types that hold other values."""


class XacroError(Exception):
    """Something that cannot be expanded, and why. ``remedy`` says what to do where the file is not to blame."""

    def __init__(self, reason: str, remedy: str = "mend the file at that place") -> None:
        super().__init__(reason)
        self.remedy = remedy


class Budget:
    """The steps that are left to a file while it is expanded."""

    def __init__(self, steps: int = MOST_STEPS) -> None:
        self.steps = steps
        self.left = steps

    def spend(self, steps: int) -> None:
        """Take ``steps``; XacroError where so many are not left."""
        self.left -= steps
        if self.left < 0:
            raise XacroError(
                f"takes more than {self.steps:,} steps", "look for loops and macros that never end"
            )

    def read(self, text: str) -> str:
        """A ``text``, paid for."""
        if len(text) > LONGEST_TEXT:
            raise XacroError(f"a text has more than {LONGEST_TEXT:,} characters")
        self.spend(1 + len(text) // _PER_STEP)
        return text

    def room(self, count: int) -> None:
        """Pay for ``count`` items of a list that is about to be made."""
        if count > MOST_ITEMS:
            raise XacroError(f"a list has more than {MOST_ITEMS:,} items")
        self.spend(max(count, 0))

    def kept(self, value: Any) -> Any:
        """A ``value`` that was computed, if it is of a size that is kept."""
        if isinstance(value, str):
            return self.read(value)
        if isinstance(value, int):
            if value.bit_length() > MOST_BITS:
                raise XacroError(f"a number has more than {MOST_BITS} bits")
        elif isinstance(value, Items):
            self.room(len(value))
        return value

    def items(self, value: Any) -> list[Any]:
        """The items of a list, a text, a range or a dictionary (its keys)."""
        if not isinstance(value, Items | str | range):
            raise XacroError(f"{type(value).__name__} is no list")
        self.room(_length(value))
        return list(value)

    def walk(self, *values: Any) -> None:
        """Pay for all that ``values`` hold, each as often as it is met: what comparing or writing them takes."""
        # without recursion: values may be nested deeper than Python's stack
        ahead = list(values)
        while ahead:
            value = ahead.pop()
            self.spend(1)
            if isinstance(value, dict):
                ahead += value.keys()
                ahead += value.values()
                self.spend(len(value))
            elif isinstance(value, Items):
                ahead += value
                self.spend(len(value))
            elif isinstance(value, str):
                self.read(value)

    def text(self, value: Any) -> str:
        """A value as text."""
        if isinstance(value, str):
            return value
        self.walk(value)
        return self.read(str(value))


def _length(value: Sized) -> int:
    """Items of a list or a range; a range may have more than Python counts."""
    try:
        return len(value)
    except OverflowError:
        return MOST_ITEMS + 1


_PERCENT = re.compile(r"%(?:\((\w+)\))?([-+ #0]*)(\d*)(\.\d*)?([diouxXeEfFgGcrs%]?)")
_SPECIFICATION = re.compile(
    r"(?:.?[<>=^])?[-+ ]?#?0?(\d*)[,_]?(?:\.(\d+))?[bcdeEfFgGosxX%]?", re.DOTALL
)


def by_percent(template: str, given: Any, budget: Budget) -> str:
    """``template % given``."""
    left = list(given) if isinstance(given, tuple) else [given]
    by_name = given if isinstance(given, dict) else {}

    def written(match: re.Match[str]) -> str:
        name, flags, width, digits, kind = match.groups()
        _bounded(width, (digits or "")[1:])
        if kind == "%":
            return "%"
        if not kind or not (name in by_name if name else left):
            raise XacroError(f"{short(template)} has not as many values as it writes")
        value = by_name[name] if name else left.pop(0)
        # written here, where it is paid for
        if kind in "rs":
            budget.walk(value)
            value = budget.read(repr(value) if kind == "r" else str(value))
            kind = "s"
        return budget.read(f"%{flags}{width}{digits or ''}{kind}" % (value,))

    result = budget.read(_PERCENT.sub(written, budget.read(template)))
    if left and not isinstance(given, dict):
        raise XacroError(f"{short(template)} writes fewer values than it is given")
    return result


def formatted(template: str, given: Sequence[Any], named: Mapping[str, Any], budget: Budget) -> str:
    """``template.format(*given, **named)``, of values themselves: not of their attributes or items."""
    parts = []
    count = 0
    for text, field, specification, conversion in string.Formatter().parse(template):
        parts.append(text)
        if field is None:
            continue
        if not field:
            field = str(count)
            count += 1
        if not field.isidentifier() and not field.isdecimal():
            raise XacroError(f"{short(template)} has {short(field)}, which is not evaluated")
        value = given[int(field)] if field.isdecimal() else named[field]
        parts.append(written_as(value, specification or "", conversion, budget))
        budget.spend(1)
    return budget.read("".join(parts))


def written_as(value: Any, specification: str, conversion: str | None, budget: Budget) -> str:
    """A value by a format's ``specification``."""
    match = _SPECIFICATION.fullmatch(specification)
    if match is None:
        raise XacroError(f"format {short(specification)} is not known")
    _bounded(match.group(1), match.group(2))
    if conversion == "r":
        budget.walk(value)
        value = budget.read(repr(value))
    elif conversion or not isinstance(value, int | float | str):
        value = budget.text(value)
    return budget.read(format(value, specification))


def _bounded(*numbers: str | None) -> None:
    """XacroError for a width or precision that is too large."""
    for number in numbers:
        # digits may be more than Python reads as a number
        if number and (len(number) > 4 or int(number) > WIDEST):
            raise XacroError(f"a format's width or precision is above {WIDEST}")


@dataclass(frozen=True, repr=False)
class Function:
    """A function that an expression may call. ``kind``: the type that it converts to, if it does."""

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
        # before it is made
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
