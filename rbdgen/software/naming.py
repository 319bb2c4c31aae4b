"""Names of libraries: a robot's name as an identifier that no header of C has, and no operand a kernel's own."""

from __future__ import annotations

from collections.abc import Iterable

from rbdgen.errors import UnsupportedError
from rbdgen.protocol.identifiers import FILES, sanitize

OWN = frozenset(["rbd", "table"])
"""What sources of all libraries have before names of their own."""
BESIDE = "_robot"
"""Behind the name of a robot that is called like one of them."""
_LOCAL = """
    block blocks call checks count first flags found here i k lane lanes lost most near number own_count positive rows
    singular slots stride
"""
LOCAL = frozenset(_LOCAL.split())
"""Names that the text of functions has for itself."""


def library_name(robot: str) -> str:
    """The name of the library of a robot of this name."""
    plain = sanitize([robot])[robot]
    low = plain.lower()
    own = low in OWN or low.startswith("rbd_")
    return f"{plain}{BESIDE}" if own or low in FILES else plain


def check_names(function: str, arrays: Iterable[str]) -> None:
    """UnsupportedError for an operand or result of ``function`` that is called like what its text has for itself."""
    for name in arrays:
        if name in LOCAL:
            raise UnsupportedError(
                f"function {function!r}: {name!r} is a name that programs have for themselves; rename the quantity"
            )
