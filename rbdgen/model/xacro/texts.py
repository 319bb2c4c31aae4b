"""Formatted texts, as ``%`` and ``format`` make them, with bounds on how wide they get."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

from rbdgen.errors import short
from rbdgen.model.xacro.budget import WIDEST, Budget, XacroError

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
        if number and (len(number) > 4 or int(number) > WIDEST):
            raise XacroError(f"a format's width or precision is above {WIDEST}")
