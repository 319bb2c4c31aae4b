"""Warnings of what is compiled, kept until it is known whether they are of any concern."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from rbdgen.compiler.design import Design

Told = list[tuple[str, type[Warning]]]
"""Warnings: what they say, and of which category."""


def heard(make: Callable[[], Design], told: Told) -> Design:
    """The design of ``make``; its warnings are added to ``told`` instead, even where it fails."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            return make()
        finally:
            told += [(str(w.message), w.category) for w in caught]


def tell(told: Told, stacklevel: int) -> None:
    """Give the warnings, as if from so many calls above."""
    for message, category in told:
        warnings.warn(message, category, stacklevel=stacklevel + 1)
