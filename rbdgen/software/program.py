"""A program for a processor: steps that read and write arrays.

A step is a straight graph, or a product of large matrices that stays whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from rbdgen.functions.record import Function
from rbdgen.ir.graph import Graph

Place = tuple[str, int]
"""An array's name, and the number of an entry in C order."""


@dataclass(frozen=True)
class Array:
    """An array of a program, by its ``name``: the ``shape`` for one state, and what it is."""

    name: str
    shape: tuple[int, ...]
    text: str = ""

    @property
    def size(self) -> int:
        """Entries of one state."""
        return prod(self.shape)


@dataclass(frozen=True)
class Straight:
    """A graph whose inputs are entries of arrays, by name in ``reads``, and whose nodes are ``writes``: to these
    places."""

    graph: Graph
    reads: Mapping[str, Place]
    writes: tuple[tuple[Place, int], ...]


@dataclass(frozen=True)
class Whole:
    """``result`` = −``left`` · ``right``: names of arrays that are matrices; all but ``entries`` of the right are 0."""

    result: str
    left: str
    right: str
    entries: frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Program:
    """A ``function`` of a robot called ``robot``.

    ``operands`` and ``results`` are those of the golden function of that record; ``local`` are arrays between
    ``steps``. ``repeat``: of a function that repeats, the name of the count; the steps are then one step of time, whose
    results are the operands ``again``, in this order. Entries of results that no step writes are zero.
    """

    robot: str
    function: Function
    operands: tuple[Array, ...]
    results: tuple[Array, ...]
    local: tuple[Array, ...]
    steps: tuple[Straight | Whole, ...]
    repeat: str | None = None
    again: tuple[str, ...] = ()

    @property
    def arrays(self) -> dict[str, Array]:
        """All arrays by name."""
        return {x.name: x for x in (*self.operands, *self.results, *self.local)}

    def statements(self) -> int:
        """Operations of all straight steps."""
        return sum(len(s.graph.nodes) for s in self.steps if isinstance(s, Straight))


def flat(index: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """An entry's number in C order."""
    return int(np.ravel_multi_index(index, shape))
