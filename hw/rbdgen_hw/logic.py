"""Small pieces of combinational logic that expressions are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Mux, Value


def any_of(bits: Iterable[Value]) -> Value:
    """Whether one of ``bits`` is high; low for none."""
    return Cat(*bits).any()


def or_of(words: Iterable[Value]) -> Value:
    """Words, of which all but one are zero, joined: the one that is not."""
    return reduce(or_, words)


def selected(strobes: Sequence[Value], words: Sequence[Value]) -> Value:
    """The word whose strobe is high, one at most; zero for none."""
    terms = []
    for strobe, word in zip(strobes, words, strict=True):
        terms.append(Mux(strobe, word, 0))
    return or_of(terms)


def cut(value: Value, widths: Iterable[int]) -> list[Value]:
    """The parts of ``value`` of so many bits each, from the lowest on."""
    parts = []
    position = 0
    for width in widths:
        parts.append(value[position : position + width])
        position += width
    return parts
