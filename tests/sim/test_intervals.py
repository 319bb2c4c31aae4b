"""Intervals that a run shows: its steady state, in whole bunches."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rbdgen_sim.cosim import steady_interval


@pytest.mark.parametrize("count", range(16, 24))
@pytest.mark.parametrize("bunch", [[12], [6, 18], [6, 6, 24]])
def test_whole_bunches_count_wherever_the_run_ends(bunch: list[int], count: int) -> None:
    assert steady_interval(np.resize(bunch, count)) == 12


def test_what_comes_before_the_steady_state_does_not_count() -> None:
    assert steady_interval(np.array([90, 3, 4, 4, 4, 4])) == 4
    assert steady_interval(np.array([7])) == 7
    assert math.isnan(steady_interval(np.array([])))
