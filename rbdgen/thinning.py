"""Some of many samples, spread over all of them and not in step with any pattern of their order.

Samples alternate: motions and free torques, one loaded robot after the other. Every eighth of them would see one kind.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

SEED = 20


def thinned(count: int, few: int) -> np.ndarray:
    """Numbers of at most ``few`` of ``count`` samples, ascending: one of each of ``few`` stretches, by chance."""
    few = max(1, few)
    if count <= few:
        return np.arange(count)
    ends = np.linspace(0, count, few + 1).astype(int)
    return np.random.default_rng(SEED).integers(ends[:-1], ends[1:])


def some_of(samples: Mapping[str, np.ndarray], few: int) -> dict[str, np.ndarray]:
    """At most ``few`` of ``samples`` (n,) by name, the same of all."""
    return {name: values[thinned(len(values), few)] for name, values in samples.items()}
