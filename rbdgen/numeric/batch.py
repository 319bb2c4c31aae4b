"""Evaluates an algorithm's text over a batch of states, with a NumPy array of states for every scalar."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from rbdgen.errors import ConfigError
from rbdgen.model.robot import Robot
from rbdgen.numeric.tape import Recorded, Recorder, Tape, finished
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
"""``text(robot, variant, *operands)``: outputs of an algorithm, of the composite or the textbook family."""


@dataclass(frozen=True)
class _TextRecording:
    """A tape, and for each of the text's outputs the index of each entry and its value: a number of the tape's results
    (int) or a constant (float)."""

    tape: Tape
    outputs: tuple[tuple[tuple[Any, int | float], ...], ...]


@lru_cache(maxsize=TAPES)
def recording(
    text: Text, robot: Robot, variant: Hashable, sizes: tuple[int | None, ...]
) -> _TextRecording | None:
    """The text for this robot and operands of these sizes (None: no such operand); None if it is too long."""
    recorder = Recorder(LONGEST_TAPE)
    try:
        operands = [_recorded_operand(recorder, size) for size in sizes]
        outputs = text(robot, variant, *operands)
    except OverflowError:
        return None
    numbers: dict[int, int] = {}
    placed = []
    for entries in outputs:
        row = []
        for index, x in entries.items():
            if isinstance(x, Recorded):
                value = numbers.setdefault(x.number, len(numbers))
            else:
                value = float(x)
            row.append((index, value))
        placed.append(tuple(row))
    return _TextRecording(finished(recorder, list(numbers)), tuple(placed))


def _recorded_operand(recorder: Recorder, size: int | None) -> Vector | None:
    """An operand of this size; None for one that is not there."""
    if size is None:
        return None
    return tuple(recorder.operand() for _ in range(size))


def played(
    recorded: _TextRecording, operands: Sequence[Vector | None], memory: np.ndarray
) -> Sequence[Entries]:
    """The text's outputs, from its tape."""
    given: list[Scalar] = []
    for vector in operands:
        given += vector or ()
    results = recorded.tape.play(given, memory)
    outputs = []
    for row in recorded.outputs:
        entries: dict[Any, Scalar] = {}
        for index, x in row:
            entries[index] = results[x] if isinstance(x, int) else x
        outputs.append(entries)
    return outputs


def _length(count: int, recorded: _TextRecording | None) -> int:
    """How many of ``count`` states to evaluate together: parts of equal length."""
    largest = CHUNK
    if recorded is not None:
        in_cache = CACHE // max(1, recorded.tape.rows)
        largest = max(1, min(CHUNK, in_cache))
    parts = max(1, math.ceil(count / largest))
    return max(1, math.ceil(count / parts))


def evaluate(
    text: Text,
    robot: Robot,
    variant: Hashable,
    shapes: Sequence[tuple[int, ...]],
    batch: tuple[int, ...],
    operands: Sequence[np.ndarray | None],
) -> tuple[np.ndarray, ...]:
    """The outputs of ``text``, with the leading shape ``batch`` and their own ``shapes`` behind it.

    Every operand, of leading shape ``batch`` and any behind it, reaches ``text`` as a tuple of one-dimensional arrays,
    its entries in C order (None stays None). ConfigError if a result is not finite.
    """
    count = math.prod(batch)
    flat = [_flattened(x, len(batch), count) for x in operands]
    sizes = tuple(None if x is None else x.shape[1] for x in flat)
    recorded = recording(text, robot, variant, sizes)
    results = tuple(np.zeros((count, *shape)) for shape in shapes)
    length = _length(count, recorded)
    memory = recorded.tape.memory(length) if recorded else np.empty((0, 0))
    for begin in range(0, count, length):
        part = slice(begin, min(begin + length, count))
        columns = [_columns(x, part) for x in flat]
        with np.errstate(all="ignore"):
            if recorded:
                outputs = played(recorded, columns, memory[:, : part.stop - begin])
            else:
                outputs = text(robot, variant, *columns)
            for result, entries in zip(results, outputs, strict=True):
                for index, value in entries.items():
                    result[(part, *index)] = value
    shaped = []
    for result, shape in zip(results, shapes, strict=True):
        if not np.all(np.isfinite(result)):
            raise ConfigError(
                "result: is beyond the largest number; give smaller positions, velocities or forces"
            )
        shaped.append(result.reshape(*batch, *shape))
    return tuple(shaped)


def _flattened(x: np.ndarray | None, axes: int, count: int) -> np.ndarray | None:
    """An operand by state, (count, entries in C order), from one with ``axes`` leading axes."""
    if x is None:
        return None
    return x.reshape(count, math.prod(x.shape[axes:]))


def _columns(x: np.ndarray | None, part: slice) -> Vector | None:
    """Some states of a flattened operand, by entry."""
    if x is None:
        return None
    return tuple(np.ascontiguousarray(x[part].T))
