"""Counts the instructions that a microcontroller executes for one call of the emitted C, in float and in the
accelerator's fixed point, and beside them the engine's and the pipeline's cycles; a minute.

Programs are compiled by gcc-arm-none-eabi and run by Unicorn, which executes instructions and knows no cycles. Hardly
an instruction of these cores takes less than a cycle, and loads, branches and divisions take more, so that a count is
about the fewest cycles that a call can take."""

from __future__ import annotations

import argparse
import itertools
import shutil
import struct
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from figures import Part, Targets, arguments, measure, parse, section

from rbdgen import Design, Options, compile_robot, load_robot
from rbdgen.software.composition import library_name, make_program
from rbdgen.software.fixed_program import fixed_program
from rbdgen.software.library import c_files
from rbdgen.tracing.trace_options import TraceOptions
from rbdgen.trials import make_tasks, task_states

ROBOTS = ("pendulum2", "iiwa14", "hyq")
FUNCTIONS = ("id", "fd")
WORD = 18
STATES = 20
COMPILER = "arm-none-eabi-gcc"
MEGAHERTZ = 100
"""At which a cycle for each instruction is told as microseconds."""
LARGEST = 1e-3
"""Errors of float beside the golden model, of a vector's largest entry; forward dynamics loses some digits."""


@dataclass(frozen=True)
class Processor:
    """A core: its name, what the compiler is told, and how Unicorn calls it."""

    name: str
    flags: tuple[str, ...]
    model: str


PROCESSORS = (
    Processor(
        "Cortex-M4F", ("-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"), "CORTEX_M4"
    ),
    # Unicorn has no M0+: the same instruction set is in an M0's
    Processor("Cortex-M0+", ("-mcpu=cortex-m0plus", "-mfloat-abi=soft"), "CORTEX_M0"),
)
CODE, DATA, RETURN = 0x0010_0000, 0x2000_0000, 0x0000_0100
"""Addresses of the program, of operands and results with the stack above them, and of what a call returns to."""
SIZE = 0x10_0000
SLOT = 0x400
"""Bytes between operands."""


class Machine:
    """A program in a core's memory, of which functions are called."""

    def __init__(self, program: Path, processor: Processor) -> None:
        import unicorn  # type: ignore[import-not-found]
        from unicorn import arm_const  # type: ignore[import-not-found]

        self.registers = arm_const
        mode = unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS
        self.core = unicorn.Uc(unicorn.UC_ARCH_ARM, mode)
        self.core.ctl_set_cpu_model(getattr(arm_const, f"UC_CPU_ARM_{processor.model}"))
        for address in (0, CODE, DATA):
            self.core.mem_map(address, SIZE)
        image = program.with_suffix(".bin")
        subprocess.run(
            ["arm-none-eabi-objcopy", "-O", "binary", str(program), str(image)], check=True
        )
        self.core.mem_write(CODE, image.read_bytes())
        if processor.model == "CORTEX_M4":
            # the floating-point unit is off after a reset
            self.core.reg_write(arm_const.UC_ARM_REG_FPEXC, 1 << 30)
        self.count = 0
        self.core.hook_add(unicorn.UC_HOOK_CODE, self._step)
        listed = subprocess.run(
            ["arm-none-eabi-nm", str(program)], check=True, capture_output=True, text=True
        ).stdout
        lines = [line.split() for line in listed.splitlines()]
        self.addresses = {words[2]: int(words[0], 16) for words in lines if len(words) == 3}

    def _step(self, *_: Any) -> None:
        """Called at each instruction."""
        self.count += 1

    def call(self, function: str, operands: Sequence[bytes], result: int) -> tuple[bytes, int]:
        """The ``result`` bytes that a function writes for ``operands``, and the instructions that it takes."""
        r = self.registers
        names = (r.UC_ARM_REG_R0, r.UC_ARM_REG_R1, r.UC_ARM_REG_R2, r.UC_ARM_REG_R3)
        for k, content in enumerate((*operands, bytes(result))):
            self.core.mem_write(DATA + SLOT * k, content)
            self.core.reg_write(names[k], DATA + SLOT * k)
        self.core.reg_write(r.UC_ARM_REG_SP, DATA + SIZE - 64)
        self.core.reg_write(r.UC_ARM_REG_LR, RETURN | 1)
        self.count = 0
        self.core.emu_start(self.addresses[function] | 1, RETURN)
        answer = self.core.mem_read(DATA + SLOT * len(operands), result)
        return bytes(answer), self.count


def compiled(
    sources: Sequence[Path], include: Path, processor: Processor, names: list[str]
) -> Path:
    """A program of these functions alone."""
    program = sources[0].parent / f"{processor.model}.elf"
    keep = [f"-Wl,-u,{name}" for name in names]
    command = [COMPILER, "-O2", "-std=c99", "-mthumb", *processor.flags, "-DRBD_VECTOR_BYTES=16"]
    command += ["-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections", *keep]
    command += [
        "-nostartfiles",
        "--specs=nosys.specs",
        f"-Wl,-Ttext={CODE:#x}",
        f"-Wl,-e,{names[0]}",
    ]
    command += [
        f"-I{include}",
        f"-I{sources[0].parent}",
        *map(str, sources),
        "-lm",
        "-o",
        str(program),
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{COMPILER}: {done.stderr[-500:]}")
    return program


def instructions(targets: Targets, args: argparse.Namespace) -> None:
    """Instructions of a call, the median of some states, whose results are checked."""
    del args
    if shutil.which(COMPILER) is None:
        raise SystemExit(
            f"{COMPILER}: not there; apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi"
        )
    rows = []
    for robot in ROBOTS:
        design = compile_robot(load_robot(robot), Options(functions=FUNCTIONS, word=WORD))
        with TemporaryDirectory() as folder:
            rows += _of_robot(targets, design, Path(folder))
    head = [
        "robot",
        "function",
        "core",
        "arithmetic",
        "instructions",
        f"at least, us at {MEGAHERTZ} MHz",
        "right",
    ]
    section("Instructions of one call on a microcontroller", head, rows, keys=4)


def _of_robot(targets: Targets, design: Design, folder: Path) -> list[list[Any]]:
    """Rows of one robot."""
    options = TraceOptions(functions=FUNCTIONS)
    programs = [make_program(design.robot, options, name) for name in FUNCTIONS]
    fixed = [fixed_program(design, name) for name in FUNCTIONS]
    files = c_files(design.robot, programs, fixed, "0")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    library = library_name(design.robot.name)
    sources = [folder / name for name in files if name.endswith(".c") and "software" not in name]
    names = [f"{library}_{name}_{kind}" for name in FUNCTIONS for kind in ("f32", "raw")]
    rows = []
    for processor in PROCESSORS:
        machine = Machine(compiled(sources, folder / "include", processor, names), processor)
        for name in FUNCTIONS:
            for kind, (counts, right) in _called(machine, design, library, name).items():
                count = int(np.median(counts))
                verdict = targets.equal(right, True)
                row = [
                    design.robot.name,
                    name,
                    processor.name,
                    kind,
                    count,
                    round(count / MEGAHERTZ, 1),
                ]
                rows.append([*row, verdict])
    return rows


def _called(
    machine: Machine, design: Design, library: str, name: str
) -> dict[str, tuple[list[int], bool]]:
    """By arithmetic, the instructions of each call, and whether all results are right."""
    tasks = make_tasks(design, name, task_states(design, STATES, 3))
    given = [tasks.states.q, tasks.states.v, tasks.states.a if name == "id" else tasks.states.tau]
    truth = next(iter(tasks.reference.values()))
    floats: tuple[list[int], list[bool]] = ([], [])
    whole: tuple[list[int], list[bool]] = ([], [])
    sizes = np.cumsum([0, *(x.shape[1] for x in given)])
    for k in range(STATES):
        operands = [x[k].astype("<f4").tobytes() for x in given]
        answer, count = machine.call(f"{library}_{name}_f32", operands, 4 * truth.shape[1])
        found = np.frombuffer(answer, "<f4")
        floats[0].append(count)
        error = np.max(np.abs(found - truth[k])) / np.max(np.abs(truth[k]))
        floats[1].append(bool(error < LARGEST))
        raw = [int(words[k]) for words in tasks.raw]
        operands = [struct.pack(f"<{b - a}q", *raw[a:b]) for a, b in itertools.pairwise(sizes)]
        answer, count = machine.call(f"{library}_{name}_raw", operands, 8 * truth.shape[1])
        expected = [int(words[k]) for words in tasks.expected]
        whole[0].append(count)
        whole[1].append(list(np.frombuffer(answer, "<i8")) == expected)
    return {
        "float": (floats[0], all(floats[1])),
        f"fixed point, words of {WORD} bits": (whole[0], all(whole[1])),
    }


def accelerators(targets: Targets, args: argparse.Namespace) -> None:
    """Cycles of the same functions in hardware, by the schedule."""
    del targets, args
    rows = []
    for robot in ROBOTS:
        for machine in ("pipeline", "engine"):
            options = Options(functions=FUNCTIONS, machine=machine)
            design = compile_robot(load_robot(robot), options)
            used = design.machine.resources(design.tasks)
            for name in FUNCTIONS:
                cycles = design.promised_latency(name), design.interval(name)
                times = [round(x / design.running_clock, 3) for x in cycles]
                rows.append([robot, name, design.pace_text, *cycles, *times, used.luts])
    head = [
        "robot",
        "function",
        "hardware",
        "latency",
        "interval",
        "us at 125 MHz",
        "a task every, us",
        "look-up tables",
    ]
    section("Cycles of hardware for the same calls, by the schedule", head, rows, keys=3)


PARTS: dict[str, Part] = {"instructions": instructions, "accelerators": accelerators}


def main() -> int:
    """Measure what is asked for."""
    return measure(parse(arguments(__doc__, PARTS)), PARTS)


if __name__ == "__main__":
    sys.exit(main())
