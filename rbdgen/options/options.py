"""All options of the compiler: those of its stages, and the goal of the whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rbdgen.layout.trace_options import TraceOptions
from rbdgen.options.together import check_together, outputs
from rbdgen.schedule.layout import SharingOptions
from rbdgen.setting import INTEGER, WORD, setting
from rbdgen.wordlength.request import FormatOptions
from rbdgen.wordlength.targets import DEFAULT_ERROR, finest, for_all

MAX_REPLICAS = 64
"""More accelerators behind one stream than any device has room for."""
BENCH_TASKS = 500
"""Mixed tasks of a testbench, unless another number is asked for."""
VERIFIED_TASKS = 1000
"""Mixed tasks that each netlist of a verified build runs, unless another number is asked for."""
GOALS = {
    "throughput": "as many tasks a second as possible, and of what is as fast the smallest",
    "area": "the smallest",
    "latency": "the fastest answer to a lone task, and of what is as fast the smallest",
    "host": "as many tasks a second as the board's link brings, and of what is as fast there the smallest",
}
"""Goals by which the tool chooses, where it chooses; the first where nothing is said."""


@dataclass(frozen=True)
class Options(SharingOptions, FormatOptions, TraceOptions):
    """A design as it is asked for: what is computed, with what arithmetic, at what rate, how hardware is shared, on
    what device.

    Each stage declares its own; every field has a description (:func:`rbdgen.setting.settings`) that the command line
    and the reference show. ConfigError for a value that an option does not take, and for options that do not go
    together."""

    replicas: int | None = setting(
        None,
        INTEGER,
        "rate",
        "accelerators side by side behind one stream, for so many times the tasks",
        otherwise="1, or what a board has room for and its link can feed",
        least=1,
        most=MAX_REPLICAS,
        metavar="N",
    )
    goal: str | None = setting(
        None,
        WORD,
        "sharing",
        "optimisation goal",
        otherwise="throughput, where a board has too little",
        choices=lambda: GOALS,
        flag="for",
        metavar="GOAL",
        basic=True,
    )

    def __post_init__(self) -> None:
        # each option alone first: what goes together is asked of values in their own types
        super().__post_init__()
        check_together(self)

    @property
    def targets(self) -> Mapping[str, float | str]:
        """The errors allowed, by name, those that nothing is said of included; none where there is a word length
        instead."""
        if self.word is not None:
            return {}
        return for_all(self.error, outputs(self), DEFAULT_ERROR)

    @property
    def precision_label(self) -> str:
        """The same as :attr:`precision_text`, as short as can be."""
        if self.word is not None:
            return f"{self.word} bits"
        return f"error {finest(self.targets)}"

    @property
    def precision_text(self) -> str:
        """The word length or the error that was asked for, in a few words."""
        if self.word is not None:
            return f"{self.word}-bit words"
        return f"formats for an error of {finest(self.targets)}"
