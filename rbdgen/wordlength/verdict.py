"""Whether measured errors keep their targets."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rbdgen.wordlength.experiment import VectorErrors
from rbdgen.wordlength.targets import Key

FLAGGED = 1e-3
"""Share of tasks inside the declared ranges that may overflow."""
INDEFINITE = 2.0
"""Least error, in units of its target, that a matrix that is not positive definite at some state counts as."""


def excess(errors: Mapping[Key, VectorErrors], flagged: Mapping[str, float]) -> float:
    """The largest error in units of its target; infinite where more than a few tasks overflow."""
    if max(flagged.values()) > FLAGGED:
        return math.inf
    return max((share_of_target(measured) for measured in errors.values()), default=0.0)


def share_of_target(measured: VectorErrors) -> float:
    """The largest error of a vector in units of its target, which a matrix that is not positive definite misses."""
    if measured.indefinite:
        return max(measured.worst, INDEFINITE)
    return measured.worst


def worst_vector(errors: Mapping[Key, VectorErrors]) -> tuple[Key, VectorErrors]:
    """The vector with the largest error in units of its target, and its errors."""
    key = max(errors, key=lambda k: share_of_target(errors[k]))
    return key, errors[key]
