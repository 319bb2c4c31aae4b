"""Evaluates an algorithm's text over a batch of states, with a NumPy array of states for every scalar."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rbdgen.errors import ConfigError
from rbdgen.spatial import Scalar

CHUNK = 1024
"""States that are evaluated together: enough that NumPy's cost per operation is shared, few enough for the cache."""

Entries = Mapping[Any, Scalar]
"""Entries of an output by index; those that are missing are zero."""


def evaluate(
    text: Callable[..., Sequence[Entries]],
    shapes: Sequence[tuple[int, ...]],
    batch: tuple[int, ...],
    operands: Sequence[np.ndarray | None],
) -> tuple[np.ndarray, ...]:
    """The outputs of ``text``, each of shape (\\*batch, \\*its shape).

    Every operand (\\*batch, \\*any) reaches ``text`` as a tuple of one-dimensional arrays, its entries in C order (None
    stays None). ConfigError if a result is not finite.
    """
    count = int(np.prod(batch, dtype=int))
    flat = [None if x is None else x.reshape(count, -1) for x in operands]
    results = tuple(np.zeros((count, *shape)) for shape in shapes)
    for begin in range(0, count, CHUNK):
        part = slice(begin, min(begin + CHUNK, count))
        columns = [None if x is None else tuple(np.ascontiguousarray(x[part].T)) for x in flat]
        with np.errstate(all="ignore"):
            for result, entries in zip(results, text(*columns), strict=True):
                for index, value in entries.items():
                    result[(part, *index) if isinstance(index, tuple) else (part, index)] = value
    for result in results:
        if not np.all(np.isfinite(result)):
            raise ConfigError("result: is beyond the largest number; give smaller positions, velocities or forces")
    return tuple(result.reshape(*batch, *shape) for result, shape in zip(results, shapes, strict=True))
