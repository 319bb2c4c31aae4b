"""The order of the passes: from a traced graph to a fixed-point graph."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from rbdgen.errors import ConfigError
from rbdgen.ir.fixed import FLAG, FixedGraph, adding_points, verify_fixed
from rbdgen.ir.graph import Graph, verify
from rbdgen.passes.constant_factors import absorb_negations, move_constants, multiply_constants
from rbdgen.passes.dots import fuse_dots
from rbdgen.passes.expansions import (
    expand_reciprocals,
    expand_trigonometry,
    reciprocal_method,
    sine_method,
)
from rbdgen.passes.formats import DOT_GUARD, FormatChoice, check_word, choose_formats
from rbdgen.passes.noise import (
    drop_zero_results,
    prune_noise,
    some_of,
    zero_cancelled,
    zero_small_results,
)
from rbdgen.passes.ranges import FoundRanges, find_ranges, magnitudes, unproven

NEAREST, TRUNCATE = "nearest", "truncate"
"""Roundings: half up, or bits are dropped."""
LOGIC, MULTIPLIERS = "logic", "multipliers"
"""Places of constant factors: shifts and adds, or slots of multipliers."""
FEWER = 8
"""Of so many states one says what is noise."""
WIDEST_SPAN = 1e12
"""Beyond this ratio of the largest to the smallest value that is inverted, a sum of what comes of it and of what is as
large as usual does not fit into 64 bits, whatever the robot's units."""
PROOFS = 8
"""Attempts to give every signal room for its bound."""


@dataclass(frozen=True)
class Simplified:
    """A graph without what is noise in words of ``word`` bits, with every node's largest magnitude and the formats
    of that word, in which the ``precise`` nodes have more bits. ``table_word``: see :func:`simplify`. ``ranges``: the
    magnitudes by both ways to find them."""

    graph: Graph
    magnitudes: np.ndarray
    choice: FormatChoice
    word: int
    table_word: int
    ranges: FoundRanges
    precise: frozenset[int] = frozenset()


def simplify(
    graph: Graph,
    samples: Mapping[str, np.ndarray],
    declared: Mapping[str, float],
    word: int,
    vectors: Mapping[str, str] | None = None,
    table_word: int | None = None,
    sound: bool = False,
    constants: str = LOGIC,
) -> Graph:
    """All passes over the graph: ``samples`` are operand values by name, ``declared`` the operands' largest magnitudes.

    ``vectors`` maps results to the vector or matrix they belong to: one that is zero for the graph's structure is left
    out, and one that is noise beside its vector's largest becomes zero. Sines and reciprocals are as good as
    words of ``table_word`` bits (default: ``word``) need. ``sound``: magnitudes are bounds, where there are any, not
    samples. ``constants``: :data:`MULTIPLIERS` makes constant
    factors products. The graph is verified after every pass. ConfigError for an
    unsupported word length.
    """
    table_word = word if table_word is None else table_word
    check_word(word)
    check_word(table_word)
    some = some_of(samples, len(next(iter(samples.values()), ())) // FEWER)
    graph = _checked(zero_cancelled(graph, some))
    graph = _checked(absorb_negations(move_constants(graph)))
    graph = _checked(drop_zero_results(graph, vectors or {}))
    graph = _checked(expand_trigonometry(graph, sine_method(table_word)))
    graph = _checked(expand_reciprocals(graph, reciprocal_method(table_word)))
    # each sweep leaves other magnitudes and formats, and so may leave more that is noise
    while True:
        if sound:
            largest = find_ranges(graph, some, declared).sound
        else:
            largest = magnitudes(graph, some, declared)
        # with as many bits as any signal may get, so that nothing is noise that shows in one
        choice = choose_formats(graph, largest, word, range(len(graph.nodes)))
        pruned = _checked(move_constants(prune_noise(graph, largest, choice)))
        if pruned == graph:
            pruned = _checked(zero_small_results(graph, largest, word, vectors or {}))
        if pruned == graph:
            break
        graph = pruned
    if constants == MULTIPLIERS:
        graph = _checked(multiply_constants(graph))
    # last, as the passes before look at products and sums one by one
    return _checked(fuse_dots(graph))


def with_ranges(
    graph: Graph,
    samples: Mapping[str, np.ndarray],
    declared: Mapping[str, float],
    word: int,
    table_word: int,
    sound: bool = False,
) -> Simplified:
    """A graph of :func:`simplify` with its ranges and formats. ConfigError where values are beyond all words."""
    ranges = find_ranges(graph, samples, declared)
    span = _widest_span(graph, ranges.sampled)
    # a span that is no number is refused as well
    if not span <= WIDEST_SPAN:
        raise ConfigError(
            f"word: what is inverted varies by a factor of {span:.2g} at the declared states, beyond all words: it is "
            "nearly singular there; narrow the joints' ranges (limits), give a damping, or choose other algorithms"
        )
    largest = ranges.sound if sound else ranges.sampled
    choice = choose_formats(graph, largest, word)
    return Simplified(graph, largest, choice, word, table_word, ranges)


def _widest_span(graph: Graph, magnitudes: np.ndarray) -> float:
    """By what factor the argument of any reciprocal varies, from nodes' largest ``magnitudes``: its largest times that
    of its reciprocal; infinite where values are."""
    if not np.all(np.isfinite(magnitudes)):
        return math.inf
    spans = [0.0]
    for i, node in graph:
        if node.op == "rescale" and magnitudes[node.args[0]] > 0:
            mantissa, x = (float(magnitudes[a]) for a in node.args)
            spans.append(float(magnitudes[i]) / mantissa * x)
    return max(spans)


def fix_formats(
    simplified: Simplified, rounding: str = NEAREST, overflow: str = FLAG
) -> FixedGraph:
    """The graph in the formats of its word. Unless ``rounding`` is :data:`TRUNCATE`, none drops bits; ``overflow``:
    see :class:`rbdgen.ir.fixed.FixedGraph`."""
    graph, choice = simplified.graph, simplified.choice
    truncates = rounding == TRUNCATE
    truncated = frozenset(i for i, node in graph if truncates and node.operation.rounds)
    points = adding_points(graph, choice.formats, simplified.word + DOT_GUARD)
    fixed = FixedGraph(graph, choice.formats, choice.constants, truncated, overflow, points)
    verify_fixed(fixed)
    return fixed


def prove_formats(
    simplified: Simplified,
    declared: Mapping[str, float],
    rounding: str = NEAREST,
    overflow: str = FLAG,
) -> FixedGraph:
    """As :func:`fix_formats`, with more room where rounding errors could make a bounded signal overflow."""
    missing: dict[int, float] = {}
    for _ in range(PROOFS):
        fixed = fix_formats(simplified, rounding, overflow)
        missing = unproven(fixed, declared)
        if not missing:
            return fixed
        largest = simplified.magnitudes.copy()
        for i, bound in missing.items():
            largest[i] = 2.0 * max(bound, largest[i])
        choice = choose_formats(simplified.graph, largest, simplified.word, simplified.precise)
        simplified = replace(simplified, magnitudes=largest, choice=choice)
    raise ConfigError(
        f"sound: {len(missing)} signals have no format of {simplified.word} bits that holds all their values; "
        "use a longer word"
    )


def lower(
    graph: Graph,
    samples: Mapping[str, np.ndarray],
    declared: Mapping[str, float],
    word: int,
    vectors: Mapping[str, str] | None = None,
) -> FixedGraph:
    """All passes, and formats of one word length, rounded half up: see :func:`simplify`."""
    simple = simplify(graph, samples, declared, word, vectors)
    return fix_formats(with_ranges(simple, samples, declared, word, word))


def _checked(graph: Graph) -> Graph:
    verify(graph)
    return graph
