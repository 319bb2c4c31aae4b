"""All cells of Gowin GW5A that have a model."""

from __future__ import annotations

from rbdgen_boards.models.family import Models
from rbdgen_boards.models.gowin import logic, memories, multipliers, pads, registers

CHOICES = ("MUX2", "MUX2_LUT5", "MUX2_LUT6", "MUX2_LUT7", "MUX2_LUT8")
DISTRIBUTED = ("RAM16SDP1", "RAM16SDP2", "RAM16SDP4")
DOUBLE, ONE_WAY = ("DPB", "DPX9B", "DP"), ("SDPB", "SDPX9B", "SDP")
SINGLE, CONSTANT = ("SP", "SPX9"), ("pROM", "pROMX9", "ROM")

GOWIN = Models(
    wires={
        **dict.fromkeys(("VCC", "GOWIN_VCC"), logic.high),
        **dict.fromkeys(("GND", "GOWIN_GND"), logic.low),
        **dict.fromkeys(logic.TABLES, logic.constant_table),
        **dict.fromkeys(("IBUF", "OBUF"), pads.pad),
        "BUFG": pads.clock_buffer,
        "GSR": pads.reset,
    },
    cells={
        **dict.fromkeys(logic.TABLES, logic.table),
        **dict.fromkeys(CHOICES, logic.wide_choice),
        **dict.fromkeys(DISTRIBUTED, logic.distributed),
        **dict.fromkeys(registers.REGISTERS, registers.register),
        **dict.fromkeys(SINGLE, memories.single),
        **dict.fromkeys(DOUBLE, memories.double),
        **dict.fromkeys(ONE_WAY, memories.one_way),
        **dict.fromkeys(CONSTANT, memories.constant),
        "ALU": logic.alu,
        "MULTALU27X18": multipliers.multalu27x18,
    },
    constants=("VCC", "GOWIN_VCC", "GND", "GOWIN_GND"),
    silent=("$scopeinfo", "SPINE_SELECT", "PINCFG"),
)
