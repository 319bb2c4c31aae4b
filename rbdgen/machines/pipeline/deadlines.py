"""Priorities of operations where several wait for a multiplier or a table.

What is farther from a result goes first. If all exits had the same deadline, functions with few operations one after
the other would come last everywhere and take far longer than they would alone. An exit may therefore have an earlier
deadline than the longest one: its operations go first by as much. How much earlier is good depends on who waits for
whom, and is found by trying, for one exit after the other, the shortest first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from rbdgen.ir.programs import Exit, Programs
from rbdgen.machines.pipeline.delays import Operators

LEADS = (0.5, 1.0, 1.25)
"""Leads that are tried: shares of how much shorter than the longest exit an exit is. With all of it both end at once if
nothing waits; with more, what the shorter one needs goes before all else."""

WORST = 4
"""Power of how many times as long as alone a function takes: the higher, the more the worst one decides."""

LATER = 1.3
"""Multiple of its time with equal deadlines that no exit may exceed, so that no function pays for all others."""


class Attempt(Protocol):
    """A schedule of which the exits are known."""

    def exits(self) -> dict[str, int]:
        """The cycle in which each exit's results are all there."""
        ...


Found = TypeVar("Found", bound=Attempt)


class Deadlines:
    """Delays from each operation to each exit's last result, if nothing waits."""

    def __init__(self, operators: Operators, programs: Programs) -> None:
        self.heights = {e.name: _heights(operators, e) for e in programs.exits}
        """By exit: the longest delay from each node's start to a result, ns; −∞ where none depends on it."""
        self.longest = {name: max(heights) for name, heights in self.heights.items()}
        """Of all operations of each exit."""

    def priorities(self, leads: Mapping[str, float]) -> list[float]:
        """The priorities of all nodes where exits have so much of a lead: their distances from the deadline that is
        tightest for them, ns."""
        last = max(self.longest.values())
        found: list[float] = []
        for name, heights in self.heights.items():
            lead = leads[name] * (last - self.longest[name])
            led = [height + lead for height in heights]
            found = list(map(max, found, led)) if found else led
        return found

    def shorter(self) -> list[str]:
        """The exits that are shorter than the longest, the shortest first."""
        last = max(self.longest.values())
        names = [name for name, height in self.longest.items() if height < last]
        return sorted(names, key=lambda name: (self.longest[name], name))

    def quickest(self, attempt: Callable[[Sequence[float]], Found], search: bool) -> Found:
        """The attempt at a schedule by priorities that delays functions least; without ``search`` the one without
        leads."""
        leads = dict.fromkeys(self.heights, 0.0)
        best = attempt(self.priorities(leads))
        if not search:
            return best
        latest = {name: LATER * (1 + cycle) for name, cycle in best.exits().items()}
        for name in self.shorter():
            for lead in LEADS:
                # leads found before stay, as exits compete for the same operators
                tried = leads | {name: lead}
                found = attempt(self.priorities(tried))
                exits = found.exits()
                in_time = all(1 + cycle <= latest[name] for name, cycle in exits.items())
                if in_time and self._delay(found) < self._delay(best):
                    best, leads = found, tried
        return best

    def _delay(self, attempt: Attempt) -> float:
        """Measure of how much later than alone results are there, above all those for which that is worst."""
        total = 0.0
        for name, cycle in attempt.exits().items():
            alone = max(1.0, self.longest[name])
            total += ((1 + cycle) / alone) ** WORST
        return total


def _heights(operators: Operators, e: Exit) -> list[float]:
    """The longest delay from each node's start to a result of an exit, ns; −∞ where none depends on it."""
    graph = operators.fixed.graph
    device = operators.device
    behind = [-math.inf] * len(graph.nodes)
    for name in e.results:
        behind[graph.outputs[name]] = 0.0
    # users have higher numbers than their arguments
    for i in reversed(range(len(graph.nodes))):
        if behind[i] == -math.inf:
            continue
        delays = operators.delays(i)
        behind[i] += delays.after + device.period * delays.cycles
        for a in graph.nodes[i].args:
            behind[a] = max(behind[a], behind[i])
    return behind
