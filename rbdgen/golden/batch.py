"""Evaluates an algorithm's text over a batch of states, with a NumPy array of states for every scalar."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from rbdgen.errors import ConfigError
from rbdgen.golden.tape import Recorded, Recorder, Tape, finished
from rbdgen.model.robot import Robot
from rbdgen.spatial import Scalar, Vector

CHUNK = 4096
"""States that are evaluated together at most: beyond, NumPy's cost per operation no longer matters."""
CACHE = 1 << 21
"""Numbers that a tape's memory should hold at most, so that it stays in a processor's cache."""
LONGEST_TAPE = 300_000
"""Operations: longer texts, of very long chains, are evaluated without a tape, lest that fill the memory."""
TAPES = 32
"""Tapes that are kept: each is one function of one robot."""

Entries = Mapping[Any, Scalar]
"""Entries of an output by index; those that are missing are zero."""
Text = Callable[..., Sequence[Entries]]
"""``text(robot, composite, *operands)``: outputs of an algorithm, of the composite or the textbook family."""


@dataclass(frozen=True)
class _Recording:
    """A tape, and for each of the text's outputs the index of each entry and its value: a number of the tape's results
    (int) or a constant (float)."""

    tape: Tape
    outputs: tuple[tuple[tuple[Any, int | float], ...], ...]


@lru_cache(maxsize=TAPES)
def recording(text: Text, robot: Robot, composite: bool, sizes: tuple[int | None, ...]) -> _Recording | None:
    """The text for this robot and operands of these sizes (None: no such operand); None if it is too long."""
    recorder = Recorder(LONGEST_TAPE)
    try:
        operands = [None if n is None else tuple(recorder.operand() for _ in range(n)) for n in sizes]
        outputs = text(robot, composite, *operands)
    except OverflowError:
        return None
    numbers: dict[int, int] = {}
    placed = []
    for entries in outputs:
        row = []
        for index, x in entries.items():
            value = numbers.setdefault(x.number, len(numbers)) if isinstance(x, Recorded) else float(x)
            row.append((index, value))
        placed.append(tuple(row))
    return _Recording(finished(recorder, list(numbers)), tuple(placed))


def played(recorded: _Recording, operands: Sequence[Vector | None], memory: np.ndarray) -> Sequence[Entries]:
    """The text's outputs, from its tape."""
    results = recorded.tape.play([x for vector in operands if vector is not None for x in vector], memory)
    return [{i: results[x] if isinstance(x, int) else x for i, x in row} for row in recorded.outputs]


def _length(count: int, recorded: _Recording | None) -> int:
    """How many of ``count`` states to evaluate together: parts of equal length."""
    largest = CHUNK if recorded is None else max(1, min(CHUNK, CACHE // max(1, recorded.tape.places)))
    parts = max(1, math.ceil(count / largest))
    return max(1, math.ceil(count / parts))


def evaluate(
    text: Text,
    robot: Robot,
    composite: bool,
    shapes: Sequence[tuple[int, ...]],
    batch: tuple[int, ...],
    operands: Sequence[np.ndarray | None],
) -> tuple[np.ndarray, ...]:
    """The outputs of ``text``, with the leading shape ``batch`` and their own ``shapes`` behind it.

    Every operand, of leading shape ``batch`` and any behind it, reaches ``text`` as a tuple of one-dimensional arrays,
    its entries in C order (None stays None). ConfigError if a result is not finite.
    """
    count = math.prod(batch)
    flat = [None if x is None else x.reshape(count, math.prod(x.shape[len(batch) :])) for x in operands]
    recorded = recording(text, robot, composite, tuple(None if x is None else x.shape[1] for x in flat))
    results = tuple(np.zeros((count, *shape)) for shape in shapes)
    length = _length(count, recorded)
    memory = recorded.tape.memory(length) if recorded else np.empty((0, 0))
    for begin in range(0, count, length):
        part = slice(begin, min(begin + length, count))
        columns = [None if x is None else tuple(np.ascontiguousarray(x[part].T)) for x in flat]
        with np.errstate(all="ignore"):
            if recorded:
                outputs = played(recorded, columns, memory[:, : part.stop - begin])
            else:
                outputs = text(robot, composite, *columns)
            for result, entries in zip(results, outputs, strict=True):
                for index, value in entries.items():
                    result[(part, *index)] = value
    for result in results:
        if not np.all(np.isfinite(result)):
            raise ConfigError("result: is beyond the largest number; give smaller positions, velocities or forces")
    return tuple(result.reshape(*batch, *shape) for result, shape in zip(results, shapes, strict=True))
