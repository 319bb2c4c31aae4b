"""Ways to a device: something that bytes are written to and read from, in order, possibly with damage.

Nothing here waits without end: a reading ends after silence, a writing where a device takes nothing for too long.
Not here: frames, and what to do about damage (:mod:`rbdgen.host.byte_link`).
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import subprocess
from collections.abc import Iterator, Sequence
from typing import Protocol

from rbdgen.errors import LinkError
from rbdgen.host.exchanges import Watch
from rbdgen.installation import optional_module

DEFAULT_BAUD = 3_000_000
"""Bits per second of the boards' shells."""
DEFAULT_TIMEOUT = 0.5
"""Seconds of silence after which a device is asked whether something was lost."""
WRITE_SECONDS = 5.0
"""Time for which a device may take none of what is written to it."""
CLOSE_SECONDS = 2.0
"""Time that a program may take to end, once its input is closed, and once more when it is told to."""
CHUNK = 65536
SERIAL_CHUNK = 1024
"""Bytes that a serial line takes at once: about a second at its slowest."""
MOST_UNREAD = 1 << 22
"""Bytes that are kept while a program takes none: whoever says that much without listening is not answered."""


class Transport(Protocol):
    """Bytes to and from a device. One with a true attribute ``in_process`` is a model in this process."""

    def write(self, data: bytes) -> None:
        """Send all of ``data``. LinkError if the device is gone, or takes nothing."""
        ...

    def read(self) -> bytes:
        """Bytes that came; empty where nothing comes within the time limit. LinkError if the device is gone."""
        ...

    def close(self) -> None:
        """Let go of the device."""
        ...


class SerialTransport:
    """A serial port by name, as pyserial knows it (``/dev/ttyUSB0``, ``COM3``), at ``baud`` bits per second, for
    nobody else as long as it is open."""

    def __init__(
        self,
        port: str,
        baud: int,
        timeout: float = DEFAULT_TIMEOUT,
        write_seconds: float = WRITE_SECONDS,
    ) -> None:
        serial = optional_module("serial", "serial")
        self.error: type[Exception] = serial.SerialException
        self.too_slow: type[Exception] = serial.SerialTimeoutException
        self.name = port
        try:
            self.port = serial.Serial(
                # two programs on one port would take each other's answers
                port,
                baud,
                timeout=timeout,
                write_timeout=write_seconds,
                exclusive=True,
            )
        except (serial.SerialException, ValueError) as error:
            raise self._unopened(error) from None

    def _unopened(self, error: Exception) -> LinkError:
        number = getattr(error, "errno", None)
        if number in (errno.EAGAIN, errno.EBUSY):
            return LinkError(
                f"port {self.name}: is in use; close the program that has it open, or name another port with --port"
            )
        return LinkError(
            f"port {self.name}: cannot be opened: {error}; plug the board in, or name its port with --port"
        )

    def write(self, data: bytes) -> None:
        with self._named():
            for start in range(0, len(data), SERIAL_CHUNK):
                self.port.write(data[start : start + SERIAL_CHUNK])

    def read(self) -> bytes:
        with self._named():
            # waits for one byte only, then takes what else is there: no time limit is spent on a full buffer
            first = self.port.read(1)
            return first + self.port.read(self.port.in_waiting) if first else b""

    def close(self) -> None:
        # what nobody takes must not be waited for; a port that is gone is closed all the same
        with contextlib.suppress(Exception):
            self.port.reset_output_buffer()
        self.port.close()

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except self.too_slow:
            raise LinkError(
                f"port {self.name}: takes no bytes for {self.port.write_timeout:g} s; check that it is the board's, "
                "and its flow control"
            ) from None
        except (self.error, OSError) as error:
            raise LinkError(f"port {self.name}: {error}; check the cable") from None


class ProcessTransport:
    """A program whose standard input and output are the device's two directions, such as a simulation of it."""

    def __init__(
        self,
        command: Sequence[str],
        timeout: float = DEFAULT_TIMEOUT,
        write_seconds: float = WRITE_SECONDS,
        close_seconds: float = CLOSE_SECONDS,
    ) -> None:
        self.name, self.timeout = command[0], timeout
        self.write_seconds, self.close_seconds = write_seconds, close_seconds
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            raise LinkError(
                f"{self.name}: cannot be started: {error.strerror}; build the device, or name another program"
            ) from None
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.input, self.output = self.process.stdin.fileno(), self.process.stdout.fileno()
        # a full pipe must not stop the program that should empty the other one
        os.set_blocking(self.input, False)
        self.unread = bytearray()

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        watch = Watch(self.write_seconds)
        while view:
            # what the program says meanwhile is taken in, so that neither waits for the other
            outputs = [self.output] if len(self.unread) < MOST_UNREAD else []
            readable, writable, _ = select.select(outputs, [self.input], [], watch.left)
            if readable:
                self._take()
            if writable:
                try:
                    view = view[os.write(self.input, view) :]
                except BrokenPipeError:
                    raise self._gone() from None
                watch.again()
            elif watch.over:
                raise LinkError(
                    f"{self.name}: takes no bytes for {self.write_seconds:g} s; check that it is a device, and stop it"
                )

    def read(self) -> bytes:
        if not self.unread and select.select([self.output], [], [], self.timeout)[0]:
            self._take()
        data, self.unread = bytes(self.unread), bytearray()
        return data

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()
        # most programs end when their input does; the others are told, then made to
        for end in (lambda: None, self.process.terminate, self.process.kill):
            end()
            if self._ended() is not None:
                return

    def _ended(self) -> int | None:
        """The program's status, if it ends within a while."""
        try:
            return self.process.wait(self.close_seconds)
        except subprocess.TimeoutExpired:
            return None

    def _take(self) -> None:
        data = os.read(self.output, CHUNK)
        if not data:
            raise self._gone()
        self.unread += data

    def _gone(self) -> LinkError:
        status = self._ended()
        what = "closed its streams" if status is None else f"ended with status {status}"
        return LinkError(f"{self.name}: {what}; start it again")
