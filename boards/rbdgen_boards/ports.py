"""Ports of a board's top module beside its clock and its lights: those of the shell that it is around."""

from __future__ import annotations

from rbdgen.protocol.phys import RGMII, Pads

OPTIONAL = ("eth_rst_n",)
"""Ports that a board may leave unconnected: what it does not lead to a pin drives nothing."""


SHELL_PORTS: dict[str, Pads] = {
    "uart": {"rx": ("input", 1), "tx": ("output", 1)},
    "udp": {f"eth_{name}": pad for name, pad in RGMII.items()},
    "axi": {},
}
"""By shell. An AXI shell's streams lead to a system inside the device."""
LIGHTS = ("settled", "idle")
"""What lights say, the first one first: the clock is there; nothing is in work."""
