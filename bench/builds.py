"""The bitstreams that benches are about: boards, functions, options, and what is asked for."""

from __future__ import annotations

from collections.abc import Sequence

ROBOT = "iiwa14"
BUILDS: tuple[tuple[str, str, Sequence[str], float | None, int | None], ...] = (
    ("ulx3s_85f", "id", (), 100.0, None),
    ("ecpix5_85f", "id", (), 100.0, None),
    ("ulx3s_85f", "all", ("--word", "18", "--ii", "24", "--clock", "60"), 60.0, 24),
    ("tang_mega_138k_pro", "id", (), 80.0, None),
    ("tang_mega_138k_pro", "all", ("--error", "1e-3", "--ii", "12", "--clock", "80"), 80.0, 12),
)
"""Board, functions, options, and what is asked for, if anything: MHz, and the interval."""
