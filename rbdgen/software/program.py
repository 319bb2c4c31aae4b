"""A program for a processor: steps that read and write arrays; and the arrays of operands and results that a function's
program has, with the place of each word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from rbdgen.functions.record import Function
from rbdgen.ir.graph import Graph
from rbdgen.protocol.entries import mirrored
from rbdgen.tracing.network import Network
from rbdgen.tracing.parameters import PARAMETERS

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


def record_of(network: Network, function: str) -> Function:
    """A function as this network has it."""
    return next(f for f in network.options.records if f.name == function)


def operand_arrays(network: Network, function: str) -> tuple[Array, ...]:
    """The arrays of a function's operands, in their order, and of parameters. A number of steps is an array of one
    entry."""
    arrays = []
    for name in network.options.operand_vectors(function):
        quantity = network.options.quantities[name]
        arrays.append(Array(name, quantity.size(network.robot), quantity.text))
    if network.parameters:
        arrays.append(Array(PARAMETERS, (len(network.parameters),), "parameters that are loaded"))
    return tuple(arrays)


def operand_places(network: Network, function: str) -> dict[str, Place]:
    """Where operand words are, by name."""
    shapes = {x.name: x.shape for x in operand_arrays(network, function)}
    places = {}
    for word in network.operand_words(function):
        places[word.name] = word.vector, flat(word.index, shapes[word.vector])
    return places


def parameter_places(network: Network) -> dict[str, Place]:
    """Where parameters are, by name."""
    return {p.word.name: (PARAMETERS, k) for k, p in enumerate(network.parameters)}


def result_arrays(network: Network, function: str) -> tuple[tuple[Array, ...], dict[Place, str]]:
    """The arrays of a function's results, in their order, and which word is at which place: at two of a symmetric
    matrix."""
    arrays, written = [], {}
    groups = network.options.result_vectors(function)
    returned = network.options.returned(function)
    for group, name in zip(groups, returned, strict=True):
        quantity = network.options.quantities[name]
        array = Array(name, quantity.size(network.robot), quantity.text)
        arrays.append(array)
        for word in network.results[group]:
            indices = {word.index, mirrored(word.index) if quantity.symmetric else word.index}
            # in order, so that the text is the same each time
            for index in sorted(indices):
                written[name, flat(index, array.shape)] = word.name
    return tuple(arrays), written
