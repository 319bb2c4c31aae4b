"""Expands xacro into URDF, for files that end in .xacro and for nothing else.

Properties, macros, conditions, blocks and includes are expanded in :mod:`rbdgen.model.xacro.expander`, expressions
evaluated in :mod:`rbdgen.model.xacro.expressions`. A file may come from anywhere. No expression is handed to Python,
what a file defines ends with it, and what it takes has a bound (:mod:`rbdgen.model.xacro.budget`). Left to it is to
read files that the user can read, and variables of the environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rbdgen.errors import UrdfError
from rbdgen.model.robot import Robot
from rbdgen.model.urdf import check_base, name_of, read_bytes, robot_of_document
from rbdgen.model.xacro.budget import XacroError
from rbdgen.model.xacro.expander import expand
from rbdgen.model.xml_text import Document, read_xml

SUFFIX = ".xacro"


def load_xacro(
    path: str | Path, base: str = "fixed", arguments: Mapping[str, Any] | None = None
) -> Robot:
    """The robot of a xacro file, expanded with ``arguments`` (those that the command line of xacro takes as
    ``name:=value``).

    UrdfError for what cannot be expanded, ToolError without PyYAML where a file loads YAML; else errors and warnings
    are those of :func:`rbdgen.load_urdf`."""
    path = Path(path)
    check_base(str(path), base)
    name = name_of(path).partition(".")[0]
    return robot_of_document(expanded(path, arguments), str(path), name, base)


def expanded(path: Path, arguments: Mapping[str, Any] | None = None) -> Document:
    """The URDF that a xacro file expands to."""
    given = {str(name): str(value) for name, value in (arguments or {}).items()}
    try:
        document = read_xml(read_bytes(path), str(path))
        root, remarks = expand(document.root, path, given)
    except XacroError as error:
        raise UrdfError(f"{path}: xacro does not expand it: {error}; {error.remedy}") from None
    return Document(root, (*document.remarks, *remarks))
