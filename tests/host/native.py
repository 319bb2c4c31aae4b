"""What tests of the host library share: its files compiled, a program that asks a device, a model that answers it."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import shutil
import socket
import struct
import subprocess
import threading
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

from rbdgen.emulation import manifest_of
from rbdgen.host.library import SOURCES, library_files
from rbdgen.host.manifest import Manifest
from rbdgen.host.programs import Program
from rbdgen.host.transport import Transport
from tests.conftest import design

HERE = Path(__file__).parent / "library"
STRICT = ("-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic")
SANITIZED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
C, CPP = ("cc", "-std=c99", *STRICT), ("g++", "-std=c++17", *STRICT)

needs_compiler = pytest.mark.skipif(
    shutil.which("cc") is None or shutil.which("g++") is None, reason="no C and C++ compilers"
)


def run(*words: str | Path) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}"


def written(source: Manifest | Program, folder: Path) -> str:
    """The library of a manifest or a program in ``folder``; what its public names begin with."""
    found = library_files(source)
    for name, text in found.items():
        (folder / name).write_text(text, encoding="utf-8")
    (own,) = [name for name in found if re.fullmatch(r"(?!rbdgen_).*_device\.h", name)]
    return own.removesuffix("_device.h")


@cache
def runtime(*options: str) -> Path:
    """The runtime of all designs, compiled once with these options."""
    folder = Path(mkdtemp())
    for name, text in library_files(manifest_of(design("pendulum2"))).items():
        (folder / name).write_text(text, encoding="utf-8")
    sources = [folder / name for name in (*SOURCES, "rbdgen_transport_posix.c")]
    objects = []
    for source in sources:
        objects.append(source.with_suffix(".o"))
        run(*C, *options, "-c", source, "-o", objects[-1])
    archive = folder / "runtime.a"
    run("ar", "rcs", archive, *objects)
    return archive


def compiled(of: Manifest | Program, source: Path, folder: Path) -> Path:
    """A program for a manifest's design, or a program's engine, compiled in ``folder`` with the sanitizers."""
    prefix = written(of, folder)
    compiler, ending = (CPP, "hpp") if source.suffix == ".cpp" else (C, "h")
    tables, made = folder / "tables.o", folder / "program"
    run(*C, *SANITIZED, "-c", folder / f"{prefix}_device.c", "-o", tables)
    names = (
        f'-DHEADER="{prefix}_device.{ending}"',
        f"-DNAME={prefix}",
        f"-DDESIGN={prefix}_design",
    )
    parts = (source, tables, runtime(*SANITIZED), "-lm")
    run(*compiler, *SANITIZED, *names, f"-I{folder}", *parts, "-o", made)
    return made


_programs: dict[tuple[bytes, str], Path] = {}


def program(of: Manifest | Program, source: str) -> Path:
    """A program of this folder for a manifest's design, or a program's engine, compiled once."""
    key = (of.manifest if isinstance(of, Program) else of).identity, source
    if key not in _programs:
        _programs[key] = compiled(of, HERE / source, Path(mkdtemp()))
    return _programs[key]


@dataclass(frozen=True)
class Answer:
    """Of one call: its status, message and note, and of each request flags and results by vector."""

    status: int
    message: str
    note: str
    flags: list[np.ndarray]
    values: list[dict[str, np.ndarray]]


class Asker:
    """The program that asks a device at ``address``: a kind, and two words."""

    def __init__(
        self,
        of: Manifest | Program,
        address: Sequence[str],
        attempts: int = 100,
        patience: int = 10,
        quiet: float = 0.5,
        progress: float = 10.0,
    ) -> None:
        self.manifest = of.manifest if isinstance(of, Program) else of
        limits = [attempts, patience, int(1000 * quiet), int(1000 * progress)]
        self.process = subprocess.Popen(
            [program(of, "ask.c"), *address, *map(str, limits)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.opened = self._answer([])

    def __enter__(self) -> Asker:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.communicate(timeout=20)
        if error[0] is None:
            assert self.process.returncode == 0

    def call(self, function: str, **operands: np.ndarray) -> Answer:
        """One request."""
        return self.solve([(function, operands)])

    def solve(self, requests: Sequence[tuple[str, Mapping[str, np.ndarray]]]) -> Answer:
        order = [*self.manifest.tasks.functions]
        data = b"c" + struct.pack("I", len(requests))
        shapes = []
        for function, operands in requests:
            vectors = self.manifest.operand_vectors[function]
            count = len(operands[vectors[0]])
            data += struct.pack("II", order.index(function), count)
            data += b"".join(np.asarray(operands[v], float).tobytes() for v in vectors)
            shapes.append((function, count))
        self._say(data)
        return self._answer(shapes)

    def calibrate(self, values: Mapping[str, float]) -> Answer:
        data = b"p" + struct.pack("I", len(values))
        for name, value in values.items():
            data += struct.pack("dI", value, len(name)) + name.encode()
        self._say(data)
        return self._answer([])

    def _say(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def _read(self, size: int) -> bytes:
        assert self.process.stdout is not None
        data = self.process.stdout.read(size)
        assert len(data) == size, "the program ended"
        return data

    def _text(self) -> str:
        (length,) = struct.unpack("I", self._read(4))
        return self._read(length).decode()

    def _answer(self, shapes: Sequence[tuple[str, int]]) -> Answer:
        (status,) = struct.unpack("i", self._read(4))
        answer = Answer(status, self._text(), self._text(), [], [])
        for function, count in shapes if status not in (ARGUMENT, CLOSED) else ():
            answer.flags.append(np.frombuffer(self._read(count), np.uint8))
            values = {}
            for vector in self.manifest.result_vectors[function]:
                size = (count, *self.manifest.shapes[vector].size)
                data = self._read(8 * int(np.prod(size, dtype=int)))
                values[vector] = np.frombuffer(data).reshape(size)
            answer.values.append(values)
        return answer


ARGUMENT, CLOSED, GONE, SILENT, PROTOCOL, DESIGN = 1, 2, 4, 6, 7, 8
LINE, LOST, RESET, PARAMETER, SOFTWARE, OWNED = 10, 11, 12, 13, 14, 15
"""Status codes of rbdgen_device.h."""


@contextlib.contextmanager
def served(
    device: Transport,
    read: Callable[[], bytes],
    write: Callable[[bytes], object],
    close: Callable[[], None],
) -> Iterator[None]:
    """``device`` answers what is read, until there is nothing more or it is cut off."""

    def serve() -> None:
        with contextlib.suppress(OSError):
            while data := read():
                device.write(data)
                while answer := device.read():
                    write(answer)
        close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield
    thread.join(5)
    assert not thread.is_alive()


@contextlib.contextmanager
def on_tcp(device: Transport) -> Iterator[tuple[str, str, str]]:
    """The address at which ``device`` answers one connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        joined: list[socket.socket] = []

        def read() -> bytes:
            if not joined:
                joined.append(server.accept()[0])
            return joined[0].recv(65536)

        with served(device, read, lambda data: joined[0].sendall(data), lambda: joined[0].close()):
            yield "tcp", "127.0.0.1", str(server.getsockname()[1])


def on_udp(address: str) -> tuple[str, str, str]:
    """``HOST:PORT`` for a program that asks."""
    host, port = address.split(":")
    return "udp", host, port


@contextlib.contextmanager
def on_program(process: subprocess.Popen[bytes]) -> Iterator[tuple[str, str, str]]:
    """The address at which one connection is a program's standard input and output."""
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, output = process.stdin, process.stdout.fileno()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def talk() -> None:
            connection = server.accept()[0]
            answers = threading.Thread(target=answer, args=(connection,), daemon=True)
            answers.start()
            with contextlib.suppress(OSError):
                while data := connection.recv(65536):
                    stdin.write(data)
                    stdin.flush()
            stdin.close()
            answers.join(5)

        def answer(connection: socket.socket) -> None:
            with contextlib.suppress(OSError):
                while data := os.read(output, 65536):
                    connection.sendall(data)

        thread = threading.Thread(target=talk, daemon=True)
        thread.start()
        yield "tcp", "127.0.0.1", str(server.getsockname()[1])
        thread.join(10)
        assert not thread.is_alive()


@contextlib.contextmanager
def on_serial(device: Transport) -> Iterator[tuple[str, str, str]]:
    """The pseudo-terminal at which ``device`` answers."""
    end, host = pty.openpty()
    tty.setraw(host)
    name = os.ttyname(host)
    with served(
        device,
        lambda: os.read(end, 65536),
        lambda data: os.write(end, data),
        lambda: os.close(end),
    ):
        yield "serial", name, "3000000"
        # nobody has it open any longer: reading fails
        os.close(host)
