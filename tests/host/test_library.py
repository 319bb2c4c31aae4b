"""The host's library in C against the model of a device: what the driver in Python answers, bit for bit."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from rbdgen import parameter_values
from rbdgen.emulation import bit_true_shell, manifest_of
from rbdgen.host.driver import Driver, Tasks, limit
from rbdgen.host.manifest import Entry, Manifest, Shape
from rbdgen.ir.number_formats import Format
from rbdgen.protocol.frames import Deframer, Kind, frame_bytes
from rbdgen.protocol.packets import header
from rbdgen.protocol.tasks import (
    FunctionFormat,
    OperandWord,
    ResultWord,
    join_header,
    task_format,
)
from rbdgen.shells.shell import ShellModel
from rbdgen.tracing.calibration import varied_robot
from rbdgen_sim.faults import Noise
from tests.conftest import design
from tests.host.native import (
    RESET,
    SILENT,
    Asker,
    needs_compiler,
    on_serial,
    on_tcp,
    program,
)
from tests.host.wire import (
    QUICK,
    Wire,
    by_driver,
    calibratable,
    everything,
    request,
    requests,
    same,
)

pytestmark = needs_compiler


DESIGNS = {
    "all functions": everything,
    "forces": lambda: design("pendulum2", functions=("id", "did"), ii=4, forces=True),
    "steps and a moving base": lambda: design(
        "pendulum2",
        functions=("dfd", "roll"),
        ii=4,
        moving_base=True,
        with_inverse=True,
        time_step=0.002,
    ),
    "a floating base": lambda: design("pendulum2", "floating", functions=("id", "m"), ii=4),
}


@pytest.mark.filterwarnings("ignore:.*links without mass move:rbdgen.errors.RobotWarning")
@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("on", [on_tcp, on_serial])
def test_answers_are_those_of_the_driver(name: str, on: Callable) -> None:
    d = DESIGNS[name]()
    known = manifest_of(d)
    asked = requests(known, 300)
    expected = by_driver(bit_true_shell(d), known, asked)
    with on(bit_true_shell(d)) as at, Asker(known, at) as device:
        assert device.opened.status == 0
        for one, answer in zip(asked, expected, strict=True):
            same(device.solve([one]), [answer])
        same(device.solve(asked), expected)
        nothing = requests(known, 0)
        same(device.solve(nothing), by_driver(bit_true_shell(d), known, nothing))
    assert any(answer.flags.any() for answer in expected)


def test_tasks_are_the_drivers_byte_for_byte() -> None:
    d = everything()
    known = manifest_of(d)
    asked = requests(known, 9)
    wires = Wire(bit_true_shell(d)), Wire(bit_true_shell(d))
    by_driver(wires[0], known, asked)
    with on_tcp(wires[1]) as at, Asker(known, at) as device:
        device.solve(asked)
    theirs, ours = ([f for f in wire.heard if f[1] == Kind.TASK] for wire in wires)
    assert theirs == ours
    assert len(ours) == 9 * len(asked)


def stream(size: int) -> bytes:
    """Frames of any kind and length, whole and changed, and what is none."""
    random = np.random.default_rng(5)
    special = np.frombuffer(b"~}^]\x00\x01\x02", np.uint8)
    parts = []
    for _ in range(size):
        plain = random.integers(0, 256, int(random.integers(0, 90)), np.uint8)
        payload = np.where(
            random.random(len(plain)) < 0.3, random.choice(special, len(plain)), plain
        )
        frame = bytearray(frame_bytes(int(random.integers(0, 256)), payload.tobytes()))
        if random.random() < 0.5:
            place = int(random.integers(0, len(frame)))
            frame[place : place + int(random.integers(0, 3))] = bytes(
                random.choice(special, int(random.integers(0, 3)))
            )
        parts.append(bytes(frame[int(random.random() < 0.3) :]))
    return b"".join(parts)


def test_frames_are_found_as_the_driver_finds_them() -> None:
    known = manifest_of(everything())
    data = stream(3000)
    deframer = Deframer(limit(known))
    lines = [f"{frame.kind} {frame.payload.hex()}" for frame in deframer.feed(data)]
    done = subprocess.run(
        [program(known, "frames.c")], input=data, capture_output=True, timeout=20, check=True
    )
    assert len(lines) > 1000 < deframer.damaged
    assert done.stdout.decode().splitlines() == [*lines, f"{deframer.damaged} {len(lines)}"]


def test_flags_are_those_of_their_tasks_and_noted() -> None:
    d = everything()
    known = manifest_of(d)
    q, v, a = np.zeros((3, 9, 2))
    v[4] = 1e3
    with on_tcp(bit_true_shell(d)) as at, Asker(known, at) as device:
        answer = device.call("id", q=q, v=v, a=a)
        assert np.flatnonzero(answer.flags[0] & 2).tolist() == [4]
        assert answer.note.startswith("id: of 9 tasks 1 with operands outside the declared ranges")
        assert answer.note.endswith("; the first is number 4, see its flags")
        assert device.call("id", q=q, v=q, a=a).note == ""


WIDTHS = (1, 2, 7, 8, 18, 31, 32, 33, 53, 54, 62)


def made_up(seed: int, most: int = 12) -> tuple[Manifest, ShellModel]:
    """A manifest with words of any widths and points, up to so many and laid out in beats of a few, and a device that
    knows no robot."""
    random = np.random.default_rng(seed)

    def words(prefix: str, count: int) -> tuple[list[Entry], list[Format]]:
        formats = []
        for _ in range(count):
            width = int(random.choice(WIDTHS))
            formats.append(Format(width, int(random.integers(-20, 80))))
        return [Entry(prefix, (k,)) for k in range(count)], formats

    formats, operands, results, shapes = [], {}, {}, {}
    for code, name in enumerate("fg"):
        x, y, counts = f"x{name}", f"y{name}", random.integers(most // 12, most, 2)
        operands[name], given = words(x, int(counts[0]))
        results[name], wanted = words(y, int(counts[1]))
        shapes |= {x: Shape((len(given),), False), y: Shape((len(wanted) + 1,), False)}
        taken = []
        for k, fmt in enumerate(given):
            taken.append(OperandWord(f"{x}_{k}", fmt, (fmt.minimum // 2, fmt.maximum // 2)))
        gives = [ResultWord(f"{y}_{k}", fmt) for k, fmt in enumerate(wanted)]
        formats.append(FunctionFormat(name, code + 3, tuple(taken), tuple(gives)))
    tasks = task_format(formats, int(random.integers(1, 5)), int(random.integers(1, 5)))
    base = manifest_of(design("pendulum2"))
    known = replace(
        base,
        identity=bytes(random.integers(0, 256, 16, np.uint8)),
        tasks=tasks,
        shapes=shapes,
        operand_vectors={n: (f"x{n}",) for n in "fg"},
        result_vectors={n: (f"y{n}",) for n in "fg"},
        methods={n: n for n in "fg"},
        summaries=dict.fromkeys("fg", ""),
        operands=operands,
        results=results,
    )

    def compute(function: str, raw: Sequence[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
        values = []
        mixed = sum(x * (k + 1) for k, x in enumerate(raw))
        for k, word in enumerate(tasks.functions[function].results):
            values.append(word.format.wrap(mixed * 0x9E3779B1 + k))
        return values, raw[0] % 3 == 0

    return known, ShellModel(known.identity, tasks, compute)


@pytest.mark.filterwarnings("ignore:overflow encountered in ldexp:RuntimeWarning")
@pytest.mark.parametrize("seed", range(3))
def test_words_of_any_format_are_the_drivers(seed: int) -> None:
    known, shell = made_up(seed)
    asked = requests(known, 200)
    for _, operands in asked:
        (x,) = operands.values()
        # far outside, halves, and what is lost below the last place
        x[:5] *= np.array([1e200, -1e200, 1e-200, 3.0, -3.0])[:, None]
        scales = [word.format.resolution for word in known.tasks.functions[asked[0][0]].operands]
        x[5:20] = np.round(x[5:20] / scales[0]) * scales[0] + scales[0] / 2
    for name, operands in asked:
        (x,) = operands.values()
        for k, word in enumerate(known.tasks.functions[name].operands):
            if word.codes == (word.format.minimum, word.format.maximum):
                # a word of one bit: what is beyond its range is refused
                x[:, k] = np.clip(x[:, k], *word.format.real(np.array(word.codes)))
    expected = by_driver(shell, known, asked)
    with on_tcp(shell) as at, Asker(known, at) as device:
        same(device.solve(asked), expected)


def torn(data: bytes) -> bytes:
    """Every other frame's end is missing."""
    parts = data.split(b"~~")
    return b"~~".join(part[:-1] if k % 2 else part for k, part in enumerate(parts))


def damaged(data: bytes) -> bytes:
    """A bit of every hundredth byte is wrong; a lone status is shorter."""
    changed = bytearray(data)
    for k in range(99, len(changed), 100):
        changed[k] ^= 1 << k % 8
    return bytes(changed)


def again() -> Callable[[bytes], bytes]:
    """What was said before comes once more, before what is said now."""
    before = [b""]

    def say(data: bytes) -> bytes:
        late, before[0] = before[0], data
        return late + data

    return say


def forged(data: bytes) -> bytes:
    """Before each result one of another function with its tag."""
    found = b""
    for frame in Deframer(1 << 16).feed(data):
        if frame.kind == Kind.TASK:
            code, tag, _ = header(frame.payload)
            other = join_header(2 if code == 0 else 0, tag)
            found += frame_bytes(Kind.TASK, other.to_bytes(2, "little") + bytes(12))
        found += frame_bytes(frame.kind, frame.payload)
    return found


@pytest.mark.parametrize(
    "wire",
    [
        {"say": lambda data: data + data},
        {"say": lambda data: data.replace(b"~~", b"~~noise~~")},
        {"say": again()},
        {"say": torn},
        {"say": damaged},
        {"say": forged},
        {"hear": lambda frames: [f for f in frames for _ in range(2)]},
        {"hear": lambda frames: frames[::2] + frames[1:2]},
    ],
    ids=["twice", "noise", "late", "torn", "damaged", "forged", "heard twice", "lost"],
)
def test_answers_are_right_whatever_happens_on_the_line(wire: dict) -> None:
    d = everything()
    known = manifest_of(d)
    # what is late must not be taken for the next call's
    lone = [[request(known, "id", 1 + k % 2, k)] for k in range(6)]
    calls = [requests(known, 100), *lone, requests(known, 40)]
    line = Wire(bit_true_shell(d), **wire)
    with on_tcp(line) as at, Asker(known, at, **QUICK) as device:
        for asked in calls:
            same(device.solve(asked), by_driver(bit_true_shell(d), known, asked))
            # else there might have been a reset before the last results
            assert line.said[-1] == Kind.HELLO


@pytest.mark.parametrize("on", [on_tcp, on_serial])
def test_a_noisy_line_with_parameters(on: Callable) -> None:
    d = calibratable()
    known = manifest_of(d)
    values = parameter_values(d.robot, varied_robot(d.robot, np.random.default_rng(4)))
    asked = requests(known, 300)
    with Driver.open(known, bit_true_shell(d)) as driver:
        driver.calibrate(values)
        expected = driver.solve([Tasks(*one) for one in asked])
    noise = Noise(bit_true_shell(d), 0.01, seed=3)
    with on(noise) as at, Asker(known, at, patience=100, **QUICK) as device:
        assert device.calibrate(values).status == 0
        same(device.solve(asked), expected)
    assert noise.faults > 100


@pytest.mark.parametrize("after", [1, 2, 3, 5])
def test_parameters_are_loaded_again_after_a_reset(after: int) -> None:
    d = calibratable()
    known = manifest_of(d)
    values = parameter_values(d.robot, varied_robot(d.robot, np.random.default_rng(4)))
    asked = requests(known, 300)
    with Driver.open(known, bit_true_shell(d)) as driver:
        driver.calibrate(values)
        expected = driver.solve([Tasks(*one) for one in asked])
    shell = bit_true_shell(d)
    left = [0]

    def say(data: bytes) -> bytes:
        left[0] -= 1
        if left[0] == 0:
            shell.reset()
        return data

    with on_tcp(Wire(shell, say)) as at, Asker(known, at, **QUICK) as device:
        assert device.calibrate(values).status == 0
        left[0] = after
        answer = device.solve(asked)
        same(answer, expected)
        assert answer.note.startswith("device: was reset in mid-use; its 14 parameters were loaded")
        answer = device.solve(asked)
        same(answer, expected)
        assert "reset" not in answer.note


def test_results_behind_the_last_status_are_not_trusted() -> None:
    d = calibratable()
    known = manifest_of(d)
    values = parameter_values(d.robot, varied_robot(d.robot, np.random.default_rng(4)))
    shell = bit_true_shell(d)
    wire = Wire(shell)
    turn = [0]

    def hear(frames: list[bytes]) -> list[bytes]:
        """First tasks are lost; then there is a reset, and a hello is lost."""
        turn[0] += 1
        if turn[0] == 1:
            return [frame for frame in frames if frame[1] == Kind.HELLO]
        if turn[0] == 2:
            shell.reset()
            return [frame for frame in frames if frame[1] == Kind.TASK]
        return frames

    asked = [request(known, "id", 5)]
    with on_tcp(wire) as at, Asker(known, at, **QUICK) as device:
        device.calibrate(values)
        expected = device.solve(asked).values[0]["tau"]
        wire.hear = hear
        answer = device.solve(asked)
    assert np.array_equal(answer.values[0]["tau"], expected)
    assert answer.note.startswith("device: was reset in mid-use")


def test_without_parameters_a_reset_costs_time_only() -> None:
    d = everything()
    known = manifest_of(d)
    shell = bit_true_shell(d)
    asked = requests(known, 100)
    said = [0]

    def say(data: bytes) -> bytes:
        said[0] += 1
        if said[0] in (3, 5):
            shell.reset()
        return data

    with on_tcp(Wire(shell, say)) as at, Asker(known, at, **QUICK) as device:
        same(device.solve(asked), by_driver(bit_true_shell(d), known, asked))
    assert said[0] > 5


def test_a_device_that_is_reset_again_and_again_is_given_up() -> None:
    d = calibratable()
    known = manifest_of(d)
    values = parameter_values(d.robot, d.robot)
    shell = bit_true_shell(d)
    again = [False]

    def say(data: bytes) -> bytes:
        if again[0]:
            shell.reset()
        return data

    with on_tcp(Wire(shell, say)) as at, Asker(known, at, **QUICK) as device:
        device.calibrate(values)
        again[0] = True
        answer = device.solve(requests(known, 300))
        assert answer.status == RESET
        assert answer.message.startswith("device: was reset 5 times during one call; check its")
        again[0] = False
        assert device.solve(requests(known, 3)).status == 0


def test_results_of_a_session_that_was_broken_off_are_not_taken() -> None:
    d = everything()
    known = manifest_of(d)
    wire = Wire(bit_true_shell(d))
    limits = {"patience": 2, "quiet": 0.05}
    with on_tcp(wire) as at, Asker(known, at, **limits) as device:
        said: list[bytes] = []
        wire.say = lambda data: said.append(data) or b""
        assert device.solve([request(known, "id", 50, seed=7)]).status == SILENT

        def late(data: bytes) -> bytes:
            everything_said = b"".join([*said, data])
            said.clear()
            return everything_said

        wire.say = late
        asked = requests(known, 50)
        same(device.solve(asked), by_driver(bit_true_shell(d), known, asked))
