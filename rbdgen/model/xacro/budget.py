"""What a xacro file may take: so many steps in all, and so much in one value. Files come from anywhere, and an
expression of a few characters can ask for more than a machine has."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

MOST_STEPS = 2_000_000
"""Of one file with all that it includes: a step is about a microsecond. Large robots take a fifth of it."""
LONGEST_TEXT = 100_000
"""Characters of one text."""
MOST_ITEMS = 100_000
"""Of one list."""
MOST_BITS = 4096
"""Of one integer."""
WIDEST = 100
"""Of what a format pads, and digits behind its point."""
CALL = 10
"""Steps of a call."""
_PER_STEP = 16
"""Characters that are read or written in a step."""

Items = list | tuple | dict | set | frozenset
"""What holds other values."""


class XacroError(Exception):
    """What cannot be expanded, and why. ``remedy`` says what to do where the file is not to blame."""

    def __init__(self, reason: str, remedy: str = "mend the file at that place") -> None:
        super().__init__(reason)
        self.remedy = remedy


class Budget:
    """What is left to a file while it is expanded."""

    def __init__(self, steps: int = MOST_STEPS) -> None:
        self.steps = steps
        self.left = steps

    def spend(self, steps: int) -> None:
        """Take ``steps``; XacroError where so many are not left."""
        self.left -= steps
        if self.left < 0:
            raise XacroError(
                f"takes more than {self.steps:,} steps", "look for loops and macros that never end"
            )

    def read(self, text: str) -> str:
        """A ``text``, paid for."""
        if len(text) > LONGEST_TEXT:
            raise XacroError(f"a text has more than {LONGEST_TEXT:,} characters")
        self.spend(1 + len(text) // _PER_STEP)
        return text

    def room(self, count: int) -> None:
        """Pay for ``count`` items of a list that is about to be made."""
        if count > MOST_ITEMS:
            raise XacroError(f"a list has more than {MOST_ITEMS:,} items")
        self.spend(max(count, 0))

    def kept(self, value: Any) -> Any:
        """A ``value`` that was computed, if it is of a size that is kept."""
        if isinstance(value, str):
            return self.read(value)
        if isinstance(value, int):
            if value.bit_length() > MOST_BITS:
                raise XacroError(f"a number has more than {MOST_BITS} bits")
        elif isinstance(value, Items):
            self.room(len(value))
        return value

    def items(self, value: Any) -> list[Any]:
        """What is in a list, a text, a range or a dictionary (its keys)."""
        if not isinstance(value, Items | str | range):
            raise XacroError(f"{type(value).__name__} is no list")
        self.room(_length(value))
        return list(value)

    def walk(self, *values: Any) -> None:
        """Pay for all that ``values`` hold, each as often as it is met: what comparing or writing them takes."""
        ahead = list(values)
        while ahead:
            value = ahead.pop()
            self.spend(1)
            if isinstance(value, dict):
                ahead += value.keys()
                ahead += value.values()
                self.spend(len(value))
            elif isinstance(value, Items):
                ahead += value
                self.spend(len(value))
            elif isinstance(value, str):
                self.read(value)

    def text(self, value: Any) -> str:
        """A value as text."""
        if isinstance(value, str):
            return value
        self.walk(value)
        return self.read(str(value))


def _length(value: Sized) -> int:
    """Items of a list or a range; a range may have more than Python counts."""
    try:
        return len(value)
    except OverflowError:
        return MOST_ITEMS + 1
