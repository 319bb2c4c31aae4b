"""AMD 7 series. Resources: 7 Series FPGAs Data Sheet: Overview (DS180)."""

from __future__ import annotations

from rbdgen.devices.device import Device
from rbdgen.devices.fabric import LUT6, Resources

XC7 = Device(
    "xc7",
    "AMD 7-series, speed grade 1, 150 MHz model",
    period=6.6,
    multiply=4.0,
    multiply_cycles=0,
    add=1.3,
    level=1.3,
    limit=0.0,
    flag=0.0,
    address=1.3,
    table=2.2,
    select=0.9,
    routing=0.0,
    shift=3.5,
    shape=(25, 18),
    fabric=LUT6,
    synthesis="synth_xilinx -family xc7",
    parts={
        "xc7a100tcsg324-1": Resources(multipliers=240, luts=63400, registers=126800, memories=135)
    },
)
FAMILY = (XC7,)
