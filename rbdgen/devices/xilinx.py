"""AMD: 7 series and UltraScale+. Resources: 7 Series FPGAs Data Sheet: Overview (DS180), UltraScale Architecture and
Product Data Sheet (DS890), Kria K26 Data Sheet (DS987)."""

from __future__ import annotations

from rbdgen.devices.device import LUT6, Device, Resources

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
        # the first is what the IP core is packaged for where nobody says
        "xc7a100tcsg324-1": Resources(multipliers=240, luts=63400, registers=126800, memories=135),
        "xc7a35tcpg236-1": Resources(multipliers=90, luts=20800, registers=41600, memories=50),
        "xc7z020clg400-1": Resources(multipliers=220, luts=53200, registers=106400, memories=140),
    },
)


XCUP = Device(
    "xcup",
    "AMD UltraScale+, 200 MHz model",
    period=5.0,
    multiply=2.8,
    multiply_cycles=0,
    add=0.7,
    level=0.7,
    limit=0.0,
    flag=0.0,
    address=0.7,
    table=1.2,
    select=0.5,
    routing=0.0,
    shift=2.2,
    shape=(27, 18),
    fabric=LUT6,
    synthesis="synth_xilinx -family xcup",
    parts={
        "xck26-sfvc784-2LV-c": Resources(
            multipliers=1248, luts=117120, registers=234240, memories=144
        ),
        "xcvu9p-flga2104-2L-e": Resources(
            multipliers=6840, luts=1182240, registers=2364480, memories=2160
        ),
    },
)
FAMILY = (XC7, XCUP)
