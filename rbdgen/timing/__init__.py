"""The speed of this machine at the functions today: the golden model and, where it is installed, Pinocchio.

Not for hardware: its cycles come from RTL simulation (:mod:`rbdgen_sim`).
"""

from rbdgen.timing.measurements import (
    BATCHES,
    Timing,
    best_seconds,
    best_times,
    golden_calls,
    machine,
    time_today,
)

__all__ = [
    "BATCHES",
    "Timing",
    "best_seconds",
    "best_times",
    "golden_calls",
    "machine",
    "time_today",
]
