"""Text in eighty columns: tables under their heads, and paragraphs. Only spaces are broken at, never words.

The width is the same on a terminal, in a file and in a pipe, so that what is printed can be compared.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

WIDTH = 80
"""Characters of a line."""
GAPS = 2, 1
"""Spaces between columns: as usual, and where the table would be too wide otherwise."""


def paragraph(text: str, indent: str = "") -> str:
    """A text in lines of :data:`WIDTH`, all but the first after ``indent``."""
    return "\n".join(_lines(text, WIDTH, indent))


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns under their heads; numbers to the right. Where that is wider than :data:`WIDTH`, heads are broken into
    lines first, then cells, the widest column at a time; a table of long words stays wider."""
    columns = [_texts(name, [row[k] for row in rows]) for k, name in enumerate(head)]
    natural = [max(map(len, column)) for column in columns]
    widths, gap = _fitted(columns, natural)
    right = [_numeric([row[k] for row in rows]) for k in range(len(head))]
    lines: list[str] = []
    for cells in zip(*columns, strict=True):
        wrapped = map(_lines, cells, widths)
        for parts in zip_longest(*wrapped, fillvalue=""):
            aligned = map(_aligned, parts, widths, right)
            lines.append((" " * gap).join(aligned).rstrip())
    return "\n".join(lines)


def _texts(head: str, values: Sequence[Any]) -> list[str]:
    """A column's cells as text, its head first."""
    return [head, *("–" if value is None else str(value) for value in values)]


def _numeric(values: Sequence[Any]) -> bool:
    """Whether a column has numbers only."""
    return bool(values) and all(isinstance(value, (int, float)) for value in values)


def _aligned(text: str, width: int, right: bool) -> str:
    return text.rjust(width) if right else text.ljust(width)


def _lines(text: str, width: int, indent: str = "") -> list[str]:
    """A text in lines of so many characters, whatever its words allow; one line at least."""
    wrapper = textwrap.TextWrapper(
        max(width, 1),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )
    # textwrap makes no line of an empty text
    return wrapper.wrap(text) or [""]


def _fitted(columns: Sequence[list[str]], natural: Sequence[int]) -> tuple[list[int], int]:
    """Widths of columns, and the gap between them, with which lines are no longer than :data:`WIDTH` if words allow."""
    usual, narrow = GAPS
    widths = list(natural)
    if _total(widths, usual) <= WIDTH:
        return widths, usual
    contents = [max(map(len, column[1:]), default=0) for column in columns]
    heads = [_longest_word(column[:1]) for column in columns]
    widths = list(map(max, contents, heads))
    least = list(map(_longest_word, columns))
    for gap in (usual, narrow):
        narrowed = _narrowed(widths, least, gap)
        if _total(narrowed, gap) <= WIDTH:
            return narrowed, gap
    return least, narrow


def _narrowed(widths: Sequence[int], least: Sequence[int], gap: int) -> list[int]:
    """Widths of which the widest that can be narrower gives way until all fit, or none can."""
    found = list(widths)
    while _total(found, gap) > WIDTH:
        spare = [k for k, width in enumerate(found) if width > least[k]]
        if not spare:
            break
        widest = max(spare, key=found.__getitem__)
        found[widest] -= 1
    return found


def _total(widths: Sequence[int], gap: int) -> int:
    return sum(widths) + gap * (len(widths) - 1)


def _longest_word(texts: Sequence[str]) -> int:
    words = [word for text in texts for word in text.split()]
    return max(map(len, words), default=0)
