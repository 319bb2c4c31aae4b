"""The accelerator behind PCI Express: AMD's XDMA and its driver for Linux, which has a file for each thing to do.

For a board that is ``/dev/xdma0`` these are ``/dev/xdma0_h2c_0`` (tasks), ``/dev/xdma0_c2h_0`` (results) and
``/dev/xdma0_user`` (registers). What is asked of these files, by AMD's PG195 and the driver:

- What is written at once leaves as one packet of the stream, with TLAST at its end, as long as it takes no more than
  2,048 pages. A reading ends at TLAST, where the file was opened with ``O_TRUNC``, or when its buffer is full.
- A buffer is cut at the ends of pages, and every part but the last must fill whole beats of 64 bytes: buffers begin at
  a page. One for results is a multiple of 64 bytes long.
- A call waits until it is done, or for as long as the driver was told to (10 s), whatever happens on the board. So each
  direction has a thread of its own, and whether results leave is told by a register.
- A board that is gone reads as ones.

:meth:`rbdgen.host.driver.Driver.xdma` opens it. Not here: what a batch is (:mod:`rbdgen.host.stream_link`).
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from typing import Protocol

from rbdgen.errors import LinkError
from rbdgen.host.exchanges import DEFAULT_SECONDS, Watch
from rbdgen.host.manifest import Manifest
from rbdgen.host.stream_link import DEFAULT_BATCH, StreamLink
from rbdgen.protocol.registers import Register, stream_bits
from rbdgen.protocol.tasks import TaskFormat

DEFAULT_DEVICE = "/dev/xdma0"
"""The first board, as AMD's driver names it."""
USER, INTO, OUT = "user", "h2c_0", "c2h_0"
"""Registers, tasks, results."""
OPENING = {USER: os.O_RDWR, INTO: os.O_RDWR, OUT: os.O_RDWR | os.O_TRUNC}
"""Flags with which each file is opened."""
GRAIN = 64
"""Bytes of a beat of XDMA's streams, of which a buffer for results is a multiple."""
WORD_BYTES = 4
"""Bytes of a register."""
ALL_ONES = (1 << 32) - 1
"""The value that a register of a board that is gone reads as."""
MOST_BYTES = 1 << 22
"""Of tasks that are written at once: half of what the driver takes for one packet of the stream."""
LOOK_SECONDS = 0.02
"""Between two looks at whether results leave."""
REMEDY = "load its bitstream, and rescan PCI Express"


class Files(Protocol):
    """Operations on the files: functions of :mod:`os`."""

    def open(self, path: str, flags: int, /) -> int: ...

    def close(self, handle: int, /) -> None: ...

    def pread(self, handle: int, length: int, offset: int, /) -> bytes: ...

    def pwrite(self, handle: int, data: memoryview | bytes, offset: int, /) -> int: ...

    def preadv(self, handle: int, buffers: Sequence[memoryview], offset: int, /) -> int: ...


class _Call:
    """A system call, which sets ``ended`` at its end, when it is ``over``. ``count`` is what it returned."""

    def __init__(self, node: str, ended: threading.Event, call: Callable[[], int]) -> None:
        self.node, self.ended, self.call = node, ended, call
        self.over = False
        self.count = 0
        self.error: OSError | None = None

    def run(self) -> None:
        """Make it, however long that takes."""
        try:
            self.count = self.call()
        except OSError as error:
            self.error = error
        self.over = True
        self.ended.set()


class _Caller:
    """A thread that makes one call after another, as they come."""

    def __init__(self) -> None:
        self.calls: SimpleQueue[_Call | None] = SimpleQueue()
        # nobody waits at the program's end for what may never come
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while (call := self.calls.get()) is not None:
            call.run()


class XdmaDevice:
    """The board called ``path`` in front of ``_user`` and the like; a :class:`rbdgen.host.stream_link.StreamDevice`.
    ``seconds``: how long no result may leave during a transfer; ``files``: what reaches the board's files.

    LinkError for a board that is not there, that others use, or that this user may not open.
    """

    def __init__(
        self,
        path: str = DEFAULT_DEVICE,
        seconds: float = DEFAULT_SECONDS,
        files: Files = os,
    ) -> None:
        self.path, self.seconds, self.files = path, seconds, files
        self.callers = {node: _Caller() for node in (INTO, OUT)}
        self.under_way: list[_Call] = []
        self.amid = False
        """Whether a transfer was given up: its results may still come, until a reset."""
        self.handles: dict[str, int] = {}
        try:
            for node, flags in OPENING.items():
                self.handles[node] = self._open(node, flags)
        except LinkError:
            self.close()
            raise

    def transfer(self, data: bytes, size: int) -> bytes:
        """Send the beats ``data``, and receive ``size`` bytes of beats."""
        self._settle()
        self.amid = True
        ended = threading.Event()
        found = bytearray()
        writing = self._write(data, ended)
        reading, back = self._read(size, ended)
        watch, left = Watch(self.seconds), None
        while not writing.over or len(found) < size:
            if not ended.wait(LOOK_SECONDS):
                results = self.read_register(Register.RESULTS)
                if results != left:
                    left = results
                    watch.again()
                self._check(watch)
                continue
            ended.clear()
            self._check_written(writing, len(data))
            if reading.over and len(found) < size:
                found += back[: self._count(reading)]
                watch.again()
                if len(found) < size:
                    reading, back = self._read(size - len(found), ended)
        self.amid = False
        return bytes(found)

    def read_register(self, address: int) -> int:
        """The register at ``address``. LinkError where the board is gone."""
        value = self._register(address)
        # one register may really hold ones; the version never does
        if value == ALL_ONES and self._register(Register.VERSION) == ALL_ONES:
            raise LinkError(
                f"device: {self.path}: is gone, its registers read as ones; check power and cable, {REMEDY}"
            )
        return value

    def write_register(self, address: int, value: int) -> None:
        """Write the register at ``address``."""
        # a host that meets the device writes it: the last moment to see that it was zero
        if address == Register.EPOCH:
            self._see_reset()
        with self._named(USER):
            data = value.to_bytes(WORD_BYTES, sys.byteorder)
            self.files.pwrite(self._handle(USER), data, address)

    def close(self) -> None:
        """Let go of the board."""
        for caller in self.callers.values():
            caller.calls.put(None)
        handles, self.handles = self.handles, {}
        for handle in handles.values():
            # a board that is gone is let go of all the same
            with contextlib.suppress(OSError):
                self.files.close(handle)

    def _open(self, node: str, flags: int) -> int:
        name = f"{self.path}_{node}"
        try:
            return self.files.open(name, flags)
        except OSError as error:
            raise LinkError(f"device: {name}: {_unopened(error)}") from None

    def _handle(self, node: str) -> int:
        if node not in self.handles:
            raise LinkError(f"device: {self.path}: is closed; open it again")
        return self.handles[node]

    def _register(self, address: int) -> int:
        with self._named(USER):
            data = self.files.pread(self._handle(USER), WORD_BYTES, address)
        if len(data) != WORD_BYTES:
            raise LinkError(
                f"device: {self.path}_{USER}: {len(data)} of a register's {WORD_BYTES} bytes were read; {REMEDY}"
            )
        return int.from_bytes(data, sys.byteorder)

    def _write(self, data: bytes, ended: threading.Event) -> _Call:
        """Begin to send ``data``."""
        handle = self._handle(INTO)
        # anonymous memory begins at a page, which a bytes object does not
        pages = mmap.mmap(-1, max(1, len(data)))
        pages[: len(data)] = data
        view = memoryview(pages)[: len(data)]
        return self._begin(_Call(INTO, ended, lambda: self.files.pwrite(handle, view, 0)))

    def _read(self, size: int, ended: threading.Event) -> tuple[_Call, mmap.mmap]:
        """Begin to receive ``size`` bytes, and where they will be."""
        handle = self._handle(OUT)
        pages = mmap.mmap(-1, size + -size % GRAIN)
        view = memoryview(pages)
        return self._begin(_Call(OUT, ended, lambda: self.files.preadv(handle, [view], 0))), pages

    def _begin(self, call: _Call) -> _Call:
        # a call that never ends keeps its buffer, to which the board may still write
        self.under_way = [x for x in self.under_way if not x.over]
        self.under_way.append(call)
        self.callers[call.node].calls.put(call)
        return call

    def _settle(self) -> None:
        """See that nothing of an earlier transfer is under way or to come."""
        if self.amid:
            self._see_reset()
        if self.amid:
            raise LinkError(f"device: {self.path}: is amid a transfer that was given up; {REMEDY}")
        watch = Watch(self.seconds)
        for call in self.under_way:
            while not call.over and not watch.over:
                time.sleep(LOOK_SECONDS)
            if not call.over:
                raise LinkError(
                    f"device: {self.path}_{call.node}: an earlier transfer is still under way after "
                    f"{self.seconds:g} s; {REMEDY}"
                )
        self.under_way = []

    def _see_reset(self) -> None:
        """Where the board was reset, nothing of an earlier transfer comes any more."""
        # only a reset writes zero there; hosts write other numbers
        if self.read_register(Register.EPOCH) == 0:
            self.amid = False

    def _check(self, watch: Watch) -> None:
        if watch.over:
            raise LinkError(
                f"device: {self.path}: no result left for {self.seconds:g} s during a transfer; {REMEDY}"
            )

    def _check_written(self, writing: _Call, length: int) -> None:
        """LinkError where tasks were not taken as they should have been."""
        if writing.over and self._count(writing) != length:
            raise LinkError(
                f"device: {self.path}_{INTO}: took {writing.count} of {length} bytes of tasks; {REMEDY}"
            )

    def _count(self, call: _Call) -> int:
        """The count that a call returned. LinkError where it failed, or moved nothing."""
        with self._named(call.node):
            if call.error is not None:
                raise call.error
        if not call.count:
            raise LinkError(f"device: {self.path}_{call.node}: nothing was moved; {REMEDY}")
        return call.count

    @contextlib.contextmanager
    def _named(self, node: str) -> Iterator[None]:
        """The system's errors as what they are."""
        try:
            yield
        except OSError as error:
            what = os.strerror(error.errno) if error.errno else str(error)
            raise LinkError(f"device: {self.path}_{node}: {what}; {REMEDY}") from None


def _unopened(error: OSError) -> str:
    """Why a file of a board cannot be opened, and what to do."""
    if error.errno in (errno.ENOENT, errno.ENXIO, errno.ENODEV):
        return f"is not there; load AMD's driver ('modprobe xdma'), {REMEDY}"
    if error.errno in (errno.EACCES, errno.EPERM):
        return "may not be opened by this user; give it rights to the board's files, as by a rule of udev"
    if error.errno == errno.EBUSY:
        return "is in use; close the program that has it open"
    return f"cannot be opened: {os.strerror(error.errno or 0)}; {REMEDY}"


def batch_within(tasks: TaskFormat, batch: int) -> int:
    """``batch``, or as many of the longest tasks as can be written at once."""
    # by the longest: which functions a batch has is not known
    beats = max(map(tasks.task.beats, tasks.task_words.values()))
    longest = beats * stream_bits(tasks.task) // 8
    return max(1, min(batch, MOST_BYTES // longest))


def xdma_link(
    manifest: Manifest,
    path: str = DEFAULT_DEVICE,
    batch: int = DEFAULT_BATCH,
    seconds: float = DEFAULT_SECONDS,
    files: Files = os,
) -> StreamLink:
    """The board called ``path``, if it holds the manifest's design; ``batch`` tasks at most make a transfer, in which
    no result may be ``seconds`` away. LinkError for a board that cannot be opened, or holds another design."""
    device = XdmaDevice(path, seconds, files)
    try:
        return StreamLink(manifest, device, batch_within(manifest.tasks, batch))
    except LinkError:
        device.close()
        raise
