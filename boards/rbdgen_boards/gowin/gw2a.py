"""Gowin GW2A: the tools of a GW5A, with delays of its own. Its speed grade is that of nextpnr's table."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from rbdgen.devices.gw2a import GW2A
from rbdgen.devices.gw5a import MULTIPLIER_OUTPUT, MULTIPLIER_SETUP
from rbdgen_boards.flow import Assumption
from rbdgen_boards.gowin.delays import LUT4, MEMORIES, MEMORY, MULTIPLIERS, Clocked
from rbdgen_boards.gowin.flow import SYNTHESIS as GW5A_SYNTHESIS
from rbdgen_boards.gowin.flow import Gowin, Times
from rbdgen_boards.gowin.paths import Delays, Supplement, paths_through

MULTIPLIER = Clocked(
    "MULT18X1800",
    "CLK0",
    ("CLK", "CE", "RESET"),
    setup=MULTIPLIER_SETUP,
    output=MULTIPLIER_OUTPUT,
)
"""What nextpnr is told of a GW2A's multipliers."""
KNOWN = Supplement(
    {"LUT4": dict(LUT4)},
    {
        **dict.fromkeys(MULTIPLIERS, (MULTIPLIER_OUTPUT, MULTIPLIER_SETUP)),
        **dict.fromkeys(MEMORIES, MEMORY),
    },
)


def assumptions(delays: Delays) -> tuple[Assumption, ...]:
    """Assumptions that the clock of a GW2A's design with these ``delays`` rests on."""
    multipliers, memories = (
        paths_through(delays, MULTIPLIERS),
        paths_through(delays, MEMORIES),
    )
    return (
        Assumption(
            "multiplier blocks",
            f"{MULTIPLIER_OUTPUT:g} ns behind their clock, {MULTIPLIER_SETUP:g} ns before it",
            "a guess: nothing is published",
            multipliers[0],
            round(multipliers[1], 3),
        ),
        Assumption(
            "block memories",
            f"{MEMORY[0]:.2f} ns behind their clock, {MEMORY[1]:.2f} ns before it",
            "apycula's table for C8/I7; nextpnr does not time them",
            memories[0],
            round(memories[1], 3),
        ),
        Assumption(
            "clock network",
            "the clock comes to all registers at once, without jitter",
            "neither nextpnr nor apycula's table counts more",
        ),
    )


SYNTHESIS = replace(GW5A_SYNTHESIS, command=f"{GW2A.synthesis} -nowidelut")


class Gw2a(Gowin):
    """GW2A with tools from PyPI."""

    name = "gw2a"
    multiplier = "gw2a"
    syntheses: ClassVar = {"gw2a": SYNTHESIS}
    synthesis: ClassVar = SYNTHESIS
    times: ClassVar = Times(MULTIPLIER, KNOWN, 1.0, assumptions)
