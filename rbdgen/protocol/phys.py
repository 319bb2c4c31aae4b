"""Pads of Ethernet PHYs, as the FPGA that they are connected to sees them: their names and widths, for the RTL and for
boards' files. RGMII: Reduced Gigabit Media Independent Interface, version 2.0."""

from __future__ import annotations

Pads = dict[str, tuple[str, int]]
"""Direction, ``input`` or ``output``, and width by name."""
RGMII: Pads = {
    "rx_clk": ("input", 1),
    "rx_ctl": ("input", 1),
    "rx_data": ("input", 4),
    "tx_clk": ("output", 1),
    "tx_ctl": ("output", 1),
    "tx_data": ("output", 4),
    "rst_n": ("output", 1),
}
