"""The driver for firmware: what it sends and makes of answers, number by number, against the driver in Python; its
errors; programs that it loads."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rbdgen import Options, load_robot
from rbdgen.emulated_engine import EmulatedEngine
from rbdgen.emulation import bit_true, bit_true_shell, manifest_of
from rbdgen.errors import ConfigError
from rbdgen.host.driver import Driver
from rbdgen.host.embedded import SOURCES, embedded_files
from rbdgen.host.manifest import Manifest
from rbdgen.host.programs import Program
from rbdgen.host.stream_link import beats_of, packet_of
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.resident import Resident
from rbdgen.protocol.tasks import LOAD, Flag
from rbdgen.resident import compile_program
from rbdgen.shells.shell import AcceleratorModel
from tests.conftest import design
from tests.host.native import STRICT, needs_compiler, run

pytestmark = needs_compiler
ENGINE = Resident(Core(words=512, depth=2048, results=512))
COUNT = 40
EXCHANGE = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_uint32),
    ctypes.c_uint,
    ctypes.POINTER(ctypes.c_uint32),
    ctypes.c_uint,
)
CHECKED = ("-fsanitize=undefined", "-fno-sanitize-recover=all")
CROSS = "riscv64-unknown-elf-gcc"


class Device(ctypes.Structure):
    """``struct rbd_device``."""

    _fields_ = (("exchange", EXCHANGE), ("context", ctypes.c_void_p), ("tag", ctypes.c_uint8))


class Firmware:
    """The driver compiled for this machine, with an accelerator's model behind ``exchange``. ``answered`` is what the
    next exchange returns instead, ``changed`` is added to the first word of each answer."""

    def __init__(
        self,
        manifest: Manifest,
        model: AcceleratorModel,
        folder: Path,
        program: Program | None = None,
        options: tuple[str, ...] = (),
    ) -> None:
        self.model, self.answered, self.changed = model, 0, 0
        self.packets: list[np.ndarray] = []
        texts = embedded_files(program or manifest)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        sources = [folder / name for name in texts if name.endswith(".c")]
        library = folder / "firmware.so"
        run(
            *("cc", "-std=c99", *STRICT, "-O1", *CHECKED),
            *("-shared", "-fPIC", *options, *sources, "-o", library),
        )
        self.library = ctypes.CDLL(str(library))
        self.name, self.number = manifest.name, np.dtype(np.int32 if options else np.float32)
        # as long as the library may call it
        self.exchange = EXCHANGE(self._exchange)
        self.device = Device(self.exchange, None, 250)

    def _exchange(self, context: int, task: Any, words: int, result: Any, room: int) -> int:
        packet = np.ctypeslib.as_array(task, (words,)).copy()
        self.packets.append(packet)
        if self.answered:
            return self.answered
        tasks = self.model.tasks
        mask = (1 << tasks.task.beat_bits) - 1
        beats = [int(word) & mask for word in packet]
        self.model.keep(packet_of(beats, tasks.task, words - 1))
        self.model.work()
        answer = beats_of(self.model.answers.pop(), tasks.result)
        assert not self.model.answers
        assert len(answer) in (room, 1)
        result[0] = int(answer[0]) + self.changed
        for k in range(1, len(answer)):
            result[k] = int(answer[k])
        return 0

    def call(self, function: str, operands: list[np.ndarray], shape: tuple[int, ...]) -> tuple:
        """What a typed call returns, and its results."""
        results = np.full(shape, 77, self.number)
        given = [np.ascontiguousarray(x, self.number) for x in operands]
        arguments = [x.ctypes.data_as(ctypes.c_void_p) for x in [*given, results]]
        called = getattr(self.library, f"{self.name}_{function}")
        return called(ctypes.byref(self.device), *arguments), results

    def load(self, blocks: np.ndarray) -> int:
        """What loading of these blocks returns."""
        return self.library.rbd_load(
            ctypes.byref(self.device),
            blocks.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_size_t(len(blocks)),
        )


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Firmware:
    d = design("pendulum2", functions=("id", "m"), machine="engine", word=32)
    return Firmware(manifest_of(d), bit_true_shell(d), tmp_path_factory.mktemp("arm"))


def test_results_are_the_drivers(arm: Firmware) -> None:
    """Every torque and matrix has the bits of the Python driver's, rounded to float."""
    d = design("pendulum2", functions=("id", "m"), machine="engine", word=32)
    q, v, a = np.random.default_rng(3).uniform(-1.0, 1.0, (3, COUNT, 2)).astype(np.float32)
    # halves, which go upwards, and numbers below every resolution
    q[0], v[0], a[0] = 2.0**-29, -(2.0**-29), 1e-40
    expected = bit_true(d)
    torques, matrices = expected.rnea(q, v, a), expected.crba(q)
    for k in range(COUNT):
        code, tau = arm.call("id", [q[k], v[k], a[k]], (2,))
        assert (code, tau.tolist()) == (0, torques[k].astype(np.float32).tolist())
        code, mass = arm.call("m", [q[k]], (2, 2))
        assert (code, mass.tolist()) == (0, matrices[k].astype(np.float32).tolist())


def test_whole_numbers_are_shifted(tmp_path: Path) -> None:
    d = design("pendulum2", functions=("id",), machine="engine", word=32)
    fixed = Firmware(manifest_of(d), bit_true_shell(d), tmp_path, options=("-DRBD_FIXED=16",))
    raw = np.random.default_rng(4).integers(-(1 << 16), 1 << 16, (3, COUNT, 2))
    torques = bit_true(d).rnea(*(raw / 2.0**16))
    for k in range(COUNT):
        code, tau = fixed.call("id", list(raw[:, k]), (2,))
        assert (code, tau.tolist()) == (0, np.floor(torques[k] * 2.0**16 + 0.5).tolist())


def test_pipelines_of_a_word_a_beat_are_called_likewise(tmp_path: Path) -> None:
    d = design("pendulum2", functions=("id",), ii=8)
    firmware = Firmware(manifest_of(d), bit_true_shell(d), tmp_path)
    states = np.random.default_rng(5).uniform(-1.0, 1.0, (3, COUNT, 2)).astype(np.float32)
    torques = bit_true(d).rnea(*states).astype(np.float32)
    for k in range(COUNT):
        code, tau = firmware.call("id", list(states[:, k]), (2,))
        assert (code, tau.tolist()) == (0, torques[k].tolist())


def test_what_is_out_of_range_is_flagged(arm: Firmware) -> None:
    zero = np.zeros(2)
    for value in (1e30, -1e30, 1e4):
        code, _ = arm.call("id", [zero, np.array([value, 0.0]), zero], (2,))
        assert code & Flag.RANGE


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_is_no_number_is_refused(arm: Firmware, value: float) -> None:
    before = len(arm.packets)
    code, tau = arm.call("id", [np.array([0.0, value]), np.zeros(2), np.zeros(2)], (2,))
    assert (code, tau.tolist(), len(arm.packets)) == (-1, [77.0, 77.0], before)


def test_a_transports_errors_are_passed_on(arm: Firmware) -> None:
    arm.answered = -17
    assert arm.call("m", [np.zeros(2)], (2, 2))[0] == -17
    arm.answered = 0


def test_another_tasks_answer_is_known(arm: Firmware) -> None:
    arm.changed = 1 << 5
    assert arm.call("m", [np.zeros(2)], (2, 2))[0] == -3
    arm.changed = 0
    assert arm.call("m", [np.zeros(2)], (2, 2))[0] == 0


def blocks_of(program: Program) -> np.ndarray:
    return np.frombuffer(b"".join(program.blocks), "<u4").reshape(len(program.blocks), -1).copy()


@pytest.fixture(scope="module")
def program() -> Program:
    options = Options(functions=("id", "m"), machine="engine")
    return compile_program(load_robot("pendulum2"), options, ENGINE)


def test_a_program_is_loaded(program: Program, tmp_path: Path) -> None:
    """Functions are away while it is loaded, and answer as the emulated engine that Python loaded."""
    firmware = Firmware(program.manifest, EmulatedEngine(ENGINE), tmp_path, program)
    zero = np.zeros(2)
    blocks = blocks_of(program)
    symbol = (ctypes.c_uint32 * blocks.size).in_dll(firmware.library, f"{firmware.name}_program")
    count = ctypes.c_size_t.in_dll(firmware.library, f"{firmware.name}_program_blocks")
    assert (list(symbol), count.value) == (blocks.ravel().tolist(), len(blocks))
    assert firmware.load(blocks) == 0
    expected = Driver.open(program, EmulatedEngine(ENGINE))
    wanted = expected.rnea(zero, zero, zero).astype(np.float32)
    code, tau = firmware.call("id", [zero, zero, zero], (2,))
    assert (code, tau.tolist()) == (0, wanted.tolist())
    # a block that was damaged in memory: refused, and nothing is there that was not whole
    broken = blocks.copy()
    broken[0, 2] ^= 1
    assert firmware.load(broken) == -7
    code, tau = firmware.call("id", [zero, zero, zero], (2,))
    assert (code, tau.tolist()) == (Flag.FUNCTION, [77.0, 77.0])
    firmware.packets.clear()
    assert firmware.load(blocks) == 0
    first = firmware.packets[0]
    assert (first[0], first[3:-1].any()) == (LOAD, False)
    assert firmware.call("id", [zero, zero, zero], (2,))[0] == 0


def test_beats_of_several_words_are_refused_by_name() -> None:
    wide = manifest_of(design("pendulum2", functions=("id",), ii=2))
    with pytest.raises(ConfigError, match=r"^rbd_pendulum2_id: tasks have beats of \d+ words"):
        embedded_files(wide)
    twice = manifest_of(design("pendulum2", functions=("id",), ii=2, replicas=2))
    with pytest.raises(ConfigError, match=r"2 accelerators side by side"):
        embedded_files(twice)


@pytest.mark.skipif(shutil.which(CROSS) is None, reason=f"no {CROSS}")
def test_it_needs_no_library_and_little_memory(program: Program, tmp_path: Path) -> None:
    """For RV32IM: no symbol that it does not define, no memory of its own, and less than 2.5 kB of code."""
    texts = embedded_files(program)
    objects = []
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for name in texts:
        if name.endswith(".c"):
            objects.append(tmp_path / f"{name}.o")
            flags = ("-march=rv32im", "-mabi=ilp32", "-ffreestanding", "-Os", "-std=c99", *STRICT)
            run(CROSS, *flags, "-c", tmp_path / name, "-o", objects[-1])
    whole = tmp_path / "whole.o"
    run(CROSS, "-march=rv32im", "-mabi=ilp32", "-nostdlib", "-r", *objects, "-o", whole)
    words = ("riscv64-unknown-elf-nm", "-u", str(whole))
    missing = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert not {*missing} - {"U", "memset"}
    code, data, zeroed = sizes(
        [o for o in objects if not {"program", "spi"} & {*re.split(r"[_.]", o.name)}]
    )
    assert code < 2500
    assert (data, zeroed) == (0, 0)
    assert {*SOURCES} < {*texts}


def sizes(objects: list[Path]) -> tuple[int, int, int]:
    """Bytes of code with constants, of data, and of zeros."""
    words = ("riscv64-unknown-elf-size", *map(str, objects))
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()[
        1:
    ]
    columns = zip(*([int(n) for n in line.split()[:3]] for line in lines), strict=True)
    code, data, zeroed = map(sum, columns)
    return code, data, zeroed
