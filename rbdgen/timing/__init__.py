"""How fast this machine computes the functions today: the golden model and, where it is installed, Pinocchio.

Not for hardware: its cycles come from RTL simulation (:mod:`rbdgen_sim`).
"""

from rbdgen.timing.golden import golden_calls
from rbdgen.timing.machine import machine
from rbdgen.timing.stopwatch import best_seconds, best_times
from rbdgen.timing.today import BATCHES, Timing, time_today

__all__ = [
    "BATCHES",
    "Timing",
    "best_seconds",
    "best_times",
    "golden_calls",
    "machine",
    "time_today",
]
