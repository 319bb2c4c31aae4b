"""Sessions over datagrams in simulated time: resets, other hosts, parameters that must be kept, numbers that wrap."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from rbdgen import parameter_values
from rbdgen.emulation import bit_true, bit_true_datagrams
from rbdgen.errors import ConfigError, LinkError, RbdgenWarning
from rbdgen.host.datagram_link import OWNED_SECONDS
from rbdgen.protocol.datagrams import (
    Kind,
    request_bytes,
)
from rbdgen.tracing.calibration import varied_robot
from rbdgen_sim.comparison import check_mixed, random_operands
from rbdgen_sim.faults import FaultyPort
from tests.host.ethernet import bit_true_over, end_of, faulty, over
from tests.host.test_driver import everything
from tests.host.test_resets import calibratable, reference, results


def test_a_device_of_another_host_is_refused_and_taken_when_that_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    d = everything()
    shell = bit_true_datagrams(d)
    first, second = FaultyPort(shell), FaultyPort(shell, host="another")
    owner = over(first, d)
    second.time = first.now()
    expected = results(owner, d)
    receive = second.receive

    def meanwhile(seconds: float) -> bytes | None:
        """The owner goes on."""
        results(owner, d, 1)
        return receive(seconds)

    monkeypatch.setattr(second, "receive", meanwhile)
    with pytest.raises(
        LinkError, match=r"^device model: is in use by another host; end what drives it there"
    ):
        over(second, d)
    assert OWNED_SECONDS <= second.now() - first.now() < 2 * OWNED_SECONDS
    monkeypatch.setattr(second, "receive", receive)
    thief = over(second, d)
    assert np.array_equal(results(thief, d), expected)
    # and back
    first.time = second.now() + 1.5
    shell.clock = first.now
    assert np.array_equal(results(owner, d), expected)
    assert end_of(owner).cause == "was used by another host"


def test_without_parameters_a_reset_costs_time_only(monkeypatch: pytest.MonkeyPatch) -> None:
    d, _ = calibratable()
    shell = bit_true_datagrams(d)
    port = FaultyPort(shell)
    device = over(port, d)
    q, v, a, _ = random_operands(d, 3000)
    receive, count = port.receive, 0

    def disturbed(seconds: float) -> bytes | None:
        nonlocal count
        count += 1
        if count in (3, 9):
            shell.reset()
            port.inbox.clear()
        return receive(seconds)

    monkeypatch.setattr(port, "receive", disturbed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = device.rnea(q, v, a)
    assert np.array_equal(got, bit_true(d).rnea(q, v, a))
    assert device.link.counters.lost > 0


WARNING = r"^device: {} in mid-use; its \d+ parameters were loaded again, and this call's tasks"


@pytest.mark.parametrize("after", range(1, 6))
def test_parameters_are_loaded_again_after_a_reset(
    after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    d, other = calibratable()
    shell = bit_true_datagrams(d)
    port = faulty(shell, 0.02, after)
    device = over(port, d)
    device.calibrate(parameter_values(d.robot, other))
    receive, count = port.receive, 0

    def disturbed(seconds: float) -> bytes | None:
        nonlocal count
        count += 1
        if count == after:
            shell.reset()
        return receive(seconds)

    monkeypatch.setattr(port, "receive", disturbed)
    # a reset behind the last result is found by the next call
    with pytest.warns(RbdgenWarning, match=WARNING.format("was reset")):
        found = [results(device, d) for _ in range(9)]
    for got in found:
        assert np.array_equal(got, reference())


def test_parameters_are_loaded_again_after_another_host() -> None:
    d, other = calibratable()
    shell = bit_true_datagrams(d)
    first, second = FaultyPort(shell), FaultyPort(shell, host="another")
    device = over(first, d)
    device.calibrate(parameter_values(d.robot, other))
    shell.clock = second.now
    second.time = first.now() + 1.5
    third = varied_robot(d.robot, np.random.default_rng(8))
    over(second, d).calibrate(parameter_values(d.robot, third))
    shell.clock = first.now
    first.time = second.now() + 1.5
    with pytest.warns(RbdgenWarning, match=WARNING.format("was used by another host")):
        assert np.array_equal(results(device, d), reference())


def test_parameters_survive_a_bad_network() -> None:
    d, other = calibratable()
    device = bit_true_over(d, 0.1, 5)
    device.calibrate(parameter_values(d.robot, other))
    assert np.array_equal(results(device, d), reference())
    name = next(iter(parameter_values(d.robot, other)))
    with pytest.raises(ConfigError, match=f"^parameter '{name}': must be "):
        device.calibrate({name: 1e3})


def test_numbers_start_again_in_mid_use() -> None:
    d = everything()
    shell = bit_true_datagrams(d)
    device = over(faulty(shell, 0.03, 7), d)
    session = end_of(device).session
    assert session is not None
    near = (1 << 32) - 20
    session.sent = session.taken = session.arrivals.base = near
    shell.taken = shell.told = near
    check_mixed(d, device, 20_000, 4)
    assert session.sent > 1 << 32 < session.arrivals.base


def test_a_device_that_lost_count_has_another_session() -> None:
    """An OPEN that comes twice, and late, behind a reset begins the same session once more."""
    d = everything()
    shell = bit_true_datagrams(d)
    port = FaultyPort(shell)
    device = over(port, d)
    expected = results(device, d)
    epoch = shell.epoch
    name = device.link.epoch
    results(device, d)
    shell.reset()
    shell.receive(request_bytes(Kind.OPEN, name, epoch), port.host)
    shell.outgoing()
    port.time += 1.5
    assert np.array_equal(results(device, d), expected)
    assert device.link.epoch != name
