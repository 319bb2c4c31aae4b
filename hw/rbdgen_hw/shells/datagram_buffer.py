"""How large the buffer of a shell for datagrams is, and what it promises of it."""

from __future__ import annotations

from rbdgen.protocol.datagrams import BODY_BYTES, OVERHEAD_BYTES, WORD_BYTES, padded, task_lengths
from rbdgen.protocol.tasks import TaskFormat

MINIMUM_BUFFER = 16384
"""Bytes: room for 256 tasks of usual arms."""
REQUESTS = 16
"""For so many requests there is room beside what is promised."""


def buffer_bytes(tasks: TaskFormat) -> int:
    """Bytes of datagrams that a shell keeps: room for four of the longest tasks, a power of two."""
    longest = max(map(padded, task_lengths(tasks)))
    datagrams = -(-longest // BODY_BYTES)
    four = 4 * (longest + datagrams * OVERHEAD_BYTES)
    whole = four + REQUESTS * OVERHEAD_BYTES + WORD_BYTES
    return max(MINIMUM_BUFFER, 1 << (whole - 1).bit_length())


def capacity(tasks: TaskFormat) -> int:
    """What a shell promises of its buffer: all but what some requests take and the word that a full one leaves free."""
    return buffer_bytes(tasks) - REQUESTS * OVERHEAD_BYTES - WORD_BYTES
