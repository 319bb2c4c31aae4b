"""What the host's library says of devices that are not the right one, silent, lost or cut off, and when."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable

import numpy as np
import pytest

from rbdgen import golden, parameter_values
from rbdgen.emulation import bit_true_shell, manifest_of
from rbdgen.errors import ConfigError
from rbdgen.host.transport import SerialTransport
from rbdgen.protocol.frames import Deframer, Kind, frame_bytes
from rbdgen.protocol.packets import header
from rbdgen.protocol.tasks import CALIBRATE
from rbdgen.tracing.calibration import varied_robot
from tests.conftest import design
from tests.host.native import (
    ARGUMENT,
    DESIGN,
    GONE,
    LINE,
    LOST,
    PARAMETER,
    PROTOCOL,
    SILENT,
    Asker,
    needs_compiler,
    on_serial,
    on_tcp,
    program,
)
from tests.host.test_operands import mobile
from tests.host.wire import (
    QUICK,
    Wire,
    by_driver,
    calibratable,
    everything,
    requests,
    same,
    within,
)

pytestmark = needs_compiler


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_must_be_finite(value: float) -> None:
    d = everything()
    q = np.zeros((3, 2))
    a = q.copy()
    a[2, 1] = value
    with on_tcp(bit_true_shell(d)) as at, Asker(manifest_of(d), at) as device:
        message = device.call("id", q=q, v=q, a=a).message
    assert message.removesuffix(str(value)) == "a[1] of state 2: must be finite, not "


def test_rotations_must_be_of_unit_length() -> None:
    d = mobile("floating")
    q, still = np.tile(golden.neutral(d.robot), (3, 1)), np.zeros((3, d.robot.nv))
    with on_tcp(bit_true_shell(d)) as at, Asker(manifest_of(d), at) as device:
        assert device.call("id", q=q, v=still, a=still).status == 0
        q[2, 3:7] = 0.3, 0.1, 0.2, 0.47
        answer = device.call("id", q=q, v=still, a=still)
    with pytest.raises(ConfigError) as caught:
        golden.rnea(d.robot, q, still, still)
    assert answer.status == ARGUMENT
    assert answer.message == str(caught.value).replace(
        "q: joint 'root_joint'", "q of state 2: joint root_joint"
    )


def test_counts_must_be_whole_and_what_their_word_holds() -> None:
    d = design("pendulum2", functions=("roll",), word=20)
    q = np.zeros((2, 2))
    steps = "steps[0] of state 1: must be "
    with on_tcp(bit_true_shell(d)) as at, Asker(manifest_of(d), at) as device:
        for count, wanted in (
            (3, ""),
            (0, ""),
            (-40000, ""),
            (2.5, f"{steps}a whole number, not 2.5"),
            (
                32768,
                f"{steps}1 to 32767, which is all that its word of 16 bits holds, not 32768; use",
            ),
        ):
            answer = device.call("roll", q=q, v=q, tau=q, steps=np.array([[1.0], [count]]))
            assert answer.message.startswith(wanted)
            assert bool(answer.message) == bool(wanted)
            if not wanted:
                assert answer.flags[0].tolist() == [0, 0 if count > 0 else 2]


def test_what_a_call_does_not_get_is_written_when_a_parameter_is_lost() -> None:
    d = calibratable()
    shell = bit_true_shell(d)
    wire = Wire(shell)
    values = parameter_values(d.robot, varied_robot(d.robot, np.random.default_rng(4)))

    def without_loads(frames: list[bytes]) -> list[bytes]:
        payloads = [Deframer(1 << 16).feed(frame)[0] for frame in frames]
        loads = [f.kind == Kind.TASK and header(f.payload)[0] == CALIBRATE for f in payloads]
        return [frame for frame, load in zip(frames, loads, strict=True) if not load]

    with on_tcp(wire) as at, Asker(manifest_of(d), at, attempts=2, **QUICK) as device:
        assert device.calibrate(values).status == 0
        wire.hear = without_loads
        shell.reset()
        answer = device.call("m", q=np.zeros((9, 2)))
    assert answer.status == LOST
    assert re.match(
        r"parameter p_\w+: lost 2 times; check the cable, then load all", answer.message
    )
    assert answer.flags[0].tolist() == [128] * 9
    assert np.isnan(answer.values[0]["m"]).all()


def test_a_device_of_another_design_is_refused() -> None:
    d = everything()
    other = manifest_of(d, "f" * 64)
    with on_tcp(bit_true_shell(d)) as at, Asker(other, at) as device:
        assert device.opened.status == DESIGN
        assert device.opened.message == (
            f"device: holds design {manifest_of(d).identity.hex()}, not {other.identity.hex()} ({d.name}); program "
            "the board with that bitstream, or use the header of the design that it holds"
        )


def test_a_device_of_another_version_is_named() -> None:
    class Older(Wire):
        def read(self) -> bytes:
            if not self.heard:
                return b""
            nonce = Deframer(64).feed(self.heard.pop())[0].payload
            return frame_bytes(Kind.HELLO, nonce + b"\x01" + bytes(36))

    d = everything()
    with on_tcp(Older(bit_true_shell(d))) as at, Asker(manifest_of(d), at) as device:
        assert device.opened.status == PROTOCOL
        assert device.opened.message.startswith("device: speaks version 1 of the protocol, this")


@pytest.mark.parametrize(
    ("say", "told"),
    [
        (lambda data: b"", ""),
        (lambda data: b"y\n" * 9, ", only bytes that are no frames"),
        (lambda data: b"~bad~", ": damaged"),
        # an escape where none belongs
        (lambda data: data.replace(b"~\x02", b"~\x7d\x22"), ": damaged"),
        (lambda data: frame_bytes(Kind.TASK, b"abc"), ""),
    ],
)
def test_a_device_that_does_not_answer_is_named_in_time(say: Callable, told: str) -> None:
    d = everything()
    with (
        on_tcp(Wire(bit_true_shell(d), say)) as at,
        within(2),
        Asker(manifest_of(d), at, patience=4, quiet=0.1, progress=0.5) as device,
    ):
        assert device.opened.status == SILENT
        told = told.replace("damaged", "4 of 4 frames from the device (100%) came damaged")
        assert device.opened.message == (
            f"device: no answer to 4 hellos{told}; check that the board is programmed, its port and baud rate"
        )


@pytest.mark.parametrize(
    ("say", "status"),
    [
        (lambda data: b"", SILENT),
        (lambda data: b"~bad~", LINE),
        (lambda data: frame_bytes(Kind.TASK, b"abc"), SILENT),
    ],
)
def test_a_call_to_a_device_that_falls_silent_ends(say: Callable, status: int) -> None:
    d = everything()
    wire = Wire(bit_true_shell(d))
    limits = {"patience": 4, "quiet": 0.1, "progress": 0.8}
    with on_tcp(wire) as at, Asker(manifest_of(d), at, **limits) as device:
        wire.say = say
        with within(2):
            answer = device.call("m", q=np.zeros((3, 2)))
        assert answer.status == status, answer.message
        assert "after 0 of 3 tasks" in answer.message
        # it is not given up for good, and what it says late is not taken
        wire.say = lambda data: data
        asked = requests(manifest_of(d), 5)
        same(device.solve(asked), by_driver(bit_true_shell(d), manifest_of(d), asked))


@pytest.mark.parametrize("chatter", [b"y\n" * 99, frame_bytes(Kind.TASK, b"abc") * 9, b"~bad~" * 9])
def test_a_device_that_never_stops_talking_is_given_up(chatter: bytes) -> None:
    class Chatter(Wire):
        def read(self) -> bytes:
            return self.shell.read() if not silent else chatter

    d = everything()
    silent: list[bool] = []
    limits = {"patience": 4, "quiet": 0.1, "progress": 0.4}
    with on_tcp(Chatter(bit_true_shell(d))) as at, Asker(manifest_of(d), at, **limits) as device:
        silent.append(True)
        for message in ("device: (silent after|the line is too bad)", "device: no answer to"):
            with within(2):
                answer = device.call("m", q=np.zeros((3, 2)))
            assert re.match(message, answer.message)


def test_hellos_that_are_answered_are_not_enough() -> None:
    d = everything()
    wire = Wire(bit_true_shell(d))
    with on_tcp(wire) as at, Asker(manifest_of(d), at, 10**6, quiet=0.02, progress=0.2) as device:
        wire.hear = lambda frames: [f for f in frames if f[1] == Kind.HELLO]
        with within(3):
            answer = device.call("m", q=np.zeros((3, 2)))
    assert answer.status == LINE
    assert answer.message.startswith("device: the line is too bad: after 0 of 3 tasks ")


def test_what_is_lost_for_good_is_nan_and_named() -> None:
    d = everything()
    wire = Wire(bit_true_shell(d))

    def hear(frames: list[bytes]) -> list[bytes]:
        kept = []
        for frame in frames:
            is_task = frame[1] == Kind.TASK
            if not (is_task and header(Deframer(1000).feed(frame)[0].payload)[1] % 3 == 0):
                kept.append(frame)
        return kept

    with on_tcp(wire) as at, Asker(manifest_of(d), at, attempts=1, **QUICK) as device:
        wire.hear = hear
        answer = device.call("m", q=np.zeros((9, 2)))
    assert answer.status == LOST
    assert answer.message.startswith(
        "device: 3 of 9 tasks of m were lost 1 times each, the first is number 0; since the device was opened 3 of 9 "
    )
    lost = np.arange(9) % 3 == 0
    assert answer.flags[0].tolist() == np.where(lost, 128, 0).tolist()
    values = answer.values[0]["m"]
    assert np.isnan(values[lost]).all()
    assert np.isfinite(values[~lost]).all()


@pytest.mark.parametrize("on", [on_tcp, on_serial])
def test_a_stream_that_is_cut_in_the_middle_is_named_at_once(on: Callable) -> None:
    d = everything()
    wire = Wire(bit_true_shell(d))

    def cut(data: bytes) -> bytes:
        raise OSError

    with on(wire) as at, Asker(manifest_of(d), at) as device:
        wire.say = cut
        with within(2):
            answer = device.solve(requests(manifest_of(d), 200))
    assert answer.status == GONE
    assert answer.message.endswith(": is gone; check the cable, and open it again")


def test_a_board_that_is_programmed_anew_is_refused() -> None:
    d = everything()
    known = manifest_of(d)
    shell = bit_true_shell(d)
    with on_tcp(shell) as at, Asker(known, at, **QUICK) as device:
        assert device.solve(requests(known, 3)).status == 0
        shell.reset()
        # the other design answers alike
        shell.identity = bytes(16)
        answer = device.solve(requests(known, 3))
    assert answer.status == DESIGN
    assert answer.message.startswith(
        f"device: holds design {'0' * 32}, not {known.identity.hex()} ("
    )


def test_parameters_that_are_refused_are_named() -> None:
    d = calibratable()
    values = parameter_values(d.robot, varied_robot(d.robot, np.random.default_rng(4)))
    name = next(iter(values))
    with on_tcp(bit_true_shell(d)) as at, Asker(manifest_of(d), at) as device:
        answer = device.calibrate(values | {name: 1e3})
        assert answer.status == PARAMETER
        assert answer.message.startswith(f"parameter {name}: must be -")
        assert answer.message.endswith(", not 1000")
        assert device.calibrate({"p_x": 1.0}).message == (
            "parameter p_x: this accelerator has no such, but 14 others, see its header"
        )
    with (
        on_tcp(bit_true_shell(everything())) as at,
        Asker(manifest_of(everything()), at) as device,
    ):
        assert device.calibrate({"p_x": 1.0}).message.endswith("; build with --calibratable")


def test_a_port_is_nobody_elses() -> None:
    d = everything()
    with on_serial(bit_true_shell(d)) as at:
        other = SerialTransport(at[1], 115200)
        words = [program(manifest_of(d), "ask.c"), *at, "1", "1", "1", "1"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=5, check=False)
        other.close()
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"port {at[1]}: is in use; close the program that has it open, or name another port\n"
    )
