"""Two devices that stand for no product: one without registers in its multipliers, one with a register there."""

from __future__ import annotations

from dataclasses import replace

from rbdgen.devices.device import LUT4_CHAINS, Device

CHAINED = Device(
    "generic125",
    "125 MHz model: multiply 3.0 ns, add 0.8 ns, chained",
    period=8.0,
    multiply=3.0,
    multiply_cycles=0,
    add=0.8,
    level=0.8,
    limit=0.0,
    flag=0.0,
    address=0.0,
    table=1.6,
    select=0.8,
    routing=0.0,
    shift=2.4,
    shape=(18, 18),
    fabric=LUT4_CHAINS,
    # for figures of an IP core alone: any family does
    synthesis="synth_ecp5",
)
REGISTERED = replace(
    CHAINED,
    name="generic250",
    summary="250 MHz model: registered multipliers, add 0.8 ns",
    period=4.0,
    multiply=0.8,
    multiply_cycles=1,
)
FAMILY = (CHAINED, REGISTERED)
