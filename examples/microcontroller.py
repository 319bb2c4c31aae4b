"""A microcontroller beside a small FPGA: firmware in C loads a robot into an engine over SPI, and asks it for torques.

    python examples/microcontroller.py [--ticks 200] [--ratio 4.5] [-o build/microcontroller]

The firmware (microcontroller.c, and the driver for bare metal with its part for SPI) is compiled for this computer, and
for RV32 or ARM to see what it takes there, where a compiler is found. Its bus is the RTL of an engine with one lane
behind an SPI port, in Verilator, whose clock runs --ratio times as fast as the bus's. Every torque is compared with the
emulated engine's, bit for bit.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from rbdgen import Options, load_robot
from rbdgen.emulated_engine import EmulatedEngine
from rbdgen.errors import ToolError
from rbdgen.host.driver import Driver
from rbdgen.host.embedded import embedded_files
from rbdgen.host.programs import Program
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.resident import Resident
from rbdgen.model.ranges import declared_ranges, random_states
from rbdgen.resident import compile_program
from rbdgen_hw.emit import engine_verilog, spi_verilog
from rbdgen_sim.spi_board import build_spi_board, command

HERE = Path(__file__).parent
ENGINE = Resident(Core(1, 1, words=512, depth=2048, results=512))
ROBOT = "ur5"
HERTZ = 10e6
"""Of a bus as small boards have it, at which times are told."""
FIRMWARE = HERE / "microcontroller.c"
CROSS = {
    "RV32IM": ("riscv64-unknown-elf-gcc", "-march=rv32im", "-mabi=ilp32"),
    "Cortex-M4": ("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb"),
}
"""Compilers for microcontrollers, with their options."""
REPORT = np.dtype([("said", "<i4"), ("bytes", "<u4"), ("tau", "<f4", 6)])
"""What the firmware says of each call."""


def compile_firmware(program: Program, folder: Path) -> Path:
    """The firmware as a program of this computer. ToolError without a compiler."""
    if shutil.which("cc") is None:
        raise ToolError("cc is missing: install a C compiler")
    texts = embedded_files(program)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    sources = [folder / name for name in texts if name.endswith(".c")]
    made = folder / "firmware"
    flags = ("-std=c99", "-D_POSIX_C_SOURCE=200809L", "-O2", "-Wall", "-Wextra", f"-I{folder}")
    own = (FIRMWARE, HERE / "microcontroller_host.c")
    subprocess.run(["cc", *flags, *own, *sources, "-o", made], check=True)
    for name, (compiler, *options) in CROSS.items():
        if shutil.which(compiler) is not None:
            size = code_bytes([FIRMWARE, *sources], folder, [compiler, *options])
            print(f"{name}: {size} bytes of code, without the robot's program")
    return made


def code_bytes(sources: list[Path], folder: Path, compiler: list[str]) -> int:
    """Bytes of the firmware's code for a microcontroller."""
    total = 0
    for source in sources:
        made = folder / f"{source.stem}.o"
        flags = ("-std=c99", "-Os", "-ffreestanding", f"-I{folder}", f"-I{HERE}")
        subprocess.run([*compiler, *flags, "-c", source, "-o", made], check=True)
        if not source.stem.endswith(("_program", "_registers")):
            tool = compiler[0].replace("gcc", "size")
            lines = subprocess.run([tool, made], capture_output=True, text=True, check=True).stdout
            total += int(lines.splitlines()[1].split()[0])
    return total


def build_board(folder: Path) -> Path:
    """The simulated board."""
    texts = {"engine.v": engine_verilog(ENGINE), "spi.v": spi_verilog(ENGINE, ENGINE.identity)}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    sources = [folder / name for name in texts]
    return build_spi_board(sources, f"{ENGINE.name}_spi", folder / "board")


def run(firmware: Path, board: list[str], states: np.ndarray) -> np.ndarray:
    """The firmware's reports: of loading, then of each state (3, 6)."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(board, **pipes) as bus:
        assert bus.stdin is not None
        assert bus.stdout is not None
        ends = bus.stdin.fileno(), bus.stdout.fileno()
        try:
            done = subprocess.run(
                [firmware, *map(str, ends)],
                input=states.astype("<f4").tobytes(),
                stdout=subprocess.PIPE,
                pass_fds=ends,
                check=True,
            )
        finally:
            bus.kill()
    return np.frombuffer(done.stdout, REPORT)


def main() -> int:
    """Build, run, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ticks", type=int, default=200, help="calls (200)")
    parser.add_argument("--ratio", type=float, default=4.5, help="of both clocks, from 4 on (4.5)")
    parser.add_argument("-o", "--output", type=Path, help="where to build (a folder for the run)")
    args = parser.parse_args()
    robot = load_robot(ROBOT)
    options = Options(functions=("id",), machine="engine")
    program = compile_program(robot, options, ENGINE)
    states = np.stack(random_states(robot, declared_ranges(robot), args.ticks, 1), axis=1)
    states = states.astype(np.float32)
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.output or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            firmware = compile_firmware(program, folder)
            board = command(build_board(folder), args.ratio, 0.0, 1)
        except ToolError as error:
            print(error)
            return 2
        opened, *calls = run(firmware, board, states)
    if opened["said"] or len(calls) != args.ticks:
        print(f"the firmware failed: {[opened['said'], *(call['said'] for call in calls)][-1]}")
        return 1
    with Driver.open(program, EmulatedEngine(ENGINE)) as emulated:
        expected = emulated.rnea(*np.moveaxis(states.astype(float), 1, 0)).astype(np.float32)
    wrong = sum(not np.array_equal(c["tau"], e) for c, e in zip(calls, expected, strict=True))
    bytes_each = float(np.mean([call["bytes"] for call in calls]))
    print(f"{ROBOT} loaded: {opened['bytes']} bytes, {8 * opened['bytes'] / HERTZ:.3f} s at 10 MHz")
    print(f"{args.ticks} calls: {bytes_each:.0f} bytes, {8e6 * bytes_each / HERTZ:.0f} us each")
    print(f"{wrong} torques differ from the emulated engine's")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
