"""Ports of a board's top module beside its clock and its lights: those of the shell that it is around."""

from __future__ import annotations

from amaranth.hdl import Shape
from amaranth.lib.wiring import In

from rbdgen_hw.shells.ethernet import RGMII

Ports = dict[str, tuple[str, int]]
"""Direction, ``input`` or ``output``, and width by name."""
OPTIONAL = ("eth_rst_n",)
"""Ports that a board may leave unconnected: what it does not lead to a pin drives nothing."""


def _rgmii() -> Ports:
    ports = {}
    for name, member in RGMII.pads.members.items():
        direction = "input" if member.flow == In else "output"
        ports[f"eth_{name}"] = direction, Shape.cast(member.shape).width
    return ports


SHELL_PORTS: dict[str, Ports] = {
    "uart": {"rx": ("input", 1), "tx": ("output", 1)},
    "udp": _rgmii(),
    "axi": {},
}
"""By shell. An AXI shell's streams lead to a system inside the device."""
LIGHTS = ("settled", "idle")
"""What lights say, the first one first: the clock is there; nothing is in work."""
