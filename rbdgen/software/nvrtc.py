"""CUDA kernels compiled by NVRTC, without a GPU and without the CUDA toolkit: PTX, machine code and what that takes.

NVRTC is NVIDIA's compiler as a library. PyPI's package ``nvidia-cuda-nvrtc`` has it; it needs no other.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from rbdgen.errors import ConfigError, ToolError, short
from rbdgen.installation import remedy
from rbdgen.software.calls import TYPES
from rbdgen.software.cuda import HEADER, CudaFunction, CudaKernel
from rbdgen.software.library import support
from rbdgen.software.program import Program
from rbdgen.software.spread_kernel import RESERVED

PACKAGE = "nvidia-cuda-nvrtc"
ARCHITECTURE = "sm_90"
"""NVIDIA's Hopper, such as the H100."""
LIBRARY = "libnvrtc.so"
# -v: the log says what kernels take (Compilation.usage)
OPTIONS = ("--std=c++17", "--ptxas-options=-v")
BLOCKS = {"8.0": 32, "8.6": 16, "8.9": 24, "9.0": 32}
"""Blocks that are resident on a multiprocessor at most, by compute capability."""
WARPS = {"8.0": 64, "8.6": 48, "8.9": 48, "9.0": 64}
"""Warps that are."""
SHARED = {"8.0": 164, "8.6": 100, "8.9": 100, "9.0": 228}
"""KiB of shared memory of a multiprocessor. All three: CUDA C++ Programming Guide, technical specifications by
compute capability."""
PARTITIONS = 4
"""Of a multiprocessor: each has its own registers and warps (Hopper's white paper, and those before it)."""
REGISTER_FILE = 65536 // PARTITIONS
"""Registers of a partition (same table)."""
REGISTER_UNIT = 256
"""Registers are given to a warp in units of so many."""


@dataclass(frozen=True)
class Usage:
    """Costs of a kernel: ``registers`` of a thread; bytes of a thread's ``stack``, and bytes that are written to and
    read from it for want of registers, ``spill_stores`` and ``spill_loads``, counted once for each instruction."""

    registers: int
    stack: int
    spill_stores: int
    spill_loads: int

    @property
    def spilled(self) -> int:
        """Bytes of spilling instructions."""
        return self.spill_stores + self.spill_loads


@dataclass(frozen=True)
class Occupancy:
    """Blocks and warps that are resident on a multiprocessor at once."""

    blocks: int
    warps: int


@dataclass(frozen=True)
class Report:
    """A ``kernel`` of a ``function``, its global name, what it takes, and its occupancy (None: of an architecture whose
    limits are not known here)."""

    function: str
    name: str
    kernel: CudaKernel
    usage: Usage
    occupancy: Occupancy | None


class Nvrtc:
    """The compiler's library. ToolError where it is missing."""

    def __init__(self) -> None:
        found = library_path()
        if found is None:
            raise ToolError(f"NVRTC ({LIBRARY}): not found; {remedy('cuda')}")
        try:
            self.library = ctypes.CDLL(str(found))
        except OSError as error:
            raise ToolError(
                f"NVRTC {found.name}: cannot be loaded: {short(str(error))}; install {PACKAGE} from PyPI again"
            ) from None

    def version(self) -> str:
        """The version, such as 13.0."""
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        return f"{major.value}.{minor.value}"

    def architectures(self) -> tuple[str, ...]:
        """Architectures that it compiles to."""
        count = ctypes.c_int()
        self.library.nvrtcGetNumSupportedArchs(ctypes.byref(count))
        numbers = (ctypes.c_int * count.value)()
        self.library.nvrtcGetSupportedArchs(numbers)
        return tuple(f"sm_{x}" for x in numbers)

    def compile(self, function: CudaFunction, architecture: str = ARCHITECTURE) -> Compilation:
        """A function's kernels as machine code. ConfigError for an unknown architecture, ToolError where compiling
        fails."""
        cubin, log = self._made(function, architecture, "sm", "CUBIN")
        return Compilation(function, architecture, cubin, log)

    def ptx(
        self,
        function: CudaFunction,
        architecture: str = ARCHITECTURE,
        options: Sequence[str] = (),
    ) -> str:
        """A function's kernels as PTX, which drivers compile for GPUs of that architecture and later ones. ``options``:
        more of NVRTC's. Errors as of :meth:`compile`."""
        text, _ = self._made(function, architecture, "compute", "PTX", options)
        return text.rstrip(b"\0").decode()

    def _made(
        self,
        function: CudaFunction,
        architecture: str,
        kind: str,
        what: str,
        more: Sequence[str] = (),
    ) -> tuple[bytes, str]:
        """The compiler's product for a function's kernels, and its log."""
        known = self.architectures()
        if architecture not in known:
            raise ConfigError(
                f"architecture {architecture!r}: NVRTC {self.version()} compiles for {', '.join(known)}; choose one"
            )
        headers = {HEADER: support(HEADER), **function.texts()}
        program = ctypes.c_void_p()
        source = function.device().encode()
        names = _strings(list(headers))
        texts = _strings(list(headers.values()))
        self.library.nvrtcCreateProgram(
            ctypes.byref(program), source, function.whole.encode(), len(headers), texts, names
        )
        try:
            target = architecture.replace("sm", kind)
            options = [f"--gpu-architecture={target}", *OPTIONS, *more]
            failed = self.library.nvrtcCompileProgram(program, len(options), _strings(options))
            # a text of C ends with a zero, which its size counts
            log = self._read(program, "ProgramLog").rstrip(b"\0").decode()
            if failed:
                wrong = [line for line in log.splitlines() if "error" in line]
                raise ToolError(f"NVRTC {self.version()}: failed: {short((wrong or [log])[0])}")
            return self._read(program, what), log
        finally:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))

    def _read(self, program: ctypes.c_void_p, what: str) -> bytes:
        """Something that compiling has made."""
        size = ctypes.c_size_t()
        getattr(self.library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        getattr(self.library, f"nvrtcGet{what}")(program, text)
        return text.raw


@dataclass(frozen=True)
class Compilation:
    """A function's kernels as machine code (a cubin), with what the assembler said of them."""

    function: CudaFunction
    architecture: str
    cubin: bytes
    log: str

    def usage(self) -> dict[str, Usage]:
        """Costs of each kernel, by its global name."""
        found = {}
        for part in self.log.split("Compiling entry function '")[1:]:
            name = part.partition("'")[0]
            own = re.search(
                rf"properties for {re.escape(name)}\n.*?(\d+) bytes stack frame, (\d+) bytes spill stores, "
                r"(\d+) bytes spill loads",
                part,
            )
            registers = re.search(r"Used (\d+) registers", part)
            if own is None or registers is None:
                raise ToolError(
                    f"NVRTC: its log does not say what {name} takes; take another version of {PACKAGE}"
                )
            stack, stores, loads = (int(x) for x in own.groups())
            found[name] = Usage(int(registers[1]), stack, stores, loads)
        return found

    def reports(self) -> list[Report]:
        """All kernels."""
        usage = self.usage()
        found = []
        for kind in TYPES:
            for kernel in self.function.kernels(kind):
                name = self.function.global_name(kernel)
                resident = occupancy(kernel, usage[name], self.architecture)
                own = self.function.name
                found.append(Report(own, name, kernel, usage[name], resident))
        return found


def report(programs: Sequence[Program], architecture: str = ARCHITECTURE) -> list[Report]:
    """Costs of the kernels of programs on an architecture. Errors as of :class:`Nvrtc`."""
    compiler = nvrtc()
    found = []
    for program in programs:
        found += compiler.compile(CudaFunction(program), architecture).reports()
    return found


@cache
def nvrtc() -> Nvrtc:
    """The compiler."""
    return Nvrtc()


def library_path() -> Path | None:
    """Where PyPI's package put the library; None where it is not installed."""
    spec = find_spec("nvidia")
    # nvidia is a namespace of many packages, whose folders may be several
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob(f"*/lib/{LIBRARY}*")):
            return path
    return None


def occupancy(
    kernel: CudaKernel, usage: Usage, architecture: str = ARCHITECTURE
) -> Occupancy | None:
    """Number of blocks that fit onto a multiprocessor: the least that blocks, warps, registers and shared memory allow.
    A warp takes 32 times its registers, rounded up to 256, of one partition's; a block a KiB of shared memory more than
    it asks for."""
    # an a or f behind the number stands for features of one architecture or its family
    digits = architecture.removeprefix("sm_").rstrip("af")
    capability = f"{digits[:-1]}.{digits[-1]}"
    if capability not in BLOCKS:
        return None
    warps = -(-kernel.threads // 32)
    units = -(-usage.registers * 32 // REGISTER_UNIT)
    by_registers = PARTITIONS * (REGISTER_FILE // (units * REGISTER_UNIT)) // warps
    by_shared = SHARED[capability] * 1024 // (kernel.shared + RESERVED)
    blocks = min(BLOCKS[capability], WARPS[capability] // warps, by_registers, by_shared)
    return Occupancy(blocks, blocks * warps)


def _strings(texts: Sequence[str]) -> ctypes.Array[ctypes.c_char_p]:
    """An array of C strings."""
    return (ctypes.c_char_p * len(texts))(*[text.encode() for text in texts])
