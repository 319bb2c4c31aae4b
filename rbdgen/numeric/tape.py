"""Records an algorithm's text once per robot, to evaluate it again and again without the text.

The operations are recorded as the text makes them: equal ones once, those that no result needs not at all, none
rewritten. So a tape computes the very bits that the text does, and the golden model shares nothing with the graphs that
hardware is made from (:mod:`rbdgen.ir`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rbdgen.spatial import FLOAT64

Operation = tuple[str, int, int]
"""Name and arguments: numbers of earlier operations, −1 for none. Of ``operand`` and ``constant``: which one."""

COMMUTATIVE = ("add", "mul")
FUNCTIONS: dict[str, np.ufunc] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "neg": np.negative,
    **FLOAT64,
}
"""Functions of all operations by name."""


class Recorder:
    """A recording of operations, ``limit`` of them at most, OverflowError beyond."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.operations: list[Operation] = []
        self.constants: list[float] = []
        self.operands = 0
        self._known: dict[Operation, int] = {}
        self._constants: dict[float, int] = {}

    def record(self, name: str, a: int, b: int = -1) -> Recorded:
        """The operation ``name`` of earlier ones."""
        # both orders give the same bits
        if name in COMMUTATIVE and b < a:
            a, b = b, a
        key = (name, a, b)
        number = self._known.get(key)
        if number is None:
            number = len(self.operations)
            self._known[key] = number
            self.operations.append(key)
            if number >= self.limit:
                raise OverflowError
        return Recorded(self, number)

    def operand(self) -> Recorded:
        """The next operand."""
        self.operands += 1
        return self.record("operand", self.operands - 1)

    def number(self, x: Recorded | float) -> int:
        """The number of ``x``, which may be a constant."""
        if isinstance(x, Recorded):
            return x.number
        number = self._constants.setdefault(x, len(self.constants))
        if number == len(self.constants):
            self.constants.append(float(x))
        return self.record("constant", number).number


class Recorded:
    """A scalar that records what is done to it."""

    __slots__ = ("number", "recorder")

    def __init__(self, recorder: Recorder, number: int) -> None:
        self.recorder = recorder
        self.number = number

    def __add__(self, other: Recorded | float) -> Recorded:
        b = self.recorder.number(other)
        return self.recorder.record("add", self.number, b)

    __radd__ = __add__

    def __sub__(self, other: Recorded | float) -> Recorded:
        b = self.recorder.number(other)
        return self.recorder.record("sub", self.number, b)

    def __rsub__(self, other: Recorded | float) -> Recorded:
        a = self.recorder.number(other)
        return self.recorder.record("sub", a, self.number)

    def __mul__(self, other: Recorded | float) -> Recorded:
        b = self.recorder.number(other)
        return self.recorder.record("mul", self.number, b)

    __rmul__ = __mul__

    def __neg__(self) -> Recorded:
        return self.recorder.record("neg", self.number)

    def apply(self, op: str, args: Sequence[Recorded | float]) -> Recorded:
        """Another operation of such numbers, by its name."""
        numbers = [self.recorder.number(x) for x in args]
        return self.recorder.record(op, *numbers)


@dataclass(frozen=True)
class Tape:
    """Operations on numbered rows: first the operands', then the constants', then ``rows`` others.

    ``steps`` are function, rows of the arguments and row of the result; ``results`` the rows of what the text
    returned.
    """

    operands: int
    constants: tuple[np.ndarray, ...]
    rows: int
    steps: tuple[tuple[np.ufunc, int, int, int], ...]
    results: tuple[int, ...]

    def memory(self, length: int) -> np.ndarray:
        """Memory that :meth:`play` needs for operands of this length; may serve again and again."""
        return np.empty((self.rows, length))

    def play(self, operands: Sequence[np.ndarray], memory: np.ndarray) -> list[np.ndarray]:
        """The results for ``operands``, arrays of one length; they are operands, constants or rows of ``memory``."""
        values = [*operands, *self.constants, *memory]
        for function, a, b, out in self.steps:
            if b >= 0:
                function(values[a], values[b], values[out])
            else:
                function(values[a], values[out])
        return [values[k] for k in self.results]


def finished(recorder: Recorder, results: Sequence[int]) -> Tape:
    """The tape of what ``results`` (numbers of operations) need."""
    last = _last_uses(recorder.operations, results)
    writer = _RowFinder(recorder, last)
    for number in range(len(recorder.operations)):
        writer.write(number)
    constants = tuple(np.array(x) for x in recorder.constants)
    steps = tuple(writer.steps)
    result_rows = tuple(writer.where[number] for number in results)
    return Tape(recorder.operands, constants, writer.rows, steps, result_rows)


NEVER = -1
"""In place of the last use of an operation that nothing needs."""


def _last_uses(operations: Sequence[Operation], results: Sequence[int]) -> list[int]:
    """The last use of each operation, beyond all of them for results."""
    last = [NEVER] * len(operations)
    for number in results:
        last[number] = len(operations)
    for number in reversed(range(len(operations))):
        name, a, b = operations[number]
        if last[number] == NEVER or name in ("operand", "constant"):
            continue
        last[a] = max(last[a], number)
        if b >= 0:
            last[b] = max(last[b], number)
    return last


class _RowFinder:
    """Finds a row for the result of each operation that is needed, in their order."""

    def __init__(self, recorder: Recorder, last: Sequence[int]) -> None:
        self.recorder = recorder
        self.last = last
        self.first_constant = recorder.operands
        self.first_row = self.first_constant + len(recorder.constants)
        self.rows = 0
        self.where = [-1] * len(recorder.operations)
        self.free: list[int] = []
        self.steps: list[tuple[np.ufunc, int, int, int]] = []

    def write(self, number: int) -> None:
        """One operation."""
        name, a, b = self.recorder.operations[number]
        if name == "operand":
            self.where[number] = a
        elif name == "constant":
            self.where[number] = self.first_constant + a
        elif self.last[number] != NEVER:
            first = self.where[a]
            second = self.where[b] if b >= 0 else -1
            # a result may take the row of an argument that it is the last to use
            self._release(number, {a, b} - {-1})
            row = self._free_row()
            self.where[number] = row
            self.steps.append((FUNCTIONS[name], first, second, row))

    def _release(self, number: int, arguments: set[int]) -> None:
        """The rows of arguments that no later operation uses are free."""
        for x in arguments:
            row = self.where[x]
            # operands and constants keep their places
            if self.last[x] == number and row >= self.first_row:
                self.free.append(row)

    def _free_row(self) -> int:
        if self.free:
            return self.free.pop()
        self.rows += 1
        return self.first_row + self.rows - 1
