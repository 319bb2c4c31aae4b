"""The installed distribution: its version, its license, and packages that only some work needs.

The version is that of the repository's tag. What installs an extra's packages is read from the metadata that rbdgen
itself was installed with, so that it holds for a wheel, a source distribution and a checkout alike. Imports cost most
of an import of rbdgen, so that they are made when somebody asks.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import warnings
from functools import cache
from pathlib import Path
from typing import Any

from rbdgen.errors import RbdgenWarning, ToolError

DISTRIBUTIONS = ("rbdgen", "rbdgen-host")
"""Distributions that rbdgen may be installed as: all of it, or what drives a board."""
UNKNOWN = "0"
"""The version of a folder of sources that was never installed."""


@cache
def version() -> str:
    """The version in full, such as 1.2.3, or 1.2.4.dev5 between releases. RbdgenWarning where two distributions
    have the same files."""
    from importlib import metadata

    found = []
    for name in DISTRIBUTIONS:
        try:
            found.append(metadata.version(name))
        except metadata.PackageNotFoundError:
            continue
    if len(found) > 1:
        warnings.warn(
            "rbdgen and rbdgen-host are both installed and have the same files; uninstall rbdgen-host, "
            "then install rbdgen again",
            RbdgenWarning,
            stacklevel=2,
        )
    return found[0] if found else UNKNOWN


def release() -> str:
    """The numbers of the version alone, such as 1.2.4: what generated files name, so that they stay the same from one
    commit to the next."""
    numbers = re.match(r"\d+(\.\d+)*", version())
    return numbers[0] if numbers else UNKNOWN


def commit() -> str | None:
    """The commit of the checkout that rbdgen runs from, with a star where it has changes; None outside of one."""
    import subprocess

    root = Path(__file__).parents[1]
    if not (root / ".git").exists():
        return None
    found = []
    for line in (("rev-parse", "--short", "HEAD"), ("status", "--porcelain", "-uno")):
        try:
            done = subprocess.run(
                ["git", *line], cwd=root, capture_output=True, text=True, check=True
            )
        except (OSError, subprocess.SubprocessError):
            return None
        found.append(done.stdout.strip())
    hashed, changes = found
    return hashed + ("*" if changes else "")


def license_text() -> str:
    """The license's text, which emitted libraries have with them: a checkout's, rbdgen-host's, or that beside the
    installed distribution's metadata."""
    from importlib import metadata

    here = Path(__file__).parent
    found = [here.parent / "LICENSE", here / "LICENSE"]
    for name in DISTRIBUTIONS:
        try:
            listed = metadata.files(name) or []
        except metadata.PackageNotFoundError:
            continue
        found += [Path(str(f.locate())) for f in listed if f.match("*.dist-info/licenses/LICENSE")]
    for path in found:
        if path.is_file():
            return path.read_text(encoding="utf-8")
    return "Apache License, Version 2.0: http://www.apache.org/licenses/LICENSE-2.0\n"


_OPTIONAL = re.compile(r"([^;]+?) *; *(?:\(?[^()]+?\)? +and +)?extra == ['\"]([\w-]+)['\"]")
"""A requirement, perhaps of some systems only, and the extra that has it; the build backend has written out extras that
others name."""


def requirements(extra: str) -> tuple[str, ...]:
    """The packages of an ``extra`` with their versions, as pip takes them; none where rbdgen is not installed."""
    return tuple(package for package, owner in _optional() if owner == extra)


@cache
def _optional() -> tuple[tuple[str, str], ...]:
    """Packages of extras, each with its extra."""
    from importlib import metadata  # half of the time that importing rbdgen takes

    found = []
    for name in DISTRIBUTIONS:
        try:
            lines = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        found += [match.groups() for match in map(_OPTIONAL.fullmatch, lines) if match]
    return tuple(found)


def remedy(extra: str) -> str:
    """The command that installs an ``extra``, for the end of a message."""
    packages = " ".join(f"'{package}'" for package in requirements(extra))
    if not packages:
        return f"install what rbdgen's pyproject.toml lists under {extra!r}"
    return f"install it with: pip install {packages}"


def missing(package: str, extra: str) -> ToolError:
    """The error that a ``package`` of an ``extra`` is not there."""
    return ToolError(f"Python package {package!r} is missing; {remedy(extra)}")


def require(extra: str, *modules: str) -> None:
    """ToolError unless there are all ``modules``, which an ``extra`` brings; none of them is imported."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise missing(module, extra)


def optional_module(name: str, extra: str) -> Any:
    """The module ``name``; ToolError where it, or what it imports of an ``extra``, is missing."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = (error.name or name).partition(".")[0]
        if package.startswith("rbdgen_") and not _is_there(package):
            raise ToolError(
                f"Python package {package!r} is missing; it comes with rbdgen: install the whole of that"
            ) from None
        # a fault inside of rbdgen itself, which installing an extra does not mend
        if package.startswith("rbdgen"):
            raise
        raise missing(package, extra) from None


def _is_there(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ValueError:
        # there is a module of that name that nothing was loaded into
        return False
