"""What every description of an IP core is made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rbdgen.protocol.registers import RegisterEntry

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
    """An IP core.

    ``name`` is the top module's. ``files`` are its Verilog, ``bench`` the files of its self-checking bench, the source
    first; of several accelerators behind one stream there is none. ``synthesis`` is Yosys's command for its device,
    ``part`` the order code that Vivado gets, ``vivado`` whether its device is one of Vivado's.
    """

    name: str
    summary: str
    version: str
    files: tuple[str, ...]
    bench: tuple[str, ...]
    ports: tuple[Port, ...]
    registers: tuple[RegisterEntry, ...]
    synthesis: str
    part: str
    vivado: bool

    def bus(self, prefix: str) -> dict[str, Port]:
        """The ports of one bus, by their names without the bus's."""
        return {
            p.name.removeprefix(f"{prefix}_"): p
            for p in self.ports
            if p.name.startswith(f"{prefix}_")
        }

    def constants(self) -> Iterator[tuple[RegisterEntry, int]]:
        """The registers that always read as the same, with what that is."""
        for entry in self.registers:
            if entry.constant and entry.reset is not None:
                yield entry, entry.reset


BUSES = {"s_axis": "slave", "m_axis": "master", "s_axi": "slave"}
"""Buses of the AXI shell, and the side on which it stands."""
