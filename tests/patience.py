"""How long a reader waits for programs, also as tests see it that share a machine with others."""

from __future__ import annotations

import os
import resource
import time


class Wait:
    """Time from now on, in which programs are run one after another."""

    def __init__(self) -> None:
        self.began, self.spent = time.monotonic(), _spent()

    def seconds(self) -> float:
        """Seconds that passed. Where others work on this machine, those that the programs themselves needed of its
        processors count, which are up to twice as slow where they share caches and cores, if these are fewer."""
        passed = time.monotonic() - self.began
        if os.getloadavg()[0] > (os.cpu_count() or 1):
            return min(passed, (_spent() - self.spent) / 2)
        return passed


def _spent() -> float:
    """Seconds of processors that all programs so far have taken, with those that they started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
