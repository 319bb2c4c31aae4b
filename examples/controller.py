"""Model-predictive control on an accelerator: an arm reaches, a quadruped stands, at several word lengths.

    python examples/controller.py [--robot hyq] [--words 14,18] [--plant mujoco] [--plot controller.png]

Crocoddyl plans one second ahead every 20 ms, by one iteration of FDDP from the plan before it. The derivatives of the
whole horizon come from the bit-true model of an accelerator, as one batch; so a board would answer, bit for bit. The
robot moves in float64 at 1 kHz, held to the plan by FDDP's own gains in between. Each row is one word length; the last
has Pinocchio's derivatives. Then: where the time of a plan goes, measured on this machine, and what each link of a
board adds to it, by the accelerator's promised cycles and the link's rate.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np

import rbdgen
from rbdgen import ConfigError, Design
from rbdgen.control.devices import Device
from rbdgen.installation import remedy
from rbdgen.report.pipeline import function_promises
from rbdgen_boards.board import get_board


def lacking(missing: ModuleNotFoundError, extra: str) -> NoReturn:
    """Say in a line what is missing, and end."""
    print(f"Python package {missing.name!r} is missing; {remedy(extra)}", file=sys.stderr)
    sys.exit(2)


try:
    import crocoddyl
    from mpc_problems import KNOT, KNOTS, SETTINGS, Setting
except ModuleNotFoundError as missing:
    lacking(missing, "control")

WORDS = (14, 16, 18, 27)
MILLISECOND = 1e-3
TICKS = round(KNOT / MILLISECOND)
"""Steps of the robot between plans."""
BOARDS = ("ulx3s_85f", "kv260", "vcu118")
"""Of which the links are: a serial line, a processor's port, PCI Express."""


class Plant(Protocol):
    """The robot, which moves by milliseconds."""

    def move(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The state a millisecond later."""
        ...


class PinocchioPlant:
    """The robot by Pinocchio, held by its contacts where it has any."""

    def __init__(self, setting: Setting) -> None:
        costs = crocoddyl.CostModelSum(setting.state, setting.actuation.nu)
        self.model = crocoddyl.IntegratedActionModelEuler(setting.host()(costs), MILLISECOND)
        self.data = self.model.createData()

    def move(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        self.model.calc(self.data, x, u)
        return self.data.xnext.copy()


class MujocoPlant:
    """An arm by MuJoCo, which meets nothing."""

    def __init__(self, setting: Setting) -> None:
        try:
            import mujoco
        except ModuleNotFoundError as missing:
            lacking(missing, "mujoco")
        self.mujoco = mujoco
        self.model = mujoco.MjModel.from_xml_path(str(setting.file))
        self.model.opt.timestep = MILLISECOND
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT
        self.data = mujoco.MjData(self.model)

    def move(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        nq = self.model.nq
        self.data.qpos[:] = x[:nq]
        self.data.qvel[:] = x[nq:]
        self.data.qfrc_applied[:] = u
        self.mujoco.mj_step(self.model, self.data)
        return np.concatenate([self.data.qpos, self.data.qvel])


PLANTS = {"pinocchio": PinocchioPlant, "mujoco": MujocoPlant}


@dataclass
class Watched:
    """A device, and what was asked of it: seconds, calls and tasks by function, and tasks with flags."""

    device: Device
    seconds: float = 0.0
    calls: Counter[str] = field(default_factory=Counter)
    tasks: Counter[str] = field(default_factory=Counter)
    flagged: int = 0

    __hash__ = object.__hash__

    def __getattr__(self, name: str) -> Any:
        return getattr(self.device, name)

    def call(self, function: str, /, **operands: np.ndarray) -> Any:
        """The device's answer."""
        begin = time.perf_counter()
        results = self.device.call(function, **operands)
        self.seconds += time.perf_counter() - begin
        self.calls[function] += 1
        self.tasks[function] += len(operands["q"])
        self.flagged += int(np.count_nonzero(getattr(self.device, "flags", 0)))
        return results


@dataclass
class Run:
    """How a motion went: states (steps + 1, nx) and torques, its cost, and seconds of each plan."""

    states: np.ndarray
    controls: np.ndarray
    cost: float
    plans: list[float]
    watched: Watched | None


def motion(
    setting: Setting, plant: Plant, problem: Any, seconds: float, watched: Watched | None, name: str
) -> Run:
    """Move for so long, a plan every :data:`KNOT` seconds."""
    solver = crocoddyl.SolverFDDP(problem)
    # beyond what derivatives of few bits tell, FDDP would only regularise, and its gains with it
    solver.th_stop = 1e-6
    x = problem.x0.copy()
    rest = setting.rest(x)
    xs, us = [x] * (problem.T + 1), [rest] * problem.T
    judge = setting.host()(setting.costs(setting.aim, False))
    record = judge.createData()
    states, controls, plans, cost = [x], [], [], 0.0
    plans_needed = round(seconds / KNOT)
    for k in range(plans_needed):
        progress(f"{name}: {k * KNOT:.2f} of {seconds:g} s")
        problem.x0 = x
        xs[0] = x
        begin = time.perf_counter()
        # the first plan is made at rest, and may take longer
        solver.solve(xs, us, 20 if k == 0 else 1, False)
        plans.append(time.perf_counter() - begin)
        for _ in range(TICKS):
            away = setting.state.diff(solver.xs[0], x)
            u = solver.us[0] - solver.K[0] @ away
            judge.calc(record, x, u)
            cost += MILLISECOND * record.cost
            x = plant.move(x, u)
            states.append(x)
            controls.append(u)
        xs = [*list(solver.xs)[1:], solver.xs[-1]]
        us = [*list(solver.us)[1:], rest]
    progress("")
    return Run(np.array(states), np.array(controls), cost, plans, watched)


def progress(text: str) -> None:
    """One line that is written over; none where nobody looks."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def row(setting: Setting, name: str, run: Run, exact: Run) -> str:
    """A row of the table."""
    off = [
        np.linalg.norm(setting.state.diff(a, b)[: setting.model.nv])
        for a, b in zip(exact.states, run.states, strict=True)
    ]
    flagged = run.watched.flagged if run.watched else 0
    return (
        f"{name:10} {run.cost:<11.6f} {run.cost / exact.cost - 1:<11.1e} {max(off):<15.1e} "
        f"{setting.missed(run.states[-1]) * 1e3:<12.2f} {flagged}"
    )


def spent(design: Design, run: Run) -> None:
    """Where the time of a plan goes."""
    watched = run.watched
    assert watched is not None
    count = len(run.plans)
    whole, asked = 1e3 * np.mean(run.plans), 1e3 * watched.seconds / count
    print(
        f"\na plan takes {whole:.2f} ms on this machine: {whole - asked:.2f} ms Crocoddyl and costs, ",
        end="",
    )
    print(f"{asked:.2f} ms the bit-true model behind the host's driver")
    clock = design.plan.schedule.device.megahertz
    print(
        f"with an accelerator at {clock:g} MHz (promised cycles, links at their rate, no driver's latency):"
    )
    print("link                  function  tasks  batches  accelerator, µs  link, µs")
    for board in BOARDS:
        link = get_board(board).link
        for function, tasks in watched.tasks.items():
            batches = watched.calls[function] / count
            each = tasks / count
            promised = function_promises(design, function)
            interval, latency = promised["ii_cycles"], promised["latency_cycles"]
            own = (batches * latency + (each - batches) * interval) / clock
            moved = each * link.interval(design.tasks, function, clock) / clock
            print(
                f"{link.name:21} {function:9} {each:<6.0f} {batches:<8.1f} {own:<16.1f} {moved:.1f}"
            )


def draw(path: Path, names: Sequence[str], runs: Sequence[Run], setting: Setting) -> None:
    """How far each run is from where it is to go, and from the run with Pinocchio's derivatives."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as missing:
        lacking(missing, "report")
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    times = np.arange(len(runs[-1].states)) * MILLISECOND
    for name, run in zip(names, runs, strict=True):
        left.plot(times, [1e3 * setting.missed(x) for x in run.states], label=name)
    for name, run in zip(names[:-1], runs[:-1], strict=True):
        off = [
            np.linalg.norm(setting.state.diff(a, b)[: setting.model.nv])
            for a, b in zip(runs[-1].states, run.states, strict=True)
        ]
        right.semilogy(times, np.maximum(off, 1e-12), label=name)
    left.set(xlabel="time, s", title="to the goal, mm")
    right.set(xlabel="time, s", title="beside float64, rad and m")
    left.legend()
    right.legend()
    figure.savefig(path, dpi=150)
    print(f"wrote {path}")


def whole_numbers(text: str) -> list[int]:
    """Numbers between commas."""
    return [int(part) for part in text.split(",")]


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--robot", choices=SETTINGS, default="iiwa14", help="(iiwa14)")
    parser.add_argument(
        "--words",
        type=whole_numbers,
        default=WORDS,
        metavar="N,N",
        help=f"word lengths, bits ({','.join(map(str, WORDS))})",
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="how long it moves (1)")
    parser.add_argument("--plant", choices=PLANTS, default="pinocchio", help="(pinocchio)")
    parser.add_argument("--seed", type=int, default=0, help="of start and goal (0)")
    parser.add_argument(
        "--rollout",
        choices=("c", "device"),
        default="c",
        help="what computes roll-outs: compiled C in float64, or the accelerator as well (c)",
    )
    parser.add_argument("--plot", type=Path, help="draw the motions (PNG, SVG)")
    args = parser.parse_args(arguments)
    if args.seconds < KNOT:
        parser.error(f"--seconds: must be at least {KNOT:g}, the time between plans")
    if args.plant == "mujoco" and args.robot == "hyq":
        parser.error("--plant mujoco: is of an arm without contacts; use pinocchio for hyq")
    return args


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    args = parsed(arguments)
    setting = SETTINGS[args.robot]()
    rng = np.random.default_rng(args.seed)
    start = setting.start(rng)
    setting.aim = setting.goal(rng)
    plant = PLANTS[args.plant](setting)
    progress("C for roll-outs")
    rollout = None
    if args.rollout == "c":
        forces = setting.settings.get("forces", False)
        rollout = rbdgen.compile(setting.robot, setting.rolled, forces=forces)
    names, runs, designs = [], [], []
    for word in args.words:
        progress(f"{word} bits: design")
        try:
            design = rbdgen.compile_robot(setting.robot, setting.options(word))
        except ConfigError as error:
            print(f"{word} bits: {error}", file=sys.stderr)
            continue
        watched = Watched(rbdgen.bit_true(design))
        problem = setting.problem(setting.by(watched, rollout), start, setting.aim, KNOTS)
        runs.append(motion(setting, plant, problem, args.seconds, watched, f"{word} bits"))
        names.append(f"{word} bits")
        designs.append(design)
    problem = setting.problem(setting.host(), start, setting.aim, KNOTS)
    exact = motion(setting, plant, problem, args.seconds, None, "float64")
    runs.append(exact)
    names.append("float64")
    print("derivs     cost        extra cost  off float64     goal, mm     flagged")
    for name, run in zip(names, runs, strict=True):
        print(row(setting, name, run, exact))
    if designs:
        spent(designs[-1], runs[len(designs) - 1])
    if args.plot:
        draw(args.plot, names, runs, setting)
    return 0


if __name__ == "__main__":
    sys.exit(main())
