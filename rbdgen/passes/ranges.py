"""Analysis: the largest magnitude of every node, by evaluation on sample states, and by bounds that hold for all
operands inside their declared ranges.

Bounds are by interval arithmetic. Where a sum turns two signals by the sine and cosine of one angle, s·x ± c·y, its
bound is √(x² + y²) instead of x + y. A quotient x / (c + |x|) with a positive constant c is bounded as what it is made
of shows: below 2, not x / c. What depends on the reciprocal of a number that the intervals cannot keep above zero has
no bound: pivots of a mass matrix are positive for reasons that no interval sees.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rbdgen.ir.exactness import Span, magnitude, normalising_factor, product
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.graph import Graph, Node
from rbdgen.ir.interpret import walk
from rbdgen.ir.ops.sum import term_spans
from rbdgen.ir.terms import ADDITION

Turning = tuple[tuple[int, str], float, float]
"""The angle and the table of a sine or cosine, a bound of what it is multiplied with, and by how much at most the sine
or cosine is off."""
SLACK = 1 + 2.0**-40
"""Factor that covers the rounding of this analysis itself."""


@dataclass(frozen=True)
class SoundBounds:
    """``largest`` magnitude by node, infinite where there is no bound; ``unbounded``: the reciprocals to blame."""

    largest: tuple[float, ...]
    unbounded: tuple[int, ...]


def sound_bounds(
    graph: Graph,
    declared: Mapping[str, float],
    resolution: Sequence[float] | None = None,
) -> SoundBounds:
    """Bounds for operands up to their ``declared`` magnitudes; with ``resolution`` (by node) of the numbers that
    fixed-point operations make of them, each of which may be off by one last place."""
    intervals = _Intervals(graph, declared)
    for i, node in graph:
        error = 0.0
        # a residual only leaves bits out: it rounds nothing
        if resolution and node.op != "residual":
            error = resolution[i]
        intervals.add(i, node, error)
    largest = tuple(map(magnitude, intervals.spans))
    return SoundBounds(largest, tuple(intervals.unbounded))


def _angles(graph: Graph) -> dict[int, tuple[int, str]]:
    """The nodes that hold an angle's sine or cosine: the angle's node, and which table it is from."""
    found: dict[int, tuple[int, str]] = {}
    for i, node in graph:
        for _, table in node.addends:
            looked_up = graph.nodes[table]
            if not _is_sine(looked_up):
                continue
            angle = looked_up.args[0]
            if _is_taylor_step(graph, node, table, angle):
                found[i] = angle, looked_up.op
    return found


def _is_sine(node: Node) -> bool:
    """Whether a node looks up a sine or cosine."""
    return node.operation.memory == "sines"


def _is_taylor_step(graph: Graph, node: Node, table: int, angle: int) -> bool:
    """Whether a sum adds a product with the residual of ``angle`` to what is looked up, and nothing else."""
    others = [graph.nodes[a] for _, a in node.addends if a != table]
    products = list(node.products)
    for other in others:
        products += other.products
    terms = len(node.addends) + len(node.products)
    if len(products) != 1 or terms != 2:
        return False
    _, *factors = products[0]
    return any(_is_step(graph, a, angle) for a in factors)


def _is_step(graph: Graph, i: int, angle: int) -> bool:
    """Whether node ``i`` is the residual of ``angle`` in radians."""
    node = graph.nodes[i]
    # the change to radians and the step's format may stand between
    while node.terms.multiple is not None or node.is_shift or node.op == "round":
        node = graph.nodes[node.args[0]]
    return node.op == "residual" and node.args[0] == angle


class _Intervals:
    """``spans``: lowest and highest value of every node; ``unbounded``: normalised nodes that may not be positive."""

    def __init__(self, graph: Graph, declared: Mapping[str, float]) -> None:
        self.graph = graph
        self.declared = declared
        self.angles = _angles(graph)
        self.spans: list[Span] = []
        self.errors: list[float] = []
        self.off: dict[int, float] = {}
        self.unbounded: list[int] = []

    def add(self, i: int, node: Node, error: float) -> None:
        """The span of the next node, whose result may be off by ``error``."""
        low, high = self._span(i, node)
        self.errors.append(error)
        most = math.inf
        if node.op == "rescale":
            most = self._share(*node.args)
        if node.terms.can_cancel:
            most = self._turned(node)
        if i in self.angles:
            # a sine and its steps' rounding: never further off than the step itself
            taylor = self._taylor(node)
            most = min(most, 1.0 + 2 * error + taylor)
            # S + d·C and C − d·S have the length √(1 + d²): of a pair, each has half of what that is more than one
            self.off[i] = 2 * error + taylor / 4
        low = max(low, -most)
        high = min(high, most)
        slack = 0.0
        # an infinite slack would open an end that is known
        if math.isfinite(low) and math.isfinite(high):
            slack = error + (SLACK - 1) * magnitude((low, high))
        low = low - slack
        if node.op == "abs":
            # what is rounded is no less than nothing either
            low = max(low, 0.0)
        self.spans.append((low, high + slack))

    def _span(self, i: int, node: Node) -> Span:
        """The span of an operation's exact result."""
        if node.is_input:
            largest = self.declared[node.attr]
            return -largest, largest
        if node.op == "normalise":
            lowest, _ = self.spans[node.args[0]]
            if lowest <= 0:
                self.unbounded.append(i)
        return node.operation.span(node, self.spans)

    def _share(self, moved: int, x: int) -> float:
        """A bound of a product moved by the power of two that normalises x, where x is a positive constant plus the
        magnitude of one factor, and so no less than that; infinite for others."""
        i, _ = self._unrounded(moved)
        made = self.graph.nodes[i]
        speed = self._offsetmagnitude(x)
        if not made.terms.is_product or speed is None:
            return math.inf
        source, room = speed
        for factor, other in (made.args, made.args[::-1]):
            origin, off = self._unrounded(factor)
            if origin == source and off <= room:
                rounding = self.errors[i] + self.errors[moved]
                rescaled = product(rounding, normalising_factor(self.spans[x]))
                return 2.0 * magnitude(self.spans[other]) + rescaled
        return math.inf

    def _offsetmagnitude(self, x: int) -> tuple[int, float] | None:
        """The node whose magnitude and a positive constant add up to node ``x``, and what remains of the constant with
        all that is rounded; None for others."""
        total, off = self._unrounded(x)
        node = self.graph.nodes[total]
        parts = {self.graph.nodes[a].op: a for a in node.args}
        if node.terms != ADDITION or set(parts) != {"const", "abs"}:
            return None
        size = parts["abs"]
        (argument,) = self.graph.nodes[size].args
        source, below = self._unrounded(argument)
        rounded = off + below + self.errors[total] + self.errors[size]
        constant, _ = self.spans[parts["const"]]
        return source, constant - rounded

    def _unrounded(self, i: int) -> tuple[int, float]:
        """The node that node ``i`` is, but for rounding, and by how much at most that differs."""
        off = 0.0
        while self.graph.nodes[i].op == "round":
            off += self.errors[i]
            (i,) = self.graph.nodes[i].args
        return i, off

    def _taylor(self, node: Node) -> float:
        """Bound of what a table and a Taylor step are off the unit circle."""
        nodes = [self.graph.nodes[a] for _, a in node.addends]
        bits = next(node.attr for node in nodes if _is_sine(node))
        # the square of half a table interval, in radians: more than the step leaves out
        return (math.pi / 4 * 2.0**-bits) ** 2

    def _turned(self, node: Node) -> float:
        """A bound of a sum in which products with the sine and the cosine of one angle go together in pairs; infinite
        where none do."""
        turning = [self._turning_product(one, other) for _, one, other in node.products]
        turning += [self._turning(a) for _, a in node.addends]
        left = dict(enumerate(turning))
        total = 0.0
        found = False
        for k, span in enumerate(term_spans(node, self.spans)):
            if k not in left:
                continue
            own = left.pop(k)
            together = {other: _hypotenuse(own, left[other]) for other in left}
            # any pairing gives a bound that holds, so that a greedy one does
            partner = min(together, key=together.__getitem__, default=None)
            if partner is None or math.isinf(together[partner]):
                total += magnitude(span)
                continue
            total += together[partner]
            del left[partner]
            found = True
        return total if found else math.inf

    def _turning(self, a: int) -> list[Turning]:
        """The sines and cosines that node ``a`` is a product with, and bounds of its other factor."""
        a, factor = self._multiple(a)
        node = self.graph.nodes[a]
        found = []
        if a in self.angles:
            found.append((self.angles[a], factor, self.off[a]))
        if node.terms.is_product:
            for angle, largest, off in self._turning_product(*node.args):
                found.append((angle, factor * largest, off))
        return found

    def _turning_product(self, one: int, other: int) -> list[Turning]:
        """The same of a product."""
        found = []
        for sine, beside in ((one, other), (other, one)):
            sine, factor = self._multiple(sine)
            if sine in self.angles:
                largest = magnitude(self.spans[beside])
                found.append((self.angles[sine], factor * largest, self.off[sine]))
        return found

    def _multiple(self, a: int) -> tuple[int, float]:
        """The node that node ``a`` is a multiple of, up to rounding, and the size of the factor."""
        factor = 1.0
        node = self.graph.nodes[a]
        while node.is_shift or node.op == "round" or node.terms.is_single_addend:
            if node.terms.count:
                factor *= abs(node.terms.addends[0])
            elif node.is_shift:
                factor *= 2.0**node.attr
            a = node.args[0]
            node = self.graph.nodes[a]
        return a, factor


def _hypotenuse(one: Sequence[Turning], other: Sequence[Turning]) -> float:
    """The bound of two products with the sine and the cosine of one angle; infinite for others."""
    bound = math.inf
    for (angle, which), x, off in one:
        for (same, what), y, other_off in other:
            if angle == same and which != what:
                # the pair's own length is no further from one than both are off
                length = 1 + max(2.0**-12, off + other_off)
                both = math.hypot(x, y) * length
                bound = min(bound, both)
    return bound


def unproven(fixed: FixedGraph, declared: Mapping[str, float]) -> dict[int, float]:
    """The nodes of which no bound shows that they fit their formats, rounding errors included, with their bounds.

    Nodes without any bound are not among them: their overflow flags remain.
    """
    errors = [fmt.resolution for fmt in fixed.formats]
    for i, point in fixed.points.items():
        node = fixed.graph.nodes[i]
        # a dot's terms lose what is below its point one by one
        terms = len(node.products) + len(node.addends)
        errors[i] += terms * math.ldexp(1.0, -point)
    bounds = sound_bounds(fixed.graph, declared, errors)
    found = {}
    for i, largest in enumerate(bounds.largest):
        node = fixed.graph.nodes[i]
        if not math.isfinite(largest) or not node.operation.rounds:
            continue
        fmt = fixed.formats[i]
        most = fmt.maximum * fmt.resolution
        # a format that holds whatever its arguments may be needs no bound
        if largest > most and fixed.may_overflow(i):
            found[i] = largest
    return found


CHUNK = 4096
"""States evaluated at once: few enough that the values still needed stay in the processor's cache."""


def magnitudes(
    graph: Graph,
    samples: Mapping[str, np.ndarray],
    declared: Mapping[str, float],
) -> np.ndarray:
    """max |x| of each node (float64, by node) over ``samples``; operands count with their ``declared`` magnitude."""
    counts = [len(values) for values in samples.values()]
    count = max(counts, default=0)
    result = np.zeros(len(graph.nodes))
    for begin in range(0, count, CHUNK):
        end = begin + CHUNK
        part = {name: values[begin:end] for name, values in samples.items()}
        largest = [_largest(values) for values in walk(graph, part)]
        np.maximum(result, largest, out=result)
    # samples need not reach the ends of what is declared
    for name, i in graph.inputs.items():
        result[i] = max(result[i], declared[name])
    return result


def _largest(values: np.ndarray) -> float:
    """max |x| by the ufuncs' own reductions: np.max and np.abs cost more than the arithmetic here."""
    highest = np.maximum.reduce(values, None)
    lowest = np.minimum.reduce(values, None)
    return max(highest, -lowest)


@dataclass(frozen=True)
class FoundRanges:
    """Largest magnitudes by node: ``sampled``; ``sound`` ones, sampled where there is no bound; and the reciprocals
    because of which there is none (``unbounded``), with all nodes without one (``open``)."""

    sampled: np.ndarray
    sound: np.ndarray
    unbounded: tuple[int, ...]
    open: int

    def extra_bits(self) -> np.ndarray:
        """By how many bits bounds are above samples, by node; 0 where either is missing."""
        both = (self.sampled > 0) & (self.sound > 0)
        bound = np.where(both, self.sound, 1.0)
        sample = np.where(both, self.sampled, 1.0)
        return np.where(both, np.log2(bound / sample), 0.0)


def find_ranges(
    graph: Graph,
    samples: Mapping[str, np.ndarray],
    declared: Mapping[str, float],
    sampled: np.ndarray | None = None,
) -> FoundRanges:
    """Magnitudes by both ways; ``sampled`` ones where they are known (:func:`magnitudes`)."""
    if sampled is None:
        sampled = magnitudes(graph, samples, declared)
    # what one pass hands to the next may be beyond what tasks may bring
    reached = {name: max(declared[name], float(sampled[i])) for name, i in graph.inputs.items()}
    bounds = sound_bounds(graph, reached)
    largest = np.array(bounds.largest)
    finite = np.isfinite(largest)
    sound = np.where(finite, largest, sampled)
    return FoundRanges(
        sampled=sampled,
        sound=sound,
        unbounded=bounds.unbounded,
        open=int(np.sum(~finite)),
    )
