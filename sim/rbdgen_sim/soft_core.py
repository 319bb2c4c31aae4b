"""A soft core in simulation with an accelerator on its bus: real firmware, compiled for RISC-V, calls it.

PicoRV32 or VexRiscv, as packages on PyPI have their Verilog, memory, the accelerator behind its shell of registers on
a Wishbone bus or as LiteX's CSRs, and a mailbox by which firmware and this process exchange bytes (``soft_core.v``),
compiled by Verilator. A read of the mailbox takes no simulated time but for some cycles, however long this process
takes.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rbdgen.errors import LinkError, ToolError
from rbdgen.host.transport import ProcessTransport
from rbdgen_sim.device import build_device

CORES = {
    "picorv32": ("pythondata_cpu_picorv32", "verilog/picorv32.v"),
    "vexriscv": ("pythondata_cpu_vexriscv", "verilog/VexRiscv.v"),
}
"""Soft cores: the package and the file in it."""
COMPILER = "riscv64-unknown-elf-gcc"
FLAGS = (
    *("-march=rv32im", "-mabi=ilp32", "-std=c99", "-O2", "-ffreestanding", "-nostdlib"),
    *("-nostartfiles", "-Wall", "-Wextra", "-Werror", "-ffunction-sections", "-Wl,--gc-sections"),
)
SECONDS = 120.0
"""For which nothing may come of the firmware before it is given up."""
_HERE = Path(__file__).parent
FIRMWARE = _HERE / "firmware"


def core_source(core: str) -> Path:
    """The Verilog of a soft core. ToolError where its package is not there."""
    package, file = CORES[core]
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        name = package.replace("_", "-")
        raise ToolError(f"{core}: {name} is missing: install it with: pip install {name}")
    return Path(found.origin).parent / file


def build_soft_core(
    core: str, sources: Sequence[Path], shell: str, directory: Path, bus: str = "wishbone"
) -> Path:
    """The program of a soft core with the module ``shell`` of ``sources`` on its ``bus``, ``wishbone`` or ``csr``, as
    of :func:`rbdgen_sim.device.build_device`."""
    directory.mkdir(parents=True, exist_ok=True)
    text = (_HERE / "soft_core.v").read_text(encoding="utf-8").replace("ACCELERATOR", shell)
    for macro, holds in (("VEXRISCV", core == "vexriscv"), ("CSR", bus == "csr")):
        text = f"`define {macro}\n" * holds + text
    top = directory / "soft_core.v"
    top.write_text(text, encoding="utf-8")
    return build_device([top, core_source(core), *sources], "soft_core", directory)


def build_firmware(sources: Sequence[Path], directory: Path, options: Sequence[str] = ()) -> Path:
    """The hexadecimal file of a program for the core, of C files, whose folders are looked into for headers; with these
    ``options`` of the compiler.

    ToolError without the compiler, and with its first complaint."""
    if shutil.which(COMPILER) is None:
        raise ToolError(
            f"{COMPILER} is missing: install it with: apt-get install gcc-riscv64-unknown-elf"
        )
    directory.mkdir(parents=True, exist_ok=True)
    folders = dict.fromkeys([FIRMWARE, *(path.parent for path in sources)])
    elf, binary = directory / "firmware.elf", directory / "firmware.bin"
    own = [FIRMWARE / "start.S", FIRMWARE / "soc.c"]
    _run(
        [
            *(COMPILER, *FLAGS, *options, *(f"-I{folder}" for folder in folders)),
            *("-T", str(FIRMWARE / "soc.ld"), *map(str, [*own, *sources]), "-lgcc"),
            *("-o", str(elf)),
        ]
    )
    _run([COMPILER.replace("gcc", "objcopy"), "-O", "binary", str(elf), str(binary)])
    image = binary.read_bytes()
    words = np.frombuffer(image + bytes(-len(image) % 4), "<u4").tolist()
    file = directory / "firmware.hex"
    file.write_text("\n".join(f"{word:08x}" for word in words) + "\n", encoding="ascii")
    return file


def _run(words: Sequence[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "rror" in line] or [done.stderr]
        raise ToolError(f"{words[0]} cannot build the firmware: {lines[0]}")


class SoftCore:
    """A running soft core of :func:`build_soft_core` with firmware of :func:`build_firmware`."""

    def __init__(self, program: Path, firmware: Path) -> None:
        self.transport = ProcessTransport([str(program), f"+firmware={firmware}"], SECONDS)
        self.unread = b""

    def __enter__(self) -> SoftCore:
        return self

    def __exit__(self, *_: object) -> None:
        self.transport.close()

    def send(self, values: np.ndarray) -> None:
        """Numbers, as they are in memory, into the mailbox."""
        self.transport.write(values.tobytes())

    def receive(self, kind: str, count: int) -> np.ndarray:
        """So many numbers of the ``kind`` from the mailbox. LinkError where the firmware says nothing."""
        size = np.dtype(kind).itemsize * count
        while len(self.unread) < size:
            data = self.transport.read()
            if not data:
                raise LinkError(f"firmware: was silent for {SECONDS:g} s; look where it hangs")
            self.unread += data
        data, self.unread = self.unread[:size], self.unread[size:]
        return np.frombuffer(data, kind)
