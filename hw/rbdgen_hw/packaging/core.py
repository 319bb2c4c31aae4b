"""What every description of an IP core is made from."""

from __future__ import annotations

from dataclasses import dataclass

VENDOR = "rbdgen"
LIBRARY = "accelerators"


@dataclass(frozen=True)
class Port:
    """A port of the top module: its ``width`` in bits, and whether it is an output (``out``)."""

    name: str
    width: int
    out: bool


@dataclass(frozen=True)
class Core:
    """An IP core: the top module's ``name``, what it is, version, its Verilog ``files``, and its ports."""

    name: str
    summary: str
    version: str
    files: tuple[str, ...]
    ports: tuple[Port, ...]

    def bus(self, prefix: str) -> dict[str, Port]:
        """The ports of one bus, by their names without the bus's."""
        return {
            p.name.removeprefix(f"{prefix}_"): p
            for p in self.ports
            if p.name.startswith(f"{prefix}_")
        }


BUSES = {"s_axis": "slave", "m_axis": "master", "s_axi": "slave"}
"""Buses of the AXI shell, and the side on which it stands."""
