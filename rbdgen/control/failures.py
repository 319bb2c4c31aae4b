"""Errors in knots, kept until they can be raised: Crocoddyl evaluates knots in OpenMP's loops.

An error that leaves such a loop ends the process. It is kept there, and raised by the next evaluation outside of one:
that of the horizon's end, which follows at once.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

_LIBRARIES = ("libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so")
"""OpenMP's runtime, of which one is loaded where Crocoddyl was built with it."""
_kept: list[Exception] = []


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
