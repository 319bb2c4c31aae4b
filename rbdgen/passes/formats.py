"""Pass: a binary point and width for every signal, from its magnitude and the word length.

Every signal gets the word's bits, with the binary point as far to the left as its magnitude times a margin allows; bits
that its exact value cannot have, or that no user can see, are not kept. Three exceptions: what only sums use keeps a
few more bits, since adders are cheap and multipliers' inputs are not; an angle in quarter turns keeps ``word``
fractional bits however large it is (its integer part only selects the quadrant); and the Taylor step of a sine keeps
only bits that reach the sine. What is normalised for a reciprocal fills the word.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from rbdgen.errors import ConfigError
from rbdgen.ir.constants import Constant
from rbdgen.ir.fixed import adding_head
from rbdgen.ir.graph import Graph, Node
from rbdgen.ir.number_formats import Format

MIN_WORD, MAX_WORD = 8, 32
"""Supported word lengths, bits: below, nothing useful is left; above, exact products outgrow 64-bit arithmetic."""
WIDEST = 35
"""Bits of the widest words that any machine has: an engine's, which drops a product's lowest bits."""
MARGIN = 1.25
"""Headroom over the largest sampled magnitude."""
GUARD_BITS = 3
"""Bits kept below a user's binary point where an addend is trimmed to what the sum can show."""
DOT_GUARD = 6
"""Bits beyond the word that a dot keeps of its largest product."""
WIDE_MARGIN = 2.5
"""The same where a signal is wider than the word anyway."""
ACCUMULATOR_BITS = 4
"""Bits beyond the word for sums and products that only sums use: one for the margin, the others for precision."""


@dataclass(frozen=True)
class FormatChoice:
    """Formats and constants by node, and the magnitudes that they were chosen for."""

    formats: tuple[Format, ...]
    constants: dict[int, Constant]


def check_word(word: int) -> None:
    """ConfigError unless ``word`` is a supported word length."""
    if not MIN_WORD <= word <= MAX_WORD:
        raise ConfigError(f"word: must be {MIN_WORD} to {MAX_WORD} bits, not {word}")


def integer_bits(magnitude: float) -> int:
    """Smallest k with magnitude < 2^k."""
    return math.frexp(magnitude)[1] if magnitude > 0 else -1000


def lone_zero(graph: Graph, i: int) -> bool:
    """Whether node ``i`` is a zero that nothing computes with: a result that is always zero. Its magnitude asks for no
    bits before the point, and says nothing of those behind it."""
    node = graph.nodes[i]
    return node.is_const and not node.attr and not graph.users[i]


def fraction_format(width: int) -> Format:
    """A format of ``width`` bits, all but the sign behind the point."""
    return Format(width, width - 1)


def quantise_constant(value: float, tolerance: float, bits: int) -> Constant:
    """The constant with the fewest mantissa bits, at most ``bits``, that is within ``tolerance`` of ``value`` if one
    is."""
    best: Constant | None = None
    places = math.frexp(value)[1]
    for length in range(1, bits + 1):
        exponent = length - places
        mantissa = round(math.ldexp(value, exponent))
        # the odd mantissa is the shortest
        while mantissa % 2 == 0:
            mantissa //= 2
            exponent -= 1
        best = Constant(mantissa, exponent)
        if abs(best.value - value) <= tolerance:
            break
    assert best is not None
    return best


def choose_formats(
    graph: Graph,
    magnitudes: np.ndarray,
    word: int,
    precise: Collection[int] = (),
) -> FormatChoice:
    """Formats for a graph without ``sin``, ``cos`` and ``reciprocal``; see the module's text for the rules.

    The ``precise`` nodes keep an accumulator's bits even where products use them.
    """
    check_word(word)
    return _Chooser(graph, magnitudes, word, precise).choice()


class _Chooser:
    """Chooses a graph's formats node by node: ``heads`` are bits before the binary point without the sign, ``fracs``
    those behind it."""

    def __init__(
        self,
        graph: Graph,
        magnitudes: np.ndarray,
        word: int,
        precise: Collection[int],
    ) -> None:
        self.graph = graph
        self.magnitudes = magnitudes
        self.word = word
        self.precise = precise
        self.heads: list[int] = []
        self.fracs: list[int] = []
        self.constants: dict[int, Constant] = {}

    def choice(self) -> FormatChoice:
        """The formats of all nodes."""
        for i, node in self.graph:
            head, frac = self._own(i, node)
            self.heads.append(head)
            self.fracs.append(frac)
        self._trim()
        self._add_room()
        formats = []
        for i, (head, frac) in enumerate(zip(self.heads, self.fracs, strict=True)):
            width = max(head + 1 + frac, 1)
            lone = lone_zero(self.graph, i)
            formats.append(fraction_format(width) if lone else Format(width, frac))
        return FormatChoice(tuple(formats), self.constants)

    def _own(self, i: int, node: Node) -> tuple[int, int]:
        """Bits before and behind the point of node ``i``, from its arguments' and its magnitude."""
        word = self.word
        given_head = node.operation.head(node, self.heads)
        given_frac = node.operation.frac(node, self.fracs, word)
        if given_head is not None and given_frac is not None:
            return given_head, given_frac
        wide = _accumulates(self.graph, i, self.precise)
        length = _longest(self.graph, i, word) if wide else word
        magnitude = self._magnitude(i, node, wide)
        # zero has no magnitude, and would have its point without end behind the word
        head = max(integer_bits(magnitude), -4 * word)
        frac = length - 1 - head
        if node.is_input:
            # one code beyond the declared range must remain, to tell a clamped operand from one at its limit
            declared = float(self.magnitudes[i])
            limit = math.floor(math.ldexp(declared, frac))
            largest = (1 << (length - 1)) - 1
            if limit + 1 >= largest:
                return head + 1, frac - 1
            return head, frac
        factor = node.terms.multiple
        exponent = 0
        if factor is not None:
            frac = self._multiple_fraction(i, node, factor, frac)
            exponent = self.constants[i].exponent
        exact = node.operation.exact_frac(node, self.heads, self.fracs, exponent)
        if exact is not None:
            frac = min(frac, exact)
        if node.terms.is_dot:
            adding = adding_head(node, self.heads, head)
            # what is below the point at which a dot adds is dropped before
            frac = min(frac, word + DOT_GUARD - adding)
        return head, frac

    def _magnitude(self, i: int, node: Node, wide: bool) -> float:
        """Magnitude that node ``i`` must have room for; ``wide``: it is wider than the word anyway."""
        margin = MARGIN
        if node.is_given:
            margin = 1.0
        elif wide:
            margin = WIDE_MARGIN
        magnitude = float(self.magnitudes[i]) * margin
        if not node.terms.can_cancel:
            return magnitude
        # what cancels leaves the arguments' rounding errors
        errors = [math.ldexp(1.0, -self.fracs[a]) for _, a in node.addends]
        for _, *factors in node.products:
            for one, other in (factors, factors[::-1]):
                times = float(self.magnitudes[other])
                errors.append(math.ldexp(times, -self.fracs[one]))
        return max(magnitude, 2 * max(errors))

    def _multiple_fraction(self, i: int, node: Node, factor: float, frac: int) -> int:
        """Bits behind the point that a product with a constant should have, and its constant, which it needs for it."""
        source = node.args[0]
        beside = [source, *self.graph.users[i]]
        if any(self.graph.nodes[k].op == "residual" for k in beside):
            # the step reaches a sine, of which the word's last place is the finest that shows
            frac = self.word
        largest = float(self.magnitudes[source]) * MARGIN
        tolerance = math.inf
        if largest > 0:
            tolerance = math.ldexp(0.25, -frac) / largest
        # the exact product must fit 63 bits even of an argument that accumulates
        bits = min(self.word, 63 - self.word - ACCUMULATOR_BITS)
        self.constants[i] = quantise_constant(factor, tolerance, bits)
        return frac

    def _trim(self) -> None:
        """Drop fractional bits of products and sums that none of their users can show."""
        graph = self.graph
        # users first, as they may show less once they are trimmed themselves
        for i in reversed(range(len(graph.nodes))):
            node = graph.nodes[i]
            users = graph.users[i]
            if not _is_computed(node) or i in graph.results or not users:
                continue
            if all(_shows(graph, u, i) for u in users):
                shown = max(self.fracs[u] for u in users)
                self.fracs[i] = min(self.fracs[i], shown + GUARD_BITS)

    def _add_room(self) -> None:
        """A bit more before the point where a number of few bits, which ends well below its power of two, needs it."""
        for i, node in self.graph:
            if not _is_computed(node):
                continue
            head = self.heads[i]
            frac = self.fracs[i]
            ends = math.ldexp(1.0, head) - math.ldexp(0.5, -frac)
            if float(self.magnitudes[i]) * MARGIN < ends:
                continue
            wide = _accumulates(self.graph, i, self.precise)
            longest = _longest(self.graph, i, self.word) if wide else self.word
            if head + frac + 1 < longest:
                self.heads[i] += 1


def _accumulates(graph: Graph, i: int, precise: Collection[int]) -> bool:
    """Whether node ``i`` keeps more bits: a sum or product that only sums, constant factors and what moves by powers of
    two use, or one of the ``precise`` nodes."""
    if i in precise:
        return True
    if not _is_computed(graph.nodes[i]) or i in graph.results:
        return False
    users = graph.users[i]
    if not users:
        return False
    return all(_accumulates_addend(graph, u, i) for u in users)


def _is_computed(node: Node) -> bool:
    """Sums and products other than negations: their results have more bits where only certain others use them."""
    return node.terms.count > 0 and not node.terms.is_negation


def _accumulates_addend(graph: Graph, user: int, i: int) -> bool:
    """Whether a user of node ``i`` is one of those: it adds the node, or moves it by a power of two or a constant."""
    node = graph.nodes[user]
    adds = node.terms.can_cancel and i not in node.factors
    return adds or node.terms.multiple is not None or node.operation.moves_by_data


def _shows(graph: Graph, user: int, i: int) -> bool:
    """Whether a user of node ``i`` shows its bits down to the user's own binary point: sums, and magnitudes."""
    node = graph.nodes[user]
    return (node.is_addition or node.terms.is_dot) and i not in node.factors


def _longest(graph: Graph, i: int, word: int) -> int:
    """Width of an accumulating node: what its users do exactly must fit 64-bit arithmetic."""
    length = word + ACCUMULATOR_BITS
    for u in graph.users[i]:
        user = graph.nodes[u]
        if i in user.factors or user.operation.moves_by_data:
            return min(length, MAX_WORD)
    return length
