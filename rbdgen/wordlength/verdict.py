"""Whether measured errors keep their targets."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rbdgen.wordlength.experiment import VectorErrors
from rbdgen.wordlength.targets import Key

FLAGGED = 1e-3
"""Share of tasks inside the declared ranges that may overflow."""


def excess(
    errors: Mapping[Key, VectorErrors],
    flagged: Mapping[str, float],
    targets: Mapping[Key, float],
) -> float:
    """The largest error in units of its target; infinite where more than a few tasks overflow."""
    if max(flagged.values()) > FLAGGED:
        return math.inf
    return max(measured.worst / targets[key] for key, measured in errors.items())


def worst_vector(
    errors: Mapping[Key, VectorErrors], targets: Mapping[Key, float]
) -> tuple[Key, float]:
    """The vector with the largest error in units of its target, and that error."""
    key = max(errors, key=lambda k: errors[k].worst / targets[k])
    return key, errors[key].worst
