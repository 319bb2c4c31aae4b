"""All cells of ECP5 that have a model."""

from __future__ import annotations

from rbdgen_boards.models.ecp5 import distributed, logic, memories, multipliers, pads, registers
from rbdgen_boards.models.family import Models

ECP5 = Models(
    wires={
        "LUT4": logic.constant_lut4,
        "TRELLIS_COMB": logic.constant_comb,
        "TRELLIS_RAMW": distributed.writer,
        "TRELLIS_IO": pads.pad,
        "DCCA": pads.clock_buffer,
        "EHXPLLL": pads.pll,
    },
    cells={
        "LUT4": logic.lut4,
        "PFUMX": logic.pfumx,
        "L6MUX21": logic.l6mux21,
        "CCU2C": logic.ccu2c,
        "TRELLIS_COMB": logic.comb,
        "TRELLIS_DPR16X4": distributed.distributed,
        "TRELLIS_FF": registers.register,
        "DP16KD": memories.dp16kd,
        "MULT18X18D": multipliers.mult18x18d,
    },
    silent=("$scopeinfo",),
)
