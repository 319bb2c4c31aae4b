"""Records an algorithm's text once per robot, to evaluate it again and again without the text.

The operations are recorded as the text makes them: equal ones once, those that no result needs not at all, none
rewritten. So a tape computes the very bits that the text does, and the golden model shares nothing with the graphs that
hardware is made from (:mod:`rbdgen.ir`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Operation = tuple[str, int, int]
"""Name and arguments: numbers of earlier operations, −1 for none. Of ``operand`` and ``constant``: which one."""

_BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply}
_UNARY = {"neg": np.negative, "sin": np.sin, "cos": np.cos}


class Recorder:
    """What is being recorded; ``limit``: how many operations at most, OverflowError beyond."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.operations: list[Operation] = []
        self.constants: list[float] = []
        self.operands = 0
        self._known: dict[Operation, int] = {}
        self._constants: dict[float, int] = {}

    def record(self, name: str, a: int, b: int = -1) -> Recorded:
        """The operation ``name`` of earlier ones."""
        if name in ("add", "mul") and b < a:
            a, b = b, a
        key = (name, a, b)
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = len(self.operations)
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
        place = self._constants.setdefault(x, len(self.constants))
        if place == len(self.constants):
            self.constants.append(float(x))
        return self.record("constant", place).number


class Recorded:
    """A scalar that records what is done to it."""

    __slots__ = ("number", "recorder")

    def __init__(self, recorder: Recorder, number: int) -> None:
        self.recorder = recorder
        self.number = number

    def __add__(self, other: Recorded | float) -> Recorded:
        return self.recorder.record("add", self.number, self.recorder.number(other))

    __radd__ = __add__

    def __sub__(self, other: Recorded | float) -> Recorded:
        return self.recorder.record("sub", self.number, self.recorder.number(other))

    def __rsub__(self, other: Recorded | float) -> Recorded:
        return self.recorder.record("sub", self.recorder.number(other), self.number)

    def __mul__(self, other: Recorded | float) -> Recorded:
        return self.recorder.record("mul", self.number, self.recorder.number(other))

    __rmul__ = __mul__

    def __neg__(self) -> Recorded:
        return self.recorder.record("neg", self.number)

    def sin(self) -> Recorded:
        """Sine of this angle in radians."""
        return self.recorder.record("sin", self.number)

    def cos(self) -> Recorded:
        """Cosine of this angle in radians."""
        return self.recorder.record("cos", self.number)

    def reciprocal(self) -> Recorded:
        """1 / this."""
        return self.recorder.record("reciprocal", self.number)


@dataclass(frozen=True)
class Tape:
    """Operations on numbered places: first the operands', then the constants', then ``places`` others.

    ``steps`` are function, places of the arguments and place of the result; ``results`` the places of what the text
    returned.
    """

    operands: int
    constants: tuple[np.ndarray, ...]
    places: int
    steps: tuple[tuple[np.ufunc, int, int, int], ...]
    results: tuple[int, ...]

    def memory(self, length: int) -> np.ndarray:
        """What :meth:`play` needs for operands of this length; may serve again and again."""
        return np.empty((self.places, length))

    def play(self, operands: Sequence[np.ndarray], memory: np.ndarray) -> list[np.ndarray]:
        """The results for ``operands``, arrays of one length; they are operands, constants or rows of ``memory``."""
        values = [*operands, *self.constants, *memory]
        one = values[self.operands]
        for function, a, b, out in self.steps:
            if b >= 0:
                function(values[a], values[b], values[out])
            elif function is np.divide:
                function(one, values[a], values[out])
            else:
                function(values[a], values[out])
        return [values[k] for k in self.results]


def finished(recorder: Recorder, results: Sequence[int]) -> Tape:
    """The tape of what ``results`` (numbers of operations) need."""
    operations = recorder.operations
    last = [-1] * len(operations)  # the last use of each operation; −1: none
    for r in results:
        last[r] = len(operations)
    for number in reversed(range(len(operations))):
        name, a, b = operations[number]
        if last[number] >= 0 and name not in ("operand", "constant"):
            last[a] = max(last[a], number)
            if b >= 0:
                last[b] = max(last[b], number)
    first = recorder.operands + len(recorder.constants) + 1  # the constant 1 comes before the others
    where = [-1] * len(operations)
    free: list[int] = []
    places = 0
    steps = []
    for number, (name, a, b) in enumerate(operations):
        if name == "operand":
            where[number] = a
        elif name == "constant":
            where[number] = recorder.operands + 1 + a
        elif last[number] >= 0:
            arguments = where[a], where[b] if b >= 0 else -1
            for x in {a, b} - {-1}:
                if last[x] == number and where[x] >= first:
                    free.append(where[x])  # a result may take the place of an argument that it is the last to use
            if free:
                where[number] = free.pop()
            else:
                where[number] = first + places
                places += 1
            function = _BINARY.get(name) or _UNARY.get(name) or np.divide
            steps.append((function, *arguments, where[number]))
    constants = tuple(np.array(x) for x in (1.0, *recorder.constants))
    return Tape(recorder.operands, constants, places, tuple(steps), tuple(where[r] for r in results))
