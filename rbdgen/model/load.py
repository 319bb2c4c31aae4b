"""Any robot that someone has at hand: by name, as a file, as text, or as a model of MuJoCo's or Pinocchio's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rbdgen.errors import ConfigError, short
from rbdgen.model.builtin import load_robot
from rbdgen.model.formats import read_file, read_text
from rbdgen.model.mjcf import robot_of_mujoco
from rbdgen.model.pinocchio_model import robot_of_pinocchio
from rbdgen.model.remarks import strictly
from rbdgen.model.robot import Robot

MUJOCO = ("MjModel", "MjSpec")
PINOCCHIO = ("Model",)


def load(
    source: Any,
    base: str = "fixed",
    *,
    arguments: Mapping[str, Any] | None = None,
    strict: bool = False,
) -> Robot:
    """The robot that ``source`` describes: a built-in robot's name, the path of a URDF, MJCF or xacro file, the text of
    a URDF or MJCF, a ``mujoco.MjModel`` or ``MjSpec``, or a ``pinocchio.Model``.

    ``base`` says how a root link that the description fixes is carried: "fixed", "floating" or "planar" (see
    :func:`rbdgen.load_urdf`). ``arguments`` are those of a xacro file.

    UrdfError for a description that cannot be read or contradicts itself, UnsupportedError for what rbdgen does not do,
    ToolError for a package that is missing. Warns (RobotWarning) once, of all that is odd or left out; with ``strict``
    that is an UrdfError.
    """
    with strictly(strict):
        return _load(source, base, arguments)


def _load(source: Any, base: str, arguments: Mapping[str, Any] | None) -> Robot:
    package = type(source).__module__.partition(".")[0]
    kind = type(source).__name__
    if package == "mujoco" and kind in MUJOCO:
        return robot_of_mujoco(source, base=base)
    if package == "pinocchio" and kind in PINOCCHIO:
        return robot_of_pinocchio(source, base=base)
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
