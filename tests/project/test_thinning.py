"""Some of many samples: spread over all, whatever pattern their order has."""

from __future__ import annotations

import numpy as np
import pytest

from rbdgen.passes.noise import thinned


@pytest.mark.parametrize(("count", "few"), [(0, 4), (3, 4), (4, 4), (1000, 0), (1000, 1)])
def test_no_more_than_there_are(count: int, few: int) -> None:
    chosen = thinned(count, few)
    assert len(chosen) == min(count, max(few, 1))
    assert len(set(chosen.tolist())) == len(chosen)
    assert np.all(chosen < count)


@pytest.mark.parametrize("period", [2, 3, 7, 64])
def test_no_pattern_is_missed(period: int) -> None:
    chosen = thinned(8192, 1024)
    assert np.all(np.diff(chosen) > 0)
    assert set((chosen % period).tolist()) == set(range(period))
    # every stretch has its own
    assert np.max(np.diff(chosen)) <= 2 * 8
