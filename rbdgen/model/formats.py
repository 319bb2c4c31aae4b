"""Which format a robot's description is in: told by what it is, not by its name; only xacro has to be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rbdgen.errors import ConfigError
from rbdgen.model.mjcf import load_mjcf, parse_mjcf
from rbdgen.model.robot import Robot
from rbdgen.model.urdf import name_of, parse_urdf, read_bytes
from rbdgen.model.xacro import SUFFIX, load_xacro
from rbdgen.model.xml_text import first_element

ENDINGS = (".urdf", ".xml", ".mjcf", ".sdf", SUFFIX)
"""How files of robots are called."""
MJCF = "mujoco"
"""The root element of MJCF."""


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
    if first_element(data) == MJCF:
        return load_mjcf(path, base)
    return parse_urdf(data, str(path), name_of(path), base)


def read_text(text: str, base: str = "fixed") -> Robot:
    """The robot of URDF or MJCF ``text``."""
    if first_element(text) == MJCF:
        return parse_mjcf(text, "MJCF", base=base)
    return parse_urdf(text, "URDF", base=base)
