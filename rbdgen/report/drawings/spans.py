"""The times in which a task keeps the parts of a machine busy, by which charts and traces are drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass

TASK, FEEDBACK_ROW, RESULT = "task in", "feedback FIFO", "result out"
"""Names of the rows that are no units."""


@dataclass(frozen=True)
class Span:
    """A task keeps ``row``, a unit or one of the rows that are none, from cycle ``first`` to cycle ``last``, both
    included, with ``submodule``. ``products`` gives how many multiplications start in which cycle."""

    row: str
    submodule: str
    first: int
    last: int
    products: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class TaskTime:
    """One task of ``function``: its spans, in the order of the rows; ``first`` and ``last`` are its cycles in all."""

    function: str
    spans: tuple[Span, ...]

    @property
    def first(self) -> int:
        """Its first cycle, in which its first beat is accepted."""
        return min(s.first for s in self.spans)

    @property
    def last(self) -> int:
        """Its last cycle, in which its last beat is offered."""
        return max(s.last for s in self.spans)

    @property
    def cycles(self) -> int:
        """Number of cycles."""
        return self.last - self.first + 1

    def in_flight(self, ii: int) -> int:
        """Tasks that are under way at once at a task every ``ii`` cycles."""
        return math.ceil(self.cycles / ii)
