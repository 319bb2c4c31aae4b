"""Packets that write into an engine whose programs come over its link: the one home of their words, for the host, its
models and the RTL.

Such a packet has the code :data:`rbdgen.protocol.tasks.LOAD` and 11 words of 32 bits behind its header:

- what is written, from bit 0: the address of the first one (20 bits), the target (3) and how many less one (3);
- the highest four bits of each of the eight, the first one's lowest;
- the other 32 bits of each, zeros where there is none;
- CRC-32 of all these as bytes, lowest first, as ``zlib`` has it.

It waits until all tasks before it are answered. Its answer is a header, with the flag ``RANGE`` where the check failed
and nothing was written. Writing twice does no harm, nor does another order: whoever loads writes that there are no such
functions, then all that they need, and at last that there are; where that is cut off anywhere, functions are the old
ones, the new ones or none.

Of the target :data:`READ` nothing is written: bits 16 to 31 of the answer's first beat are the word at that address of
the directory, which keeps what a host wrote there about programs. Only hosts know what it means
(:mod:`rbdgen.protocol.directory`).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rbdgen.protocol.tasks import LOAD, LOAD_WORDS

DATA_BITS = 36
"""Bits of what is written at an address, which is what a block memory is wide."""
ADDRESS_BITS = 20
TARGET_BITS = 3
PROGRAM, CONSTANT, ROUTINE, ROTATING, LIMIT, DIRECTORY = range(6)
"""What is written, by code."""
READ = 7
"""The target of a packet that asks for a word of the directory."""
PARTS = 4
"""Addresses of a function's entry, behind each other, from four times its code on."""
BLOCK = 8
"""Words that a packet writes, at most, at addresses that follow each other."""
COUNT_BITS = 3
LOW_BITS = 32
"""Of each its bits in a word of its own."""
HIGH_BITS = DATA_BITS - LOW_BITS
assert LOAD_WORDS == 2 + BLOCK + 1
DIRECTORY_WORDS = 256
"""Words of 16 bits in the directory."""
TOLD_BIT = 16
"""The lowest bit of a directory's word in an answer."""
TOLD_BITS = 16


@dataclass(frozen=True)
class Write:
    """A word of ``data`` that goes to an ``address`` of a ``target``."""

    target: int
    address: int
    data: int


def block_words(target: int, address: int, data: Sequence[int]) -> list[int]:
    """The words of a packet that writes these at addresses that follow each other, or asks for one."""
    if not 1 <= len(data) <= BLOCK or address >> ADDRESS_BITS or target >> TARGET_BITS:
        raise ValueError(f"block of {len(data)} words at {target}:{address}: is none")
    mask = (1 << LOW_BITS) - 1
    padded = [*data, *[0] * (BLOCK - len(data))]
    high = sum(x >> LOW_BITS << HIGH_BITS * k for k, x in enumerate(padded))
    first = address | target << ADDRESS_BITS | len(data) - 1 << ADDRESS_BITS + TARGET_BITS
    words = [first, high, *(x & mask for x in padded)]
    return [*words, checksum(words)]


def checksum(words: Sequence[int]) -> int:
    """CRC-32 of words of 32 bits."""
    return zlib.crc32(np.array(words, "<u4").tobytes())


def read_block(words: Sequence[int]) -> list[Write] | None:
    """What a packet with these words writes; None where its check fails."""
    if checksum(words[:-1]) != words[-1]:
        return None
    first, high, *low = words[:-1]
    address = first & (1 << ADDRESS_BITS) - 1
    target = first >> ADDRESS_BITS & (1 << TARGET_BITS) - 1
    count = (first >> ADDRESS_BITS + TARGET_BITS & (1 << COUNT_BITS) - 1) + 1
    found = []
    for k, x in enumerate(low[:count]):
        whole = (high >> HIGH_BITS * k & (1 << HIGH_BITS) - 1) << LOW_BITS | x
        found.append(Write(target, address + k & (1 << ADDRESS_BITS) - 1, whole))
    return found


def blocks(writes: Iterable[Write]) -> Iterator[list[int]]:
    """The words of packets that write all of it, whatever its order."""
    ordered = sorted(writes, key=lambda w: (w.target, w.address))
    run: list[Write] = []
    for before, own in pairwise([None, *ordered]):
        assert own is not None
        follows = before is not None and own.target == before.target
        if not run or (follows and own.address == run[-1].address + 1 and len(run) < BLOCK):
            run.append(own)
            continue
        yield _block(run)
        run = [own]
    if run:
        yield _block(run)


def _block(run: Sequence[Write]) -> list[int]:
    return block_words(run[0].target, run[0].address, [w.data for w in run])


BLOCK_BYTES = 4 * LOAD_WORDS
"""Bytes of a packet's words behind its header."""


def block_bytes(words: Sequence[int]) -> bytes:
    """Words of a packet as bytes."""
    return np.array(words, "<u4").tobytes()


def target_of(block: bytes) -> int:
    """What the words of a packet, as bytes, write."""
    first = int.from_bytes(block[:4], "little")
    return first >> ADDRESS_BITS & (1 << TARGET_BITS) - 1


def block_packets(given: Iterable[bytes]) -> list[bytes]:
    """Packets of these words, as bytes."""
    head = LOAD.to_bytes(4, "little")
    return [head + block for block in given]


def load_packets(writes: Iterable[Write]) -> list[bytes]:
    """Packets that write all of it."""
    return block_packets(block_bytes(words) for words in blocks(writes))


def read_packets(addresses: Iterable[int]) -> list[bytes]:
    """Packets that ask for words of the directory."""
    return block_packets(block_bytes(block_words(READ, a, [0])) for a in addresses)


def told_word(answer: bytes) -> int:
    """The directory's word in an answer."""
    return int.from_bytes(answer[:4], "little") >> TOLD_BIT
