"""The driver over datagrams in simulated time: what a network does to them changes no result and loses no task."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import numpy as np
import pytest

from rbdgen.emulation import bit_true, bit_true_datagrams, manifest_of
from rbdgen.errors import LinkError
from rbdgen.host.datagram_link import FIRST_QUIET, LONGEST_QUIET
from rbdgen.host.driver import Driver, Tasks
from rbdgen.host.udp import DatagramLink, connect
from rbdgen.protocol.datagrams import Kind, datagram_bytes, read_datagram
from rbdgen_sim.comparison import check_mixed, golden_requests, random_operands
from rbdgen_sim.faults import Faults, FaultyPort
from tests.conftest import design
from tests.host.ethernet import (
    KINDS,
    bit_true_over,
    check_long,
    end_of,
    faults,
    faulty,
    long_shell,
    over,
    slow_bit_true,
    with_check_sum,
)
from tests.host.test_driver import everything
from tests.host.test_resets import results


def test_mixed_tasks_are_all_answered() -> None:
    device = bit_true_over(everything())
    check_mixed(everything(), device, 5000, 1)
    counters = device.link.counters
    assert (counters.sent, counters.lost, counters.damaged, counters.stray) == (5000, 0, 0, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_one_kind_of_fault_at_a_time(kind: str) -> None:
    d = everything()
    ways = [faults(0.05, seed, [kind]) for seed in (1, 2)]
    port = FaultyPort(bit_true_datagrams(d), *ways)
    device = over(port, d)
    check_mixed(d, device, 8000, 1)
    counters, shell = device.link.counters, port.shell
    assert all(way.counts[kind] > 1 for way in ways)
    assert counters.sent >= 8000 + counters.lost
    seen = {
        "lost": counters.lost,
        "doubled": min(counters.stray, shell.repeated),
        "late": 1,
        "damaged": min(counters.damaged, shell.damaged),
        "strangers": min(counters.stray + counters.damaged, shell.damaged + shell.rejected),
    }
    assert seen[kind] > 0


@pytest.mark.parametrize("seed", range(12))
def test_all_faults_together_change_no_result(seed: int) -> None:
    share = (0.01, 0.05, 0.15)[seed % 3]
    d = everything()
    check_mixed(d, bit_true_over(d, share, seed), 2500, seed)


@pytest.mark.parametrize("seed", range(12))
def test_a_device_that_takes_more_while_it_is_at_work(seed: int) -> None:
    """Its status tells what it took since, of which nothing is proved."""
    d = everything()
    share = (0.0, 0.02, 0.1)[seed % 3]
    port = faulty(slow_bit_true(d, seed), share, seed)
    check_mixed(d, over(port, d), 2500, seed)


@pytest.mark.parametrize("seed", range(6))
def test_tasks_and_results_longer_than_a_datagram(seed: int) -> None:
    counters = check_long(faulty(long_shell(), (0.0, 0.02, 0.05)[seed % 3], seed), 120, seed)
    assert (counters.lost > 0) == (seed % 3 > 0)


def test_a_device_is_never_sent_more_than_it_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    d = everything()
    shell = slow_bit_true(d, 1)
    take, most, device = shell._take_tasks, 0, []
    waiting: list[int] = []

    def spy(datagram: Any, sender: Any) -> None:
        nonlocal most
        take(datagram, sender)
        session = end_of(device[0]).session if device else None
        if session is not None:
            waiting.append(session.capacity - session.room)
            most = max(most, waiting[-1])

    monkeypatch.setattr(shell, "_take_tasks", spy)
    port = faulty(shell, 0.02, 3)
    device.append(over(port, d))
    check_mixed(d, device[0], 5000, 1)
    assert 4000 < most <= device[0].link.status.capacity


def test_what_is_lost_for_good_is_reported() -> None:
    d = everything()
    device = bit_true_over(d, 0.1, 3, attempts=1)
    requests = golden_requests(d, 2000)[:2]
    answers = device.solve(requests)
    exact = bit_true(d).solve(requests)
    for got, expected in zip(answers, exact, strict=True):
        lost = got.lost
        assert 0 < np.count_nonzero(lost) < 1500
        for vector, values in got.values.items():
            assert np.isnan(values[lost]).all()
            assert np.array_equal(values[~lost], expected.values[vector][~lost])
    q, v, a, _ = random_operands(d, 2000)
    with pytest.raises(
        LinkError,
        match=r"^device: \d+ of 2000 tasks of id were lost 1 times each.*datagrams.*; check the cable, and the switch",
    ):
        device.rnea(q, v, a)


def test_a_lost_lone_task_is_sent_again_after_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    d = everything()
    port = FaultyPort(bit_true_datagrams(d))
    device = over(port, d)
    q = np.zeros(2)
    expected = device.crba(q)
    begun = port.now()
    send, left = port.send, 1

    def losing(data: bytes) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            send(data)

    monkeypatch.setattr(port, "send", losing)
    assert np.array_equal(device.crba(q), expected)
    assert FIRST_QUIET < port.now() - begun < 2 * FIRST_QUIET
    assert (device.link.counters.sent, device.link.counters.lost) == (3, 1)


def test_a_cable_that_comes_back_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    d = everything()
    port = FaultyPort(bit_true_datagrams(d))
    device = over(port, d, seconds=5)
    expected = results(device, d)
    receive = port.receive

    def pulled(seconds: float) -> bytes | None:
        port.cut = 1.0 < port.now() < 5.0
        return receive(seconds)

    monkeypatch.setattr(port, "receive", pulled)
    port.time = 0.999999
    q, v, a, _ = random_operands(d, 3000)
    many = device.rnea(q, v, a)
    assert np.array_equal(many[:60], expected[:60]) or many.shape == (3000, 2)
    assert np.array_equal(many, bit_true(d).rnea(q, v, a))
    assert 5.0 < port.now() < 5.0 + 2 * LONGEST_QUIET


def test_a_cable_that_does_not_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    d = everything()
    port = FaultyPort(bit_true_datagrams(d))
    device = over(port, d, seconds=3)
    expected = results(device, d)
    begun = port.now()
    receive = port.receive

    def pulled(seconds: float) -> bytes | None:
        port.cut = port.now() > begun + 2e-4
        return receive(seconds)

    monkeypatch.setattr(port, "receive", pulled)
    q, v, a, _ = random_operands(d, 5000)
    with pytest.raises(LinkError) as caught:
        device.rnea(q, v, a)
    found = re.fullmatch(
        r"device model: silent after (\d+) of 5000 tasks for 3 s; check the cable, and that the board has power",
        str(caught.value),
    )
    assert found
    assert 0 < int(found[1]) < 5000
    assert begun + 3 < port.now() < begun + 3.6
    # it is plugged in again, and what was under way does not disturb
    monkeypatch.setattr(port, "receive", receive)
    port.cut = False
    assert np.array_equal(results(device, d), expected)


def test_a_call_that_was_broken_off_leaves_no_results_to_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    d = everything()
    port = FaultyPort(bit_true_datagrams(d))
    device = over(port, d)
    expected = results(device, d)
    session = device.link.epoch
    receive = port.receive

    def interrupted(seconds: float) -> bytes | None:
        raise KeyboardInterrupt

    monkeypatch.setattr(port, "receive", interrupted)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            device.rnea(*(0.5 * x for x in random_operands(d, 100)[:3]))
    monkeypatch.setattr(port, "receive", receive)
    assert np.array_equal(results(device, d), expected)
    assert device.link.epoch == session


def test_hellos_that_are_answered_are_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    d = everything()
    port = FaultyPort(bit_true_datagrams(d))
    device = over(port, d, seconds=1)
    send = port.send

    def without_tasks(data: bytes) -> None:
        if data[0] != Kind.TASKS:
            send(data)

    monkeypatch.setattr(port, "send", without_tasks)
    begun = port.now()
    with pytest.raises(
        LinkError, match=r"^device model: answers hellos, but no tasks, after 0 of 3 tasks; check"
    ):
        device.crba(np.zeros((3, 2)))
    assert port.now() < begun + 4
    assert device.link.counters.hellos < 30


def test_a_bad_line_is_named() -> None:
    d = everything()
    port = FaultyPort(bit_true_datagrams(d))
    device = over(port, d, seconds=1)
    port.to_host = Faults(damaged=1.0)
    with pytest.raises(
        LinkError,
        match=r"^device model: the line is too bad: after 0 of 3 tasks .* of \d+ datagrams from the device .* came "
        r"damaged; check the cable, and the switch",
    ):
        device.crba(np.zeros((3, 2)))


def test_nobody_answers() -> None:
    d = everything()
    port = FaultyPort(bit_true_datagrams(d))
    port.cut = True
    with pytest.raises(
        LinkError,
        match=r"^device model: no answer to \d+ hellos; check that the board is programmed, its cable and its address$",
    ):
        over(port, d)
    assert 5 <= port.now() < 6
    port.cut = False
    port.to_host = Faults(damaged=1.0)
    with pytest.raises(LinkError, match=r"^device model: no answer to \d+ hellos, but \d+ other"):
        over(port, d, seconds=1)


def test_another_design_is_refused() -> None:
    d = everything()
    other = manifest_of(d, "f" * 64)
    with pytest.raises(
        LinkError,
        match=rf"^device model: holds design {manifest_of(d).identity.hex()}, not {other.identity.hex()} \({d.name}\)",
    ):
        connect(FaultyPort(bit_true_datagrams(d)), other)


def test_another_version_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    d = everything()
    port = FaultyPort(bit_true_datagrams(d))
    receive = port.receive

    def newer(seconds: float) -> bytes | None:
        data = receive(seconds)
        datagram = read_datagram(data) if data else None
        if datagram is None:
            return None
        changed = bytearray(datagram_bytes(datagram.kind, 0, datagram.number, bytes(16)))
        changed[1] = 9
        return with_check_sum(bytes(changed[:-4]))

    monkeypatch.setattr(port, "receive", newer)
    with pytest.raises(LinkError, match=r"^device model: speaks version 9 of the protocol, this"):
        over(port, d)


def test_no_tasks_are_no_results() -> None:
    device = bit_true_over(everything())
    assert device.crba(np.zeros((0, 2))).shape == (0, 2, 2)


def test_requests_in_an_order_of_their_own() -> None:
    d = design("pendulum2", functions=("id", "m"), ii=4)
    requests = golden_requests(d, 300)
    order = np.random.default_rng(1).permutation(np.repeat([0, 1], 300))
    got = bit_true_over(d, 0.05, 9).solve(requests, order)
    for one, other in zip(got, bit_true(d).solve(requests), strict=True):
        for vector, values in one.values.items():
            assert np.array_equal(values, other.values[vector])


def test_a_task_that_the_device_has_no_room_for() -> None:
    d = everything()
    device = bit_true_over(d)
    session = end_of(device).session
    assert session is not None
    session.capacity = session.room = 20
    with pytest.raises(
        LinkError, match=r"^device model: has room for 20 bytes, a task needs \d+; build its bits"
    ):
        device.solve([Tasks("m", {"q": np.zeros((3, 2))})])


class Liar(FaultyPort):
    """Answers everything by whole datagrams of the right session and nonce, with anything in them."""

    random = np.random.default_rng(0)

    def send(self, data: bytes) -> None:
        heard = read_datagram(data)
        assert heard is not None
        bodies = [self.random.bytes(4 * int(self.random.integers(0, 60))) for _ in range(3)]
        bodies.append(self.shell.identity + self.random.bytes(36))
        for body in bodies:
            kind, marks, near = self.random.integers([1, 0, 0], [3, 4, 5]).tolist()
            number = near if kind == Kind.TASKS else heard.number
            self.inbox.append(datagram_bytes(kind, heard.session, number, body, marks))


@pytest.mark.parametrize("seed", range(20))
def test_a_device_that_lies_ends_nothing_but_the_call(seed: int) -> None:
    d = everything()
    port = FaultyPort(bit_true_datagrams(d))
    device = over(port, d, seconds=0.5, attempts=3)
    liar = Liar(port.shell)
    liar.random = np.random.default_rng(seed)
    liar.time = port.time
    link = device.link
    assert isinstance(link, DatagramLink)
    link.port, link.end.clock = liar, liar.now
    for _ in range(3):
        with contextlib.suppress(LinkError):
            device.solve(golden_requests(d, 60))
    assert liar.now() < 30


def test_a_driver_is_what_it_is_over_bytes() -> None:
    d = everything()
    assert isinstance(bit_true_over(d), Driver)
    assert "crba" in dir(bit_true_over(d))
