"""The host's library in C over datagrams: what the driver in Python answers, whatever a network does to them."""

from __future__ import annotations

import socket
from contextlib import ExitStack

import numpy as np
import pytest

from rbdgen import parameter_values
from rbdgen.emulation import bit_true_datagrams, bit_true_shell, manifest_of
from rbdgen.host.driver import Driver, Tasks
from rbdgen.protocol.datagrams import padded
from rbdgen.shells.datagram_shell import DatagramShell, UdpServer
from rbdgen.tracing.calibration import varied_robot
from rbdgen_sim.faults import Faults, UdpRelay
from tests.host.ethernet import faults, slow_bit_true
from tests.host.native import (
    DESIGN,
    GONE,
    LINE,
    LOST,
    OWNED,
    SILENT,
    Asker,
    needs_compiler,
    on_udp,
)
from tests.host.test_library import made_up
from tests.host.wire import by_driver, calibratable, everything, request, requests, same, within

pytestmark = needs_compiler


@pytest.mark.parametrize("count", [1, 2, 400])
def test_answers_are_those_of_the_driver(count: int) -> None:
    d = everything()
    known = manifest_of(d)
    asked = requests(known, count)
    expected = by_driver(bit_true_shell(d), known, asked)
    with (
        UdpServer(bit_true_datagrams(d), "127.0.0.1:0") as server,
        Asker(known, on_udp(server.name)) as device,
    ):
        assert (device.opened.status, device.opened.message) == (0, "")
        for one, answer in zip(asked, expected, strict=True):
            same(device.solve([one]), [answer])
        same(device.solve(asked), expected)
        nothing = requests(known, 0)
        same(device.solve(nothing), by_driver(bit_true_shell(d), known, nothing))
        with server.paused() as shell:
            assert (shell.damaged, shell.rejected) == (0, 0)


@pytest.mark.parametrize("seed", range(4))
def test_answers_are_right_whatever_the_network_does(seed: int) -> None:
    d = everything()
    known = manifest_of(d)
    asked = requests(known, 800)
    expected = by_driver(bit_true_shell(d), known, asked)
    ways = [faults((0.02, 0.1)[seed % 2], 2 * seed + k) for k in range(2)]
    with (
        UdpServer(bit_true_datagrams(d), "127.0.0.1:0") as server,
        UdpRelay(server.name, *ways) as relay,
        Asker(known, on_udp(relay.name)) as device,
    ):
        for _ in range(2):
            same(device.solve(asked), expected)
    assert all(way.counts["lost"] + way.counts["damaged"] for way in ways)


def test_a_device_that_takes_more_while_it_is_at_work() -> None:
    d = everything()
    known = manifest_of(d)
    asked = requests(known, 200)
    ways = [faults(0.05, seed) for seed in (5, 6)]
    with (
        UdpServer(slow_bit_true(d, 3), "127.0.0.1:0") as server,
        UdpRelay(server.name, *ways) as relay,
        Asker(known, on_udp(relay.name)) as device,
    ):
        same(device.solve(asked), by_driver(bit_true_shell(d), known, asked))


@pytest.mark.filterwarnings("ignore:overflow encountered in ldexp:RuntimeWarning")
@pytest.mark.parametrize("share", [0.0, 0.05])
@pytest.mark.slow
def test_tasks_and_results_longer_than_a_datagram(share: float) -> None:
    known, shell = made_up(4, most=1500)
    sizes = [known.tasks.task_bytes(name) for name in "fg"]
    sizes += [known.tasks.result_bytes(name) for name in "fg"]
    assert sum(padded(size) > 1456 for size in sizes) >= 2
    asked = requests(known, 40)
    model = DatagramShell(shell.identity, shell.tasks, shell.compute)
    with (
        UdpServer(model, "127.0.0.1:0") as server,
        UdpRelay(server.name, faults(share, 1), faults(share, 2)) as relay,
        Asker(known, on_udp(relay.name)) as device,
    ):
        same(device.solve(asked), by_driver(shell, known, asked))


def test_what_is_lost_for_good_is_named() -> None:
    d = everything()
    known = manifest_of(d)
    asked = [request(known, "id", 3000)]
    (expected,) = by_driver(bit_true_shell(d), known, asked)
    with (
        UdpServer(bit_true_datagrams(d), "127.0.0.1:0") as server,
        UdpRelay(server.name, Faults(lost=0.2, seed=3), Faults(lost=0.2, seed=4)) as relay,
        Asker(known, on_udp(relay.name), attempts=1) as device,
    ):
        answer = device.solve(asked)
    assert answer.status == LOST
    assert " datagrams from the device" in answer.message
    assert answer.message.endswith("; check the cable, and the switch if there is one")
    lost = answer.flags[0] == 128
    assert 0 < np.count_nonzero(lost) < 3000
    got = answer.values[0]["tau"]
    assert np.isnan(got[lost]).all()
    assert np.array_equal(got[~lost], expected.values["tau"][~lost])


def test_parameters_after_a_reset_and_after_another_host() -> None:
    d = calibratable()
    known = manifest_of(d)
    values = parameter_values(d.robot, varied_robot(d.robot, np.random.default_rng(4)))
    asked = requests(known, 100)
    with Driver.open(known, bit_true_shell(d), flags="ignore") as driver:
        driver.calibrate(values)
        expected = driver.solve([Tasks(*one) for one in asked])
    with (
        UdpServer(bit_true_datagrams(d), "127.0.0.1:0") as server,
        Asker(known, on_udp(server.name)) as device,
    ):
        assert device.calibrate(values).status == 0
        same(device.solve(asked), expected)
        with server.paused() as shell:
            shell.reset()
        answer = device.solve(asked)
        same(answer, expected)
        assert answer.note.startswith(f"device: was reset in mid-use; its {len(values)} parameters")
        with server.paused() as shell:
            begun = shell.clock
            shell.clock = lambda: begun() + 2
        with Driver.udp(known, server.name) as thief:
            thief.calibrate(dict.fromkeys(values, 0.0) | values)
        with server.paused() as shell:
            shell.clock = lambda: begun() + 4
        answer = device.solve(asked)
        same(answer, expected)
        assert answer.note.startswith("device: was used by another host in mid-use; its")


def test_a_device_of_another_host_is_refused() -> None:
    d = everything()
    known = manifest_of(d)
    with ExitStack() as stack:
        server = stack.enter_context(UdpServer(bit_true_datagrams(d), "127.0.0.1:0"))
        with server.paused() as shell:
            shell.clock = lambda: 0.0
        stack.enter_context(Driver.udp(known, server.name))
        with Asker(known, on_udp(server.name)) as device:
            assert device.opened.status == OWNED
            assert device.opened.message.startswith(f"udp {server.name}: is in use by another host")


def test_who_is_not_there_is_named() -> None:
    d = everything()
    known = manifest_of(d)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{deaf.getsockname()[1]}"
        with within(5), Asker(known, on_udp(address), progress=0.4) as device:
            assert device.opened.status == SILENT
            assert device.opened.message.startswith(f"udp {address}: no answer to ")
    with within(5), Asker(known, on_udp(address)) as device:
        assert device.opened.status == GONE
        assert device.opened.message.startswith(f"udp {address}: cannot be reached, or nobody ")
    other = bit_true_datagrams(calibratable())
    with (
        UdpServer(other, "127.0.0.1:0") as server,
        Asker(known, on_udp(server.name)) as device,
    ):
        assert device.opened.status == DESIGN
        assert device.opened.message.startswith("device: holds design ")


def test_a_device_that_is_gone_for_a_while() -> None:
    d = everything()
    known = manifest_of(d)
    asked = requests(known, 20)
    expected = by_driver(bit_true_shell(d), known, asked)
    with ExitStack() as stack:
        with UdpServer(bit_true_datagrams(d), "127.0.0.1:0") as server:
            name = server.name
            device = stack.enter_context(Asker(known, on_udp(name), progress=0.4))
            same(device.solve(asked), expected)
        with within(5):
            answer = device.solve(asked)
        assert answer.status in (SILENT, LINE)
        assert " after 0 of 140 tasks" in answer.message
        stack.enter_context(UdpServer(bit_true_datagrams(d), name))
        same(device.solve(asked), expected)
