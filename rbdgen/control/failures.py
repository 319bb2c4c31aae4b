"""What goes wrong in knots: errors, which are kept until they can be raised, and roll-outs that diverge.

Crocoddyl evaluates knots in OpenMP's loops. An error that leaves such a loop ends the process. It is kept there, and
raised by the next evaluation outside of one: that of the horizon's end, which follows at once.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np

_LIBRARIES = ("libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so")
"""OpenMP's runtime, of which one is loaded where Crocoddyl was built with it."""
FARTHEST = 1e15
"""Of states and controls: beyond it a roll-out has diverged."""
_kept: list[Exception] = []


def diverged(x: np.ndarray, u: np.ndarray) -> bool:
    """Whether a roll-out has diverged, of which no device is asked: a solver that finds no number there takes a shorter
    step."""
    most = max(np.max(np.abs(x)), np.max(np.abs(u), initial=0.0))
    # no comparison holds where there is no number
    return not most < FARTHEST


@cache
def _level() -> Callable[[], int]:
    """What says in how many parallel regions the caller is, those of one thread too."""
    for name in _LIBRARIES:
        try:
            library = ctypes.CDLL(name, mode=os.RTLD_NOLOAD)
            return library.omp_get_level
        except (OSError, AttributeError):
            continue
    return lambda: 0


@contextmanager
def raised_outside() -> Iterator[None]:
    """Errors inside are kept while this is in a parallel loop; outside of one, a kept error is raised."""
    inside = _level()() > 0
    if _kept and not inside:
        error = _kept[0]
        _kept.clear()
        raise error
    try:
        yield
    except Exception as error:
        if not inside:
            raise
        _kept.append(error)
