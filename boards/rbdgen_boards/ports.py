"""Ports of a board's top module beside its clock and its lights: those of the shell that it is around."""

from __future__ import annotations

from rbdgen.protocol.phys import RGMII, Pads

OPTIONAL = ("eth_rst_n", "ready")
"""Ports that a board may leave unconnected: what it does not lead to a pin drives nothing."""


SHELL_PORTS: dict[str, Pads] = {
    "uart": {"rx": ("input", 1), "tx": ("output", 1)},
    "spi": {
        "sck": ("input", 1),
        "cs_n": ("input", 1),
        "mosi": ("input", 1),
        "miso": ("output", 1),
        "ready": ("output", 1),
    },
    "udp": {f"eth_{name}": pad for name, pad in RGMII.items()},
    "axi": {},
}
"""By shell. An AXI shell's streams lead to a system inside the device."""
LIGHTS = ("settled", "idle")
"""What lights say, the first one first: the clock is there; nothing is in work."""
