"""The step structure of a parallel algorithm: what a layout needs to know of it, without its arithmetic.

A step is one vectorised operation: so many independent copies of the same small computation. Steps carry levels; a
step needs results of lower levels only, so that steps of one level may run at the same time and the number of levels
is the algorithm's parallel depth. The loops of the scan and of odd-even elimination run over these very objects.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Step:
    """``operations`` independent copies of ``name`` at dependency level ``level`` (from 0).

    ``stride``: distance, in links, of the operands that one copy joins (0: each copy sees one link only).
    """

    name: str
    operations: int
    level: int = 0
    stride: int = 0


Steps = tuple[Step, ...]


def depth(steps: Steps) -> int:
    """Number of dependency levels."""
    return max((step.level + 1 for step in steps), default=0)


def in_sequence(*groups: Iterable[Step]) -> Steps:
    """The groups one after another: each starts at the level after the last one of the group before."""
    result: list[Step] = []
    start = 0
    for group in groups:
        moved = [replace(step, level=step.level + start) for step in group]
        result += moved
        start = max(start, depth(tuple(moved)))
    return tuple(result)


def side_by_side(*groups: Iterable[Step]) -> Steps:
    """The groups at the same time: all start at the same level. Ordered by level."""
    steps: list[Step] = []
    for group in groups:
        steps += group
    return tuple(sorted(steps, key=lambda step: step.level))


def at_start(step: Step) -> Step:
    """The same step at level 0."""
    return replace(step, level=0)


def single(name: str, operations: int) -> Steps:
    """One step on its own."""
    return (Step(name, operations),)


def doubling(name: str, links: int) -> Steps:
    """⌈log₂ links⌉ steps that join links at distances 1, 2, 4, …; link i takes part where link i − stride exists."""
    result: list[Step] = []
    stride = 1
    while stride < links:
        result.append(Step(name, links - stride, len(result), stride))
        stride *= 2
    return tuple(result)


def neighbours(name: str, links: int) -> Steps:
    """As :func:`doubling`, for what joins both neighbours at each stride: link i takes part where it has either."""
    result = []
    for step in doubling(name, links):
        either = min(links, 2 * step.operations)
        result.append(replace(step, operations=either))
    return tuple(result)
