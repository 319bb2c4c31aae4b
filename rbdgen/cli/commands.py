"""The commands: each takes parsed arguments, runs the stages it needs, and prints a table or one JSON object."""

from __future__ import annotations

import argparse
import shlex
import shutil
import warnings
from pathlib import Path
from typing import Any

from rbdgen import workbench
from rbdgen.cli.arguments import OPTION_ARGUMENTS, given_setup
from rbdgen.cli.console import Reporter, print_result, reporter, say
from rbdgen.compiler import Design, compare_families, compile_robot, kept_design
from rbdgen.compiler.depth import chain_depths
from rbdgen.compiler.families import narrower_ranges
from rbdgen.compiler.neighbours import asks_for_smallest, neighbours
from rbdgen.errors import ConfigError, RbdgenWarning
from rbdgen.functions.closing import loop_notes
from rbdgen.machines.pipeline.budget import DEMANDS, Budget, Target
from rbdgen.model import builtin_robots, load_robot, range_notes
from rbdgen.model.setup import Setup, friction_notes
from rbdgen.options import Options
from rbdgen.report import design_text
from rbdgen.report.design import depth_table, design_report, families_table
from rbdgen.report.evidence import acceleration_note, evidence, warnings_of
from rbdgen.report.files import check_robot_name, check_writable, read_config, with_overrides
from rbdgen.report.smallest import smallest
from rbdgen.workbench import (
    BUILDS,
    PICTURES,
    check_ip,
    check_pictures,
    draw,
    get_simulator,
    need_hardware,
    save,
    wave_suffix,
)

OF_TIME = ("rate", "latency")
"""Demands of a design's time, which may be made together."""
EVIDENCE_STATES = 2000
"""Fresh states at which errors are measured."""


def check_output(args: argparse.Namespace) -> None:
    """ConfigError if the files of a design could not be written, which is seen before the work begins."""
    check_robot_name(args.robot)
    check_writable(args.output or BUILDS)


def compile_design(args: argparse.Namespace, progress: Reporter) -> tuple[Design, str]:
    """The design that the arguments ask for, and its robot as the user named it."""
    configured, setup, options = read_config(args.config) if args.config else (None, {}, {})
    robot = args.robot or configured
    if robot is None:
        raise ConfigError(
            "ROBOT: missing; give a built-in name, a URDF's path, or --config with a robot in it"
        )
    given = {name: getattr(args, name) for name in OPTION_ARGUMENTS}
    # a word and an error exclude each other: what is given here replaces either of a file's
    if given["word"] is not None:
        options.pop("error", None)
        options.pop("formats", None)
    if given["error"] is not None:
        options.pop("word", None)
    target = _target(args, options)
    resolved = with_overrides(options, **(given | {"device": given["device"] or target.device}))
    progress.stage("read robot")
    model = Setup(**(setup | given_setup(args))).load(robot)
    # who gives a joint's limits has seen to its range
    on_ranges = [
        note for note in range_notes(model) if not any(joint in note for joint in resolved.limits)
    ]
    open_ = [f.name for f in resolved.records if not f.closes]
    for note in (*friction_notes(model), *loop_notes(model, open_), *on_ranges):
        say(f"note: {note}")
    design = kept_design(
        *(model, resolved, target),
        lambda: compile_robot(model, resolved, progress.stage, target=target),
        lambda: progress.stage("the design was compiled before"),
    )
    note = acceleration_note(design)
    if note:
        say(f"note: {note}")
    return design, robot


def _target(args: argparse.Namespace, options: dict[str, Any]) -> Target:
    """The hardware that the arguments ask for, or else a file's ``options``, from which it is taken."""
    # a file has a budget's demands among its options, and these know none of them
    configured = {name: options.pop(name, None) for name in DEMANDS}
    given, asked = _asked_rate(args, options, configured)
    board = args.board or configured["board"]
    if board is None:
        return Target(budget=Budget(**given))
    target = Target.of_board(board, **given, keeps_interval=asked)
    # a board that is given here replaces a file's device as well
    target.check_device(args.device or (None if args.board else options.get("device")))
    return target


def _asked_rate(
    args: argparse.Namespace, options: dict[str, Any], configured: dict[str, Any]
) -> tuple[dict[str, Any], bool]:
    """The demands of multipliers, rate and latency, and whether they or an interval say how often a task comes. What
    the arguments say replaces what a file does. ConfigError where two of them are given."""
    given = {name: getattr(args, name) for name in ("multipliers", *OF_TIME)}
    asked = [name for name in ("ii", *given) if getattr(args, name) is not None]
    if not asked:
        given = {name: configured[name] for name in given}
        asked = [name for name, value in given.items() if value is not None]
        asked += ["ii"] if "ii" in options else []
    elif "ii" not in asked:
        options.pop("ii", None)
    if len(asked) > 1 and set(asked) != set(OF_TIME):
        raise ConfigError(
            f"{' and '.join(asked)}: give one of them; each says how often a task comes"
        )
    return given, bool(asked)


def robots(args: argparse.Namespace) -> None:
    """``rbdgen robots``."""
    rows = [
        {"name": name, "joints": load_robot(name).nv, "summary": text}
        for name, text in builtin_robots().items()
    ]
    print_result(args, {"schema": "rbdgen.robots/1", "robots": rows}, design_text.robots(rows))


def _families(args: argparse.Namespace, design: Design, progress: Reporter) -> dict[str, Any]:
    """The report's comparison of algorithms, where it was asked for."""
    if not args.families:
        return {}
    families = compare_families(design.robot, design.options, progress.stage)
    return {"families": families_table(families, design.options)}


def _evidence(args: argparse.Namespace, design: Design, progress: Reporter) -> dict[str, Any]:
    """The report's errors at fresh states, with a warning where they are large; nothing where none were wanted."""
    count = EVIDENCE_STATES if args.evidence is None else args.evidence
    if not count:
        return {}
    found = evidence(design, count, progress=progress.stage)
    for line in warnings_of(design, found):
        warnings.warn(line, RbdgenWarning, stacklevel=2)
    return {"evidence": found}


def _smallest(design: Design, progress: Reporter) -> dict[str, Any]:
    """What is next to a design that was asked to be the smallest; nothing of any other."""
    if not asks_for_smallest(design):
        return {}
    progress.stage("what is next to it")

    def compiled(options: Options, target: Target) -> Design:
        """A neighbour, kept for the next time."""
        return kept_design(
            *(design.robot, options, target),
            lambda: compile_robot(design.robot, options, progress.stage, target=target),
            lambda: None,
        )

    return {"smallest": smallest(design, neighbours(design, compiled))}


def layout(args: argparse.Namespace) -> None:
    """``rbdgen layout``."""
    pictures = {name: getattr(args, name) for name in PICTURES}
    check_pictures(**pictures)
    with reporter() as progress:
        design, _ = compile_design(args, progress)
        report = (
            design_report(design)
            | _evidence(args, design, progress)
            | _families(args, design, progress)
            | {"depth": depth_table(chain_depths(design))}
            | {"narrower": narrower_ranges(design, progress.stage)}
            | _smallest(design, progress)
        )
        files = draw(design, **pictures, progress=progress)
    if files:
        report["files"] = [str(f) for f in files]
    wrote = "\n".join(f"wrote {f}" for f in files)
    print_result(args, report, "\n\n".join(filter(None, (design_text.layout(report), wrote))))


def generate(args: argparse.Namespace) -> None:
    """``rbdgen generate``."""
    # before anything is compiled
    check_ip(args.part, args.bus, args.ip)
    check_output(args)
    need_hardware()
    with reporter() as progress:
        design, robot = compile_design(args, progress)
        more = _evidence(args, design, progress) | _families(args, design, progress)
        files = save(
            design,
            args.output,
            robot=robot,
            testbench=args.testbench,
            ip=args.ip,
            part=args.part,
            bus=args.bus,
            report=more,
            progress=progress,
        )
    report = design_report(design) | more | {"files": [str(f) for f in files]}
    print_result(
        args, report, design_text.layout(report) + "\n\n" + "\n".join(f"wrote {f}" for f in files)
    )


def simulate(args: argparse.Namespace) -> None:
    """``rbdgen simulate``."""
    check_output(args)
    simulator = get_simulator(args.simulator)
    need_hardware()
    wave_suffix(simulator, args.waves, args.wave_format)
    with reporter() as progress:
        design, robot = compile_design(args, progress)
        more = _evidence(args, design, progress)
        run = workbench.simulate(
            design,
            args.output,
            tasks=args.tasks,
            seed=args.seed,
            simulator=args.simulator,
            waves=args.waves,
            wave_format=args.wave_format,
            robot=robot,
            report=more,
            check=False,
            progress=progress,
        )
    text = [design_text.simulation(run.report)]
    if more:
        text.append(design_text.evidence(more))
    text.append("\n".join(f"wrote {f}" for f in run.files))
    if run.waves is not None:
        text.append(viewing(run.waves))
    print_result(args, run.report | more, "\n\n".join(text))
    # printed first: a report is most wanted where a result is wrong
    run.require_equality()


VIEWERS = {"gtkwave": "GTKWave", "surfer": "Surfer"}
"""Programs that open waveforms, FST and VCD."""


def viewing(waves: Path) -> str:
    """A line on how to open a waveform's file: by the viewers that are here, or by those that there are."""
    here = [name for name in VIEWERS if shutil.which(name)]
    commands = [f"{name} {shlex.quote(str(waves))}" for name in here or list(VIEWERS)[:1]]
    known = "" if here else f" {' or '.join(VIEWERS.values())}, such as"
    return f"open it with{known}: {' or '.join(commands)}"
