"""Lattice Nexus. Resources: CrossLink-NX Family Data Sheet (FPGA-DS-02049), and nextpnr's device."""

from __future__ import annotations

from dataclasses import replace

from rbdgen.devices.device import LUT4, Resources
from rbdgen.devices.ecp5 import ECP5

NEXUS = replace(
    # delays of ECP5's model: by nextpnr a table takes 0.3 ns, two bits of a carry 0.06 ns, a product of 36 x 36 bits
    # 4.9 ns and a memory 1.8 ns, none of which is more than there
    ECP5,
    name="nexus",
    summary="Lattice CrossLink-NX-40, 100 MHz model",
    fabric=LUT4,
    synthesis="synth_nexus -family lifcl",
    parts={
        "LIFCL-40-9BG400C": Resources(multipliers=56, luts=32256, registers=32256, memories=84),
    },
)
FAMILY = (NEXUS,)
