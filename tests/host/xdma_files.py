"""A board behind AMD's XDMA as its driver for Linux shows it: a stand-in for the functions of ``os`` that reach it.

It behaves as the driver's documentation and PG195 say: one packet of the stream for each writing, whose end the board
sees; readings that end at TLAST or when their buffer is full; buffers that must begin at a page; calls that wait until
they are done or for ``patience`` seconds; registers of 32 bits, which read as ones where the board is gone.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import sys
import threading
from collections.abc import Sequence

from rbdgen.protocol.registers import Register
from rbdgen_sim.axi import DmaModel

NODES = ("user", "h2c_0", "c2h_0")
PAGES_OF_A_PACKET = 2048
ROOM = 4096
"""Bytes of results that the board keeps while nobody reads them."""


def failure(number: int) -> OSError:
    return OSError(number, os.strerror(number))


class XdmaFiles:
    """The files of ``/dev/xdma0``, behind which ``dma`` answers.

    ``refused``: files that cannot be opened, with the error; ``chop``: bytes that a reading has at most, however large
    its buffer; ``held``: no result leaves; ``gone``: the board is; ``resets``: it is reset amid the transfers of these
    numbers, whose results are lost."""

    def __init__(self, dma: DmaModel, patience: float = 10.0) -> None:
        self.dma, self.patience = dma, patience
        self.dma.registers[Register.RESULTS] = 0
        self.refused: dict[str, int] = {}
        self.chop = 1 << 30
        self.held = self.gone = False
        self.resets: set[int] = set()
        self.transfers = 0
        self.opened: dict[int, str] = {}
        self.flags: dict[str, int] = {}
        self.results = bytearray()
        self.ends: list[int] = []
        """Where packets of results end in what is there of them."""
        self.reading = 0
        self.change = threading.Condition()

    def open(self, path: str, flags: int, /) -> int:
        device, _, node = path.partition("_")
        if device != "/dev/xdma0" or node not in NODES:
            raise failure(errno.ENOENT)
        if node in self.refused:
            raise failure(self.refused[node])
        if node == "c2h_0" and node in self.opened.values():
            raise failure(errno.EBUSY)
        handle = 100 + len(self.flags) + len(self.opened)
        self.opened[handle], self.flags[node] = node, flags
        return handle

    def close(self, handle: int, /) -> None:
        del self.opened[handle]

    def pread(self, handle: int, length: int, offset: int, /) -> bytes:
        assert self.opened[handle] == "user"
        if offset % 4:
            raise failure(errno.EPROTO)
        value = 0xFFFFFFFF if self.gone else self.dma.read_register(offset)
        return value.to_bytes(4, sys.byteorder)

    def pwrite(self, handle: int, data: memoryview | bytes, offset: int, /) -> int:
        if self.opened[handle] == "user":
            if not self.gone:
                self.dma.write_register(offset, int.from_bytes(data, sys.byteorder))
            return len(data)
        assert self.opened[handle] == "h2c_0"
        at_page(data)
        assert len(data) <= PAGES_OF_A_PACKET * mmap.PAGESIZE, "TLAST would come within a batch"
        self.transfers += 1
        if self.transfers in self.resets:
            self.dma.reset()
            self.dma.registers[Register.RESULTS] = 0
            return len(data)
        answer = b"" if self.held or self.gone else self.dma.transfer(bytes(data), 0)
        with self.change:
            self.results += answer
            self.ends += [len(self.results)] if answer else []
            self.change.notify_all()
            # what the board cannot keep holds up the tasks
            done = self.change.wait_for(
                lambda: len(self.results) <= ROOM and not self.gone and not self.held,
                self.patience,
            )
        if not done:
            raise failure(errno.ETIMEDOUT)
        return len(data)

    def preadv(self, handle: int, buffers: Sequence[memoryview], offset: int, /) -> int:
        assert self.opened[handle] == "c2h_0"
        (buffer,) = buffers
        at_page(buffer)
        assert len(buffer) % 64 == 0
        assert self.flags["c2h_0"] & os.O_TRUNC, "it would not end at TLAST"
        with self.change:
            self.reading += 1
            assert self.reading == 1
            done = self.change.wait_for(lambda: bool(self.results) and not self.gone, self.patience)
            self.reading -= 1
            if not done:
                raise failure(errno.ETIMEDOUT)
            count = min(len(buffer), self.ends[0], self.chop)
            buffer[:count] = self.results[:count]
            del self.results[:count]
            self.ends = [end - count for end in self.ends if end > count]
            self.dma.registers[Register.RESULTS] += 1
            self.change.notify_all()
        return count

    def again(self) -> None:
        """Nothing of an earlier transfer is left, as after a reset."""
        with self.change:
            self.results.clear()
            self.ends.clear()
            self.change.notify_all()


def at_page(data: memoryview | bytes) -> None:
    """Refuse a buffer that does not begin at a page, as parts of it would not be whole beats."""
    assert isinstance(data, memoryview)
    address = ctypes.addressof(ctypes.c_char.from_buffer(data))
    if address % mmap.PAGESIZE:
        raise failure(errno.EINVAL)
