"""Fixed-point formats and graphs: what a graph means bit by bit.

The rule is one for all operations: the exact result of the exact arguments is rounded to the result's binary point,
half up or, at nodes named for it, downwards; then saturated to its width or, in a graph that says so, wrapped around.
Either raises the task's overflow flag. ``shift`` only moves the binary point.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rbdgen.ir.constants import Constant
from rbdgen.ir.exactness import exact_sum
from rbdgen.ir.graph import Graph, Node, ports
from rbdgen.ir.number_formats import BITS, Format

LONGEST_PRODUCT = 64
"""Bits of both factors of a product that fits 64-bit arithmetic."""
BEYOND = 2
"""Bits that an addend or the result of a dot may have before those of its products, where the accumulator has room."""
ADDING_GUARD = 2
"""Bits below the last place of any dot's result that an accumulator keeps where there is no common word."""


FLAG, SATURATE = "flag", "saturate"
"""Handling of values that do not fit: both raise the task's flag; the first keeps the low bits, the second takes the
nearest value that fits."""


@dataclass(frozen=True)
class FixedGraph:
    """A graph with a format for every node and an exact constant for every multiple by a constant.

    ``constants`` is by node number. Raw values of ``const`` nodes are ``Format.quantise`` of their attribute.
    ``truncated``: the nodes that drop bits without rounding. ``overflow``: :data:`FLAG` or
    :data:`SATURATE`. ``points``: the binary points at which dots add, where bits of
    their terms below are dropped first.
    """

    graph: Graph
    formats: tuple[Format, ...]
    constants: dict[int, Constant]
    truncated: frozenset[int] = frozenset()
    overflow: str = FLAG
    points: Mapping[int, int] = field(default_factory=dict)

    @property
    def saturates(self) -> bool:
        """Whether what does not fit becomes the nearest number that does, beside its flag."""
        return self.overflow == SATURATE

    def exact(self, i: int, args: Sequence[Format] | None = None) -> tuple[int, int, int]:
        """Of node ``i``'s result before rounding: binary point, and bounds of its raw value there.

        Bounds follow from the arguments' formats alone; ``args``: other ones than their own.
        """
        node = self.graph.nodes[i]
        if args is None:
            args = [self.formats[a] for a in node.args]
        return node.operation.exact(self, i, node, args)

    def is_product(self, i: int) -> bool:
        """Whether node ``i`` is a product by itself, which is rounded as one: no dot, not even of a single product."""
        return self.graph.nodes[i].terms.is_product and i not in self.points

    def name(self, i: int) -> str:
        """Name of node ``i`` in hardware and in messages."""
        node = self.graph.nodes[i]
        # a part of a longer dot may have one product only
        if node.terms.is_product and i in self.points:
            return "dot"
        return node.name

    def dropped_bits(self, i: int) -> int:
        """Bits below the result's binary point that node ``i`` rounds away."""
        frac, _, _ = self.exact(i)
        return frac - self.formats[i].frac

    def half(self, i: int) -> int:
        """Addend before bits are dropped: half of the result's last place, or nothing."""
        if i in self.truncated:
            return 0
        return (1 << self.dropped_bits(i)) >> 1

    def split(self, one: int, other: int) -> int:
        """Low bits of the second of two factors that 64-bit arithmetic must take apart, so that both parts of the
        product fit; 0 where the whole does. What becomes of the product drops at least as many bits."""
        width = self.formats[one].width + self.formats[other].width
        return max(width - LONGEST_PRODUCT, 0)

    def may_overflow(self, i: int) -> bool:
        """Whether any arguments in their formats can saturate node ``i``, or be what it has no result for."""
        if self.graph.nodes[i].operation.is_partial:
            return True
        frac, low, high = self.exact(i)
        fmt = self.formats[i]
        drop = frac - fmt.frac
        half = self.half(i)
        lowest = (low + half) >> drop
        highest = (high + half) >> drop
        return lowest < fmt.minimum or highest > fmt.maximum


def adding_head(node: Node, heads: Sequence[int], own: int) -> int:
    """Bits before the binary point of the products of a dot, of which an accumulator keeps the upper ones: those of the
    largest, or some fewer than an addend or the result has. ``heads`` are those of all nodes, ``own`` the result's."""
    largest = [heads[one] + heads[other] for _, one, other in node.products]
    largest += [heads[a] - BEYOND for _, a in node.addends]
    return max(*largest, own - BEYOND)


def adding_points(graph: Graph, formats: Sequence[Format], kept: int) -> dict[int, int]:
    """The binary points at which dots add: the ``kept`` upper bits of products are above them (:func:`adding_head`),
    and no more than exact arithmetic has room for. Bits below are dropped first."""
    heads = [fmt.head for fmt in formats]
    points = {}
    for i, node in graph:
        if not node.terms.is_dot:
            continue
        arguments = [formats[a] for a in node.args]
        exact, low, high = exact_sum(node.terms, arguments)
        # the exact sum has room for 63 bits: of longer ones lower bits are dropped first
        beyond = max(-low, high).bit_length() - BITS
        point = max(formats[i].frac, kept - adding_head(node, heads, heads[i]))
        points[i] = min(point, exact - beyond)
    return points


def shared_points(
    graph: Graph,
    formats: Sequence[Format],
    tied: Iterable[Sequence[int]] = (),
) -> dict[int, int]:
    """The binary points of dots whose results have no common word: as in :func:`adding_points`, with as many upper bits
    for all as the finest result beside its products asks for, so that all can share accumulators.

    Dots that are ``tied``, groups of nodes with one format, add at one point, whatever their factors.
    """
    heads = [fmt.head for fmt in formats]
    needed = []
    for i, node in graph:
        if node.terms.is_dot:
            needed.append(formats[i].frac + adding_head(node, heads, heads[i]))
    if not needed:
        return {}
    kept = max(needed) + ADDING_GUARD
    points = adding_points(graph, formats, kept)
    for members in tied:
        dropping = [i for i in members if i in points]
        lowest = min((points[i] for i in dropping), default=0)
        for i in dropping:
            enough = max(lowest, formats[i].frac + ADDING_GUARD)
            points[i] = min(points[i], enough)
    return points


def verify_fixed(fixed: FixedGraph) -> None:
    """Check formats and constants; raises ValueError naming the node, an ExactWidthError for one that is too wide.

    Every node has a format, no operation gains bits below its exact result, exact results fit 63 bits (those of
    products may have as many more as are dropped), shifts keep
    their argument's bits, residuals and tables have the bits that they need.
    """
    graph = fixed.graph
    if len(fixed.formats) != len(graph.nodes):
        raise ValueError(
            f"formats: must be one for each of {len(graph.nodes)} nodes, not {len(fixed.formats)}"
        )
    for i, node in graph:
        operation = node.operation
        fault = operation.format_fault(fixed, i, node) if operation.lowered else "must be lowered"
        if fault is not None:
            raise ValueError(f"node %{i} ({fixed.name(i)}): {fault}")


def _operand(graph: Graph, i: int) -> str:
    node = graph.nodes[i]
    return f"{node.attr!r}" if node.is_const else f"%{i}"


def _line(graph: Graph, i: int, node: Node, fixed: FixedGraph | None) -> str:
    words = [fixed.name(i) if fixed else node.name]
    words += [_operand(graph, a) for a in node.args]
    constant = fixed.constants.get(i) if fixed else None
    if constant is not None:
        words.append(f"{constant.mantissa}*2^{-constant.exponent}")
    elif node.terms.multiple is not None:
        words.append(str(node.terms.multiple))
    elif words[0] == "dot" or (not node.terms.count and node.attr is not None):
        words.append(str(node.attr))
    if fixed and i in fixed.points:
        words.append(f"at {fixed.points[i]}")
    line = f"  %{i} = {' '.join(words)}"
    if fixed is None:
        return line
    return f"{line} : {fixed.formats[i]}"


def _ports(nodes: tuple[int, ...]) -> str:
    return " ".join(f"%{i}" for i in nodes)


def to_text(source: Graph | FixedGraph) -> str:
    """The graph as text: a block per submodule, ``in`` and ``out`` ports, a line per node; results at the end. Of a dot
    the signs of its products and addends, and the binary point ``at`` which it adds."""
    if isinstance(source, FixedGraph):
        fixed, graph = source, source.graph
    else:
        fixed, graph = None, source
    lines = []
    for owner in graph.owners:
        port = ports(graph, owner)
        inputs = _ports(port.inputs)
        outputs = _ports(port.outputs)
        lines.append(f"submodule {owner} in({inputs}) out({outputs}) {{")
        for i in port.nodes:
            lines.append(_line(graph, i, graph.nodes[i], fixed))
        lines.append("}")
    for name, i in graph.outputs.items():
        lines.append(f"result {name} = {_operand(graph, i)}")
    return "\n".join(lines) + "\n"
