"""Measures CUDA kernels: registers, spills and occupancy by NVRTC, and values and times where there is a GPU; minutes.

``--robot`` and ``--function`` choose; ``--architecture`` is that of the first table, where no GPU says it. Times are
of the kernel alone and with copies from and to pinned memory that four streams overlap; the fastest of 20 runs counts.
Exit status 1 if a value is not what the golden model says.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
from collections.abc import Iterator, Sequence

import numpy as np
from cuda_driver import SHARED_OPT_IN, STREAMS, Arrays, Gpu, Launch, NoGpuError
from figures import Targets, arguments, parse, section

from rbdgen import load_robot
from rbdgen.errors import UnsupportedError
from rbdgen.functions.registry import common
from rbdgen.model.robot import Robot
from rbdgen.software.composition import make_program
from rbdgen.software.cuda import CudaFunction, CudaKernel
from rbdgen.software.nvrtc import ARCHITECTURE, Compilation, Occupancy, Report, nvrtc
from rbdgen.software.program import Program
from rbdgen.software.spread_kernel import SHARED_MEMORY
from rbdgen.software.timing import operand_arrays, program_states, reference
from rbdgen.tracing.trace_options import TraceOptions

ROBOTS = {
    "pendulum2": ("pendulum2", "fixed"),
    "ur5": ("ur5", "fixed"),
    "iiwa14": ("iiwa14", "fixed"),
    "hyq": ("hyq", "fixed"),
    "hyq, floating": ("hyq", "floating"),
}
FUNCTIONS = (*common(), "roll", "step")
COUNTS = (1024, 16_384, 1 << 20)
CHECKED = 1024
"""Different states; larger batches have them again and again."""
LARGEST_ERROR = {64: 1e-12, 32: 1e-4}
"""Relative to the largest magnitude of a result."""
SETTINGS = TraceOptions()
HEAD = (
    "robot",
    "function",
    "type",
    "kernel",
    "warps of a block",
    "registers",
    "bytes through memory",
    "stack",
    "shared memory",
    "resident blocks",
    "resident warps",
)
TIMES = (
    "device",
    "robot",
    "function",
    "type",
    "kernel",
    "states",
    "alone, M/s",
    "with copies, M/s",
    "error",
    "",
)


def programs(chosen: argparse.Namespace) -> Iterator[tuple[str, Robot, Program]]:
    """The functions that were asked for."""
    for title, (name, base) in ROBOTS.items():
        if chosen.robot and title not in chosen.robot:
            continue
        robot = load_robot(name, base)
        for function in chosen.function or FUNCTIONS:
            try:
                yield title, robot, make_program(robot, SETTINGS, function)
            except UnsupportedError:
                # roll of a mobile base
                continue


def used(title: str, report: Report) -> list[object]:
    """A row of what a kernel takes."""
    kernel, usage = report.kernel, report.usage
    resident: Sequence[int | None] = (None, None)
    if isinstance(report.occupancy, Occupancy):
        resident = report.occupancy.blocks, report.occupancy.warps
    name = "spread" if kernel.spread else "plain"
    return [
        title,
        report.function,
        kernel.kind.name,
        name,
        kernel.threads // 32,
        usage.registers,
        usage.spilled + kernel.kept,
        usage.stack,
        kernel.shared,
        *resident,
    ]


class Timing:
    """Values and times of a function's kernels on a GPU."""

    def __init__(
        self, gpu: Gpu, targets: Targets, title: str, robot: Robot, made: Compilation
    ) -> None:
        self.gpu = gpu
        self.targets = targets
        self.title = title
        self.made = made
        self.program = made.function.program
        states = program_states(robot, SETTINGS, self.program, CHECKED)
        self.operands = operand_arrays(self.program, states)
        self.expected = reference(robot, SETTINGS, self.program, states)
        self.steps = states.steps

    def rows(self, kernel: CudaKernel, module: ctypes.c_void_p) -> list[list[object]]:
        """A row for each number of states."""
        name = self.made.function.global_name(kernel)
        launched = Launch(
            self.gpu.kernel(module, name, kernel.shared),
            (32, kernel.warps) if kernel.spread else (kernel.threads, 1),
            kernel.states,
            kernel.shared,
        )
        found = []
        for count in COUNTS:
            alone, error = self._alone(kernel, launched, count)
            copied = self._with_copies(kernel, launched, count)
            verdict = self.targets.at_most(error, LARGEST_ERROR[kernel.kind.bits])
            kind = "spread" if kernel.spread else "plain"
            row = [
                self.gpu.name,
                self.title,
                self.program.function.name,
                kernel.kind.name,
                kind,
                count,
            ]
            speeds = [f"{count / seconds * 1e-6:.1f}" for seconds in (alone, copied)]
            found.append([*row, *speeds, f"{error:.1e}", verdict])
        return found

    def _arrays(self, kernel: CudaKernel, count: int) -> Arrays:
        dtype = np.dtype(np.float64 if kernel.kind.bits == 64 else np.float32)
        chosen = np.arange(count) % CHECKED
        operands = [x[chosen].reshape(count, -1).T.astype(dtype) for x in self.operands]
        if self.program.repeat:
            assert self.steps is not None
            operands.append(self.steps[chosen, 0].astype(np.int32))
        results = [((x.size, count), dtype) for x in self.program.results]
        return Arrays(self.gpu, count, operands, results)

    def _alone(self, kernel: CudaKernel, launched: Launch, count: int) -> tuple[float, float]:
        """Seconds, and the largest error."""
        arrays = self._arrays(kernel, count)
        stream = self.gpu.streams[0]
        seconds = self.gpu.best(lambda: arrays.launch(launched, stream))
        found = arrays.fetch(stream)
        self.gpu.call("cuStreamSynchronize", stream)
        chosen = np.arange(count) % CHECKED
        error = 0.0
        for x, truth in zip(found, self.expected, strict=True):
            wrong = np.abs(x.T.reshape(count, *truth.shape[1:]) - truth[chosen])
            error = max(error, float(np.max(wrong) / np.max(np.abs(truth))))
        arrays.release()
        return seconds, error

    def _with_copies(self, kernel: CudaKernel, launched: Launch, count: int) -> float:
        """Seconds."""
        parts = [self._arrays(kernel, count // STREAMS) for _ in range(STREAMS)]

        def work() -> None:
            for part, stream in zip(parts, self.gpu.streams, strict=True):
                part.with_copies(launched, stream)

        seconds = self.gpu.best(work)
        for part in parts:
            part.release()
        return seconds


def gpu_here() -> Gpu | None:
    """The GPU; says so where there is none."""
    try:
        return Gpu()
    except NoGpuError as error:
        print(f"GPU: none here ({error}); kernels are compiled, and nothing is timed")
        return None


def main() -> int:
    """Print the tables; the exit status."""
    parser = arguments(__doc__)
    parser.add_argument("--robot", action="append", choices=list(ROBOTS))
    parser.add_argument("--function", action="append", choices=FUNCTIONS)
    parser.add_argument("--architecture", default=ARCHITECTURE)
    chosen = parse(parser)
    targets = Targets()
    gpu = gpu_here()
    architecture = gpu.architecture if gpu else chosen.architecture
    shared = min(gpu.attribute(SHARED_OPT_IN), SHARED_MEMORY) if gpu else SHARED_MEMORY
    taken, timed = [], []
    for title, robot, program in programs(chosen):
        made = nvrtc().compile(CudaFunction(program, shared), architecture)
        reports = made.reports()
        taken += [used(title, report) for report in reports]
        if gpu:
            module = gpu.module(made.cubin)
            timing = Timing(gpu, targets, title, robot, made)
            for report in reports:
                timed += timing.rows(report.kernel, module)
    section(f"CUDA kernels compiled for {architecture} by NVRTC {nvrtc().version()}", HEAD, taken)
    if gpu:
        section("CUDA kernels on a GPU", TIMES, timed, keys=6)
    return targets.finish()


if __name__ == "__main__":
    sys.exit(main())
