"""What is refused: errors of ours only, each in a line that a screen holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from rbdgen import RbdgenError

T = TypeVar("T")
LONGEST = 1500
"""Characters of a message."""


def attempt(act: Callable[[], T]) -> tuple[T | None, str]:
    """What ``act`` gives, or None and what our error said. Any other error is the test's failure."""
    said = ""
    try:
        return act(), said
    except RbdgenError as error:
        said = str(error)
    assert "\n" not in said
    assert 0 < len(said) < LONGEST
    return None, said
