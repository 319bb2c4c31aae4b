"""Algorithms' texts over batches of states, with a NumPy array of states for every scalar.

Arguments are checked here, shapes and values, so that no golden function returns a silent NaN. Central differences are
there to check derivatives by.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from rbdgen.errors import ConfigError, SingularityError, short
from rbdgen.model.ranges import integrate
from rbdgen.model.robot import Robot
from rbdgen.numeric.tape import Recorded, Recorder, Tape, finished
from rbdgen.operands import check_finite, number_array, number_of, unit_error
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
    """Number of ``count`` states to evaluate together: parts of equal length."""
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
        # what is not finite is refused below
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
    # an entry's states in one piece of memory
    return tuple(np.ascontiguousarray(x[part].T))


SMALLEST_PIVOT = 1e-12
"""Below this, relative to the diagonal entry of M that it came from, a pivot counts as zero: its digits are lost."""


@dataclass(frozen=True, eq=False)  # arrays have no single truth
class RootMotion:
    """Motion of a robot's base, given from outside.

    ``velocity`` and ``acceleration`` (..., 6): [linear, angular] in the base's own frame, what v and its rate would be
    for a floating base's joint (the linear acceleration is the spatial one, as Pinocchio's ``data.a``: without ω × v).
    ``gravity`` (..., 3): in the base's own frame, m/s²; default: the robot's, for a base that is upright.
    """

    velocity: np.ndarray
    acceleration: np.ndarray
    gravity: np.ndarray | None = None


def argument(
    name: str, value: object, size: tuple[int, ...], batch: tuple[int, ...] | None
) -> np.ndarray:
    """``value`` as an array of leading shape ``batch`` (None: any) and ``size`` behind it. ConfigError naming ``name``
    for another shape or a value that is not finite."""
    array = number_array(name, value)
    axes = array.ndim - len(size)
    as_wide = axes >= 0 and array.shape[axes:] == size
    as_long = batch is None or array.shape[: max(axes, 0)] == batch
    if not as_wide or not as_long:
        shape = (*batch, *size) if batch else size
        expected = ", ".join(map(str, shape))
        lead = "" if batch is not None else "..., "
        raise ConfigError(f"{name}: must have shape ({lead}{expected}), not {array.shape}")
    check_finite(name, array)
    return array


def configuration(robot: Robot, q: object) -> np.ndarray:
    """``q`` (..., nq), checked joint by joint."""
    array = argument("q", q, (robot.nq,), None)
    for body, part, _ in robot.independent:
        fault = body.joint.fault(array[..., part])
        if fault is not None:
            raise unit_error("q", body.joint_name, fault)
    return array


def not_negative(name: str, value: object) -> float:
    """``value`` as Python's number. ConfigError naming ``name`` for one that is none, not finite or below zero."""
    number = number_of(value)
    if number is None or not 0 <= number < math.inf:
        raise ConfigError(f"{name}: must be a number of 0 or more, not {short(value)}")
    return float(number)


def choice(name: str, value: str, options: tuple[str, ...]) -> str:
    """``value``, which must be one of ``options``."""
    if value not in options:
        raise ConfigError(f"{name}: must be one of {', '.join(options)}, not {value!r}")
    return value


def require_positive_definite(robot: Robot, m: np.ndarray) -> None:
    """SingularityError naming joint and state unless every M of ``m`` (..., nv, nv) is positive definite.

    Eliminates from the last degree of freedom to the first; what is left on the diagonal then is the inertia that the
    joint moves when all joints beyond it are free.
    """
    batch = m.shape[:-2]
    # states last: each step is then one operation on long rows
    states = m.reshape(-1, robot.nv, robot.nv)
    work = np.ascontiguousarray(np.moveaxis(states, 0, -1))
    whole = work[range(robot.nv), range(robot.nv)]
    names: list[str] = []
    for body in robot.bodies:
        names += [body.joint_name] * body.nv
    for k in reversed(range(robot.nv)):
        pivot, row = work[k, k], work[k, :k]
        # written so that what is not a number is bad too
        bad = ~(pivot > SMALLEST_PIVOT * whole[k])
        if np.any(bad):
            state = int(np.argmax(bad))
            at = f" at state {', '.join(map(str, np.unravel_index(state, batch)))}" if batch else ""
            raise SingularityError(
                f"robot {robot.name!r}: its mass matrix is not positive definite{at}: joint {names[k]!r} moves an "
                f"inertia of {pivot[state]:.3g}; mend the inertias beyond that joint, or ask for what needs no M⁻¹"
            )
        scaled = row / pivot
        # M is symmetric: its lower triangle is enough
        for i in range(k):
            work[i, : i + 1] -= scaled[i] * row[: i + 1]


STEP = 1e-5
"""Step of the central differences, in the units of v: near the third root of the rounding error."""


def central_differences(
    robot: Robot,
    function: Callable[[np.ndarray, np.ndarray], np.ndarray],
    q: np.ndarray,
    v: np.ndarray,
    step: float = STEP,
) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of ``function(q, v)`` by central differences, with respect to q (in the tangent space) and to v.

    ``q`` (..., nq), ``v`` (..., nv); ``function`` takes any leading shape and returns (..., n). Returns two arrays
    (..., n, nv). ConfigError for a wrong shape.
    """
    q = configuration(robot, q)
    v = argument("v", v, (robot.nv,), q.shape[:-1])
    # one leading dimension for the degrees of freedom
    single = (1,) * (q.ndim - 1)
    units = np.eye(robot.nv).reshape(robot.nv, *single, robot.nv)
    steps = units * step
    still = np.zeros_like(steps)

    def difference(dq: np.ndarray, dv: np.ndarray) -> np.ndarray:
        velocities = np.broadcast_to(v, dq.shape[:1] + v.shape)
        ahead = function(integrate(robot, q, dq), velocities + dv)
        behind = function(integrate(robot, q, -dq), velocities - dv)
        slope = (ahead - behind) / (2 * step)
        return np.moveaxis(slope, 0, -1)

    return difference(steps, still), difference(still, steps)
