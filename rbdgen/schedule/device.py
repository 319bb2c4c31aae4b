"""Devices: clock period, operator delays and multiplier shape that a schedule is made for.

Figures are a model of each device, for scheduling; what place and route makes of it is a measurement.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from rbdgen.errors import ConfigError


@dataclass(frozen=True)
class Device:
    """Timing model. Delays in ns; operations chain within a cycle as long as their delays fit ``period``.

    ``multiply_cycles``: registers inside a multiplier (0: combinational); with registers ``multiply`` is the delay
    behind the last one. ``add`` is a sum with its rounding, ``level`` each further level of a tree of sums, ``limit``
    what saturation adds to any of them. Tables are synchronous memories: one cycle, then ``table``. ``select`` is the
    multiplexer before a shared multiplier; ``shift`` finds a number's top bit and moves it there. ``shape``: bits of
    one multiplier block's two inputs, signed.
    """

    name: str
    summary: str
    period: float
    multiply: float
    multiply_cycles: int
    add: float
    level: float
    limit: float
    table: float
    select: float
    shift: float
    shape: tuple[int, int]

    @property
    def megahertz(self) -> float:
        """Clock rate of the model."""
        return 1e3 / self.period

    def blocks(self, a: int, b: int) -> int:
        """Multiplier blocks for one signed a × b bit product (the cheaper way round)."""
        n, m = self.shape

        def tiles(bits: int, shape: int) -> int:
            return 1 if bits <= shape else 1 + -(-(bits - shape) // (shape - 1))

        return min(tiles(a, n) * tiles(b, m), tiles(a, m) * tiles(b, n))


DEVICES = {
    d.name: d
    for d in (
        Device(
            "generic125",
            "125 MHz model: multiply 3.0 ns, add 0.8 ns, chained",
            8.0,
            3.0,
            0,
            0.8,
            0.8,
            0.0,
            1.6,
            0.8,
            2.4,
            (18, 18),
        ),
        Device(
            "generic250",
            "250 MHz model: registered multipliers, add 0.8 ns",
            4.0,
            0.8,
            1,
            0.8,
            0.8,
            0.0,
            1.6,
            0.8,
            2.4,
            (18, 18),
        ),
        Device("ecp5", "Lattice ECP5-85, 100 MHz model", 10.0, 5.0, 2, 4.0, 1.2, 2.2, 8.5, 1.5, 6.0, (18, 18)),
        Device("gw5a", "Gowin GW5A, 125 MHz model", 8.0, 3.6, 2, 2.6, 1.0, 1.4, 5.0, 1.2, 5.0, (27, 18)),
        Device(
            "xc7", "AMD 7-series, speed grade 1, 150 MHz model", 6.6, 4.0, 0, 1.3, 1.3, 0.0, 2.2, 0.9, 3.5, (25, 18)
        ),
        Device("xcup", "AMD UltraScale+, 200 MHz model", 5.0, 2.8, 0, 0.7, 0.7, 0.0, 1.2, 0.5, 2.2, (27, 18)),
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
