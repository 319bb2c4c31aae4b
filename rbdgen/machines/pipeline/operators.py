"""Operators: how long each operation's logic takes on a device, and how many look-up tables it is.

One table from operation to hardware for delays and costs; multipliers, shared ones and those of constant factors have
rules of their own (:mod:`rbdgen.machines.pipeline.delays`, :mod:`rbdgen.machines.pipeline.resources`).
"""

from __future__ import annotations

from rbdgen.devices.device import Device, Fabric


class Operator:
    """Logic of one operation; this one is none."""

    def delay(self, device: Device) -> float:
        """Delay without registers, ns."""
        return 0.0

    def tables(self, fabric: Fabric, exact: int, argument: int, result: int) -> float:
        """Look-up tables for an exact result of so many bits, before it is rounded, from an ``argument`` to a
        ``result`` of so many."""
        return 0.0


class Adder(Operator):
    """A carry chain."""

    def delay(self, device: Device) -> float:
        return device.add

    def tables(self, fabric: Fabric, exact: int, argument: int, result: int) -> float:
        return fabric.adder * exact + fabric.carry


class Rounder(Operator):
    """The sum that rounds, which is counted with all others'."""

    def delay(self, device: Device) -> float:
        return device.add


class Shifter(Operator):
    """A move by as many places as a value says."""

    def delay(self, device: Device) -> float:
        return device.shift

    def tables(self, fabric: Fabric, exact: int, argument: int, result: int) -> float:
        # a level for each bit of the number of places, between argument and result in width
        levels = max(argument - 2, 1).bit_length()
        return fabric.shifter * (argument + result) * levels / 2


class Table(Operator):
    """Choice among a memory's answers."""

    def tables(self, fabric: Fabric, exact: int, argument: int, result: int) -> float:
        return 2.0 * result


OPERATORS = {
    "input": Operator(),
    "const": Operator(),
    "sum": Adder(),
    "abs": Adder(),
    "sign": Operator(),
    "shift": Operator(),
    "round": Rounder(),
    "table_sin": Table(),
    "table_cos": Table(),
    "table_reciprocal": Table(),
    "residual": Operator(),
    "normalise": Shifter(),
    "rescale": Shifter(),
}
"""The operator of each operation, a sum's without products."""
