"""No call hangs: children that chatter, never read, or ignore their end; ports that take nothing; lines too bad."""

from __future__ import annotations

import os
import pty
import re
import sys
import threading
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from rbdgen.emulation import bit_true_shell, manifest_of
from rbdgen.errors import LinkError
from rbdgen.host.byte_link import connect
from rbdgen.host.driver import Driver
from rbdgen.host.transport import ProcessTransport, SerialTransport
from rbdgen.protocol.frames import Kind, frame_bytes
from rbdgen_sim.comparison import check_mixed
from rbdgen_sim.faults import Noise
from tests.conftest import design
from tests.host.test_driver import everything


def said(transport: ProcessTransport) -> bytes:
    """What a child says first; it takes a while to begin."""
    while not (data := transport.read()):
        pass
    return data


LIMITS = {"timeout": 0.1, "write_seconds": 0.3, "close_seconds": 0.2}


@contextmanager
def within(seconds: float) -> Iterator[None]:
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < seconds


def child(text: str, **limits: float) -> ProcessTransport:
    return ProcessTransport([sys.executable, "-c", text], **LIMITS | limits)


def test_chatter_is_no_answer_to_a_hello() -> None:
    transport = ProcessTransport(["yes"], **LIMITS)
    with (
        within(3),
        pytest.raises(
            LinkError,
            match=r"^device: no answer to \d hellos, only bytes that are no frames; check that the",
        ),
    ):
        connect(transport, bytes(16), 64, "x", seconds=0.5)
    with within(1):
        transport.close()


def test_frames_of_strangers_are_no_answer_either() -> None:
    frame = frame_bytes(Kind.TASK, b"abc")
    transport = child(f"import sys\nwhile 1: sys.stdout.buffer.write({frame!r})")
    with within(3), pytest.raises(LinkError, match=r"^device: no answer to \d hellos; check that"):
        connect(transport, bytes(16), 64, "x", seconds=0.5)
    transport.close()


@pytest.mark.parametrize("noise", [b"y\n", frame_bytes(Kind.TASK, b"abc"), b"~bad~"])
def test_chatter_does_not_keep_an_exchange_alive(
    noise: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    d = everything()
    shell = bit_true_shell(d)
    device = Driver.open(manifest_of(d), shell, seconds=0.8)
    monkeypatch.setattr(shell, "read", lambda: noise)
    with (
        within(2),
        pytest.raises(LinkError, match=r"^device: (silent|the line is too bad: )\D*after 0 of 3"),
    ):
        device.crba(np.zeros((3, 2)))


def test_hellos_that_are_answered_are_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    d = everything()
    shell = bit_true_shell(d)
    device = Driver.open(manifest_of(d), shell, attempts=10**9, seconds=0.2)
    write = shell.write

    def without_tasks(data: bytes) -> None:
        if len(data) < 20:
            write(data)

    monkeypatch.setattr(shell, "write", without_tasks)
    with (
        within(3),
        pytest.raises(
            LinkError,
            match=r"^device: the line is too bad: after 0 of 3 tasks \d+ of \d+ tasks that were sent",
        ),
    ):
        device.crba(np.zeros((3, 2)))


def test_a_child_that_never_reads_is_given_up() -> None:
    transport = child("import time; time.sleep(60)")
    with (
        within(2),
        pytest.raises(LinkError, match=r": takes no bytes for 0\.3 s; check that it is a device"),
    ):
        transport.write(bytes(1 << 20))
    with within(2):
        transport.close()


def test_a_child_that_talks_and_never_reads_is_given_up() -> None:
    transport = ProcessTransport(["yes"], **LIMITS)
    with within(3), pytest.raises(LinkError, match=r"^yes: takes no bytes for 0\.3 s"):
        transport.write(bytes(1 << 20))
    transport.close()


@pytest.mark.parametrize(("ignored", "status"), [("SIGTERM", -9), ("SIGUSR2", -15)])
def test_a_child_that_ignores_its_end_is_killed(ignored: str, status: int) -> None:
    transport = child(
        f"import os, signal, time\nsignal.signal(signal.{ignored}, signal.SIG_IGN)\n"
        "os.write(1, b'1')\ntime.sleep(60)"
    )
    said(transport)
    with within(2):
        transport.close()
    assert transport.process.returncode == status


def test_a_child_that_ends_by_itself_is_left_to() -> None:
    transport = child("import sys; sys.stdin.read(); sys.exit(3)", close_seconds=5)
    transport.close()
    assert transport.process.returncode == 3


def test_children_that_are_gone_are_named() -> None:
    transport = child("import sys; sys.exit(3)")
    with within(5), pytest.raises(LinkError, match=r": ended with status 3; start it again$"):
        said(transport)
    transport.close()
    transport = child("import os, time; os.close(1); time.sleep(60)")
    with within(5), pytest.raises(LinkError, match=r": closed its streams; start it again$"):
        said(transport)
    transport.close()
    with pytest.raises(LinkError, match=r"^/nowhere: cannot be started: No such file"):
        ProcessTransport(["/nowhere"])


@pytest.fixture
def line() -> Iterator[tuple[int, str]]:
    """A pseudo-terminal: the device's end, and the name of the host's."""
    device, host = pty.openpty()
    tty.setraw(host)
    yield device, os.ttyname(host)
    os.close(device)
    os.close(host)


def test_a_port_that_takes_nothing_is_given_up(line: tuple[int, str]) -> None:
    _, name = line
    transport = SerialTransport(name, 115200, 0.1, 0.3)
    with (
        within(2),
        pytest.raises(
            LinkError, match=rf"^port {name}: takes no bytes for 0\.3 s; check that it is the board"
        ),
    ):
        transport.write(bytes(1 << 18))
    with within(1):
        transport.close()


def test_a_port_is_nobody_elses(line: tuple[int, str]) -> None:
    _, name = line
    transport = SerialTransport(name, 115200)
    with pytest.raises(
        LinkError,
        match=rf"^port {name}: is in use; close the program that has it open, or name another",
    ):
        SerialTransport(name, 115200)
    transport.close()
    SerialTransport(name, 115200).close()


def test_a_driver_over_a_serial_line(line: tuple[int, str]) -> None:
    device, name = line
    d = design("pendulum2")
    shell = bit_true_shell(d)
    stop = threading.Event()

    def serve() -> None:
        while not stop.is_set():
            shell.write(os.read(device, 4096))
            os.write(device, shell.read())

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with Driver.open(manifest_of(d), SerialTransport(name, 115200, 0.2)) as driver:
        check_mixed(d, driver, 50, 1)
        # the last bytes wake the server
        stop.set()
        driver.link.transport.write(b"~")
        thread.join(2)
    assert not thread.is_alive()


@pytest.mark.parametrize("seed", range(4))
def test_a_line_with_a_twentieth_of_its_bytes_bad_is_right_or_named(seed: int) -> None:
    d = everything()
    with within(5):
        error = failure(Noise(bit_true_shell(d), 0.05, seed), seed)
    found = re.search(r"(\d+)%\) came damaged; check", error or "(50%) came damaged; check")
    assert found, error
    assert 40 < int(found[1]) <= 100


def failure(noise: Noise, seed: int) -> str | None:
    """Of tasks over a bad line, whose results are right in any case."""
    d = everything()
    try:
        limits = {"attempts": 10**6, "patience": 200, "seconds": 1}
        check_mixed(d, Driver.open(manifest_of(d), noise, **limits), 30, seed)
    except LinkError as error:
        return str(error)
    return None


def test_what_is_lost_for_good_comes_with_the_measured_rate() -> None:
    d = everything()
    device = Driver.open(
        manifest_of(d), Noise(bit_true_shell(d), 0.02, seed=3), attempts=1, patience=100
    )
    with pytest.raises(
        LinkError, match=r" were lost 1 times each, .*\(\d\d%\) came damaged; check the cable, or"
    ):
        device.crba(np.zeros((200, 2)))
