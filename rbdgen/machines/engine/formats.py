"""Formats of an engine: one width for all values, with binary points that follow from their ranges alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rbdgen.errors import ConfigError
from rbdgen.ir.builder import Builder, rebuild
from rbdgen.ir.exactness import exact_sum
from rbdgen.ir.fixed import FLAG, FixedGraph, verify_fixed
from rbdgen.ir.graph import Graph, Node, verify
from rbdgen.ir.number_formats import Format
from rbdgen.ir.ops import require
from rbdgen.ir.terms import PRODUCT, Terms, gathered
from rbdgen.machines.engine.core import (
    ANGLE_POINT,
    DISTANCES,
    EXTRACTIONS,
    LIFT,
    STEP,
    Core,
)
from rbdgen.machines.engine.special import call_special, is_angle, is_special, special_format
from rbdgen.passes.constant_factors import absorb_negations, move_constants, multiply_constants
from rbdgen.passes.dots import fuse_dots
from rbdgen.passes.formats import integer_bits
from rbdgen.passes.noise import drop_zero_results, some_of, zero_cancelled
from rbdgen.passes.ranges import FoundRanges, find_ranges, magnitudes

LANES = "lanes"
"""The submodule of all that lanes compute."""
OPERATIONS = ("input", "const", "sum", "shift")
"""Operations that lanes have; the special unit has its own."""
MARGIN = 1.6
"""Headroom over the largest sampled magnitude: free tasks go somewhat beyond the states that were sampled."""
FEWER = 8
"""Of so many states one says what is always zero."""


@dataclass(frozen=True)
class EngineFormats:
    """A graph in an engine's formats, and the ranges that they are for."""

    fixed: FixedGraph
    ranges: FoundRanges


def engine_graph(
    graph: Graph,
    samples: Mapping[str, np.ndarray],
    vectors: Mapping[str, str],
    lean: bool = False,
) -> Graph:
    """A traced graph as engines compute it, or ``lean`` ones: all that lanes compute belongs to one submodule, so that
    sums go across bodies; constant factors are products, and of moves by powers of two only doubled terms are left.
    ConfigError for one with operations that engines have not."""
    some = some_of(samples, max(len(next(iter(samples.values()), ())) // FEWER, 1))
    graph = zero_cancelled(graph, some)
    graph = drop_zero_results(graph, vectors)
    graph = rebuild(_in_lanes(graph))
    graph = absorb_negations(move_constants(graph))
    graph = fuse_dots(multiply_constants(graph))
    graph = _without_shifts(graph)
    graph = call_special(graph, lean)
    require((node.op for node in graph.nodes if not is_special(node)), OPERATIONS, "engines")
    verify(graph)
    return graph


def _in_lanes(graph: Graph) -> Graph:
    """The graph with all of its operations in one submodule."""
    nodes = []
    for node in graph.nodes:
        owner = node.owner if node.is_given else LANES
        nodes.append(Node(node.op, node.args, node.attr, owner))
    return Graph(tuple(nodes), graph.outputs)


def _without_shifts(graph: Graph) -> Graph:
    """The graph without moves by powers of two that lanes have not: they double one factor or addend of a term, and
    other moves are products with a constant."""

    def rule(
        builder: Builder,
        i: int,
        node: Node,
        args: tuple[int, ...],
    ) -> int | None:
        if node.is_shift:
            if node.attr == 1 and i not in graph.results and _only_terms(graph, i):
                return builder.copied(node, args)
            return builder.constant_product(args[0], 2.0**node.attr)
        if not node.terms.count:
            return builder.copied(node, args)
        products: list[tuple[int, int, int]] = []
        addends: list[tuple[int, int]] = []
        for k, sign in enumerate(node.terms.products):
            one, other = args[2 * k : 2 * k + 2]
            if builder.nodes[one].is_shift and builder.nodes[other].is_shift:
                # a lane doubles one of them
                other = builder.constant_product(builder.nodes[other].args[0], 2.0)
            products.append((sign, one, other))
        for (sign, a), own in zip(node.addends, args[node.terms.factors :], strict=True):
            moved = graph.nodes[a]
            if moved.is_shift and not builder.nodes[own].is_shift:
                # what it is moved from, which its product with a constant has as its first factor
                source, factor = builder.nodes[own].args
                products.append((sign, source, factor))
            else:
                addends.append((sign, own))
        left, terms = gathered(products, addends)
        return builder.node("sum", left, terms)

    return rebuild(graph, rule)


def _only_terms(graph: Graph, i: int) -> bool:
    """Whether only sums use node ``i``."""
    return all(graph.nodes[u].terms.count for u in graph.users[i])


def choose_formats(
    graph: Graph,
    samples: Mapping[str, np.ndarray],
    declared: Mapping[str, float],
    core: Core,
    handed: Sequence[tuple[str, str]],
    overflow: str = FLAG,
) -> EngineFormats:
    """Formats of an engine's graph (:func:`engine_graph`); ``handed``: operands of later passes, each beside the result
    or the operand that it is."""
    limits: dict[str, int] = {}
    while True:
        sampled = magnitudes(graph, samples, declared)
        chooser = _Chooser(graph, sampled, core, limits)
        chooser.run()
        agreed = _agreed(graph, chooser.formats, handed)
        if not chooser.beyond and not chooser.nothing and agreed == limits:
            break
        # points only become smaller, and products that are apart stay so: this ends
        limits = agreed
        graph = _made_apart(graph, chooser.beyond, chooser.nothing)
    formats = tuple(chooser.formats)
    fixed = FixedGraph(graph, formats, {}, frozenset(), overflow, chooser.points)
    verify_fixed(fixed)
    return EngineFormats(fixed, find_ranges(graph, samples, declared, sampled))


def _agreed(
    graph: Graph, formats: Sequence[Format], handed: Sequence[tuple[str, str]]
) -> dict[str, int]:
    """The binary points that operands of later passes have in common with what they are, by the names of both."""
    found: dict[str, int] = {}
    for operand, source in handed:
        # what an operand is is a result of the pass before, or another operand of the first
        other = graph.outputs.get(source, graph.inputs.get(source))
        if operand not in graph.inputs or other is None:
            continue
        frac = min(formats[graph.inputs[operand]].frac, formats[other].frac)
        for name in (operand, source):
            found[name] = min(frac, found.get(name, frac))
    return found


def _made_apart(
    graph: Graph, beyond: Mapping[int, Sequence[int]], nothing: Mapping[int, Sequence[int]]
) -> Graph:
    """The graph with some products of sums, by their numbers, as values of their own, and without some addends."""

    def rule(
        builder: Builder,
        i: int,
        node: Node,
        args: tuple[int, ...],
    ) -> int | None:
        if i not in beyond and i not in nothing:
            return builder.copied(node, args)
        products: list[tuple[int, int, int]] = []
        addends: list[tuple[int, int]] = []
        for k, sign in enumerate(node.terms.products):
            one, other = args[2 * k : 2 * k + 2]
            if k in beyond.get(i, ()):
                apart = builder.node("sum", (one, other), PRODUCT)
                addends.append((sign, apart))
            else:
                products.append((sign, one, other))
        own = args[node.terms.factors :]
        for k, ((sign, _), a) in enumerate(zip(node.addends, own, strict=True)):
            if k not in nothing.get(i, ()):
                addends.append((sign, a))
        left, terms = gathered(products, addends)
        if len(left) == 1:
            # a lone addend is a product with one, which any sum may be
            left, terms = (*left, builder.const(1.0)), Terms(products=(addends[0][0],))
        return builder.node("sum", left, terms)

    return rebuild(graph, rule)


class _Chooser:
    """Chooses formats node by node. ``beyond``: of sums, the products that are too small to be added beside the
    others; ``nothing``: the addends that are less than a sum's last place."""

    def __init__(
        self,
        graph: Graph,
        magnitudes: np.ndarray,
        core: Core,
        limits: Mapping[str, int],
    ) -> None:
        self.limits = {
            graph.inputs[name]: frac for name, frac in limits.items() if name in graph.inputs
        }
        for name, frac in limits.items():
            if name in graph.outputs:
                i = graph.outputs[name]
                self.limits[i] = min(frac, self.limits.get(i, frac))
        self.graph = graph
        self.magnitudes = magnitudes
        self.core = core
        self.formats: list[Format] = []
        self.points: dict[int, int] = {}
        self.beyond: dict[int, list[int]] = {}
        self.nothing: dict[int, list[int]] = {}

    def run(self) -> None:
        """Choose all."""
        for i, node in self.graph:
            self.formats.append(self._format(i, node))

    def _format(self, i: int, node: Node) -> Format:
        core = self.core
        if node.is_const:
            return self._constant(i, node)
        if node.is_input:
            fmt = core.format(integer_bits(float(self.magnitudes[i])))
            # one code beyond the declared range must remain, to tell a clamped operand from one at its limit
            limit = int(np.floor(np.ldexp(float(self.magnitudes[i]), fmt.frac)))
            frac = fmt.frac if limit + 1 < fmt.maximum else fmt.frac - STEP
            return Format(fmt.width, min(frac, self.limits.get(i, frac)))
        if node.operation.is_wiring:
            return node.operation.wired_format(node, self.formats[node.args[0]])
        if node.op == "rescale":
            # the bit of a power stands as far from a fixed place as the highest bit of what is inverted
            return Format(core.width, core.power_point - self.formats[node.args[1]].frac)
        if is_special(node):
            fmt, point = special_format(self.graph, i, core)
            if point is not None:
                self.points[i] = point
            return fmt
        head = integer_bits(float(self.magnitudes[i]) * MARGIN)
        if node.terms.count:
            return self._sum(i, node, head)
        return core.format(head)

    def _constant(self, i: int, node: Node) -> Format:
        """The finest format of a constant, no wider than its value."""
        if not node.attr:
            return Format(2, 0)
        if any(self.graph.nodes[u].op == "rescale" for u in self.graph.users[i]):
            # the one of which powers of two are made: so many bits behind its point that those of any number have room
            least = self.core.power_point - (self.core.width - 2)
            frac = -(-least // STEP) * STEP
            return Format(frac + 2, frac)
        fmt = self.core.format(integer_bits(abs(node.attr)))
        raw = int(fmt.quantise(node.attr))
        return Format(abs(raw).bit_length() + 1, fmt.frac)

    def _sum(
        self,
        i: int,
        node: Node,
        head: int,
    ) -> Format:
        """The format of a sum, and the point at which it adds."""
        core, formats = self.core, self.formats
        args = [formats[a] for a in node.args]
        products = [
            self._read(one) + self._read(other) - core.cut for _, one, other in node.products
        ]
        addends = [self._read(a) + LIFT for _, a in node.addends]
        frac = core.point(max(head, self._noise_head(node)))
        frac = min(frac, self.limits.get(i, frac))
        if is_angle(self.graph, i):
            frac = min(frac, ANGLE_POINT)
            if core.lean and frac < ANGLE_POINT:
                raise ConfigError(
                    f"angles: one goes beyond {1 << core.width - 2 - ANGLE_POINT} half turns, and a lean engine has no "
                    "such; use narrower ranges"
                )
        # terms are moved to the right only, and of the result as many bits are dropped as lanes can
        point = min(*products, *addends, frac + EXTRACTIONS[-1])
        while True:
            _, low, high = exact_sum(node.terms, args, point)
            if max(-low, high).bit_length() < core.sum_bits:
                break
            point -= STEP
        if len(products) == 1 and not addends and products[0] - point > DISTANCES[-1]:
            # a reciprocal of what comes near zero: values beyond what a lane can give are flagged
            point = products[0] - DISTANCES[-1]
            frac = max(frac, point - EXTRACTIONS[-1])
        frac = min(frac, point - EXTRACTIONS[0])
        far = [k for k, own in enumerate(products) if own - point > DISTANCES[-1]]
        if far and len(products) + len(addends) > 1:
            self.beyond[i] = far
        least = core.cut + DISTANCES[-1]
        tiny = [k for k, own in enumerate(addends) if own - LIFT - point > least]
        if tiny:
            self.nothing[i] = tiny
        self.points[i] = point
        return Format(core.width, frac)

    def _read(self, i: int) -> int:
        """The binary point of the word that is read for a node: of one that a lane doubles that of its argument."""
        node = self.graph.nodes[i]
        return self.formats[node.args[0] if node.is_shift else i].frac

    def _noise_head(self, node: Node) -> int:
        """Bits before the point for what the rounding errors of a sum's terms leave where they cancel."""
        errors = [np.ldexp(1.0, -self.formats[a].frac) for _, a in node.addends]
        for _, *factors in node.products:
            for one, other in (factors, factors[::-1]):
                errors.append(np.ldexp(float(self.magnitudes[other]), -self.formats[one].frac))
        return integer_bits(2 * float(max(errors)))
