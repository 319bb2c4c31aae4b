"""What an engine's memories hold, written word by word as its hardware is, and the tasks that follow from that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.loading import (
    PART_BITS,
    RESULT_PART,
    TASK_PART,
    WORD_NUMBER_BITS,
    column_bits,
    columns,
    routine_parts,
    unpacked,
)
from rbdgen.machines.engine.model import Loaded
from rbdgen.machines.engine.program import Layout
from rbdgen.protocol.loading import (
    CONSTANT,
    DIRECTORY,
    DIRECTORY_WORDS,
    LIMIT,
    PROGRAM,
    ROTATING,
    ROUTINE,
    Write,
)
from rbdgen.protocol.tasks import FUNCTION_BITS

START_PART = 1


class Memories:
    """The memories of a ``core``, and its directory, as bits: program memory by ``columns``, ``banks`` of constants,
    ``limits`` of operands, entries of routines by ``parts``, and how many words rotate. All zeros in the beginning."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.layout = Layout(core)
        self.columns = [[0] * core.depth for _ in range(columns(self.layout.bits))]
        self.banks = [[0] * core.words for _ in range(core.banks)]
        self.limits = [0] * (2 * core.limits)
        self.fields = routine_parts(core)
        self.parts = [[0] * (1 << FUNCTION_BITS) for _ in self.fields]
        self.directory = [0] * DIRECTORY_WORDS
        self.rotating = core.words

    @classmethod
    def of(cls, core: Core, writes: Iterable[Write]) -> Memories:
        """Memories into which this was written."""
        made = cls(core)
        for own in writes:
            made.write(own)
        return made

    def write(self, own: Write) -> None:
        """What a write does."""
        core, address = self.core, own.address
        if own.target == PROGRAM:
            column, number = divmod(address, 1 << WORD_NUMBER_BITS)
            self.columns[column][number] = own.data
        elif own.target == CONSTANT:
            word, bank = divmod(address, 1 << core.bank_bits)
            self.banks[bank][word] = own.data
        elif own.target == LIMIT:
            self.limits[address] = own.data
        elif own.target == ROUTINE:
            code, part = divmod(address, 1 << PART_BITS)
            # there are as many parts as a core has, of four
            if part < len(self.parts):
                self.parts[part][code] = own.data
        elif own.target == ROTATING:
            self.rotating = own.data
        elif own.target == DIRECTORY:
            self.directory[address] = own.data

    def entry(self, code: int, part: int) -> Mapping[str, int]:
        """The fields of a part of a function's entry."""
        return unpacked(self.fields[part], self.parts[part][code])

    def operands(self, code: int) -> int:
        """Words of a task's operands; none of a code that no function has."""
        return self.entry(code, TASK_PART)["operands"] if self.knows(code) else 0

    def results(self, code: int) -> int:
        """Words of a result."""
        return self.entry(code, RESULT_PART)["results"] - 1

    def knows(self, code: int) -> bool:
        """Whether there is a function of that code."""
        return bool(self.entry(code, TASK_PART)["known"])

    def routine(self, code: int) -> Loaded:
        """The routine of a function."""
        start = self.entry(code, START_PART)
        numbers = range(start["start"], start["last"] + 1)
        words = [self._word(number) for number in numbers]
        stages = self.entry(code, RESULT_PART)["relevant"].bit_length() + 1
        core = self.core
        banks = _signed(self.banks, core.width)
        return Loaded(core, self.layout, words, stages, self.results(code), self.rotating, banks)

    def outside(self, code: int, raw: np.ndarray) -> np.ndarray:
        """The tasks (n,) with an operand of ``raw`` (n, words) outside its limits."""
        first = 2 * self.entry(code, TASK_PART)["limits"]
        limits = _signed(self.limits[first : first + 2 * raw.shape[1]], self.core.bound_bits)
        bounds = limits.reshape(-1, 2)
        # the upper one is the first that is outside
        return np.any((raw < bounds[:, 0]) | (raw >= bounds[:, 1]), axis=1)

    def _word(self, number: int) -> int:
        step = column_bits(self.layout.bits)
        return sum(column[number] << step * k for k, column in enumerate(self.columns))


def _signed(data: Sequence[int] | Sequence[Sequence[int]], bits: int) -> np.ndarray:
    """The numbers that so many low bits are, in two's complement."""
    low = np.array(data, np.int64) & (1 << bits) - 1
    return low - (low >> bits - 1 << bits)
