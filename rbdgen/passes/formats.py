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
from rbdgen.ir.fixed import Constant, Format
from rbdgen.ir.graph import Graph
from rbdgen.ir.precision import Precision

MIN_WORD, MAX_WORD = 8, 32
"""Supported word lengths, bits: below, nothing useful is left; above, exact products outgrow 64-bit arithmetic."""
MARGIN = 1.25
"""Headroom over the largest sampled magnitude."""
GUARD_BITS = 3
"""Bits kept below a user's binary point where an addend is trimmed to what the sum can show."""
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


def quantise_constant(value: float, tolerance: float, bits: int) -> Constant:
    """The constant with the fewest mantissa bits, at most ``bits``, that is within ``tolerance`` of ``value`` if one
    is."""
    best: Constant | None = None
    for length in range(1, bits + 1):
        exponent = length - math.frexp(value)[1]
        mantissa = round(math.ldexp(value, exponent))
        while mantissa % 2 == 0:
            mantissa, exponent = mantissa // 2, exponent - 1
        best = Constant(mantissa, exponent)
        if abs(best.value - value) <= tolerance:
            break
    assert best is not None
    return best


def choose_formats(graph: Graph, magnitudes: np.ndarray, word: int, precise: Precision | None = None) -> FormatChoice:
    """Formats for a graph without ``sin``, ``cos`` and ``reciprocal``; see the module's text for the rules.

    What ``precise`` names keeps an accumulator's bits even where products use it.
    """
    check_word(word)
    precise_nodes = (precise or Precision()).nodes(graph)
    fracs: list[int] = []
    heads: list[int] = []
    constants: dict[int, Constant] = {}
    for i, node in graph:
        arg = [fracs[a] for a in node.args]
        wide = _accumulates(graph, i, precise_nodes)
        margin = 1.0 if node.op in ("const", "input") else WIDE_MARGIN if wide else MARGIN
        magnitude = float(magnitudes[i]) * margin
        if node.op in ("add", "sub"):
            # what cancels leaves the arguments' rounding errors
            magnitude = max(magnitude, 2 * max(math.ldexp(1.0, -f) for f in arg))
        head = max(integer_bits(magnitude), -4 * word)
        length = _longest(graph, i, word) if wide else word
        frac = length - 1 - head
        if node.op == "input":
            # one code beyond the declared range must remain, to tell a clamped operand from one at its limit
            if math.floor(math.ldexp(float(magnitudes[i]), frac)) + 1 >= (1 << (length - 1)) - 1:
                head, frac = head + 1, frac - 1
        elif node.op in ("add", "sub"):
            frac = min(frac, max(arg))
        elif node.op == "neg":
            frac = min(frac, arg[0])
        elif node.op == "mul":
            frac = min(frac, sum(arg))
        elif node.op == "shift":
            frac, head = arg[0] - node.attr, heads[node.args[0]] + node.attr
        elif node.op == "scale":
            angle = any(graph.nodes[u].op == "residual" for u in graph.users[i])
            if angle or graph.nodes[node.args[0]].op == "residual":
                frac = word
            source = float(magnitudes[node.args[0]]) * MARGIN
            tolerance = math.ldexp(0.25, -frac) / source if source > 0 else math.inf
            constants[i] = quantise_constant(node.attr, tolerance, min(word, 63 - word - ACCUMULATOR_BITS))
            frac = min(frac, arg[0] + constants[i].exponent)
        elif node.op == "normalise":
            frac, head = word - 2, 1
        elif node.op == "table_reciprocal":
            frac, head = word - 1, 0
        elif node.op == "rescale":
            frac = min(frac, arg[0] + heads[node.args[1]] - 1)
        elif node.op in ("table_sin", "table_cos"):
            head, frac = 1, word - 2  # one format, so that all angles can share a table
        elif node.op == "residual":
            frac, head = arg[0], -node.attr - 1
        fracs.append(frac)
        heads.append(head)
    _trim(graph, fracs)
    for i, node in graph:
        # a number of few bits ends well below its power of two
        ends = math.ldexp(1.0, heads[i]) - math.ldexp(0.5, -fracs[i])
        if node.op in ("add", "sub", "mul", "scale") and float(magnitudes[i]) * MARGIN >= ends:
            longest = _longest(graph, i, word) if _accumulates(graph, i, precise_nodes) else word
            heads[i] += heads[i] + fracs[i] + 1 < longest
    widths = [max(head + 1 + frac, 1) for head, frac in zip(heads, fracs, strict=True)]
    return FormatChoice(tuple(Format(w, f) for w, f in zip(widths, fracs, strict=True)), constants)


def _accumulates(graph: Graph, i: int, precise: Collection[int]) -> bool:
    """Whether node ``i`` keeps more bits: a sum or product that only sums, constant factors and what moves by powers of
    two use, or one of the ``precise`` nodes."""
    if i in precise:
        return True
    if graph.nodes[i].op not in ("add", "sub", "mul", "scale") or i in graph.results:
        return False
    wide = ("add", "sub", "normalise", "rescale", "scale")
    return bool(graph.users[i]) and all(graph.nodes[u].op in wide for u in graph.users[i])


def _longest(graph: Graph, i: int, word: int) -> int:
    """Width of an accumulating node: what its users do exactly must fit 64-bit arithmetic."""
    length = word + ACCUMULATOR_BITS
    users = {graph.nodes[u].op for u in graph.users[i]}
    if users & {"mul", "normalise", "rescale"}:
        length = min(length, MAX_WORD)
    return length


def _trim(graph: Graph, fracs: list[int]) -> None:
    """Drop fractional bits of products and sums that none of their users can show (in place)."""
    for i in range(len(graph.nodes) - 1, -1, -1):
        if graph.nodes[i].op not in ("add", "sub", "mul", "scale") or i in graph.results or not graph.users[i]:
            continue
        users = graph.users[i]
        if all(graph.nodes[u].op in ("add", "sub", "neg") for u in users):
            fracs[i] = min(fracs[i], max(fracs[u] for u in users) + GUARD_BITS)
