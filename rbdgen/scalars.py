"""What counts as a number where users give one: Python's numbers, NumPy's scalars and arrays without dimensions.

The one owner of that question. The algebra of algorithms has another one (:func:`rbdgen.spatial.is_constant`).
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from rbdgen.errors import ConfigError, short


def _plain(value: Any) -> Any:
    """A NumPy scalar or an array without dimensions, whoever made it, as Python has it; others as they are."""
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        return value.item()
    return value


def number_of(value: Any) -> int | float | None:
    """``value`` as Python's number, whole where it is of a whole type; None where it is no number, as a truth is
    none."""
    plain = _plain(value)
    if isinstance(plain, bool):
        return None
    if isinstance(plain, Integral):
        return int(plain)
    return float(plain) if isinstance(plain, Real) else None


def truth_of(value: Any) -> bool | None:
    """``value`` as Python's truth; None where it is none, as a number is none."""
    plain = _plain(value)
    return plain if isinstance(plain, bool) else None


def several_of(value: Any) -> list[Any] | None:
    """The entries of a list, a tuple or an array; None of anything else."""
    if isinstance(value, list | tuple):
        return list(value)
    if getattr(value, "ndim", 0) > 0 and hasattr(value, "tolist"):
        return value.tolist()
    return None


def numbers_of(where: str, value: Any) -> list[float]:
    """The numbers that ``value`` is: one, or several in a row. ConfigError naming ``where`` for anything else."""
    entries = several_of(value)
    numbers = [number_of(x) for x in ([value] if entries is None else entries)]
    found = [x for x in numbers if x is not None]
    if len(found) < len(numbers):
        raise ConfigError(f"{where}: must be a number, or numbers in a row, not {short(value)}")
    try:
        return [float(x) for x in found]
    except OverflowError:  # a whole number larger than any double
        raise ConfigError(f"{where}: has a number beyond all floats: {short(value)}") from None
