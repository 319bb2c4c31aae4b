"""Measures the compiler's time and memory, command by command in fresh processes; half an hour.

Each command begins with an empty cache, but for the one that is run again with another option. ``--part`` chooses;
the humanoid's URDF is looked for in ``--robots``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from figures import Targets, arguments, command, parse, section

CHAIN = 128
"""Joints of a long serial robot."""
HEAD = ("command", "seconds", "at most", "", "peak GiB", "at most ", " ")
MINUTE = 60
PARTS = ("arm", "humanoid", "simulation", "chain", "board")


def chain(joints: int) -> str:
    """The URDF of a serial robot whose axes turn in x, y and z."""
    inertia = '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>'
    mass = f'<inertial><origin xyz="0.01 0.02 0.05"/><mass value="0.5"/>{inertia}</inertial>'
    parts = ['<robot name="chain"><link name="l0"/>']
    for k in range(joints):
        axis = ("1 0 0", "0 1 0", "0 0 1")[k % 3]
        limit = '<limit lower="-1" upper="1" velocity="1" effort="1000"/>'
        ends = f'<parent link="l{k}"/><child link="l{k + 1}"/><origin xyz="0 0 0.1"/>'
        parts.append(f'<link name="l{k + 1}">{mass}</link>')
        parts.append(
            f'<joint name="j{k}" type="revolute">{ends}<axis xyz="{axis}"/>{limit}</joint>'
        )
    return "".join(parts) + "</robot>"


class Stopwatch:
    """Runs commands in a folder and keeps a row of the table for each."""

    def __init__(self, targets: Targets, folder: Path) -> None:
        self.targets = targets
        self.folder = folder
        self.fresh()

    def fresh(self) -> None:
        """Forget all that a command before left in the cache."""
        count = len(list(self.folder.glob("cache*")))
        cache = self.folder / f"cache{count}"
        cache.mkdir()
        os.environ["RBDGEN_CACHE"] = str(cache)

    def run(self, line: str, robot: str, seconds: float, memory: float | None = None) -> None:
        """Run ``rbdgen`` with the words of ``line``, in which ``ROBOT`` stands for ``robot``, and print its row beside
        its limits, in seconds and GiB."""
        words = [robot if word == "ROBOT" else word for word in line.split()]
        if words[0] != "layout":
            words += ["-o", str(self.folder / Path(robot).stem)]
        _, took, peak = command(*words)
        shown = line.replace("ROBOT", Path(robot).stem)
        row = [shown, f"{took:.1f}", seconds, self.targets.at_most(took, seconds)]
        kept = self.targets.at_most(peak, memory) if memory else ""
        row += [f"{peak:.2f}", memory or "", kept]
        section("What compiling costs, on two cores", HEAD, [row], keys=1)


def measure(part: str, stopwatch: Stopwatch, robots: Path) -> None:
    """The commands of one part."""
    humanoid = str(robots / "atlas.urdf")
    all_functions = "--functions all --ii"
    stopwatch.fresh()
    match part:
        case "arm":
            stopwatch.run(f"generate ROBOT {all_functions} 12", "iiwa14", 15)
            stopwatch.run(f"generate ROBOT {all_functions} 12 --ip", "iiwa14", 6)
        case "humanoid":
            stopwatch.run(f"generate ROBOT {all_functions} 96", humanoid, 2 * MINUTE, 2.5)
        case "simulation":
            stopwatch.run(f"simulate ROBOT {all_functions} 96 --tasks 100", humanoid, 8 * MINUTE)
        case "chain":
            urdf = stopwatch.folder / f"chain{CHAIN}.urdf"
            urdf.write_text(chain(CHAIN))
            stopwatch.run("generate ROBOT --functions id", str(urdf), MINUTE, 2)
        case _:
            stopwatch.run(
                "layout ROBOT --functions all --board tang_mega_138k_pro", "iiwa14", MINUTE
            )


def main() -> int:
    """Run all parts; 1 if a limit is missed."""
    args = parse(arguments(__doc__, PARTS, robots=True))
    targets = Targets()
    with TemporaryDirectory() as folder:
        stopwatch = Stopwatch(targets, Path(folder))
        for part in args.part or PARTS:
            measure(part, stopwatch, args.robots)
    return targets.finish()


if __name__ == "__main__":
    sys.exit(main())
