"""``rbdgen emit``: the same programs for processors, and what they cost: operations, memory, text."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from rbdgen.cli.arguments import OPTION_ARGUMENTS, given_setup
from rbdgen.cli.commands import compile_design
from rbdgen.cli.console import Reporter, print_result, reporter
from rbdgen.errors import ConfigError
from rbdgen.host.embedded import embedded_files
from rbdgen.host.library import library_files
from rbdgen.host.manifest import Manifest, read_manifest
from rbdgen.host.programs import Program as Loaded
from rbdgen.host.programs import read_program
from rbdgen.installation import license_text, release
from rbdgen.machines.pipeline.budget import DEMANDS
from rbdgen.model.robot import Robot
from rbdgen.model.setup import ROBOT, Setup
from rbdgen.protocol.identifiers import sanitize
from rbdgen.report import design_text
from rbdgen.report.files import check_writable, read_config, with_overrides, write_files
from rbdgen.software.blocks import cut
from rbdgen.software.composition import make_program
from rbdgen.software.cuda import CudaFunction, cuda_files
from rbdgen.software.fixed_program import fixed_program
from rbdgen.software.library import c_files, name_of
from rbdgen.software.nvrtc import Report, nvrtc
from rbdgen.software.program import Program, Straight, Whole
from rbdgen.tracing.trace_options import TraceOptions
from rbdgen.workbench import BUILDS


def emit(args: argparse.Namespace) -> None:
    """``rbdgen emit``."""
    # the folder inside is named after what is made, and not known yet
    check_writable(args.output or BUILDS)
    with reporter() as progress:
        made = TARGETS[args.target](args, progress)
        progress.stage("write text")
        files = write_files(made.files, args.output or BUILDS / made.folder)
    report = made.report | {"files": [str(f) for f in files]}
    print_result(args, report, design_text.software(report))


@dataclass(frozen=True)
class Emitted:
    """Text: ``files`` by name, the ``folder`` that they are for, and what is reported of them."""

    files: dict[str, str]
    folder: str
    report: dict[str, Any]


SOFTWARE = {f.name for f in fields(TraceOptions)}
"""Options that say what is computed, whatever computes it."""


def _refuse(args: argparse.Namespace, names: Iterable[str], reason: str) -> None:
    """ConfigError for an argument among ``names`` that is given and has no meaning here."""
    for name in names:
        if getattr(args, name) is not None:
            raise ConfigError(f"--{name.replace('_', '-')}: {reason}; leave it out")


def _refuse_hardware(args: argparse.Namespace) -> None:
    """ConfigError for an option of hardware, where only programs are written."""
    own = [name for name in (*OPTION_ARGUMENTS, *DEMANDS) if name not in SOFTWARE]
    _refuse(args, own, "is of the accelerator, whose arithmetic --fixed of --target c writes")


def _asked(args: argparse.Namespace, progress: Reporter) -> tuple[Robot, TraceOptions]:
    """The robot and what is to be traced, by the arguments and a file's options."""
    configured, setup, options = read_config(args.config) if args.config else (None, {}, {})
    robot = args.robot or configured
    if robot is None:
        raise ConfigError(
            "ROBOT: missing; give a built-in name, a robot file's path, or --config with a robot in it"
        )
    given = {name: getattr(args, name) for name in OPTION_ARGUMENTS}
    settings = with_overrides(options, **given).part(TraceOptions)
    progress.stage("read robot")
    return Setup(**(setup | given_setup(args))).load(robot), settings


def _programs(args: argparse.Namespace, progress: Reporter) -> tuple[Robot, list[Program]]:
    """The robot, and its functions as programs."""
    robot, settings = _asked(args, progress)
    programs = []
    for function in settings.functions:
        progress.stage(f"trace {function}")
        programs.append(make_program(robot, settings, function))
    return robot, programs


def _c(args: argparse.Namespace, progress: Reporter) -> Emitted:
    """A library in C, with the design's own arithmetic if that is asked for."""
    _refuse(args, ["architecture"], "is of --target cuda")
    fixed = []
    if not args.fixed:
        _refuse_hardware(args)
    else:
        design, _ = compile_design(args, progress)
        fixed = [fixed_program(design, function) for function in design.network.functions]
    robot, programs = _programs(args, progress)
    written = c_files(robot, programs, fixed, release())
    return Emitted(written, f"{name_of(robot)}_c", summary(robot.name, "c", programs))


def _cuda(args: argparse.Namespace, progress: Reporter) -> Emitted:
    """Kernels in CUDA C++; with what they take of an architecture if one is given."""
    if args.fixed:
        raise ConfigError("--fixed: is of --target c; leave it out")
    _refuse_hardware(args)
    # before anything is traced, as the compiler may not be there
    compiler = nvrtc() if args.architecture else None
    robot, programs = _programs(args, progress)
    progress.stage("spread over warps")
    report = summary(robot.name, "cuda", programs)
    kernels = []
    for program in programs if compiler else ():
        assert compiler is not None
        progress.stage(f"compile {program.function.name} for {args.architecture}")
        made = compiler.compile(CudaFunction(program), args.architecture)
        kernels += [kernel_row(known) for known in made.reports()]
    if kernels:
        report |= {"architecture": args.architecture, "kernels": kernels}
    return Emitted(cuda_files(programs), f"{name_of(robot)}_cuda", report)


def _host(args: argparse.Namespace, progress: Reporter) -> Emitted:
    """The host's library for a design that was generated."""
    return _driven(args, "host", library_files, progress)


def _bare(args: argparse.Namespace, progress: Reporter) -> Emitted:
    """The driver for firmware, for a design that was generated or a program."""
    return _driven(args, "bare", embedded_files, progress)


def _driven(
    args: argparse.Namespace,
    target: str,
    files: Callable[[Manifest | Loaded], dict[str, str]],
    progress: Reporter,
) -> Emitted:
    """What is written of the manifest, or the program, in the directory that is given where other targets have a
    robot."""
    if args.fixed:
        raise ConfigError("--fixed: is of --target c; leave it out")
    _refuse(args, ["architecture"], "is of --target cuda")
    given = (*OPTION_ARGUMENTS, *DEMANDS, *ROBOT, "config")
    _refuse(args, given, "is in the design that DIR holds")
    if args.robot is None:
        raise ConfigError(
            f"ROBOT: missing; with --target {target} give the directory that 'rbdgen generate' or 'rbdgen build' wrote"
        )
    progress.stage("read manifest")
    manifest = read_manifest(Path(args.robot))
    source = manifest if manifest.program is None else read_program(args.robot)
    return Emitted(
        files(source) | {"LICENSE": license_text()},
        f"{sanitize([manifest.name])[manifest.name]}_{target}",
        summary(manifest.robot, target, ()),
    )


TARGETS: dict[str, Callable[[argparse.Namespace, Reporter], Emitted]] = {
    "c": _c,
    "cuda": _cuda,
    "host": _host,
    "bare": _bare,
}
"""The targets that there is text for."""


SCHEMA = "rbdgen.software/1"
"""Name and version of the summary's structure."""
KINDS = {
    "product": "products",
    "shift": "products",
    "sum": "sums",
    "sin": "sines",
    "cos": "sines",
    "reciprocal": "divisions",
    "divide": "divisions",
}
"""Kinds as which operations count."""


def operations(program: Program) -> dict[str, int]:
    """Numbers of ``products``, ``sums``, ``sines`` (and cosines) and ``divisions`` of a call, or of a step of time."""
    # kinds that do not occur are zero, not missing
    counts = Counter(dict.fromkeys(dict.fromkeys(KINDS.values()), 0))
    for step in program.steps:
        if isinstance(step, Whole):
            rows, inner = program.arrays[step.left].shape
            columns = program.arrays[step.right].shape[1]
            counts["products"] += rows * inner * columns
            counts["sums"] += rows * inner * columns
            continue
        for _, node in step.graph:
            # a processor multiplies by constants as well
            multiplies = node.products or node.terms.multiple is not None
            kind = "product" if multiplies else node.op
            if kind in KINDS:
                counts[KINDS[kind]] += 1
    return dict(counts)


def local_numbers(program: Program) -> int:
    """Numbers that a call has in memory of its own."""
    slots = [cut(step).slots for step in program.steps if isinstance(step, Straight)]
    return sum(x.size for x in program.local) + max(slots, default=0)


def summary(robot: str, target: str, programs: Sequence[Program]) -> dict[str, Any]:
    """Summary of what was made: operations and memory by function."""
    functions = {}
    for program in programs:
        functions[program.function.name] = {
            "summary": program.function.summary,
            **operations(program),
            "memory_bytes": 8 * local_numbers(program),
        }
    return {"schema": SCHEMA, "robot": robot, "target": target, "functions": functions}


def kernel_row(known: Report) -> dict[str, Any]:
    """Costs of a CUDA kernel on an architecture."""
    occupancy = known.occupancy
    return {
        "function": known.function,
        "kernel": known.name,
        "bits": known.kernel.kind.bits,
        "warps": known.kernel.warps,
        "registers": known.usage.registers,
        "spilled_bytes": known.usage.spilled + known.kernel.kept,
        "shared_bytes": known.kernel.shared,
        "resident_warps": occupancy.warps if occupancy else None,
    }
