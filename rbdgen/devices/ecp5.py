"""Lattice ECP5. Resources: ECP5 and ECP5-5G family data sheet (FPGA-DS-02012)."""

from __future__ import annotations

from rbdgen.devices.device import LUT4_CHAINS, Device, Resources

FACTOR = 5.0
"""Before a multiplier block that has a register behind it only: 3.5 ns of set-up, as nextpnr knows it, and 1.5 ns of
connection. A register before the block as well would take a cycle of every product, for a path that is no longer than
two sums."""
LARGEST = Resources(multipliers=156, luts=83640, registers=83640, memories=208)
"""Of all parts with 84,000 look-up tables."""
ROUTABLE = 0.72
"""nextpnr connected iiwa14's `dfd` in 60% of the look-up tables in an hour and a quarter, and in 66% not at all. With
90% of the multipliers `id` at an interval of 1 was placed for 45 MHz, with 46% at an interval of 2 routed at 105."""
ECP5 = Device(
    "ecp5",
    "Lattice ECP5-85, 100 MHz model",
    period=10.0,
    multiply=5.0,
    multiply_cycles=1,
    add=4.0,
    level=2.8,
    limit=2.2,
    flag=1.3,
    address=4.0,
    table=8.5,
    select=1.5,
    routing=0.0,
    shift=6.0,
    shape=(18, 18),
    factor=FACTOR,
    flag_registers=1,
    fabric=LUT4_CHAINS,
    routable=ROUTABLE,
    synthesis="synth_ecp5",
    parts={
        "LFE5U-85F-6BG381C": LARGEST,
        "LFE5UM5G-85F-8BG554I": LARGEST,
    },
)
FAMILY = (ECP5,)
