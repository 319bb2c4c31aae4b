"""Reads every public robot that is at hand, and measures the golden model beside the parsers that robots come with.

URDFs are those of the package ``example-robot-data``, beside Pinocchio; MJCF files are those of a checkout of MuJoCo's
menagerie (``--menagerie DIR``), beside MuJoCo. A robot is read or refused with a reason; of those that are read,
inverse dynamics, nonlinear effects and the mass matrix are compared at random states. Time is what reading takes beyond
the parser's own: for a URDF all of it, for MJCF after MuJoCo has compiled it. Meshes that a checkout lacks are left
out, with the bodies' inertias where those come from meshes. Exit status 1 if a target is missed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
from beside_mujoco import worst_errors
from figures import Targets, arguments, parse, section

from rbdgen import RbdgenError, Robot, golden, load_urdf
from rbdgen.model.mjcf import robot_of_mujoco
from rbdgen.report.columns import table

STATES = 20
ERROR = 1e-9
"""Largest difference, relative to the largest magnitude."""
SECONDS = 0.5
"""Limit of the time of reading beyond the parser's own."""


def urdfs(folder: Path | None) -> list[Path]:
    """URDF files below a folder, or else of the installed package; none where it is not installed."""
    if folder is not None:
        return sorted(folder.rglob("*.urdf"))
    try:
        files = metadata.files("example-robot-data") or []
    except metadata.PackageNotFoundError:
        return []
    return sorted(Path(str(f.locate())) for f in files if str(f).endswith(".urdf"))


def beside_pinocchio(robot: Robot, path: Path) -> tuple[float, float, float]:
    """The largest relative differences of τ, its nonlinear effects and M."""
    try:
        model = pin.buildModelFromUrdf(str(path), mimic=True)
    except ValueError:  # Pinocchio has no followers that turn without end
        model = pin.buildModelFromUrdf(str(path))
        robot = robot.unreduced
    data = model.createData()
    q, v, a = golden.random_states(robot, golden.declared_ranges(robot), STATES, 1)
    torques, effects, matrices = [], [], []
    for k in range(STATES):
        torques.append(np.array(pin.rnea(model, data, q[k], v[k], a[k])))
        effects.append(np.array(pin.nonLinearEffects(model, data, q[k], v[k])))
        upper = np.triu(pin.crba(model, data, q[k]))
        matrices.append(upper + np.triu(upper, 1).T)
    off = np.max(np.abs(golden.rnea(robot, q, v, a) - np.array(torques)))
    off_m = np.max(np.abs(golden.crba(robot, q) - np.array(matrices)))
    off_nle = np.max(np.abs(golden.nonlinear_effects(robot, q, v) - np.array(effects)))
    size = np.max(np.abs(torques))
    return float(off / size), float(off_nle / size), float(off_m / np.max(np.abs(matrices)))


def compiled(path: Path) -> tuple[mujoco.MjModel, bool]:
    """MuJoCo's model of a file, and whether it is without its meshes. ValueError where MuJoCo makes none."""
    try:
        return mujoco.MjModel.from_xml_path(str(path)), False
    except ValueError as error:
        if "opening file" not in str(error):
            raise
    spec = mujoco.MjSpec.from_file(str(path))
    for geom in [g for g in spec.geoms if g.meshname]:
        spec.delete(geom)
    for mesh in list(spec.meshes):
        spec.delete(mesh)
    for texture in list(spec.textures):
        texture.file = ""
        texture.builtin = mujoco.mjtBuiltin.mjBUILTIN_FLAT
        texture.width, texture.height = 1, 1
    return spec.compile(), True


def one_urdf(path: Path) -> tuple[Robot, float]:
    """The robot, and the seconds that reading took."""
    began = time.perf_counter()
    robot = load_urdf(path)
    return robot, time.perf_counter() - began


def one_mjcf(path: Path) -> tuple[Robot, mujoco.MjModel, float, str]:
    """The robot, MuJoCo's model, the seconds that reading took beyond compiling, and what is to be said of it."""
    model, bare = compiled(path)
    began = time.perf_counter()
    robot = robot_of_mujoco(model, str(path), path.stem)
    seconds = time.perf_counter() - began
    return robot, model, seconds, "read, without meshes" if bare else "read"


def row_of(name: str, path: Path, targets: Targets) -> list[Any]:
    """A robot's row: what became of it, and its figures."""
    found = "read"
    try:
        if path.suffix == ".urdf":
            robot, seconds = one_urdf(path)
            errors = beside_pinocchio(robot, path)
        else:
            robot, model, seconds, found = one_mjcf(path)
            errors = worst_errors(robot, model, STATES)
    except RbdgenError as error:
        return [name, f"refused: {_line(error, path)}", "", "", "", "", "", ""]
    except ValueError as error:
        return [name, f"no model: {_line(error, path)}", "", "", "", "", "", ""]
    verdicts = targets.at_most(max(errors), ERROR), targets.at_most(seconds, SECONDS)
    figures = [f"{error:.1e}" for error in errors]
    return [name, found, robot.nv, *figures, f"{seconds:.3f}", " ".join(dict.fromkeys(verdicts))]


def _line(error: Exception, path: Path) -> str:
    """An error in a cell of a table: one line, without the machine's folders."""
    line = " ".join(str(error).split())
    for folder in (path, path.parent):
        line = line.replace(f"{folder}: ", "").replace(f"{folder}/", "")
    return line[:110]


def rows_of(files: list[Path], folder: Path, targets: Targets) -> Iterator[list[Any]]:
    """A row for each file, named by its place in a folder."""
    for path in files:
        yield row_of(str(path.relative_to(folder)), path, targets)


def show(title: str, rows: list[list[Any]]) -> None:
    """A table of robots, and a row that sums it up, which alone is for the page."""
    head = ["robot", "result", "nv", "error of id", "error of nle", "error of m", "s", ""]
    print(f"\n{title}\n\n{table(head, rows)}", flush=True)
    counts = []
    for kind in ("read", "refused", "no model"):
        counts.append(sum(row[1].startswith(kind) for row in rows))
    errors = [float(x) for row in rows for x in row[3:6] if x]
    times = [float(row[6]) for row in rows if row[6]]
    summary = [title, len(rows), *counts, f"{max(errors, default=0):.1e}"]
    summary.append(f"{max(times, default=0):.3f}")
    head = ["files", "found", "read", "refused", "no model of the parser's", "largest error"]
    head.append("longest load beyond the parser's, s")
    what = f"Public robots: inverse dynamics, nonlinear effects and mass matrix at {STATES} random states"
    section(what, head, [summary], keys=1)


def main() -> int:
    """Print the tables; 1 if a target is missed."""
    parser = arguments(__doc__)
    parser.add_argument("--urdf", type=Path, help="folder of URDFs (those of example-robot-data)")
    parser.add_argument("--menagerie", type=Path, help="folder of MJCF files")
    args = parse(parser)
    targets = Targets()
    files = urdfs(args.urdf)
    if files:
        folder = Path(*_common(files))
        rows = list(rows_of(files, folder, targets))
        show("Public URDFs, beside Pinocchio", rows)
    if args.menagerie:
        files = sorted(args.menagerie.rglob("*.xml"))
        rows = list(rows_of(files, args.menagerie, targets))
        show("MuJoCo's menagerie, beside MuJoCo", rows)
    return targets.finish()


def _common(files: list[Path]) -> list[str]:
    """The folders that all files share."""
    shared = []
    for parts in zip(*(path.parent.parts for path in files), strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return shared


if __name__ == "__main__":
    sys.exit(main())
