"""How an algorithm's text says which submodule of the round trip it is writing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

TRIGONOMETRY = "Sc"
"""The submodule that makes sines and cosines of all joint angles."""

Enter = Callable[[str, int | None], AbstractContextManager[None]]
"""``enter("Rf", i)`` is entered around the text of submodule Rf_i (None: a submodule of the whole robot)."""


def anywhere(kind: str, body: int | None) -> AbstractContextManager[None]:
    """For evaluation in numbers, where submodules do not matter."""
    return nullcontext()
