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
from rbdgen_sim.folders import copied, own_folder, told_of
from rbdgen_sim.programs import fetch_program, keep_program, place_program

PROGRAM = "device"
OPTIONS = (
    *("--cc", "--exe", "--build", "-Wno-fatal", "-Wno-lint", "-Wno-style"),
    *("--x-assign", "fast", "--x-initial", "fast", "--output-split", "5000"),
)
"""What is asked of Verilator for any design."""
_MAIN = Path(__file__).with_name("device.cpp")


def build_device(sources: Sequence[Path], top: str, directory: Path) -> Path:
    """The program for Verilog module ``top``, a byte link with ports ``clk rst idle`` and streams ``in_*``, ``out_*``.

    Where and errors as of :func:`build_program`.
    """
    return build_program(sources, top, directory, _MAIN)


def build_program(sources: Sequence[Path], top: str, directory: Path, main: Path) -> Path:
    """The program that Verilog module ``top`` and ``main``, C++ around its class, make.

    It is put into ``directory``, from the user's cache or compiled anew: what lies there is not run. ToolError with
    Verilator's complaint where that fails, or where it is missing; its output is in ``device.log``.
    """
    verilator.require()
    directory = directory.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    program = directory / PROGRAM
    flags = "device", verilator.environment()["MAKEFLAGS"]
    texts = [path.read_bytes() for path in (*sources, main)]
    about = runtime.digits(
        *flags, *OPTIONS, top, *(hashlib.sha256(text).hexdigest() for text in texts)
    )
    if fetch_program(about, program):
        return program
    with own_folder() as name:
        made = _compiled([*sources, main], top, Path(name), directory / "device.log", flags)
        keep_program(about, made)
        place_program(made.read_bytes(), program)
    return program


def _compiled(
    sources: Sequence[Path], top: str, work: Path, log: Path, flags: tuple[str, ...]
) -> Path:
    """The program that ``sources`` make, compiled in ``work``, whose name is plain."""
    copies = copied(sources, work / "sources")
    defines = f'-DMODEL=V{top} -DMODEL_HEADER="\\"V{top}.h\\""'
    program = work / PROGRAM
    arguments = [
        *OPTIONS,
        *("--top-module", top, "--Mdir", str(work / "obj")),
        *("-CFLAGS", defines, "-o", str(program), *map(str, copies)),
    ]
    runtime.place(work / "obj", *flags)
    done = verilator.run(arguments, work)
    log.write_text(done.stdout, encoding="utf-8")
    if done.returncode or not program.is_file():
        lines = [line for line in done.stdout.splitlines() if "rror" in line] or ["no output"]
        raise ToolError(
            f"verilator cannot build {top}: {told_of(lines[0], copies, sources)} (log: {log})"
        )
    runtime.save(work / "obj", *flags)
    return program


def simulated_device(
    sources: Sequence[Path], top: str, directory: Path, timeout: float = DEFAULT_TIMEOUT
) -> ProcessTransport:
    """A running device of :func:`build_device`. ``timeout``: seconds of silence before it is asked again."""
    return ProcessTransport([str(build_device(sources, top, directory))], timeout)
