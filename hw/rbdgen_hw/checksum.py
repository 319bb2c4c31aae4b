"""CRC-32 a few bits at a time, for what comes no faster: a register, and a choice for each bit of its polynomial."""

from __future__ import annotations

from amaranth.hdl import Const, Mux, Value

POLYNOMIAL = 0xEDB88320
"""CRC-32's, of which the bits that leave are the lowest."""
CRC_BITS = 32


def stepped(register: Value, data: Value) -> Value:
    """The register, which begins with ones, after the bits of ``data``, the lowest first. Its complement is the CRC of
    all that it took."""
    for bit in data:
        odd = register[0] ^ bit
        register = register[1:] ^ Mux(odd, Const(POLYNOMIAL, CRC_BITS), 0)
    return register
