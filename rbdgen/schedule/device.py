"""Devices: clock period, operator delays and multiplier shape that a schedule is made for.

Figures are a model of each device, for scheduling; what place and route makes of it is a measurement.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace

from rbdgen.errors import ConfigError

SHIFTED = 2 / 3
"""Share of a period that a shifter may take, where multipliers have registers."""
LEFT = 1 / 3
"""Share of a period that a memory's output leaves, if no register follows it."""


@dataclass(frozen=True)
class Device:
    """Timing model. Delays in ns; operations chain within a cycle as long as their delays fit ``period``.

    ``multiply_cycles``: registers inside a multiplier (0: combinational); with registers ``multiply`` is the delay
    behind the last one. ``add`` is a sum with its rounding, ``level`` each further level of a tree of sums, ``limit``
    what saturation adds to any of them, and ``flag``, where nothing saturates, the way of an overflow to its register.
    Tables are synchronous memories: ``address`` before the clock, for the place in the table, one cycle, then
    ``table``, unless that needs a register (:attr:`table_cycles`). ``select`` is the multiplexer before a shared
    multiplier or table, ``link`` the way from another unit, with what is chosen on it (0: none); ``shift`` finds a
    number's top bit and moves it there, with a register half way where that takes too much of a period
    (:attr:`shift_cycles`). ``shape``: bits of one multiplier block's two inputs, signed.
    """

    name: str
    summary: str
    period: float
    multiply: float
    multiply_cycles: int
    add: float
    level: float
    limit: float
    flag: float
    address: float
    table: float
    select: float
    link: float
    shift: float
    shape: tuple[int, int]

    def at_clock(self, megahertz: float) -> Device:
        """The same device with another clock rate. ConfigError for one below 1 or above 1000 MHz."""
        if not 1 <= megahertz <= 1000:
            raise ConfigError(f"clock: must be 1 to 1000 MHz, not {megahertz:g}")
        return replace(self, period=1e3 / megahertz)

    @property
    def megahertz(self) -> float:
        """Clock rate of the model."""
        return 1e3 / self.period

    @property
    def table_cycles(self) -> int:
        """Clocks of a table: one, or where its memory would leave too little of the next for anything else, two."""
        return 1 if self.period - self.table >= LEFT * self.period else 2

    @property
    def shift_cycles(self) -> int:
        """Clocks inside a shifter."""
        return int(self.multiply_cycles > 0 and self.shift + max(self.limit, self.flag) > SHIFTED * self.period)

    @property
    def table_output(self) -> float:
        """Delay of a table behind its last clock, ns: behind a register only the sign is still to be applied."""
        return self.table if self.table_cycles == 1 else self.add

    def entry_cycles(self, ii: int) -> int:
        """Cycles from a task's admission to the first of the pipelines, at an interval of ``ii``: where choices follow
        the phase one, in which all of the device learns that it starts; where ways between units take time another, in
        which its operands are chosen, unless tasks would have to follow too fast for that."""
        return int(ii > 1) + int(ii > 2 and self.link > 0)

    def task_beats(self, ii: int) -> int:
        """The most beats of a task that follows another every ``ii`` cycles: all of them, but for a cycle where the
        last task's operands are chosen after its admission."""
        return ii - max(0, self.entry_cycles(ii) - 1)

    @property
    def flag_cycles(self) -> int:
        """Cycles for which results stay before they are taken, where an overflow has a way of its own to its register:
        one for its register; on a large device two more, as a unit's are then collected in one, and those of units."""
        return int(self.flag > 0) * (3 if self.link else 1)

    def product_cycles(self, last: bool) -> int:
        """Clocks of a product. Where ways between units take time, ``last`` units (:attr:`rbdgen.ir.graph.Graph.last`)
        have a register more, before their multipliers: the way from another unit and the one to where the device has
        multipliers are a cycle each. Elsewhere that would make every later task wait."""
        return self.multiply_cycles + int(last and self.multiply_cycles > 0 and self.link > 0)

    def blocks(self, a: int, b: int) -> int:
        """Multiplier blocks for one signed a × b bit product (the cheaper way round)."""
        n, m = self.shape

        def tiles(bits: int, shape: int) -> int:
            return 1 if bits <= shape else 1 + -(-(bits - shape) // (shape - 1))

        return min(tiles(a, n) * tiles(b, m), tiles(a, m) * tiles(b, n))


_CHAINED = {
    "add": 0.8,
    "level": 0.8,
    "limit": 0.0,
    "flag": 0.0,
    "address": 0.0,
    "table": 1.6,
    "select": 0.8,
    "link": 0.0,
    "shift": 2.4,
}
DEVICES = {
    d.name: d
    for d in (
        Device(
            "generic125",
            "125 MHz model: multiply 3.0 ns, add 0.8 ns, chained",
            **_CHAINED,
            period=8.0,
            multiply=3.0,
            multiply_cycles=0,
            shape=(18, 18),
        ),
        Device(
            "generic250",
            "250 MHz model: registered multipliers, add 0.8 ns",
            **_CHAINED,
            period=4.0,
            multiply=0.8,
            multiply_cycles=1,
            shape=(18, 18),
        ),
        Device(
            "ecp5",
            "Lattice ECP5-85, 100 MHz model",
            period=10.0,
            multiply=5.0,
            multiply_cycles=2,
            add=4.0,
            level=2.8,
            limit=2.2,
            flag=1.3,
            address=4.0,
            table=8.5,
            select=1.5,
            link=0.0,
            shift=6.0,
            shape=(18, 18),
        ),
        Device(
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
            link=2.2,
            shift=7.0,
            shape=(27, 18),
        ),
        Device(
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
            link=0.0,
            shift=3.5,
            shape=(25, 18),
        ),
        Device(
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
            link=0.0,
            shift=2.2,
            shape=(27, 18),
        ),
    )
}
"""Known devices by name."""
DEFAULT_DEVICE = "generic125"


def get_device(name: str) -> Device:
    """The device of that name; ConfigError with the nearest names."""
    if name not in DEVICES:
        near = difflib.get_close_matches(name, DEVICES, 1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ConfigError(f"device {name!r}: unknown; {hint}known devices: {', '.join(DEVICES)}")
    return DEVICES[name]
