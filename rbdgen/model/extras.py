"""Packages of other people's that are imported only when a robot of theirs is read."""

from __future__ import annotations

import importlib
from typing import Any

from rbdgen.errors import ToolError


def optional_module(name: str, extra: str) -> Any:
    """The module ``name``; ToolError saying which extra brings it where it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        missing = error.name or name
        raise ToolError(
            f"Python package {missing!r} is missing; install it with: pip install 'rbdgen[{extra}]'"
        ) from None
