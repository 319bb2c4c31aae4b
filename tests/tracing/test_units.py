"""Submodules that share a unit, by the runs of products that they have."""

from __future__ import annotations

from collections import Counter

from rbdgen.tracing.units import UTILIZATION, join_row


def test_runs_that_cannot_fill_multipliers_end_the_search_for_larger_units() -> None:
    # a multiplier has three cycles, and no two runs of two products fit into them
    runs = {"first": Counter(), "second": Counter({2: 2}), "third": Counter({2: 2})}
    units = join_row(list(runs), runs, 3, UTILIZATION)
    assert [name for unit in units for name in unit] == list(runs)


def test_small_submodules_join_until_multipliers_are_used() -> None:
    runs = {name: Counter({1: 1}) for name in "abcdef"}
    assert join_row(list(runs), runs, 3, UTILIZATION) == [["a", "b", "c"], ["d", "e", "f"]]
