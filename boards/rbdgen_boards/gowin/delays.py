"""What is known of the GW5AST-138's delays, and from where: nextpnr's analysis ends at cells that it has no delays of.

Two kinds of time are told apart. nextpnr has the time of its table (:data:`Filed`): it aims at clocks and writes delays
in that. Whatever a build says is in the time of the part's speed grade. A longer time of all in nextpnr's table would
not do: what its placer and router expect of wires that are not yet there are numbers of its own.
"""

from __future__ import annotations

from typing import Any, NewType

from rbdgen.devices.gw5a import DERATING, MULTIPLIER_OUTPUT, MULTIPLIER_SETUP
from rbdgen_boards.flow import Assumption
from rbdgen_boards.gowin.chipdb import Clocked
from rbdgen_boards.gowin.paths import Delays, Supplement, paths_through

Filed = NewType("Filed", float)
"""A delay in ns by nextpnr's table."""


def real(delay: Filed) -> float:
    """A delay of the part, in ns."""
    return delay * DERATING


def filed(ns: float) -> Filed:
    """A delay of the part as nextpnr's table would have it."""
    return Filed(ns / DERATING)


def aim(megahertz: float) -> float:
    """The clock that nextpnr is asked for where the part has to reach ``megahertz``."""
    return megahertz * DERATING


MULTIPLIER = Clocked(
    "MULTALU27X1800",
    "CLK0",
    ("CLK", "CE", "RESET"),
    setup=filed(MULTIPLIER_SETUP),
    output=filed(MULTIPLIER_OUTPUT),
)
"""Of multipliers nextpnr is told, so that it places them by what their paths need."""
MEMORY = Filed(2.26), Filed(0.44)
"""Behind a memory's clock and before it: apycula's ``clk_do_bypass``, and ``clka_reseta_set``, the longest of its kind.
"""
LUT4 = {"I0": Filed(0.549), "I1": Filed(0.57), "I2": Filed(0.462), "I3": Filed(0.371)}
"""A look-up table by input, as apycula has it; of those that nextpnr adds on the way into a register it writes none."""
LEAST = {
    ("CLK", "Q"): 0.382,
    ("D", "CLK"): 0.064,
    ("CE", "CLK"): 0.311,
    ("SET", "CLK"): 0.347,
    ("RESET", "CLK"): 0.347,
    ("CIN", "COUT"): 0.05,
}
"""Delays that are longer on this part than derated ones, in ns: those of registers, and of sums from bit to bit, as
Gowin's own analysis of a design for it prints them (version 1.9.10, GW5AST-LV138FPG676AC1/I0, slow model, 0.855 V and
0 °C; reports in sipeed/TangMega-138KPro-example, ``sfp+/customized_phy/10.3125G/impl/pnr``). For a set or reset with
the clock it is that of a clear. Of look-up tables the same reports have up to 0.579 ns, where a derated one takes
0.712 ns."""
MULTIPLIERS, MEMORIES = ("MULTALU27X18",), ("SP", "SDP", "DP", "ROM")
"""Their types of cells."""
KNOWN = Supplement(
    {"LUT4": {pin: real(delay) for pin, delay in LUT4.items()}},
    {
        **dict.fromkeys(MULTIPLIERS, (MULTIPLIER_OUTPUT, MULTIPLIER_SETUP)),
        **dict.fromkeys(MEMORIES, (real(MEMORY[0]), real(MEMORY[1]))),
    },
    LEAST,
)
"""What is known beside a file of nextpnr's, and multipliers, for where it has not been told of them."""
DERATED = "derating"
"""In a report: how much longer its times are than nextpnr's."""


def derated_report(report: dict[str, Any]) -> dict[str, Any]:
    """nextpnr's ``report`` in the time of the part. ValueError for one that is."""
    if DERATED in report:
        raise ValueError("report: must be in nextpnr's time, is in the part's")
    clocks = {}
    for name, clock in report["fmax"].items():
        clocks[name] = {key: megahertz / DERATING for key, megahertz in clock.items()}
    paths = []
    for path in report["critical_paths"]:
        steps = [step | {"delay": real(step["delay"])} for step in path["path"]]
        paths.append(path | {"path": steps})
    return report | {DERATED: DERATING, "fmax": clocks, "critical_paths": paths}


def assumptions(delays: Delays) -> tuple[Assumption, ...]:
    """What the clock of a design with these ``delays`` rests on."""
    output, setup = (real(delay) for delay in MEMORY)
    multipliers = paths_through(delays, MULTIPLIERS)
    memories = paths_through(delays, MEMORIES)
    return (
        Assumption(
            "multiplier blocks",
            f"{MULTIPLIER_OUTPUT:g} ns behind their clock, {MULTIPLIER_SETUP:g} ns before it",
            "a guess: nothing is published",
            *_rounded(*multipliers),
        ),
        Assumption(
            "block memories",
            f"{output:.2f} ns behind their clock, {setup:.2f} ns before it",
            f"apycula's table, {DERATING:g} times as long; nextpnr does not time them",
            *_rounded(*memories),
        ),
        Assumption(
            "speed grade",
            f"{DERATING:g} times the delays of the table that nextpnr times by",
            "Gowin's data sheet DS1239E: C1/I0 beside C2/I1, which the table agrees with",
        ),
        Assumption(
            "registers",
            f"clock to output not under {LEAST['CLK', 'Q']:g} ns, enable {LEAST['CE', 'CLK']:g} ns before the clock",
            "reports of Gowin's own analysis of a design for this part",
        ),
        Assumption(
            "clock network",
            "the clock comes to all registers at once, without jitter",
            "neither nextpnr nor apycula's table counts more",
        ),
    )


def _rounded(registers: int, slowest: float) -> tuple[int, float]:
    return registers, round(slowest, 3)
