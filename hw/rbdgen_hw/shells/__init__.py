"""Shells between the accelerator's streams and the outside of a chip: byte links, UART, AXI."""
