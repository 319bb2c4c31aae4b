"""The firmware's driver over SPI against models of devices: its answers, damage, silence, resets, another device."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rbdgen import Options, load_robot
from rbdgen.emulated_engine import EmulatedEngine
from rbdgen.emulation import bit_true, bit_true_shell, manifest_of
from rbdgen.host.driver import Driver
from rbdgen.host.embedded import embedded_files
from rbdgen.host.manifest import Manifest
from rbdgen.host.programs import Program
from rbdgen.host.spi import SpiBus
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.resident import Resident
from rbdgen.resident import compile_program
from rbdgen.shells.spi_model import SpiModel
from tests.conftest import design
from tests.host.native import STRICT, needs_compiler, run
from tests.host.test_embedded import CHECKED, CROSS, Device, blocks_of, sizes
from tests.host.test_spi import Flipping

pytestmark = needs_compiler
ENGINE = Resident(Core(words=512, depth=2048, results=512))
TRANSFER = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_uint8),
    ctypes.POINTER(ctypes.c_uint8),
    ctypes.c_size_t,
)
ROOM = 4096
"""Bytes, more than a ``struct rbd_spi`` has."""
SILENT, DESIGN, RESET = -2, -4, -5


class Firmware:
    """The driver compiled for this machine with a ``bus`` behind it; ``fails`` is what a transaction returns."""

    def __init__(
        self, manifest: Manifest, bus: SpiBus, folder: Path, program: Program | None = None
    ) -> None:
        self.bus, self.fails, self.sizes = bus, 0, set[int]()
        texts = embedded_files(program or manifest)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        sources = [folder / name for name in texts if name.endswith(".c")]
        library = folder / "firmware.so"
        options = ("-std=c99", *STRICT, "-O1", *CHECKED, "-shared", "-fPIC")
        run("cc", *options, *sources, "-o", library)
        self.library = ctypes.CDLL(str(library))
        self.name = manifest.name
        self.spi = ctypes.create_string_buffer(ROOM)
        # as long as the library may call it
        self.transfer = TRANSFER(self._transfer)
        exchange = ctypes.cast(self.library.rbd_spi_exchange, type(Device().exchange))
        self.device = Device(exchange, ctypes.cast(self.spi, ctypes.c_void_p), 250)

    def _transfer(self, context: int, out: Any, into: Any, count: int) -> int:
        if self.fails:
            return self.fails
        self.sizes.add(count)
        came = self.bus.transfer(bytes(out[:count]))
        ctypes.memmove(into, came, count)
        return 0

    def open(self) -> int:
        address = ctypes.addressof(ctypes.c_char.in_dll(self.library, f"{self.name}_identity"))
        return self.library.rbd_spi_open(self.spi, self.transfer, None, ctypes.c_void_p(address))

    def call(self, function: str, operands: list[np.ndarray], shape: tuple[int, ...]) -> tuple:
        """What a typed call returns, and its results."""
        results = np.full(shape, 77, np.float32)
        given = [np.ascontiguousarray(x, np.float32) for x in operands]
        arguments = [x.ctypes.data_as(ctypes.c_void_p) for x in [*given, results]]
        code = getattr(self.library, f"{self.name}_{function}")(
            ctypes.byref(self.device), *arguments
        )
        return code, results

    def load(self, program: Program) -> int:
        blocks = blocks_of(program)
        pointer = blocks.ctypes.data_as(ctypes.c_void_p)
        return self.library.rbd_load(
            ctypes.byref(self.device), pointer, ctypes.c_size_t(len(blocks))
        )


@pytest.fixture(scope="module")
def program() -> Program:
    options = Options(functions=("id", "m"), machine="engine")
    return compile_program(load_robot("pendulum2"), options, ENGINE)


@pytest.mark.parametrize("bus", [SpiModel, Flipping])
@pytest.mark.slow
def test_a_program_is_loaded_and_called(
    program: Program, bus: type[SpiModel], tmp_path: Path
) -> None:
    """Every result has the bits of the Python driver's, whatever the bus does to bytes."""
    engine = EmulatedEngine(ENGINE)
    firmware = Firmware(program.manifest, bus(engine), tmp_path, program)
    assert firmware.open() == 0
    assert firmware.load(program) == 0
    expected = Driver.open(program, EmulatedEngine(ENGINE))
    q, v, a = np.random.default_rng(3).uniform(-1.0, 1.0, (3, 200, 2)).astype(np.float32)
    torques, matrices = expected.rnea(q, v, a), expected.crba(q)
    for k in range(len(q)):
        code, tau = firmware.call("id", [q[k], v[k], a[k]], (2,))
        assert (code, tau.tolist()) == (0, torques[k].astype(np.float32).tolist())
        code, mass = firmware.call("m", [q[k]], (2, 2))
        assert (code, mass.tolist()) == (0, matrices[k].astype(np.float32).tolist())
    if bus is Flipping:
        assert engine.deframer.damaged > 50
    assert max(firmware.sizes) == 32


def test_words_of_other_lengths_are_packed_as_everywhere(tmp_path: Path) -> None:
    d = design("pendulum2", functions=("id",), ii=9, word=22)
    known = manifest_of(d)
    assert known.tasks.task.words_per_beat == known.tasks.result.words_per_beat == 1
    firmware = Firmware(known, SpiModel(bit_true_shell(d)), tmp_path)
    assert firmware.open() == 0
    header = (tmp_path / f"{known.name}_embedded.h").read_text(encoding="utf-8")
    for way, packing in (("TASK", known.tasks.task), ("RESULT", known.tasks.result)):
        assert f"_{way}_WORD_BYTES {packing.beat_bytes}\n" in header
    word_bytes(firmware, known)
    q, v, a = np.random.default_rng(3).uniform(-1.0, 1.0, (3, 20, 2)).astype(np.float32)
    torques = bit_true(d).rnea(q, v, a)
    for k in range(len(q)):
        code, tau = firmware.call("id", [q[k], v[k], a[k]], (2,))
        assert (code, tau.tolist()) == (0, torques[k].astype(np.float32).tolist())


class Spi(ctypes.Structure):
    """The beginning of ``struct rbd_spi``."""

    _fields_ = (
        ("transfer", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("polls", ctypes.c_uint32),
        ("tries", ctypes.c_uint32),
        ("task_bytes", ctypes.c_uint),
        ("result_bytes", ctypes.c_uint),
    )


def word_bytes(firmware: Firmware, known: Manifest) -> None:
    """Set how long words are."""
    spi = Spi.from_buffer(firmware.spi)
    spi.task_bytes, spi.result_bytes = known.tasks.task.beat_bytes, known.tasks.result.beat_bytes


def test_silence_ends(program: Program, tmp_path: Path) -> None:
    class Deaf(SpiModel):
        deaf = False

        def transfer(self, data: bytes) -> bytes:
            return super().transfer(data) if not self.deaf else bytes(len(data))

    bus = Deaf(EmulatedEngine(ENGINE))
    firmware = Firmware(program.manifest, bus, tmp_path, program)
    zero = np.zeros(2)
    assert (firmware.open(), firmware.load(program)) == (0, 0)
    right = firmware.call("id", [zero, zero, zero], (2,))
    bus.deaf = True
    assert firmware.call("id", [zero, zero, zero], (2,))[0] == SILENT
    firmware.fails = -17
    assert firmware.call("id", [zero, zero, zero], (2,))[0] == -17
    firmware.fails, bus.deaf = 0, False
    # what was on its way is not taken for the next answer
    code, tau = firmware.call("id", [zero, zero, zero], (2,))
    assert (code, tau.tolist()) == (0, right[1].tolist())
    bus.deaf = True
    assert firmware.open() == SILENT


def test_a_reset_is_told_and_mended_by_opening_again(program: Program, tmp_path: Path) -> None:
    engine = EmulatedEngine(ENGINE)
    firmware = Firmware(program.manifest, SpiModel(engine), tmp_path, program)
    zero = np.zeros(2)
    assert (firmware.open(), firmware.load(program)) == (0, 0)
    right = firmware.call("id", [zero, zero, zero], (2,))
    assert right[0] == 0
    # as after its power was gone
    engine.__init__(ENGINE)
    assert firmware.call("id", [zero, zero, zero], (2,))[0] == RESET
    assert (firmware.open(), firmware.load(program)) == (0, 0)
    code, tau = firmware.call("id", [zero, zero, zero], (2,))
    assert (code, tau.tolist()) == (0, right[1].tolist())


def test_another_device_is_refused(program: Program, tmp_path: Path) -> None:
    other = EmulatedEngine(Resident(Core(words=512, depth=1024, results=512)))
    firmware = Firmware(program.manifest, SpiModel(other), tmp_path, program)
    assert firmware.open() == DESIGN


@pytest.mark.skipif(shutil.which(CROSS) is None, reason=f"no {CROSS}")
def test_it_takes_little_of_a_microcontroller(program: Program, tmp_path: Path) -> None:
    """For RV32IM: less than 2.5 kB of code, no memory of its own, and no library."""
    for name, text in embedded_files(program.manifest).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    made = tmp_path / "spi.o"
    flags = ("-march=rv32im", "-mabi=ilp32", "-ffreestanding", "-Os", "-std=c99", *STRICT)
    run(CROSS, *flags, "-c", tmp_path / "rbdgen_spi.c", "-o", made)
    words = ("riscv64-unknown-elf-nm", "-u", str(made))
    missing = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert not {*missing} - {"U", "memset"}
    code, data, zeroed = sizes([made])
    assert code < 2500
    assert (data, zeroed) == (0, 0)
