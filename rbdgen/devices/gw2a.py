"""Gowin GW2A. Resources: the data sheets of the GW2A and GW2AR series (DS102E, DS226E)."""

from __future__ import annotations

from dataclasses import replace

from rbdgen.devices.device import Resources
from rbdgen.devices.gw5a import DERATING, GW5A, MULTIPLIER_OUTPUT

GW2A = replace(
    GW5A,
    name="gw2a",
    summary="Gowin GW2A, 100 MHz model",
    # nextpnr times both by one table, which is that of this one's grade C8/I7
    **{
        name: round(getattr(GW5A, name) / DERATING, 3)
        for name in ("add", "level", "limit", "flag", "address", "table", "select", "routing")
    },
    shift=round(GW5A.shift / DERATING, 3),
    multiply=round(MULTIPLIER_OUTPUT + 1.6, 3),
    shape=(18, 18),
    # signals cross it as they do an ECP5-25
    admission_registers=0,
    connection_registers=0,
    factor_registers=0,
    flag_registers=1,
    lane_registers=0,
    loop_registers=0,
    synthesis="synth_gowin -family gw2a",
    parts={
        "GW2AR-LV18QN88C8/I7": Resources(multipliers=48, luts=20736, registers=15552, memories=46),
    },
)
FAMILY = (GW2A,)
