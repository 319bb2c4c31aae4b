"""A device that is reset in mid-use: its parameters are loaded again, and no result of others is taken."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from rbdgen import Design, Robot, parameter_values
from rbdgen.emulation import bit_true_shell, manifest_of
from rbdgen.errors import ConfigError, LinkError, RbdgenWarning
from rbdgen.host.driver import Driver
from rbdgen.host.held import RESETS
from rbdgen.host.stream_link import StreamLink
from rbdgen.protocol.frames import Deframer, Kind, frame_bytes
from rbdgen.shells.shell import ShellModel
from rbdgen.tracing.calibration import varied_robot
from rbdgen_sim.axi import DmaModel
from rbdgen_sim.comparison import random_operands
from rbdgen_sim.faults import Noise
from tests.conftest import design

WARNING = (
    r"^device: was reset in mid-use; its \d+ parameters were loaded again, and this call's tasks"
)


def calibratable(replicas: int = 1) -> tuple[Design, Robot]:
    """A design, and another robot for it."""
    d = design("pendulum2", functions=("id", "m"), ii=4, calibratable=True, replicas=replicas)
    return d, varied_robot(d.robot, np.random.default_rng(4))


def calibrated() -> tuple[Design, ShellModel, Driver]:
    """A design, the model of its shell, and a device into which another robot's parameters were loaded."""
    d, other = calibratable()
    shell = bit_true_shell(d)
    device = Driver.open(manifest_of(d), shell)
    device.calibrate(parameter_values(d.robot, other))
    return d, shell, device


def results(device: Driver, d: Design, count: int = 60) -> np.ndarray:
    q, v, a, _ = random_operands(d, count)
    return device.rnea(q, v, a)


class Disturbed:
    """A transport to ``shell`` that lets something happen after so many readings with data, once for each of
    ``after``."""

    def __init__(self, shell: ShellModel, event: Callable[[], None]) -> None:
        self.shell, self.event = shell, event
        self.after: list[int] = []
        self.count = 0

    def write(self, data: bytes) -> None:
        self.shell.write(data)

    def read(self) -> bytes:
        if self.shell.pending or self.shell.output:
            self.count += 1
            if self.after and self.count >= self.after[0]:
                del self.after[0]
                self.event()
        return self.shell.read()

    def close(self) -> None:
        self.shell.close()


def reference() -> np.ndarray:
    """Results of a device that was never reset."""
    d, other = calibratable()
    device = Driver.open(manifest_of(d), bit_true_shell(d))
    nominal = results(device, d)
    device.calibrate(parameter_values(d.robot, other))
    found = results(device, d)
    assert not np.array_equal(found, nominal)
    return found


def test_a_status_tells_the_first_hello_since_the_reset() -> None:
    d, _ = calibratable()
    shell = bit_true_shell(d)
    link = Driver.open(manifest_of(d), shell).link
    assert isinstance(link.epoch, int)
    first = link.status.epoch
    assert first == link.status.nonce
    assert link.hello().epoch == first != link.status.nonce
    shell.reset()
    status = link.hello()
    assert status.epoch == status.nonce != first
    assert (status.accepted, status.damaged) == (1, 0)


def test_parameters_are_loaded_again_between_two_calls() -> None:
    d, shell, device = calibrated()
    shell.reset()
    with pytest.warns(RbdgenWarning, match=WARNING):
        found = results(device, d)
    assert np.array_equal(found, reference())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(results(device, d), reference())


@pytest.mark.parametrize("after", range(1, 9))
@pytest.mark.parametrize("rate", [0.0, 0.003])
def test_a_reset_in_the_middle_of_a_call(after: int, rate: float) -> None:
    d, other = calibratable()
    shell = bit_true_shell(d)
    transport = Disturbed(shell, shell.reset)
    device = Driver.open(manifest_of(d), Noise(transport, rate, after), patience=100)
    device.calibrate(parameter_values(d.robot, other))
    transport.after = [transport.count + after]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = results(device, d), results(device, d)
    assert [bool(re.match(WARNING, str(w.message))) for w in caught] == [True] * (
        1 - len(transport.after)
    )
    for x in found:
        assert np.array_equal(x, reference())


def test_resets_while_parameters_are_loaded() -> None:
    d, other = calibratable()
    for after in range(1, 6):
        shell = bit_true_shell(d)
        transport = Disturbed(shell, shell.reset)
        device = Driver.open(manifest_of(d), transport)
        transport.after = [transport.count + after]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RbdgenWarning)
            device.calibrate(parameter_values(d.robot, other))
            assert np.array_equal(results(device, d), reference())


def test_what_was_loaded_beside_a_refused_value_is_loaded_again() -> None:
    d, other = calibratable()
    shell = bit_true_shell(d)
    device = Driver.open(manifest_of(d), shell)
    values = parameter_values(d.robot, other)
    bad = next(iter(values))
    with pytest.raises(ConfigError, match=f"^parameter '{bad}': must be "):
        device.calibrate(values | {bad: 1e3})
    expected = results(device, d)
    shell.reset()
    with pytest.warns(RbdgenWarning, match=WARNING):
        assert np.array_equal(results(device, d), expected)


def test_a_device_of_another_version_is_named() -> None:
    class Older:
        """Answers hellos as version 1 did: nonce, version, and what came behind it then."""

        answers = b""

        def write(self, data: bytes) -> None:
            nonce = Deframer(64).feed(data)[0].payload
            self.answers += frame_bytes(Kind.HELLO, nonce + b"\x01" + bytes(36))

        def read(self) -> bytes:
            data, self.answers = self.answers, b""
            return data

        def close(self) -> None:
            pass

    with pytest.raises(
        LinkError, match=r"^device: speaks version 1 of the protocol, this host ver"
    ):
        Driver.open(manifest_of(calibratable()[0]), Older())


def test_without_parameters_a_reset_costs_time_only() -> None:
    d, _ = calibratable()
    shell = bit_true_shell(d)
    expected = results(Driver.open(manifest_of(d), shell), d)
    transport = Disturbed(shell, shell.reset)
    device = Driver.open(manifest_of(d), transport)
    transport.after = [transport.count + 1, transport.count + 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(results(device, d), expected)
    assert transport.after == []


def test_a_device_that_is_reset_again_and_again_is_given_up() -> None:
    d, other = calibratable()
    shell = bit_true_shell(d)
    transport = Disturbed(shell, shell.reset)
    device = Driver.open(manifest_of(d), transport)
    device.calibrate(parameter_values(d.robot, other))
    transport.after = [transport.count + 2 * k for k in range(1, 1000)]
    results(device, d)
    with pytest.raises(
        LinkError,
        match=rf"^device: was reset {RESETS} times during one call; check its power supply",
    ):
        results(device, d)
    transport.after = []
    with pytest.warns(RbdgenWarning, match=WARNING):
        assert np.array_equal(results(device, d), reference())


def test_a_board_that_is_programmed_anew_is_refused() -> None:
    d, _ = calibratable()
    shell = bit_true_shell(d)
    device = Driver.open(manifest_of(d), shell)
    results(device, d)
    shell.reset()
    # the other design answers alike
    shell.identity = bytes(16)
    with pytest.raises(LinkError, match=r"^device: holds design 0{32}, not [0-9a-f]{32} \("):
        results(device, d)


def test_a_call_that_was_broken_off_leaves_no_results_to_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    d, _ = calibratable()
    shell = bit_true_shell(d)
    device = Driver.open(manifest_of(d), shell)
    expected = results(device, d)

    def interrupted() -> bytes:
        raise KeyboardInterrupt

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(shell, "read", interrupted)
        with pytest.raises(KeyboardInterrupt):
            device.rnea(*(0.5 * x for x in random_operands(d, 60)[:3]))
    # the device has yet to answer those, with the tags of these
    assert np.array_equal(results(device, d), expected)


def test_results_without_a_status_behind_them_are_not_trusted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    d, shell, device = calibrated()
    shell.reset()
    write = shell.write
    hellos = 0

    def deaf(data: bytes) -> None:
        """Tasks arrive, the first three hellos do not."""
        nonlocal hellos
        is_hello = Deframer(1000).feed(data)[0].kind == Kind.HELLO
        hellos += is_hello
        if not is_hello or hellos > 3:
            write(data)

    monkeypatch.setattr(shell, "write", deaf)
    with pytest.warns(RbdgenWarning, match=WARNING):
        found = results(device, d)
    assert hellos > 3
    assert np.array_equal(found, reference())


@pytest.mark.parametrize("replicas", [1, 2])
def test_streams_of_a_device_that_was_reset(replicas: int, monkeypatch: pytest.MonkeyPatch) -> None:
    d, other = calibratable(replicas)
    dma = DmaModel(bit_true_shell(d))
    device = Driver(manifest_of(d), StreamLink(manifest_of(d), dma, batch=16))
    device.calibrate(parameter_values(d.robot, other))
    expected = results(device, d)
    assert np.array_equal(expected, reference())
    dma.reset()
    with pytest.warns(RbdgenWarning, match=WARNING):
        assert np.array_equal(results(device, d), expected)
    # in the middle of a call
    transfer = dma.transfer
    left = 3

    def disturbed(data: bytes, size: int) -> bytes:
        nonlocal left
        left -= 1
        if left == 0:
            dma.reset()
        return transfer(data, size)

    monkeypatch.setattr(dma, "transfer", disturbed)
    with pytest.warns(RbdgenWarning, match=WARNING):
        assert np.array_equal(results(device, d), expected)
    # it may even lose its design
    dma.reset()
    other_design = DmaModel(replace(bit_true_shell(d), identity=bytes(16)))
    dma.registers = other_design.registers
    with pytest.raises(LinkError, match=r"^device: holds design 0{32}, not "):
        results(device, d)
