"""Finds ROS packages by name: above a file, and in the folders that ROS_PACKAGE_PATH and AMENT_PREFIX_PATH name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from rbdgen.errors import RbdgenError, short
from rbdgen.model.xacro.budget import XacroError
from rbdgen.model.xml_text import read_xml

DESCRIPTION = "package.xml"
OLD_DESCRIPTION = "manifest.xml"
"""... of packages that are called as their folders are."""
IGNORED = ("CATKIN_IGNORE", "AMENT_IGNORE", "COLCON_IGNORE", "rospack_nosubdirs")
"""Files that say that nothing is to be looked for in a folder."""


class Packages:
    """The packages that ``file`` may name; folders are looked through once."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.found: dict[str, Path] | None = None

    def path(self, name: str) -> str:
        """The folder of a package."""
        for folder in self.file.resolve().parents:
            if _package(folder) == name:
                return str(folder)
        if self.found is None:
            self.found = {}
            for package, folder in _in_environment():
                self.found.setdefault(package, folder)
        if name not in self.found:
            raise XacroError(
                f"package {short(name)} is neither above the file nor in a folder of ROS_PACKAGE_PATH or "
                "AMENT_PREFIX_PATH",
                "put the folder that has the package into ROS_PACKAGE_PATH",
            )
        return str(self.found[name])


def _package(folder: Path) -> str:
    """The name of the package that a folder is; empty if it is none."""
    try:
        if (folder / DESCRIPTION).is_file():
            text = (folder / DESCRIPTION).read_bytes()
            return (read_xml(text, DESCRIPTION).root.findtext("name") or "").strip()
        return folder.name if (folder / OLD_DESCRIPTION).is_file() else ""
    except (OSError, RbdgenError):
        return ""


def _in_environment() -> Iterator[tuple[str, Path]]:
    """Packages of the folders that the environment names."""
    for folder in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep):
        if folder:
            yield from _below(Path(folder))
    for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        share = Path(prefix) / "share"
        if prefix and share.is_dir():
            for folder in sorted(share.iterdir()):
                name = _package(folder)
                if name:
                    yield name, folder


def _below(top: Path) -> Iterator[tuple[str, Path]]:
    """Packages in a folder and those in it; there are none within a package."""
    seen = set()
    for name, folders, files in os.walk(top, followlinks=True):
        folder = Path(name)
        real = os.path.realpath(name)
        package = "" if real in seen else _package(folder)
        stop = bool(package) or real in seen or any(file in IGNORED for file in files)
        seen.add(real)
        if package:
            yield package, folder
        folders[:] = [] if stop else sorted(f for f in folders if not f.startswith("."))
