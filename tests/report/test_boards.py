"""What is said of a board's bitstream."""

from __future__ import annotations

from rbdgen.report.design_text import rests_on


def test_what_a_clock_rests_on_is_one_line() -> None:
    counted = {"subject": "multiplier blocks", "registers": 1024, "slowest_ns": 8.794}
    named = {"subject": "speed grade", "registers": None, "slowest_ns": None}
    assert rests_on([counted, named]) == [
        "not timed by any tool, but assumed: multiplier blocks (1024 registers, 8.79 ns), speed grade (assumptions in "
        "build.json)"
    ]
    assert rests_on([]) == []
