"""The driver over UDP sockets of this machine: addresses, devices that are not there, other hosts, bad networks."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from rbdgen import parameter_values
from rbdgen.emulation import bit_true, manifest_of, serve_bit_true
from rbdgen.errors import LinkError, RbdgenWarning
from rbdgen.host.driver import Driver
from rbdgen.host.udp import UdpPort, split_address
from rbdgen.protocol.datagrams import (
    DEFAULT_PORT,
    MOST_BYTES,
    Kind,
    datagram_bytes,
    read_datagram,
    request_bytes,
)
from rbdgen.shells.datagram_shell import MOST_OF_SENDER, UdpServer
from rbdgen_sim.comparison import check_mixed, random_operands
from rbdgen_sim.faults import Faults, UdpRelay
from tests.conftest import design
from tests.host.ethernet import faults
from tests.host.test_driver import everything
from tests.host.test_resets import calibratable, reference, results


@contextmanager
def served() -> Iterator[UdpServer]:
    with serve_bit_true(everything()) as server:
        yield server


def test_mixed_tasks_over_sockets() -> None:
    d = everything()
    with served() as server, Driver.udp(manifest_of(d), server.name) as device:
        check_mixed(d, device, 5000, 1)
        assert device.link.counters.damaged == 0


def test_a_network_with_faults_between() -> None:
    d = everything()
    ways = [faults(0.03, seed, ["lost", "doubled", "late", "damaged"]) for seed in (1, 2)]
    with (
        served() as server,
        UdpRelay(server.name, *ways) as relay,
        Driver.udp(manifest_of(d), relay.name) as device,
    ):
        check_mixed(d, device, 5000, 1)
        assert device.link.counters.lost > 0


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [
        ("192.168.1.50", "192.168.1.50", DEFAULT_PORT),
        ("board.local:7", "board.local", 7),
        ("board:65535", "board", 65535),
    ],
)
def test_addresses(address: str, host: str, port: int) -> None:
    assert split_address(address) == (host, port)


@pytest.mark.parametrize(
    "address", ["", ":7", "board:", "board:0", "board:65536", "board:x", "::1"]
)
def test_what_is_no_address_is_one_line(address: str) -> None:
    with pytest.raises(LinkError, match=r"^address '.*': must be HOST or HOST:PORT, with a port "):
        UdpPort(address)


def test_a_name_that_nobody_has() -> None:
    with pytest.raises(
        LinkError, match=rf"^device nobody\.invalid:{DEFAULT_PORT}: cannot be found: .*; give the"
    ):
        Driver.udp(manifest_of(everything()), "nobody.invalid")


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def test_a_port_at_which_nobody_listens() -> None:
    address = f"127.0.0.1:{free_port()}"
    begun = time.monotonic()
    with pytest.raises(
        LinkError,
        match=rf"^device {address}: nobody listens at that port there; check its address and port$",
    ):
        Driver.udp(manifest_of(everything()), address)
    assert time.monotonic() - begun < 3


def test_a_network_that_cannot_be_reached() -> None:
    with pytest.raises(
        LinkError,
        match=r"^device 255\.255\.255\.255:\d+: cannot be reached: .*; check the cable, its address",
    ):
        Driver.udp(manifest_of(everything()), "255.255.255.255")


def test_somebody_who_says_nothing() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.bind(("127.0.0.1", 0))
        with pytest.raises(LinkError, match=r"^device 127.*: no answer to \d hellos; check that"):
            Driver.udp(manifest_of(everything()), f"127.0.0.1:{deaf.getsockname()[1]}", seconds=0.3)


def test_strangers_are_counted() -> None:
    d = everything()
    ways = [Faults(strangers=0.5, seed=seed) for seed in (1, 2)]
    with served() as server:
        with (
            UdpRelay(server.name, *ways) as relay,
            Driver.udp(manifest_of(d), relay.name) as device,
        ):
            check_mixed(d, device, 2000, 1)
            counters = device.link.counters
            assert counters.stray + counters.damaged > 3
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            stranger.connect(split_address(server.name))
            stranger.send(datagram_bytes(Kind.TASKS, 1, 0, bytes(4), 3))
            stranger.send(request_bytes(Kind.HELLO, 0, 1))
            stranger.settimeout(2)
            assert stranger.recv(2000)
        with server.paused() as shell:
            assert shell.rejected + shell.damaged > 3


def test_a_device_that_ends_and_comes_back() -> None:
    """Refusals in mid-use are no more than silence: a board that is loaded again comes back as well."""
    d = everything()
    expected = bit_true(d).crba(np.zeros((5, 2)))
    with served() as server:
        name = server.name
        device = Driver.udp(manifest_of(d), name, seconds=0.3)
        assert np.array_equal(device.crba(np.zeros((5, 2))), expected)
    with pytest.raises(
        LinkError,
        match=rf"^device {name}: silent after 0 of 5 tasks for 0\.3 s \(nobody listens at that port "
        r"there\); check the cable, and that the board has power$",
    ):
        device.crba(np.zeros((5, 2)))
    with serve_bit_true(d, name):
        assert np.array_equal(device.crba(np.zeros((5, 2))), expected)
    device.close()


def test_parameters_after_a_reset() -> None:
    d, other = calibratable()
    with serve_bit_true(d) as server, Driver.udp(manifest_of(d), server.name) as device:
        device.calibrate(parameter_values(d.robot, other))
        assert np.array_equal(results(device, d), reference())
        with server.paused() as shell:
            shell.reset()
        with pytest.warns(RbdgenWarning, match=r"^device: was reset in mid-use; its "):
            assert np.array_equal(results(device, d), reference())


def test_one_host_after_the_other_and_one_beside_the_other() -> None:
    d = everything()
    q, v, a, _ = random_operands(d, 10)
    with served() as server:
        with server.paused() as shell:
            hours = 0.0
            shell.clock = lambda: hours
        with Driver.udp(manifest_of(d), server.name) as first:
            expected = first.rnea(q, v, a)
            with pytest.raises(
                LinkError, match=rf"^device {server.name}: is in use by another host; end what"
            ):
                Driver.udp(manifest_of(d), server.name)
        with server.paused():
            hours = 1.0
        with Driver.udp(manifest_of(d), server.name) as second:
            assert np.array_equal(second.rnea(q, v, a), expected)


def test_an_address_that_cannot_be_served() -> None:
    with (
        served() as server,
        pytest.raises(
            LinkError, match=rf"^address {server.name}: cannot be served: .* in use; give an"
        ),
    ):
        serve_bit_true(everything(), server.name)
    with pytest.raises(LinkError, match=r"^address 192\.0\.2\.1: cannot be served: "):
        serve_bit_true(everything(), "192.0.2.1")


@pytest.mark.parametrize("kind", ["requests", "short", "tasks", "noise"])
def test_a_flood_of_a_strangers_keeps_no_host_waiting(kind: str) -> None:
    d = design("pendulum2")
    sent = {
        "requests": request_bytes(Kind.HELLO, 5, 1),
        "short": datagram_bytes(Kind.HELLO, 5, 1),
        "tasks": datagram_bytes(Kind.TASKS, 5, 1, bytes(MOST_BYTES - 16), 3),
        "noise": bytes(MOST_BYTES),
    }
    over = threading.Event()
    with serve_bit_true(d) as server, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.connect(split_address(server.name))

        def flood() -> None:
            while not over.is_set():
                with contextlib.suppress(OSError):
                    stranger.send(sent[kind])

        thread = threading.Thread(target=flood)
        thread.start()
        try:
            with Driver.udp(manifest_of(d), server.name) as device:
                assert device.rnea(np.zeros(2), np.zeros(2), np.zeros(2)).shape == (2,)
            begun = time.monotonic()
            server.close()
            assert time.monotonic() - begun < 2
        finally:
            over.set()
            thread.join()


def test_a_stranger_is_answered_a_few_times_at_once() -> None:
    d = design("pendulum2")
    server = serve_bit_true(d)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.connect(split_address(server.name))
        stranger.settimeout(0.01)
        for number in range(3 * MOST_OF_SENDER):
            stranger.send(request_bytes(Kind.HELLO, 0, number))
        with server.paused() as shell:
            pass
        server.serve()
        answers = [read_datagram(stranger.recv(MOST_BYTES)) for _ in range(MOST_OF_SENDER)]
        assert [x.number for x in answers if x] == list(range(MOST_OF_SENDER))
        with pytest.raises(TimeoutError):
            stranger.recv(MOST_BYTES)
        assert shell.accepted == MOST_OF_SENDER
    server.close()
