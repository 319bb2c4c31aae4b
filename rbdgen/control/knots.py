"""Many knots of a horizon, one batch: what a solver asks for one after another is computed together.

A solver evaluates all knots of a horizon before it asks for the first derivative, at the very states and controls that
it asks for then. So the first question is answered together with all that will follow. Any other question is answered
on its own.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping

import numpy as np

Operands = Mapping[str, np.ndarray]
Answer = Mapping[str, np.ndarray]
Compute = Callable[[Operands], Answer]
"""Results by name of operands by name, all with the same leading dimension."""


class Knot:
    """One evaluation of a horizon: the ``operands`` it was last evaluated at, and what is known there."""

    def __init__(self) -> None:
        self.operands: Operands = {}
        self.answer: Answer | None = None

    def at(self, operands: Operands) -> bool:
        """Whether it was evaluated at these operands."""
        if self.operands.keys() != operands.keys():
            return False
        return all(np.array_equal(x, operands[name]) for name, x in self.operands.items())


class Knots:
    """Knots that wait for answers of one device."""

    def __init__(self) -> None:
        self.waiting: dict[int, weakref.ref[Knot]] = {}
        self.batches: list[int] = []
        """How many knots each batch was of."""

    def expect(self, knot: Knot, operands: Operands) -> None:
        """An answer for a knot may soon be asked for at ``operands``. What is known there is kept."""
        if not knot.at(operands):
            # a solver's vectors are its own, and change
            knot.operands = {name: np.array(x) for name, x in operands.items()}
            knot.answer = None
        if knot.answer is None:
            self.waiting[id(knot)] = weakref.ref(knot)

    def ask(self, knot: Knot, operands: Operands, compute: Compute) -> Answer:
        """The answer for a knot at ``operands``, which ``compute`` gives together with those of all that wait."""
        self.expect(knot, operands)
        if knot.answer is None:
            self._fill(compute)
        assert knot.answer is not None
        return knot.answer

    def _fill(self, compute: Compute) -> None:
        """Compute all that waits in one batch, in the order in which it was expected."""
        knots = [knot for reference in self.waiting.values() if (knot := reference()) is not None]
        self.waiting = {}
        stacked = {}
        for name in knots[0].operands:
            stacked[name] = np.stack([knot.operands[name] for knot in knots])
        answers = compute(stacked)
        self.batches.append(len(knots))
        for row, knot in enumerate(knots):
            knot.answer = {name: x[row] for name, x in answers.items()}


class Asked:
    """The knots of each device, as long as there is one: models of the same one are answered together."""

    def __init__(self) -> None:
        self._knots: weakref.WeakKeyDictionary[object, Knots] = weakref.WeakKeyDictionary()

    def of(self, device: object) -> Knots:
        """The knots of ``device``."""
        if device not in self._knots:
            self._knots[device] = Knots()
        return self._knots[device]
