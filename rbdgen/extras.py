"""Packages that only some work needs: whether they are there, and what installs those of an extra.

What installs them is read from the metadata that rbdgen itself was installed with, so that it holds for a wheel, a
source distribution and a checkout alike, wherever rbdgen came from.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from functools import cache
from typing import Any

from rbdgen.errors import ToolError
from rbdgen.version import DISTRIBUTIONS

_OPTIONAL = re.compile(r"([^;]+?) *; *extra == ['\"]([\w-]+)['\"]")
"""A requirement and the extra that has it; the build backend has written out extras that others name."""


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
    """What installs an ``extra``, for the end of a message."""
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
        if package.startswith("rbdgen"):
            raise
        raise missing(package, extra) from None
