"""Prints what formats from an error target reach, beside the targets: ``make bench-formats``.

Every figure is measured here and now by the bit-true model, which co-simulation proves equal to the hardware: errors at
fresh states, multiplier blocks beside words of one length, states outside the declared ranges, and the model's speed.
``--robots DIR`` holds public URDFs; ``--part`` chooses one part. Exit status 1 if a target is missed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from figures import Part, Targets, arguments, measure, parse, section

from rbdgen import Options, Robot, compile_robot, load_robot, load_urdf
from rbdgen.functions.registry import common
from rbdgen.ir.machine import library
from rbdgen.report.evidence import evidence, formats
from rbdgen.trials import (
    TaskSet,
    dense_results,
    free_torques,
    make_tasks,
    outside_states,
    task_states,
)

ALL = common()
ERRORS = (1e-3, 1e-4, 1e-5, 1e-6)
WASTE = 20.0
"""A largest error of all functions below the target by more than this factor is wasteful."""
SHARE = 0.8
"""Multiplier blocks beside those of words of one length, at most."""
SHAPES = {"generic125": "18×18 (ECP5)", "xcup": "27×18 (UltraScale+)"}
"""Multiplier shapes, by a device that has them and no delay that would refuse a schedule."""
SPEED = 200_000 / 10.0
"""Tasks per second of the model, at least."""
SECONDS = 60.0
"""A compilation takes at most so long."""


def robots(directory: Path) -> dict[str, Robot]:
    """The robots: the built-in arm, and the quadruped of the public URDFs or else the built-in one."""
    hyq = directory / "hyq_simple.urdf"
    return {
        "iiwa14": load_robot("iiwa14"),
        **({"hyq_simple": load_urdf(hyq)} if hyq.exists() else {"hyq": load_robot("hyq")}),
    }


def errors(targets: Targets, directory: Path, states: int) -> None:
    """Errors at fresh states for every error target, all functions on one accelerator."""
    for name, robot in robots(directory).items():
        for asked in ERRORS:
            begin = time.process_time()
            design = compile_robot(robot, Options(functions=ALL, error={"all": asked}))
            seconds = time.process_time() - begin
            found = evidence(design, states)
            rows = []
            # what one function needs of shared signals, others have for nothing
            coarsest = max(
                e["max_relative"]
                for f in found["functions"].values()
                for e in f["outputs"].values()
            )
            for function, f in found["functions"].items():
                outputs = f["outputs"].items()
                worst = {vector: e["max_relative"] for vector, e in outputs}
                single = max(e["single_precision"]["max_relative"] for _, e in outputs)
                largest = max(worst.values())
                rows.append(
                    [
                        *(function, f"{largest:.2e}", targets.at_most(largest, asked)),
                        *(f"{largest / asked:.2f}", targets.at_least(coarsest, asked / WASTE)),
                        *(f"{max(e['rms_relative'] for _, e in outputs):.1e}", f"{single:.1e}"),
                        *(f["flagged"]["overflow"], f["flagged"]["range"]),
                        ", ".join(f"{v} {e:.1e}" for v, e in worst.items()),
                    ]
                )
            head = [
                "function",
                "max error",
                "",
                "of target",
                "",
                "rms",
                "float32",
                "overflows",
                "out of range",
                "outputs",
            ]
            title = f"{name}, --error {asked:g}, {states} fresh states"
            blocks = f"{design.plan.schedule.blocks} blocks of generic125"
            verdict = targets.at_most(seconds, SECONDS)
            note = f"{blocks}; compiled in {seconds:.0f} s of processor time ({verdict})"
            section(title, head, rows, note)


def cost(targets: Targets, directory: Path) -> None:
    """Multiplier blocks of formats per signal beside words of one length."""
    rows = []
    for name, robot in robots(directory).items():
        for device in SHAPES:
            found = []
            for choice in ("signal", "uniform"):
                options = Options(functions=ALL, device=device, error={"all": 1e-5}, formats=choice)
                design = compile_robot(robot, options)
                measured = evidence(design, 20_000)["functions"].values()
                worst = max(e["max_relative"] for f in measured for e in f["outputs"].values())
                found.append((design.plan.schedule.blocks, worst, design.word))
            (own, own_error, _), (uniform, uniform_error, word) = found
            ratio = own / uniform
            rows.append(
                [
                    *(
                        name,
                        SHAPES[device],
                        own,
                        f"{own_error:.1e}",
                        uniform,
                        word,
                        f"{uniform_error:.1e}",
                    ),
                    *(f"{ratio:.2f}", SHARE, targets.at_most(ratio, SHARE)),
                ]
            )
    head = [
        "robot",
        "shape",
        "blocks",
        "max error",
        "uniform",
        "word",
        "max error",
        "ratio",
        "limit",
        "",
    ]
    section("Multiplier blocks at II 1, all seven functions, --error 1e-5", head, rows)


def sound() -> None:
    """Costs of bounds beside samples."""
    rows = []
    for functions in (("id",), ("did",)):
        for bounds in (False, True):
            options = Options(functions=functions, error={"all": 1e-4}, sound=bounds)
            design = compile_robot(load_robot("iiwa14"), options)
            found = formats(design)
            extra, bits = found["sound_beside_sampled_bits"], found["signal_bits"]["mean"]
            ranges = "bounds" if bounds else "samples"
            rows.append(
                [
                    *functions,
                    ranges,
                    design.plan.schedule.blocks,
                    bits,
                    extra["mean"],
                    extra["most"],
                ]
            )
    head = ["function", "ranges", "blocks", "mean bits", "bounds above samples, bits: mean", "most"]
    section("iiwa14, --error 1e-4, ranges of signals by samples and by bounds", head, rows)


def scales_of(output: dict[str, Any], tasks: TaskSet) -> np.ndarray:
    """Scales of an output's errors, by task and entry (n, …), from the evidence of that output."""
    by_states = output.get("by_states", {"motion": output})
    scale = {kind: np.array(row["entries"]["largest"]) for kind, row in by_states.items()}
    free = free_torques(tasks)
    if free is None:
        return np.broadcast_to(scale["motion"], (tasks.count, *scale["motion"].shape))
    chosen = free.reshape(-1, *[1] * scale["motion"].ndim)
    return np.where(chosen, scale["torque"], scale["motion"])


def outside(targets: Targets, states: int) -> None:
    """States outside the declared ranges: each result is right within the target, or its task is flagged."""
    asked = 1e-4
    design = compile_robot(load_robot("iiwa14"), Options(functions=ALL, error={"all": asked}))
    inside = evidence(design, 20_000)["functions"]
    rows = []
    for function in ALL:
        wrong = flagged = 0
        for k in range(0, states, 10_000):
            tasks = make_tasks(design, function, outside_states(design, 10_000, 100 + k))
            silent = tasks.flags == 0
            flagged += int(np.count_nonzero(~silent))
            bad = np.zeros(tasks.count, bool)
            for vector, real in dense_results(
                design, function, tasks.count, tasks.expected
            ).items():
                error = np.abs(real - tasks.reference[vector])
                allowed = asked * scales_of(inside[function]["outputs"][vector], tasks)
                bad |= np.any((error > allowed).reshape(tasks.count, -1), axis=1)
            wrong += int(np.count_nonzero(bad & silent))
        rows.append([function, states, flagged, wrong, targets.at_most(wrong, 0)])
    section(
        "iiwa14, --error 1e-4, states outside the declared ranges",
        ["function", "states", "flagged", "silently wrong", ""],
        rows,
    )


def speed(targets: Targets) -> None:
    """Tasks that the bit-true model answers per second."""
    design = compile_robot(load_robot("iiwa14"), Options(functions=("did",)))
    tasks = make_tasks(design, "did", task_states(design, 10_000, 1))
    raw = [np.tile(x, 20) for x in tasks.raw]
    begin = time.monotonic()
    design.run("did", raw)
    rate = len(raw[0]) / (time.monotonic() - begin)
    how = "compiled" if library() else "NumPy"
    section(
        "Bit-true model, iiwa14 did",
        ["model", "tasks/s", "at least", ""],
        [[how, round(rate), round(SPEED), targets.at_least(rate, SPEED)]],
    )


PARTS: dict[str, Part] = {
    "speed": lambda targets, _: speed(targets),
    "errors": lambda targets, args: errors(targets, args.robots, args.states),
    "cost": lambda targets, args: cost(targets, args.robots),
    "sound": lambda *_: sound(),
    "outside": lambda targets, args: outside(targets, args.states),
}


def main() -> int:
    """Print the parts; 1 if a target is missed."""
    parser = arguments(__doc__, PARTS, robots=True)
    parser.add_argument("--states", type=int, default=100_000, help="fresh states (100000)")
    return measure(parse(parser), PARTS)


if __name__ == "__main__":
    sys.exit(main())
