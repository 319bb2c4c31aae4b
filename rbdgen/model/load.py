"""Any robot that someone has at hand: built in, as a file, as text, or as a model of MuJoCo's or Pinocchio's.

A description's format is told by its content, not by its name; only xacro has to be asked for.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rbdgen.errors import ConfigError, UrdfError, short, strictly
from rbdgen.model.mjcf import load_mjcf, parse_mjcf, robot_of_mujoco
from rbdgen.model.pinocchio_model import robot_of_pinocchio
from rbdgen.model.robot import Robot
from rbdgen.model.urdf import load_urdf, name_of, parse_urdf, read_bytes
from rbdgen.model.xacro import SUFFIX, load_xacro
from rbdgen.model.xml_text import first_element

ENDINGS = (".urdf", ".xml", ".mjcf", ".sdf", SUFFIX)
"""Endings of robots' files."""
MJCF = "mujoco"
"""The root element of MJCF."""
OTHER_CONTENTS = {
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"GIF8": "a GIF picture",
    b"%PDF": "a PDF document",
    b"PK\x03\x04": "a ZIP archive",
    b"\x1f\x8b": "a gzip archive",
    b"\x7fELF": "a program",
    b"solid": "an STL mesh",
    b"glTF": "a glTF mesh",
    b"ISO-10303-21": "a STEP model",
    b"#usda": "a USD scene",
    b"PXR-USDC": "a USD scene",
}
"""By how a file begins, what it is that is given for a robot by mistake."""


def read_file(
    path: str | Path, base: str = "fixed", arguments: Mapping[str, Any] | None = None
) -> Robot:
    """The robot of a file: URDF, MJCF, or xacro with ``arguments`` if its name ends so. Errors and warnings are those
    of the formats."""
    path = Path(path)
    if path.name.endswith(SUFFIX):
        return load_xacro(path, base, arguments)
    if arguments:
        raise ConfigError(f"{path}: arguments are for xacro; name the file {SUFFIX} if it is")
    data = read_bytes(path)
    for beginning, what in OTHER_CONTENTS.items():
        if data.startswith(beginning):
            raise UrdfError(f"{path}: is {what}, no robot; give the URDF, MJCF or xacro file")
    if first_element(data) == MJCF:
        return load_mjcf(path, base)
    return parse_urdf(data, str(path), name_of(path), base)


def read_text(text: str, base: str = "fixed") -> Robot:
    """The robot of URDF or MJCF ``text``."""
    if first_element(text) == MJCF:
        return parse_mjcf(text, "MJCF", base=base)
    return parse_urdf(text, "URDF", base=base)


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


MUJOCO = ("MjModel", "MjSpec")
PINOCCHIO = ("Model",)


def load(
    source: Any,
    base: str = "fixed",
    *,
    arguments: Mapping[str, Any] | None = None,
    constraints: Sequence[Any] = (),
    strict: bool = False,
) -> Robot:
    """The robot that ``source`` describes: a built-in robot's name, the path of a URDF, MJCF or xacro file, the text of
    a URDF or MJCF, a ``mujoco.MjModel`` or ``MjSpec``, or a ``pinocchio.Model``.

    ``base`` says how a root link that the description fixes is carried: "fixed", "floating" or "planar" (see
    :func:`rbdgen.load_urdf`). ``arguments`` are those of a xacro file, ``constraints`` those of a Pinocchio model that
    close its loops: ``RigidConstraintModel``, ``PointAnchorConstraintModel`` and ``FrameAnchorConstraintModel``.

    UrdfError for a description that cannot be read or contradicts itself, UnsupportedError for what rbdgen does not do,
    ToolError for a package that is missing. Warns (RobotWarning) once, of all that is odd or left out; with ``strict``
    that is an UrdfError.
    """
    with strictly(strict):
        return _load(source, base, arguments, constraints)


def _load(
    source: Any, base: str, arguments: Mapping[str, Any] | None, constraints: Sequence[Any]
) -> Robot:
    package = type(source).__module__.partition(".")[0]
    kind = type(source).__name__
    if package == "pinocchio" and kind in PINOCCHIO:
        return robot_of_pinocchio(source, base=base, constraints=constraints)
    if constraints:
        raise ConfigError(
            f"constraints: are of a pinocchio.Model, not of {kind}; give the others --loop, or with_loops"
        )
    if package == "mujoco" and kind in MUJOCO:
        return robot_of_mujoco(source, base=base)
    if not isinstance(source, str | Path):
        raise ConfigError(
            f"robot {short(source)}: must be a name, a path, the text of a URDF or MJCF, or a model of MuJoCo or "
            f"Pinocchio, not {kind}"
        )
    if isinstance(source, str) and _is_text(source):
        return read_text(source, base)
    if arguments:
        return read_file(source, base, arguments)
    return load_robot(source, base)


def _is_text(source: str) -> bool:
    """Whether a robot is given by its description, not by a name or path."""
    return "\n" in source or source.removeprefix("\ufeff").lstrip().startswith("<")


def snake_urdf(links: int) -> str:
    """The URDF of a snake: links of 0.1 m and 0.5 kg whose joints turn in z and y, one after the other, by ±1 rad."""
    inertia = '<inertia ixx="0.004" iyy="0.01" izz="0.012" ixy="0" ixz="0" iyz="0"/>'
    mass = f'<inertial><origin xyz="0.05 0 0"/><mass value="0.5"/>{inertia}</inertial>'
    limit = '<limit lower="-1" upper="1" velocity="1" effort="10"/>'
    parts = ['<robot name="snake"><link name="l0"/>']
    for k in range(links):
        axis = ("0 0 1", "0 1 0")[k % 2]
        ends = f'<parent link="l{k}"/><child link="l{k + 1}"/><origin xyz="0.1 0 0"/>'
        joint = f'{ends}<axis xyz="{axis}"/>{limit}'
        parts.append(f'<link name="l{k + 1}">{mass}</link>')
        parts.append(f'<joint name="j{k}" type="revolute">{joint}</joint>')
    return "".join(parts) + "</robot>"
