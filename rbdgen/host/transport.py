"""Ways to a device: something that bytes are written to and read from, in order, possibly with damage.

Not here: frames, and what to do about damage (:mod:`rbdgen.host.link`).
"""

from __future__ import annotations

import contextlib
import importlib
import os
import select
import subprocess
from collections.abc import Sequence
from typing import Any, Protocol

from rbdgen.errors import LinkError, ToolError

DEFAULT_TIMEOUT = 0.5
"""Seconds of silence after which a device is asked whether something was lost."""
CHUNK = 65536


class Transport(Protocol):
    """Bytes to and from a device."""

    def write(self, data: bytes) -> None:
        """Send all of ``data``. LinkError if the device is gone."""
        ...

    def read(self) -> bytes:
        """What came; empty where nothing comes within the time limit. LinkError if the device is gone."""
        ...

    def close(self) -> None:
        """Let go of the device."""
        ...


class SerialTransport:
    """A serial port by name, as pyserial knows it (``/dev/ttyUSB0``, ``COM3``), at ``baud`` bits per second."""

    def __init__(self, port: str, baud: int, timeout: float = DEFAULT_TIMEOUT) -> None:
        try:
            serial: Any = importlib.import_module("serial")
        except ModuleNotFoundError:
            raise ToolError(
                "Python package 'pyserial' is missing; install it with: pip install 'rbdgen[serial]'"
            ) from None
        self.error: type[Exception] = serial.SerialException
        try:
            self.port = serial.Serial(port, baud, timeout=timeout, write_timeout=None)
        except (serial.SerialException, ValueError) as error:
            raise LinkError(
                f"port {port}: cannot be opened: {error}; plug the board in, or name its port with --port"
            ) from None
        self.name = port

    def write(self, data: bytes) -> None:
        with self._named():
            self.port.write(data)

    def read(self) -> bytes:
        with self._named():
            first = self.port.read(1)
            return first + self.port.read(self.port.in_waiting) if first else b""

    def close(self) -> None:
        self.port.close()

    @contextlib.contextmanager
    def _named(self) -> Any:
        try:
            yield
        except self.error as error:
            raise LinkError(f"port {self.name}: {error}; check the cable") from None


class ProcessTransport:
    """A program whose standard input and output are the device's two directions, such as a simulation of it."""

    def __init__(self, command: Sequence[str], timeout: float = DEFAULT_TIMEOUT) -> None:
        self.name, self.timeout = command[0], timeout
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.input, self.output = self.process.stdin.fileno(), self.process.stdout.fileno()
        os.set_blocking(self.input, False)
        self.unread = bytearray()

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            # what the program says meanwhile is taken in, so that neither waits for the other
            readable, writable, _ = select.select([self.output], [self.input], [])
            if readable:
                self._take()
            if writable:
                try:
                    view = view[os.write(self.input, view) :]
                except BrokenPipeError:
                    raise self._gone() from None

    def read(self) -> bytes:
        if not self.unread and select.select([self.output], [], [], self.timeout)[0]:
            self._take()
        data, self.unread = bytes(self.unread), bytearray()
        return data

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()
        self.process.wait()

    def _take(self) -> None:
        data = os.read(self.output, CHUNK)
        if not data:
            raise self._gone()
        self.unread += data

    def _gone(self) -> LinkError:
        return LinkError(f"{self.name}: ended with status {self.process.wait()}; start it again")
