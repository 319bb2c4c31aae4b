"""Operators of xacro's expressions: Python's on numbers, texts and lists, with bounds on what comes out."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from rbdgen.model.xacro.budget import LONGEST_TEXT, MOST_BITS, Budget, Items, XacroError
from rbdgen.model.xacro.texts import by_percent

_PLAIN: dict[type, Callable[[Any, Any], Any]] = {
    ast.Sub: operator.sub,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.Add: operator.add,
    ast.Mult: operator.mul,
}
_UNARY: dict[type, Callable[[Any], Any]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_COMPARED: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_ROWS = (str, list, tuple)
"""What can be joined and repeated."""


def binary(kind: type, a: Any, b: Any, budget: Budget) -> Any:
    """``a`` and ``b`` joined by an operator of :mod:`ast`."""
    if kind is ast.Mod and isinstance(a, str):
        return by_percent(a, b, budget)
    if isinstance(a, _ROWS) or isinstance(b, _ROWS):
        _room(kind, a, b, budget)
    elif isinstance(a, Items):
        budget.walk(a, b)
    elif kind is ast.Pow:
        return _power(a, b)
    elif kind is ast.LShift:
        if isinstance(b, int) and b > MOST_BITS:
            raise XacroError(f"a number has more than {MOST_BITS} bits")
        return operator.lshift(a, b)
    if kind not in _PLAIN:
        raise XacroError(f"operator {kind.__name__} is not for {type(a).__name__}")
    return _PLAIN[kind](a, b)


def unary(kind: type, a: Any) -> Any:
    """An operator on ``a``."""
    return _UNARY[kind](a)


def compared(kind: type, a: Any, b: Any, budget: Budget) -> bool:
    """Whether a comparison holds."""
    if kind in (ast.In, ast.NotIn):
        return _within(a, b, budget) is (kind is ast.In)
    if kind not in (ast.Is, ast.IsNot):
        budget.walk(a, b)
    return bool(_COMPARED[kind](a, b))


def _within(a: Any, b: Any, budget: Budget) -> bool:
    """Whether ``a`` is in ``b``."""
    if isinstance(b, range):
        # Python looks at each number where it is not asked for an integer
        return a in (b if isinstance(a, int) else budget.items(b))
    budget.walk(a)
    if not isinstance(b, dict | set | frozenset):
        budget.walk(b)
    return a in b


def _room(kind: type, a: Any, b: Any, budget: Budget) -> None:
    """Pay for a text or list that is about to be made."""
    count = 0
    row = a if isinstance(a, _ROWS) else b
    if kind is ast.Add and isinstance(b, _ROWS) and isinstance(a, _ROWS):
        count = len(a) + len(b)
    elif kind is ast.Mult:
        times = b if row is a else a
        count = len(row) * max(times, 0) if isinstance(times, int) else 0
    if not isinstance(row, str):
        budget.room(count)
    elif count > LONGEST_TEXT:
        raise XacroError(f"a text has more than {LONGEST_TEXT:,} characters")


def _power(a: Any, b: Any) -> Any:
    """``a`` to the ``b``, which is a real number."""
    whole = isinstance(a, int) and isinstance(b, int)
    if whole and b * (abs(a).bit_length() - 1) > MOST_BITS:
        raise XacroError(f"a number has more than {MOST_BITS} bits")
    result = operator.pow(a, b)
    if isinstance(result, complex):
        raise XacroError("a power of a negative number is no real number")
    return result
