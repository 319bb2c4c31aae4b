"""Lattice ECP5. Resources: ECP5 and ECP5-5G family data sheet (FPGA-DS-02012)."""

from __future__ import annotations

from rbdgen.devices.device import LUT4_CHAINS, Device, Resources

FACTOR = 5.0
"""Before a multiplier block that has a register behind it only: 3.5 ns of set-up, as nextpnr knows it, and 1.5 ns of
connection. A register before the block as well would take a cycle of every product, for a path that is no longer than
two sums."""
SIZES = {
    "12F": Resources(multipliers=28, luts=12144, registers=12144, memories=32),
    "25F": Resources(multipliers=28, luts=24288, registers=24288, memories=56),
    "45F": Resources(multipliers=72, luts=43848, registers=43848, memories=108),
    "85F": Resources(multipliers=156, luts=83640, registers=83640, memories=208),
}
"""By the size in an order code, whatever the package and the speed grade."""
ROUTABLE = 0.72
"""nextpnr connected iiwa14's `dfd` in 60% of the look-up tables in an hour and a quarter, and in 66% not at all. With
90% of the multipliers `id` at an interval of 1 was placed for 45 MHz, with 46% at an interval of 2 routed at 105."""
PARTS = (
    "LFE5U-12F-6BG381C",
    "LFE5U-25F-6BG256C",
    "LFE5U-25F-6BG381C",
    "LFE5U-25F-8MG285C",
    "LFE5U-45F-6BG381C",
    "LFE5U-85F-6BG381C",
    "LFE5U-85F-8MG285C",
    "LFE5UM5G-45F-8BG554I",
    "LFE5UM5G-85F-8BG381C",
    "LFE5UM5G-85F-8BG554I",
)
"""Order codes of parts on boards that are known."""
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
    parts={part: SIZES[part.split("-")[1]] for part in PARTS},
)
FAMILY = (ECP5,)
