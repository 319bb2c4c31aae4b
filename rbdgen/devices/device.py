"""Facts of a device: its delays, the registers that its designs have, its multiplier blocks and its logic.

Figures are a model of each device, for scheduling; what place and route makes of it is a measurement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from rbdgen.errors import ConfigError


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


SHIFTED = 2 / 3
"""Share of a period that a shifter may take, where multipliers have registers."""
LEFT = 1 / 3
"""Share of a period that a memory's output leaves, if no register follows it."""


SLOWEST, FASTEST = 1, 1000
"""Clocks in MHz that designs are made for."""


@dataclass(frozen=True)
class Device:
    """A device, or a model of one. Delays are in ns; operations chain within a cycle as long as their delays fit
    ``period``.

    Registers that no delay asks for are stated, each kind by a field of its own: in a large device's design signals
    that cross it have a cycle for that.
    """

    name: str
    summary: str
    period: float
    """The clock's."""
    multiply: float
    """A multiplier; with registers (``multiply_cycles``), what is behind the last of them."""
    multiply_cycles: int
    """Registers inside a multiplier; 0: it is combinational."""
    add: float
    """A sum with its rounding."""
    level: float
    """Each further level of a tree of sums."""
    limit: float
    """Delay that saturation adds to any operator."""
    flag: float
    """Where nothing saturates: from an operator's result to the register of its overflow flag."""
    address: float
    """Before a table's clock: its address. Tables are synchronous memories."""
    table: float
    """Behind a table's clock, unless that needs a register (:attr:`table_cycles`)."""
    select: float
    """The multiplexer before a shared operator."""
    routing: float
    """The connection from another unit, together with a multiplexer on it. A delay, and no more than that."""
    shift: float
    """To find a number's top bit and move it there; with a register half way where that takes too much of a period
    (:attr:`shift_cycles`)."""
    shape: tuple[int, int]
    """Bits of a multiplier block's two inputs, signed."""
    fabric: Fabric
    """Logic that operators take."""
    synthesis: str
    """Yosys's command for it, with the family where the command has several."""
    admission_registers: int = 0
    """Between a task's admission and the choice of its operands, at intervals of three cycles or more: 0 or 1."""
    connection_registers: int = 0
    """In the unit that makes a value, before another unit gets it, unless it is needed as it is made."""
    factor: float = 0.0
    """Of a multiplier with registers, what is before the first of them: nothing where its inputs have one."""
    factor_registers: int = 0
    """Before the multipliers of units that no other unit reads (:attr:`rbdgen.ir.graph.Graph.last`), if multipliers
    have registers: the connection to that unit and the one to where multipliers are take a cycle each. Elsewhere every
    later task would wait for that."""
    flag_registers: int = 0
    """From an operator's overflow to the header of its result, which waits for them: 1, the operator's own; 3, that
    one, one for all of a unit, and one for all units."""
    lane_registers: int = 0
    """Behind the choice among lanes of results, which is made a cycle earlier for that: 0 or 1."""
    loop_registers: int = 0
    """Before a FIFO that leads back into the pipelines: 0 or 1."""
    unsigned_parts: bool = False
    """Whether a block takes unsigned inputs of all of its bits, as parts of a wider product are."""
    routable: float = 1.0
    """The share of look-up tables, registers and multiplier blocks to which place and route connects as well as that of
    other devices does all."""
    # mappings have no hash
    parts: Mapping[str, Resources] = field(default_factory=dict, hash=False)
    """Resources of parts, by order code."""

    def __post_init__(self) -> None:
        for name in ("admission_registers", "lane_registers", "loop_registers"):
            if getattr(self, name) not in (0, 1):
                raise ValueError(
                    f"device {self.name}: {name} must be 0 or 1, not {getattr(self, name)}"
                )

    def at_clock(self, megahertz: float) -> Device:
        """The same device with another clock rate. ConfigError for one outside the range of clocks."""
        if not SLOWEST <= megahertz <= FASTEST:
            raise ConfigError(f"clock: must be {SLOWEST} to {FASTEST} MHz, not {megahertz:g}")
        return replace(self, period=1e3 / megahertz)

    @property
    def megahertz(self) -> float:
        """Clock rate of the model."""
        return 1e3 / self.period

    @property
    def reach(self) -> float:
        """The longest that an argument from a register takes to an operator: a multiplexer, or another unit's."""
        return max(self.select, self.routing)

    @property
    def table_cycles(self) -> int:
        """Clocks of a table: one, or where its memory would leave too little of the next for anything else, two."""
        return 1 if self.period - self.table >= LEFT * self.period else 2

    @property
    def shift_cycles(self) -> int:
        """Clocks inside a shifter."""
        if self.multiply_cycles == 0:
            return 0
        whole = self.shift + max(self.limit, self.flag)
        return int(whole > SHIFTED * self.period)

    @property
    def aligning_cycles(self) -> int:
        """Registers between a multiplier and its accumulator, behind what moves products to their places: one where a
        period is too short for both."""
        # with registers inside a multiplier, the way to it belongs to a cycle before
        first = self.reach if self.multiply_cycles == 0 else 0.0
        whole = first + self.multiply + self.select + self.add + max(self.limit, self.flag)
        return int(whole > self.period)

    def starting_cycles(self, saturates: bool) -> int:
        """Registers between a sum that an accumulator starts from and the accumulator, where the design ``saturates``
        or not: one where a period is too short for both, and products have registers behind which it is in time."""
        if not self.multiply_cycles + self.aligning_cycles:
            return 0
        overflow = self.limit if saturates else self.flag
        whole = self.reach + self.add + self.level + overflow
        return int(whole > self.period)

    @property
    def table_output(self) -> float:
        """Delay of a table behind its last clock, ns: behind a register only the sign is still to be applied."""
        return self.table if self.table_cycles == 1 else self.add

    def entry_cycles(self, ii: int) -> int:
        """Cycles from a task's admission to the first of the pipelines, at an interval of ``ii``: where choices follow
        the phase one, in which all of the device learns that it starts; then those of :attr:`admission_registers`,
        unless tasks would have to follow too fast for that."""
        # at an interval of one cycle nothing is chosen
        if ii == 1:
            return 0
        return 1 + (self.admission_registers if ii > 2 else 0)

    def task_beats(self, ii: int) -> int:
        """The most beats of a task that follows another every ``ii`` cycles: all of them, but for a cycle where the
        last task's operands are chosen after its admission."""
        return ii - max(0, self.entry_cycles(ii) - 1)

    def product_cycles(self, last: bool) -> int:
        """Clocks of a product; ``last``: of a unit that no other reads."""
        if self.multiply_cycles == 0 or not last:
            return self.multiply_cycles
        return self.multiply_cycles + self.factor_registers

    def blocks(self, a: int, b: int) -> int:
        """Multiplier blocks for one signed a × b bit product (the cheaper way round)."""
        n, m = self.shape

        def tiles(bits: int, shape: int) -> int:
            # all parts but the uppermost are unsigned, and have a bit less of an input that is always signed
            part = shape if self.unsigned_parts else shape - 1
            return 1 if bits <= shape else 1 + -(-(bits - shape) // part)

        return min(tiles(a, n) * tiles(b, m), tiles(a, m) * tiles(b, n))
