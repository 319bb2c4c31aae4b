"""Lattice iCE40 UltraPlus. Resources: iCE40 UltraPlus Family Data Sheet (FPGA-DS-02008)."""

from __future__ import annotations

from rbdgen.devices.device import LUT4, Device, Resources

ICE40UP = Device(
    "ice40up",
    "Lattice iCE40 UltraPlus, 20 MHz model",
    period=50.0,
    # by icestorm's delays, with a connection of 2 ns before each operator: a table takes 1.3 ns, a carry 0.28 ns a bit
    multiply=12.0,
    multiply_cycles=1,
    add=14.0,
    level=12.0,
    limit=5.0,
    flag=4.0,
    address=3.0,
    table=6.0,
    select=4.0,
    routing=3.0,
    shift=20.0,
    shape=(16, 16),
    unsigned_parts=True,
    fabric=LUT4,
    synthesis="synth_ice40 -device u",
    parts={
        # memories are blocks of 4 kbit; beside them there are four of 256 kbit, which begin without contents
        "ICE40UP5K-SG48": Resources(multipliers=8, luts=5280, registers=5280, memories=30),
    },
)
FAMILY = (ICE40UP,)
