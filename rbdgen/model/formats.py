"""Which format a robot's description is in: told by what it is, not by its name; only xacro has to be asked for."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from defusedxml import ElementTree
from defusedxml.common import DefusedXmlException

from rbdgen.errors import ConfigError
from rbdgen.model.mjcf import load_mjcf, parse_mjcf
from rbdgen.model.robot import Robot
from rbdgen.model.urdf import parse_urdf, read_bytes
from rbdgen.model.xacro import SUFFIX, load_xacro

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
    if root_element(data) == MJCF:
        return load_mjcf(path, base)
    return parse_urdf(data, str(path), path.stem, base)


def read_text(text: str, base: str = "fixed") -> Robot:
    """The robot of URDF or MJCF ``text``."""
    if root_element(text.encode()) == MJCF:
        return parse_mjcf(text, "MJCF", base=base)
    return parse_urdf(text, "URDF", base=base)


def root_element(data: bytes) -> str:
    """The name of an XML text's root element; empty where none can be read."""
    try:
        for _, element in ElementTree.iterparse(io.BytesIO(data), events=("start",)):
            return str(element.tag)
    except (ElementTree.ParseError, DefusedXmlException, ValueError, LookupError):
        pass  # the reader of URDF says what is wrong with it
    return ""
