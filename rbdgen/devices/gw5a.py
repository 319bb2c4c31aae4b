"""Gowin GW5A: as large as the GW5AST-138 is, what goes from unit to unit is sent from registers."""

from __future__ import annotations

from rbdgen.devices.device import LUT4_PLACES, Device, Resources

DERATING = 1.25
"""Delays of the parts' speed grade, C1/I0, in units of those in the table that apycula files under that
name, and nextpnr times by. Gowin's own analysis has C1/I0 take 1.25 times as long as C2 in every row of its reports,
and so does its data sheet DS1239E beside C2/I1 (tables 3-13 and 3-14, as mathieufro/apicula's doc/timing-c1i0.md quotes
them), whose figures of that grade are the table's: 1.075 to 1.148 ns for a register's reset in both, 0.200 to 0.230 ns
for its clock to output where the table has 0.201 to 0.232 ns. docs/clocks.md has what agrees with it and what does
not."""
MULTIPLIER_OUTPUT, MULTIPLIER_SETUP = 2.0, 0.5
"""ns behind a multiplier block's clock and before it. Assumed for this speed grade, since nothing is published: most of
the time is behind the product's register, where the sum that follows it is passed."""


def derated(ns: float) -> float:
    """A delay of this speed grade, of one by apycula's table."""
    return round(DERATING * ns, 3)


ROUTABLE = 0.72
"""nextpnr connected all functions of iiwa14 in 55% of the places of look-up tables after 23 rounds, and in 64% after
208, with wires half as fast."""
GW5A = Device(
    "gw5a",
    "Gowin GW5A, 100 MHz model",
    period=10.0,
    # numbers in derated() were fitted to paths that were routed and timed by apycula's table
    multiply=MULTIPLIER_OUTPUT + derated(1.6),
    multiply_cycles=2,
    add=derated(2.6),
    level=derated(1.8),
    limit=derated(1.4),
    flag=derated(0.9),
    address=derated(2.6),
    table=derated(5.0),
    select=derated(1.2),
    routing=derated(2.2),
    shift=derated(7.0),
    shape=(27, 18),
    admission_registers=1,
    connection_registers=1,
    factor_registers=1,
    flag_registers=3,
    lane_registers=1,
    loop_registers=1,
    fabric=LUT4_PLACES,
    routable=ROUTABLE,
    synthesis="synth_gowin -family gw5a",
    parts={
        "GW5A-LV25MG121NC1/I0": Resources(multipliers=28, luts=23040, registers=23040, memories=56),
        "GW5AST-LV138FPG676AC1/I0": Resources(
            multipliers=298, luts=138240, registers=138240, memories=340
        ),
    },
)
FAMILY = (GW5A,)
