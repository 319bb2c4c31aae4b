"""Time limits for progress: how long it is since something last came of waiting, whatever else happened meanwhile."""

from __future__ import annotations

import time
from dataclasses import dataclass

DEFAULT_SECONDS = 10.0
"""Without progress before a device is given up."""


@dataclass
class Watch:
    """``over`` once ``seconds`` have passed since it was made, or since it began ``again``."""

    seconds: float

    def __post_init__(self) -> None:
        self.again()

    def again(self) -> None:
        """Begin again: there was progress."""
        self.end = time.monotonic() + self.seconds

    @property
    def left(self) -> float:
        """Seconds that are left, at least 0."""
        return max(0.0, self.end - time.monotonic())

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self.end
