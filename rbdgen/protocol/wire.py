"""What datagrams take of an Ethernet: bytes on the wire, with all that stands around them."""

from __future__ import annotations

from rbdgen.protocol.datagrams import BODY_BYTES, OVERHEAD_BYTES, padded

PREAMBLE_BYTES = 8
MAC_BYTES = 14
IP_BYTES = 20
UDP_BYTES = 8
FCS_BYTES = 4
GAP_BYTES = 12
SHORTEST_FRAME = 60
"""Bytes of a frame from its MAC addresses on, without its check sum."""
AROUND_BYTES = PREAMBLE_BYTES + MAC_BYTES + IP_BYTES + UDP_BYTES + FCS_BYTES + GAP_BYTES
"""Bytes of the wire's time around a UDP payload that is not short."""
GIGABIT = 125e6
"""Bytes a second."""


def frame_time(payload: int) -> int:
    """Bytes of the wire's time that a UDP payload of so many bytes takes."""
    frame = max(MAC_BYTES + IP_BYTES + UDP_BYTES + payload, SHORTEST_FRAME)
    return PREAMBLE_BYTES + frame + FCS_BYTES + GAP_BYTES


def wire_bytes(packet: int) -> float:
    """Bytes of the wire's time that a packet of so many bytes takes, in datagrams as full as its like make them."""
    size = padded(packet)
    together = BODY_BYTES // size
    around = OVERHEAD_BYTES + AROUND_BYTES
    if together:
        return size + around / together
    datagrams = -(-size // BODY_BYTES)
    return size + datagrams * around
