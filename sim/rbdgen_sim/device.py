"""A simulated device: the RTL of an accelerator behind its byte link, compiled by Verilator into a program.

The host's driver talks to it as to a board (:class:`rbdgen.host.transport.ProcessTransport`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from rbdgen.errors import ToolError
from rbdgen.host.transport import DEFAULT_TIMEOUT, ProcessTransport
from rbdgen_sim import runtime, verilator

PROGRAM = "device"
_MAIN = Path(__file__).with_name("device.cpp")


def build_device(sources: Sequence[Path], top: str, directory: Path) -> Path:
    """The program for Verilog module ``top``, a byte link with ports ``clk rst idle`` and streams ``in_*``, ``out_*``.

    Where and errors as of :func:`build_program`.
    """
    return build_program(sources, top, directory, _MAIN)


def build_program(sources: Sequence[Path], top: str, directory: Path, main: Path) -> Path:
    """The program that Verilog module ``top`` and ``main``, C++ around its class, make.

    It is compiled in ``directory``, unless it is there already for the same sources. ToolError with Verilator's
    complaint where that fails, or where it is missing.
    """
    directory = directory.resolve()
    program, stamp = directory / PROGRAM, directory / "device.sha256"
    digest = hashlib.sha256(b"\0".join(p.read_bytes() for p in (*sources, main))).hexdigest()
    if program.is_file() and stamp.is_file() and stamp.read_text(encoding="ascii") == digest:
        return program
    directory.mkdir(parents=True, exist_ok=True)
    defines = f'-DMODEL=V{top} -DMODEL_HEADER="\\"V{top}.h\\""'
    arguments = [
        "--cc",
        "--exe",
        "--build",
        "-Wno-fatal",
        "-Wno-lint",
        "-Wno-style",
        "--x-assign",
        "fast",
    ]
    arguments += [
        "--x-initial",
        "fast",
        "--output-split",
        "5000",
        "--top-module",
        top,
        "--Mdir",
        str(directory / "obj"),
    ]
    arguments += [
        "-CFLAGS",
        defines,
        "-o",
        str(program),
        *(str(s.resolve()) for s in sources),
        str(main),
    ]
    flags = "device", verilator.environment()["MAKEFLAGS"]
    runtime.place(directory / "obj", *flags)
    done = verilator.run(arguments, directory)
    (directory / "device.log").write_text(done.stdout, encoding="utf-8")
    if done.returncode:
        lines = [line for line in done.stdout.splitlines() if "rror" in line] or ["no output"]
        raise ToolError(
            f"verilator cannot build {top}: {lines[0]} (log: {directory / 'device.log'})"
        )
    runtime.save(directory / "obj", *flags)
    stamp.write_text(digest, encoding="ascii")
    return program


def simulated_device(
    sources: Sequence[Path], top: str, directory: Path, timeout: float = DEFAULT_TIMEOUT
) -> ProcessTransport:
    """A running device of :func:`build_device`. ``timeout``: seconds of silence before it is asked again."""
    return ProcessTransport([str(build_device(sources, top, directory))], timeout)
