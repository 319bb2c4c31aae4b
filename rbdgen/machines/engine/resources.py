"""Model of what an engine takes of a device: it follows the core's shape, whatever the program."""

from __future__ import annotations

from dataclasses import dataclass

from rbdgen.devices.device import LUT4_CHAINS, Device, Resources
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.program import Layout
from rbdgen.machines.engine.special import FACTOR


def multiplier_blocks(core: Core, device: Device) -> int:
    """Blocks of a core: those of its lanes' products, one factor of which may be doubled, and of the special unit."""
    if core.lean:
        # products are doubled behind them
        return core.lanes * device.blocks(core.width, core.width)
    lane = device.blocks(core.width + 1, core.width)
    return core.lanes * lane + device.blocks(FACTOR, FACTOR)


def estimate(core: Core, device: Device, cores: int = 1, parameters: int = 0) -> Resources:
    """The model's figures for so many cores with their sequencer and streams, and what loads so many parameters."""
    share = device.fabric.multiplexer / FITTED.multiplexer
    luts, registers = LUTS.of(core, cores), REGISTERS.of(core, cores)
    kept = memories(core, device, cores)
    if core.kept:
        luts += cores * REPEATER_LUTS
        registers += cores * REPEATER_REGISTERS
        kept += cores * (
            _blocks(core.width, core.words, device) + _blocks(core.width, core.kept, device)
        )
    if parameters:
        luts += LOADER_LUTS
        registers += LOADER_REGISTERS
        kept += _blocks(core.width, KNOWN * parameters, device)
    luts = share * luts + device.fabric.apart * registers
    blocks = cores * multiplier_blocks(core, device)
    return Resources(blocks, round(luts), round(registers), kept)


@dataclass(frozen=True)
class _Linear:
    """Amounts of what is there once, of each core beside its lanes, of each lane, and of each lane for each bank; those
    of lanes are for words of :data:`FITTED_WIDTH` bits, and grow with these."""

    once: int
    core: int
    lane: int
    bank: int

    def of(self, core: Core, cores: int) -> float:
        """The amount of so many cores."""
        lanes = core.lanes * (self.lane + self.bank * core.banks)
        return self.once + cores * (self.core + lanes * core.width / FITTED_WIDTH)


FITTED, FITTED_WIDTH = LUT4_CHAINS, 32
LUTS = _Linear(995, 995, 677, 70)
REGISTERS = _Linear(1166, 1403, 358, 53)
"""Fitted to syntheses for ECP5 of a core of 1, 2, 4 and 8 lanes, and of two cores (``bench/engine.py``), with a place
for each four bits of small memories; other fabrics are modelled by what a multiplexer takes of them."""


LOADER_LUTS, LOADER_REGISTERS = 340, 93
"""Of what loads parameters, the same."""
REPEATER_LUTS, REPEATER_REGISTERS = 600, 188
"""Of what brings a core's tasks back for their next steps, the same."""
KNOWN = 4
"""Words of a table that it has of each."""


def _blocks(bits: int, rows: int, device: Device) -> int:
    """Block memories of so many rows of so many bits."""
    fabric = device.fabric
    whole, rest = divmod(bits, fabric.memory_width)
    # half as wide, a memory has twice as many rows
    narrow = 2 if 0 < rest <= fabric.memory_width // 2 else 1
    last = -(-rows // (narrow * fabric.memory_rows)) if rest else 0
    return whole * -(-rows // fabric.memory_rows) + last


def memories(core: Core, device: Device, cores: int = 1) -> int:
    """Block memories: of the program, and in each core of operands and of a copy of each bank for each operand of each
    lane and for what is sent, of the streams' words and limits, and of the special unit's tables."""

    def blocks(bits: int, rows: int) -> int:
        return _blocks(bits, rows, device)

    program = blocks(Layout(core).bits, core.depth)
    copies = core.lanes * (1 + 2 * core.banks) + core.banks
    values = copies * blocks(core.width, core.words)
    streams = blocks(core.width, core.words) + blocks(core.width + 1, core.results)
    limits = blocks(core.width + 1, 2 * core.limits)
    return program + cores * (values + streams + limits + TABLES)


TABLES = 4
"""Block memories of the special unit's tables."""
