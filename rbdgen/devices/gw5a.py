"""Gowin GW5A: as large as the GW5AST-138 is, what goes from unit to unit is sent from registers."""

from __future__ import annotations

from rbdgen.devices.device import Device
from rbdgen.devices.fabric import LUT4_PLACES, Resources

GW5A = Device(
    "gw5a",
    "Gowin GW5A, 125 MHz model",
    period=8.0,
    multiply=3.6,
    multiply_cycles=2,
    add=2.6,
    level=1.8,
    limit=1.4,
    flag=0.9,
    address=2.6,
    table=5.0,
    select=1.2,
    routing=2.2,
    shift=7.0,
    shape=(27, 18),
    admission_registers=1,
    connection_registers=1,
    factor_registers=1,
    flag_registers=3,
    lane_registers=1,
    loop_registers=1,
    fabric=LUT4_PLACES,
    synthesis="synth_gowin -family gw5a",
    parts={
        "GW5AST-LV138FPG676AC1/I0": Resources(
            multipliers=298, luts=138240, registers=138240, memories=340
        )
    },
)
FAMILY = (GW5A,)
