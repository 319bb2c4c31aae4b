"""Numbers that users give: what counts as one, and what every operand must be, whoever takes it.

A number is one of Python's, a scalar of NumPy's or an array without dimensions; the algebra of algorithms asks another
question (:func:`rbdgen.spatial.is_constant`). Operands are finite numbers, and vectors of unit length where they are
rotations: the golden model, compiled functions and drivers check by these. Not here: shapes, which each of them knows.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from rbdgen.errors import ConfigError, short

LARGEST = 1e30
"""Largest length, angle, mass or moment that is read, lest products overflow. Limits may be larger."""
UNIT_TOLERANCE = 1e-6
"""Largest distance of the square of a unit vector's length in q from 1."""
UNIT_VECTORS = {2: "(cos, sin)", 4: "a quaternion (x, y, z, w)"}
"""Names of unit vectors, by the number of their entries."""
_NUMBERS = "biuf"
"""Kinds of NumPy's types that are real numbers; what is true or false is 1 or 0."""


def number_array(name: str, value: object) -> np.ndarray:
    """``value`` as an array of float64, of any shape. ConfigError naming ``name`` where it is none of real numbers,
    such as a text, a complex number or lists of unequal lengths."""
    try:
        array = np.asarray(value)
        # converted, texts would become numbers, and complex ones real
        fits = array.dtype.kind in _NUMBERS or _holds_numbers(array)
        if fits:
            return array.astype(float, copy=False)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ConfigError(f"{name}: must be an array of numbers, not {_described(value)}")


def check_finite(name: str, array: np.ndarray) -> None:
    """ConfigError naming ``name`` for an array that holds a value that is not finite."""
    finite = np.isfinite(array)
    if not finite.all():
        wrong = array[~finite]
        raise ConfigError(f"{name}: must be finite, holds {wrong.flat[0]}")


def number(name: str, value: object) -> float:
    """``value``, one finite number. ConfigError naming ``name`` for anything else."""
    array = number_array(name, value)
    if array.ndim:
        raise ConfigError(f"{name}: must be one number, not an array of shape {array.shape}")
    check_finite(name, array)
    return float(array)


def unit_fault(vectors: np.ndarray) -> str | None:
    """The fault of ``vectors`` (..., k) that must be of unit length, a (cos, sin) or a quaternion, in words."""
    if not vectors.size:
        return None
    squares = np.einsum("...k,...k->...", vectors, vectors)
    worst = float(np.max(np.abs(squares - 1.0)))
    if worst <= UNIT_TOLERANCE:
        return None
    return f"must be {UNIT_VECTORS[vectors.shape[-1]]} of unit length, is off by {worst:.3g}"


def unit_error(name: str, joint: str, fault: str) -> ConfigError:
    """The complaint of a ``joint``'s part of the operand ``name``."""
    return ConfigError(f"{name}: joint {joint!r} {fault}")


def _holds_numbers(array: np.ndarray) -> bool:
    """Whether an array of Python's objects holds real numbers only."""
    return array.dtype.kind == "O" and all(isinstance(x, Real) for x in array.flat)


def _described(value: object) -> str:
    """A value by its type, with that of an array's entries."""
    kind = type(value).__name__
    return f"{kind} of {value.dtype.name}" if isinstance(value, np.ndarray) else kind


def _plain(value: Any) -> Any:
    """A NumPy scalar or an array without dimensions, whoever made it, as Python has it; others as they are."""
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        return value.item()
    return value


def number_of(value: Any) -> int | float | None:
    """``value`` as Python's number, whole where it is of a whole type; None where it is no number, as a truth is
    none."""
    plain = _plain(value)
    # Python's truths are whole numbers as well
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
