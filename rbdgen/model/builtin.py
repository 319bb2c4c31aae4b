"""Built-in robots, and robots by name or path."""

from __future__ import annotations

import difflib
from pathlib import Path

from rbdgen.errors import UrdfError, short
from rbdgen.model.formats import ENDINGS, read_file
from rbdgen.model.robot import Robot
from rbdgen.model.urdf import load_urdf

_DIRECTORY = Path(__file__).parent / "robots"

_SUMMARIES = {
    "hyq": "quadruped with HyQ's legs on a fixed trunk, 3 joints a leg",
    "iiwa14": "KUKA LBR iiwa 14 R820, 7-joint arm",
    "pendulum2": "two-link pendulum in a vertical plane",
    "ur5": "UR5-like 6-joint arm",
}


def builtin_robots() -> dict[str, str]:
    """Names of the built-in robots, each with a line that says what it is."""
    return dict(_SUMMARIES)


def builtin_path(name: str) -> Path:
    """The URDF of a built-in robot; its first lines give the sources of its figures."""
    return _DIRECTORY / f"{name}.urdf"


def load_robot(name_or_path: str | Path, base: str = "fixed") -> Robot:
    """A built-in robot by its name, or the robot of a URDF, MJCF or xacro file. UrdfError naming what comes nearest if
    there is neither."""
    name = str(name_or_path)
    if name in _SUMMARIES:
        return load_urdf(builtin_path(name), base)
    if "/" not in name and not name.endswith(ENDINGS) and not _exists(name):
        near = difflib.get_close_matches(name, _SUMMARIES, 1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UrdfError(
            f"robot {short(name)}: neither a file nor built in; {hint}built-in robots: {', '.join(_SUMMARIES)}"
        )
    return read_file(name_or_path, base)


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # too long for a file's name, or with a null character
        return False
