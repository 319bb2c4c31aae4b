"""Robots as their files have them, in simulated hardware: followers, damping, rotors, MJCF; and what drives cost.

Each robot's functions run as mixed tasks under stalls, every result compared, and errors are those of the bit-true
model against the golden one. URDFs are example-robot-data's (``make zoo`` installs it, or ``--zoo`` says where its
robots are), the MJCF is from a checkout of MuJoCo's menagerie (``--menagerie``); what is not there is left out and
said. Exit status 1 if a result differs.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

from endurance import Endurance
from figures import Targets, arguments, parse, section

from rbdgen import Options, Robot, compile_robot, load_robot
from rbdgen.model import Setup, with_armature
from rbdgen.trials import make_tasks, relative_errors, task_states

FUNCTIONS = ("id", "fd", "m", "minv", "did", "dfd")
OPTIONS = Options(FUNCTIONS, ii=8, word=18)
STATES = 2000
"""Tasks of each function, and states at which errors are measured."""
ROTOR = 0.01
"""kg·m²: of a small motor behind a gear of 1:10."""


@dataclass(frozen=True)
class Case:
    """A robot by its ``name`` and the ``file`` in its collection, set up by ``setup``; of whose joints only those whose
    names begin with ``only`` move, and have a ``rotor`` each."""

    name: str
    file: str
    setup: Setup = field(default_factory=Setup)
    only: tuple[str, ...] = ()
    rotor: float = 0.0

    def robot(self, path: str | Path) -> Robot:
        """The robot."""
        setup = self.setup
        if self.only:
            whole = setup.load(path)
            still = {}
            for body, _, _ in whole.independent:
                if not body.joint_name.startswith(self.only):
                    still[body.joint_name] = 0.0
            setup = dataclasses.replace(setup, lock=still)
        robot = setup.load(path)
        rotors = {}
        if self.rotor:
            rotors = {
                body.joint_name: self.rotor for body, _, _ in robot.independent if body.nv == 1
            }
        return with_armature(robot, rotors)


CASES = (
    Case("iiwa14, for comparison", "iiwa14"),
    Case("Panda: fingers that follow", "panda_description/urdf/panda.urdf"),
    Case("Go1: damping", "go1_description/urdf/go1.urdf"),
    Case(
        "Go1, floating: damping and rotors",
        "go1_description/urdf/go1.urdf",
        Setup("floating"),
        rotor=ROTOR,
    ),
    Case(
        "PR2's left hand: five joints follow one",
        "pr2_description/urdf/pr2.urdf",
        only=("l_wrist", "l_gripper", "l_forearm_roll"),
    ),
    Case("FR3 from MJCF", "franka_fr3/fr3.xml"),
)


def run(targets: Targets, case: Case, path: str | Path, count: int) -> list[str | int | float]:
    """Simulate a case's tasks; its row of the table."""
    begin = time.monotonic()
    robot = case.robot(path)
    design = compile_robot(robot, OPTIONS)
    with TemporaryDirectory() as work:
        endurance = Endurance(design, Path(work))
        endurance.run(count * len(FUNCTIONS), 1)
    states = task_states(design, STATES, 2)
    errors = []
    for function in FUNCTIONS:
        tasks = make_tasks(design, function, states)
        errors.append(f"{relative_errors(design, tasks, tasks.expected)[0]:.1e}")
    followers = sum(body.mimic is not None for body in robot.bodies)
    verdict = targets.equal((endurance.mismatches, endurance.misused), (0, set()))
    seconds = time.monotonic() - begin
    return [
        case.name,
        robot.nv,
        followers,
        count * len(FUNCTIONS),
        endurance.cycles,
        endurance.mismatches,
        verdict,
        *errors,
        f"{seconds:.0f}",
    ]


def operations(robot: Robot) -> tuple[int, ...]:
    """Products and sums of each function, as traced; a quotient counts as a product, a magnitude as a sum."""
    counts = []
    for function in FUNCTIONS:
        graph = compile_robot(robot, Options((function,), ii=8, word=18)).network.graph
        ops = [node.name for _, node in graph]
        counts.append(sum(op in ("mul", "scale", "divide") for op in ops))
        counts.append(sum(op in ("add", "sub", "abs") for op in ops))
    return tuple(counts)


def cost() -> None:
    """Costs of rotors, damping and dry friction for iiwa14, by degree of freedom."""
    plain = load_robot("iiwa14")
    kinds: Mapping[str, Robot] = {
        "rotors": with_armature(plain, dict.fromkeys(plain.joint_names, 0.1)),
        "damping": damped(plain),
        "both": with_armature(damped(plain), dict.fromkeys(plain.joint_names, 0.1)),
        "damping and dry friction": rubbing(plain),
    }
    without = operations(plain)
    rows = []
    for name, robot in kinds.items():
        more = [(a - b) / plain.nv for a, b in zip(operations(robot), without, strict=True)]
        pairs = zip(more[0::2], more[1::2], strict=True)
        rows.append([name, *(f"{products:.1f}, {sums:.1f}" for products, sums in pairs)])
    section(
        "Products and sums per degree of freedom that drives add, iiwa14",
        ["what", *FUNCTIONS],
        rows,
        keys=1,
    )


def damped(robot: Robot) -> Robot:
    """The robot with viscous damping at all joints."""
    bodies = [dataclasses.replace(body, damping=(0.3,) * body.joint.nv) for body in robot.bodies]
    return dataclasses.replace(robot, bodies=tuple(bodies), friction="viscous")


def rubbing(robot: Robot) -> Robot:
    """The robot with viscous damping and dry friction at all joints."""
    robot = damped(robot)
    bodies = [dataclasses.replace(body, friction=(1.7,) * body.joint.nv) for body in robot.bodies]
    return dataclasses.replace(robot, bodies=tuple(bodies), friction="viscous+dry")


def collections(args: argparse.Namespace) -> dict[str, Path]:
    """Where robots are, by the end of their files' names."""
    found = {}
    if args.zoo:
        found[".urdf"] = args.zoo
    else:
        try:
            files = metadata.files("example-robot-data") or []
            known = next(p for p in files if str(p).endswith(CASES[1].file))
            found[".urdf"] = Path(str(known.locate())).parents[2]
        except (metadata.PackageNotFoundError, StopIteration):
            pass
    if args.menagerie:
        found[".xml"] = args.menagerie
    return found


def main() -> int:
    """Run all cases; 1 if anything differs."""
    parser = arguments(__doc__)
    parser.add_argument("--zoo", type=Path, help="the robots of example-robot-data")
    parser.add_argument("--menagerie", type=Path, help="a checkout of MuJoCo's menagerie")
    parser.add_argument("--tasks", type=int, default=STATES, help="tasks of each function")
    parser.add_argument("--only", help="only cases whose names begin so, or 'cost'")
    args = parse(parser)
    targets = Targets()
    places = collections(args)
    head = ["robot", "nv", "followers", "tasks", "cycles", "mismatches", "", *FUNCTIONS, "s"]
    title = (
        "Robots as their files have them, 18-bit words, II 8; errors relative to the largest output"
    )
    for case in CASES:
        if args.only and not case.name.startswith(args.only):
            continue
        path: str | Path = case.file
        if "/" in case.file:
            place = places.get(Path(case.file).suffix)
            if place is None:
                print(f"{case.name}: left out, {case.file} is not there", flush=True)
                continue
            path = place / case.file
        row = run(targets, case, path, args.tasks)
        section(title, head, [row], keys=1)
    if args.only in (None, "cost"):
        cost()
    return targets.finish()


if __name__ == "__main__":
    sys.exit(main())
