"""Time limits for progress: how long it is since something last came of waiting, whatever else happened meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

DEFAULT_SECONDS = 10.0
"""Without progress before a device is given up."""


@dataclass
class Watch:
    """``over`` once ``seconds`` of the ``clock`` have passed since it was made, or since it began ``again``."""

    seconds: float
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.again()

    def again(self) -> None:
        """Begin again: there was progress."""
        self.end = self.clock() + self.seconds

    @property
    def left(self) -> float:
        """Seconds that are left, at least 0."""
        return max(0.0, self.end - self.clock())

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return self.clock() >= self.end
