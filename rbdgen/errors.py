"""The one family of errors and warnings: what the user can mend, said in one line.

Not for bugs: a broken invariant inside the tool is an ``AssertionError``.
"""

from __future__ import annotations

import math
import reprlib
from typing import Any

LONGEST_VALUE = 80
"""Characters of a value that a message shows."""
LONGEST_PATH = 120
"""Characters of a path that a message shows."""
LARGEST_NUMBER = 10**20
"""From there on a whole number is told by its digits."""


class RbdgenError(Exception):
    """Something the user can mend. The message is one line: the thing, its value, the remedy."""


class UrdfError(RbdgenError):
    """A robot description that cannot be read or that contradicts itself."""


class UnsupportedError(RbdgenError):
    """A well-formed request for something that rbdgen does not do (named, never approximated)."""


class ConfigError(RbdgenError):
    """An option, range or format outside what it may be."""


class SingularityError(RbdgenError):
    """A matrix that the request needs inverted is singular or indefinite, at this state or for this robot."""


class ToolError(RbdgenError):
    """An external program that is missing or failed; the message says how to get it or where its log is."""


class LinkError(RbdgenError):
    """A device that is not there, does not answer, or was built for something else."""


class FlaggedError(RbdgenError):
    """Tasks that a device flagged, where the caller asked for an error: operands outside their declared ranges, or
    values that saturated inside."""


class RbdgenWarning(UserWarning):
    """Something the user should know but need not mend (one line, like the errors)."""


class RobotWarning(RbdgenWarning):
    """What is odd about a robot's description, and how it was taken: one remark, or a heading with a line for each."""


class _Short(reprlib.Repr):
    """Values as Python writes them, of which only so much is looked at as is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother = 3, LONGEST_VALUE, LONGEST_VALUE

    def repr_int(self, x: int, level: int) -> str:
        """Python refuses to write numbers that are too long."""
        if abs(x) < LARGEST_NUMBER:
            return str(x)
        return f"a number of {int(x.bit_length() * math.log10(2)) + 1} digits"


def dotted(*keys: str) -> str:
    """The path of a key in a file, for a message: one line, whatever the keys are."""
    line = "".join(c if c.isprintable() else "?" for c in ".".join(filter(None, keys)))
    return line if len(line) <= LONGEST_PATH else f"{line[:LONGEST_PATH]}…"


def short(value: Any) -> str:
    """A value for a message: one line that fills no screen, whatever it is."""
    text = " ".join(_Short().repr(value).split())
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"
