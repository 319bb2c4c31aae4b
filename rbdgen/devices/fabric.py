"""Logic and memories of a device: how much of them there is, and how much operators take, by a model."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace


@dataclass(frozen=True)
class Resources:
    """Multiplier blocks, look-up tables, registers, and block memories: what there is, or what is used."""

    multipliers: int
    luts: int
    registers: int
    memories: int

    def as_dict(self) -> dict[str, int]:
        """By name, as reports have them."""
        return asdict(self)


@dataclass(frozen=True)
class Fabric:
    """Logic that operators take of a device: look-up tables with four inputs, if nothing else is said."""

    adder: float
    """Per bit of a sum: less than one where synthesis finds bits that are constant, or takes two sums together."""
    multiplexer: float
    """Per bit and further input of a multiplexer."""
    sign: float
    """Per bit of an argument whose sign is chosen."""
    saturation: float
    """Per bit of a result that can saturate."""
    flag: float
    """Per bit that only an overflow's flag looks at."""
    shifter: float
    """Per bit and level of a shifter."""
    carry: float
    """Of a sum, beyond its bits."""
    rounding: float
    """Per bit of a sum that is rounded, for that: nothing where half of the last place goes into the sum's own carry
    chain."""
    accumulator: float
    """Per bit of an accumulator: its sum, the sign of what is added, and whether it starts."""
    fifo: float
    """Per bit of a FIFO in distributed memory of up to ``fifo_depth`` entries."""
    fifo_depth: int
    """Entries that distributed memory has at the price of one."""
    control: int
    """Of streams, phases and results, whatever the robot."""
    memory_width: int
    """Bits that a block memory reads at once."""
    memory_rows: int
    """Rows of that width that a block memory has."""
    apart: float = 0.0
    """Share of registers that keep anything else out of a look-up table's place: where a register's input comes from
    the table or sum in its own place, those that are fed by something else."""


LUT4 = Fabric(
    adder=1.0,
    multiplexer=0.75,
    sign=1.0,
    saturation=1.9,
    flag=0.5,
    shifter=3.0,
    carry=0.5,
    rounding=1.0,
    accumulator=3.0,
    fifo=2.6,
    fifo_depth=16,
    control=1200,
    memory_width=36,
    memory_rows=512,
)
"""Fitted to syntheses of eight designs for ECP5 (``bench/logic.py``). Devices that nothing was fitted for are modelled
with it, too."""
LUT4_CHAINS = replace(LUT4, rounding=0.0, accumulator=1.0)
"""The same where look-up tables before a carry chain take in what rounding adds, signs and starts
(:mod:`rbdgen_hw.primitives`)."""
LUT4_PLACES = replace(LUT4, accumulator=2.0, apart=0.6)
"""Gowin's, where sums choose their sign (:mod:`rbdgen_hw.primitives`), and a register has its place together with a
look-up table: of those of five designs 52 to 65% keep one of their own, counted in netlists of the GW5A."""
LUT6 = replace(
    LUT4,
    adder=0.75,
    multiplexer=0.5,
    flag=0.3,
    shifter=2.0,
    carry=0.0,
    rounding=0.0,
    accumulator=2.0,
    fifo=1.5,
    fifo_depth=32,
    control=1300,
)
"""Look-up tables with six inputs, fitted to syntheses of six designs for UltraScale+ (``bench/logic.py``)."""
