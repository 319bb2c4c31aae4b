"""Vectors and matrices of abstract scalars: the algebra in which every algorithm is written once.

A scalar is a Python float (a constant), a NumPy array (a batch of float64 values) or a traced
expression of :mod:`rbdgen.ir`. Vectors are tuples of scalars, matrices tuples of rows. Exact zeros
and ones among the constants are folded here, so that float64 evaluation skips them as well.

A text enters the submodule of the round trip that it is writing (:data:`Enter`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

Scalar = Any
Vector = tuple[Scalar, ...]
Matrix = tuple[tuple[Scalar, ...], ...]
Entries = dict[Any, Scalar]
"""Entries of a matrix by row and column; those that are missing are zero."""

ZERO3: Vector = (0.0, 0.0, 0.0)
IDENTITY3: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def is_constant(x: Scalar, value: float) -> bool:
    """Whether ``x`` is the Python constant ``value`` (an array or expression never is)."""
    # the type first: an array would compare entry by entry
    return isinstance(x, (int, float)) and x == value


def add(a: Scalar, b: Scalar) -> Scalar:
    """a + b."""
    if is_constant(a, 0):
        return b
    if is_constant(b, 0):
        return a
    return a + b


def sub(a: Scalar, b: Scalar) -> Scalar:
    """a − b."""
    if is_constant(b, 0):
        return a
    if is_constant(a, 0):
        return -b
    return a - b


def mul(a: Scalar, b: Scalar) -> Scalar:
    """a · b."""
    if is_constant(a, 0) or is_constant(b, 0):
        return 0.0
    if is_constant(a, 1):
        return b
    if is_constant(b, 1):
        return a
    if is_constant(a, -1):
        return -b
    if is_constant(b, -1):
        return -a
    return a * b


FLOAT64: dict[str, np.ufunc] = {
    "sin": np.sin,
    "cos": np.cos,
    "reciprocal": np.reciprocal,
    "divide": np.divide,
    "abs": np.absolute,
}
"""Operations beside sums and products, by name, as float64 has them."""
OPERATORS: dict[str, Callable[..., Scalar]] = {
    "reciprocal": lambda x: 1.0 / x,
    "divide": operator.truediv,
    "abs": abs,
}
"""Those that Python has operators for, which arrays of other libraries take as well."""


def apply(name: str, *args: Scalar) -> Scalar:
    """An operation of :data:`FLOAT64`, of arrays and constants, or of what is being traced or recorded."""
    for x in args:
        # asked of the scalar, as this module knows neither graphs nor tapes
        if hasattr(x, "apply"):
            return x.apply(name, args)
    function = OPERATORS.get(name, FLOAT64[name])
    return function(*args)


def sin(x: Scalar) -> Scalar:
    """Sine of an angle in radians."""
    return apply("sin", x)


def cos(x: Scalar) -> Scalar:
    """Cosine of an angle in radians."""
    return apply("cos", x)


def reciprocal(x: Scalar) -> Scalar:
    """1 / x."""
    return apply("reciprocal", x)


def divide(y: Scalar, x: Scalar) -> Scalar:
    """y / x of an x above zero; more precise than y times the reciprocal where that spans powers of two."""
    return 0.0 if is_constant(y, 0) else apply("divide", y, x)


def absolute(x: Scalar) -> Scalar:
    """|x|."""
    return apply("abs", x)


def negated_matrix_product(left: Entries, right: Entries) -> Entries | None:
    """−(left · right) as one operation, by row and column; None where these scalars have it entry by entry."""
    for x in left.values():
        if hasattr(x, "negated_matrix_product"):
            return x.negated_matrix_product(left, right)
    return None


def vadd(*vectors: Vector) -> Vector:
    """Sum of vectors, from left to right."""
    total = vectors[0]
    for v in vectors[1:]:
        pairs = zip(total, v, strict=True)
        total = tuple(add(a, b) for a, b in pairs)
    return total


def vsub(a: Vector, b: Vector) -> Vector:
    """a − b, element by element."""
    pairs = zip(a, b, strict=True)
    return tuple(sub(x, y) for x, y in pairs)


def vscale(s: Scalar, v: Vector) -> Vector:
    """s · v."""
    return tuple(mul(s, x) for x in v)


def dot(a: Vector, b: Vector) -> Scalar:
    """aᵀ b, summed from left to right."""
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        total = add(total, mul(x, y))
    return total


def cross(a: Vector, b: Vector) -> Vector:
    """a × b of 3-vectors."""
    ax, ay, az = a
    bx, by, bz = b
    x = sub(mul(ay, bz), mul(az, by))
    y = sub(mul(az, bx), mul(ax, bz))
    z = sub(mul(ax, by), mul(ay, bx))
    return (x, y, z)


def matvec(m: Matrix, v: Vector) -> Vector:
    """M v."""
    return tuple(dot(row, v) for row in m)


def transpose(m: Matrix) -> Matrix:
    """Mᵀ."""
    return tuple(zip(*m, strict=True))


def matmul(a: Matrix, b: Matrix) -> Matrix:
    """A B."""
    columns = transpose(b)
    rows = []
    for row in a:
        entries = tuple(dot(row, column) for column in columns)
        rows.append(entries)
    return tuple(rows)


def identity(size: int) -> Matrix:
    """The identity of so many rows."""
    rows = []
    for i in range(size):
        rows.append(tuple(1.0 if j == i else 0.0 for j in range(size)))
    return tuple(rows)


def madd(*matrices: Matrix) -> Matrix:
    """Sum of matrices, from left to right."""
    return tuple(vadd(*rows) for rows in zip(*matrices, strict=True))


def msub(a: Matrix, b: Matrix) -> Matrix:
    """A − B."""
    pairs = zip(a, b, strict=True)
    return tuple(vsub(x, y) for x, y in pairs)


def constant_vector(v: Sequence[float] | np.ndarray) -> Vector:
    """An array of floats as a tuple of Python floats (negative zero becomes zero)."""
    return tuple(float(x) + 0.0 for x in v)


def constant_matrix(m: Sequence[Sequence[float]] | np.ndarray) -> Matrix:
    """A 2-D array of floats as a tuple of rows of Python floats."""
    return tuple(constant_vector(row) for row in m)


def skew(v: Vector) -> Matrix:
    """The matrix of v ×, so that skew(v) x = v × x."""
    x, y, z = v
    return (
        # ``sub`` in place of a sign: of a constant zero it makes 0.0, not −0.0
        (0.0, sub(0.0, z), y),
        (z, 0.0, sub(0.0, x)),
        (sub(0.0, y), x, 0.0),
    )


TRIGONOMETRY = "Sc"
"""The submodule that makes sines and cosines of all joint angles."""

Enter = Callable[[str, int | None], AbstractContextManager[None]]
"""``enter("Rf", i)`` is entered around the text of submodule Rf_i (None: a submodule of the whole robot)."""


def anywhere(kind: str, body: int | None) -> AbstractContextManager[None]:
    """For evaluation in numbers, where submodules do not matter."""
    return nullcontext()
