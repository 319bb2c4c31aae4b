"""Pass: drops what cannot reach the resolution of the formats.

An addend that stays below a quarter of the sum's last place is dropped, a sum that stays below a quarter of its
coarser argument's last place is zero, and a factor becomes the nearest power of two where the difference stays below a
quarter of the product's last place. What cancels by a robot's structure, and is float64's rounding of zero, becomes
zero. URDFs are full of such noise: a π/2
in single precision leaves cosines of 4e-8 where zeros belong.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import numpy as np

from rbdgen.ir.builder import Builder, rebuild
from rbdgen.ir.graph import Graph, Node
from rbdgen.ir.interpret import walk
from rbdgen.ir.terms import ADDITION
from rbdgen.passes.formats import MARGIN, FormatChoice

SEED = 20


def thinned(count: int, few: int) -> np.ndarray:
    """Numbers of at most ``few`` of ``count`` samples, ascending: one of each of ``few`` stretches, by chance."""
    few = max(1, few)
    if count <= few:
        return np.arange(count)
    ends = np.linspace(0, count, few + 1).astype(int)
    # at even distances samples of one kind might be all that is seen
    return np.random.default_rng(SEED).integers(ends[:-1], ends[1:])


def some_of(samples: Mapping[str, np.ndarray], few: int) -> dict[str, np.ndarray]:
    """At most ``few`` of ``samples`` (n,) by name, the same of all."""
    return {name: values[thinned(len(values), few)] for name, values in samples.items()}


FRACTION = 0.25
"""Of the last place: what is smaller than this is noise."""
FEW = 128
"""States at which it is found what is nothing but rounding."""
NOTHING = 2.0**-24
"""A value that is nowhere larger than this share of what single precision makes of it is float64's rounding of zero: it
has none of float64's 53 bits, where single precision has lost all of its 24, and as many beyond them again."""


def is_rounding(size: float, lost: float) -> bool:
    """Whether a value of at most this ``size`` is nothing but rounding, where single precision is wrong by as much as
    ``lost``. What overflows in single precision has lost no number, and makes nothing of nothing."""
    return size <= NOTHING * lost < math.inf


def zero_cancelled(graph: Graph, samples: Mapping[str, np.ndarray]) -> Graph:
    """The graph in which sums and differences are zero that are nothing but rounding at ``samples`` of its operands."""
    few = some_of(samples, FEW)
    zero: set[int] = set()
    # single precision may overflow where float64 does not
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        single = {name: np.asarray(values, np.float32) for name, values in few.items()}
        rough = walk(graph, single, np.float32)
        for (i, node), exact, other in zip(graph, walk(graph, few), rough, strict=True):
            if node.terms.adds_two:
                size = float(np.max(np.abs(exact)))
                lost = float(np.max(np.abs(np.asarray(other, float) - exact)))
                if is_rounding(size, lost):
                    zero.add(i)
    if not zero:
        return graph

    def rule(builder: Builder, i: int, node: Node, args: tuple[int, ...]) -> int | None:
        return builder.const(0.0) if i in zero else None

    return rebuild(graph, rule)


def prune_noise(graph: Graph, magnitudes: np.ndarray, choice: FormatChoice) -> Graph:
    """One sweep; ``magnitudes`` and ``choice`` are for this graph."""

    def rule(builder: Builder, i: int, node: Node, args: tuple[int, ...]) -> int | None:
        formats = choice.formats
        # at states that were not sampled values may be larger by the margin
        noise = FRACTION * formats[i].resolution / MARGIN
        if node.terms.adds_two:
            coarsest = max(formats[a].resolution for a in node.args)
            if magnitudes[i] < FRACTION * coarsest:
                return builder.const(0.0)
            first, second = args
            one, other = (magnitudes[a] for a in node.args)
            if other < noise:
                return first
            if one < noise:
                return second if node.terms == ADDITION else builder.neg(second)
        factor = node.terms.multiple
        # a move by a power of two is wiring
        if factor is not None:
            power = _nearest_power(factor)
            difference = abs(factor - math.ldexp(1.0, power))
            if difference * magnitudes[node.args[0]] < noise:
                return builder.shift(args[0], power)
        return None

    return rebuild(graph, rule)


def _nearest_power(factor: float) -> int:
    """The exponent of the power of two that is nearest to a positive factor."""
    mantissa, exponent = math.frexp(factor)
    return exponent - 1 if mantissa < 0.75 else exponent


def zero_small_results(
    graph: Graph,
    magnitudes: np.ndarray,
    word: int,
    vectors: Mapping[str, str],
) -> Graph:
    """Results that stay below a quarter of the last place of a ``word`` that holds the largest result of the same
    vector (``vectors``, by result name) become zero."""
    largest: dict[str, float] = {}
    for name, vector in vectors.items():
        if name in graph.outputs:
            i = graph.outputs[name]
            before = largest.get(vector, 0.0)
            largest[vector] = max(before, float(magnitudes[i]))
    small: dict[str, int] = {}
    for name, vector in vectors.items():
        last_place = math.ldexp(largest.get(vector, 0.0), 1 - word)
        i = graph.outputs.get(name, -1)
        # a zero that is replaced by a zero would never let the passes come to an end
        if i >= 0 and magnitudes[i] <= FRACTION * last_place and not is_zero(graph.nodes[i]):
            small[name] = len(graph.nodes)
    if not small:
        return graph
    zero = Node("const", (), 0.0, graph.nodes[0].owner)
    return rebuild(Graph((*graph.nodes, zero), graph.outputs | small))


def is_zero(node: Node) -> bool:
    """Whether a node is the constant zero."""
    return node.is_const and node.attr == 0.0


def drop_zero_results(graph: Graph, droppable: Collection[str]) -> Graph:
    """The graph without those ``droppable`` results that are zero for its structure."""
    kept: dict[str, int] = {}
    for name, i in graph.outputs.items():
        if not is_zero(graph.nodes[i]) or name not in droppable:
            kept[name] = i
    if len(kept) == len(graph.outputs):
        return graph
    return rebuild(Graph(graph.nodes, kept))
