"""The options of machines: which kind of hardware, and how large an engine is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rbdgen.errors import ConfigError
from rbdgen.machines.engine.core import LANES
from rbdgen.setting import INTEGER, OPEN, WORD, StageOptions, setting

PIPELINE, ENGINE = "pipeline", "engine"
KINDS = {
    PIPELINE: "an operator, or a share of one, for every operation",
    ENGINE: "a few lanes that run a program",
}
"""Kinds of machines, and what they are."""
MOST_CORES = 32
"""More cores than any device has room for."""
USUAL_LANES = 4
"""Lanes where nothing is said: more speed is more cores of so many."""


def listed(numbers: Iterable[int]) -> str:
    """Numbers in words: 1, 2 or 4."""
    *others, last = map(str, numbers)
    return f"{', '.join(others)} or {last}"


@dataclass(frozen=True)
class MachineOptions(StageOptions):
    """The kind of machine, and an engine's lanes and cores."""

    machine: str = setting(
        OPEN,
        WORD,
        "sharing",
        "the kind of hardware: "
        + "; or ".join(f"{name}, {summary}" for name, summary in KINDS.items()),
        otherwise="pipeline; for a rate or --for area the smaller one, and what a board has room for",
        choices=lambda: (OPEN, *KINDS),
        metavar="M",
        basic=True,
    )
    lanes: int | None = setting(
        None,
        INTEGER,
        "sharing",
        f"of an engine: lanes that multiply and add, {listed(LANES)}",
        otherwise=f"{USUAL_LANES}",
        metavar="L",
    )
    cores: int | None = setting(
        None,
        INTEGER,
        "rate",
        "of an engine: cores of so many lanes behind one program, for so many times the tasks",
        otherwise="1, or what a board has room for and its link can feed",
        least=1,
        most=MOST_CORES,
        metavar="N",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lanes is not None and self.lanes not in LANES:
            raise ConfigError(f"lanes: must be {listed(LANES)}, not {self.lanes}")
