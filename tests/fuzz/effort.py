"""How many examples a property is tried on: few and always the same ones, or many by a seed."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

TIMES, SEED = "RBDGEN_FUZZ", "RBDGEN_FUZZ_SEED"
"""Environment variables: so many times the examples of the test suite, and the seed by which they are drawn."""


def times() -> int:
    """How many times the usual effort."""
    return int(os.environ.get(TIMES, "1"))


def seed() -> int:
    """By which examples are drawn; the same in every run of the test suite."""
    return int(os.environ.get(SEED, "0"))


def examples(count: int) -> settings:
    """A decorator: try a property on ``count`` examples, or on so many times more as the environment says."""
    return settings(
        max_examples=count * times(),
        derandomize=times() == 1,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
