"""The one family of errors and warnings: what the user can mend, said in one line.

Not for bugs: a broken invariant inside the tool is an ``AssertionError``. Remarks on a robot's description are told
once, as one list; on request they are an error instead.
"""

from __future__ import annotations

import math
import reprlib
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

LONGEST_VALUE = 80
"""Characters of a value that a message shows."""
LONGEST_PATH = 120
"""Characters of a path that a message shows."""
LARGEST_NUMBER = 10**20
"""From there on a whole number is told by its digits."""
MOST_NAMED = 8
"""Of many links or joints in a remark."""


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
    values that overflowed inside."""


class RbdgenWarning(UserWarning):
    """Something the user should know but need not mend (one line, like the errors)."""


class RobotWarning(RbdgenWarning):
    """Something odd about a robot's description, and how it was taken: one remark, or a heading with a line for
    each."""


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


def plain(name: str) -> str:
    """A name as it stands in a line; formats allow line breaks in names."""
    return name if name.isprintable() else repr(name)


def counted(count: int, thing: str) -> str:
    """So many of something: ``1 lane``, ``4 lanes``."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def listed(names: Iterable[str], between: str = ", ") -> str:
    """Names for a remark: the first few, and how many more there are."""
    known = [plain(name) for name in names]
    more = len(known) - MOST_NAMED
    text = between.join(known[:MOST_NAMED])
    return f"{text} and {more} more" if more > 0 else text


def warn_of(source: str, remarks: Sequence[str]) -> None:
    """Warn of all ``remarks`` on the description ``source`` at once; of none not at all."""
    if not remarks:
        return
    text = f"{source}: {remarks[0]}"
    if len(remarks) > 1:
        lines = "".join(f"\n  - {remark}" for remark in remarks)
        text = f"{source}: {len(remarks)} remarks:{lines}"
    warnings.warn(RobotWarning(text), stacklevel=3)


@contextmanager
def strictly(strict: bool = True) -> Iterator[None]:
    """Within, remarks on a description are an UrdfError of one line, if ``strict``."""
    if not strict:
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error", RobotWarning)
        try:
            yield
        except RobotWarning as warning:
            # remarks are a list of several lines, an error is one
            line = " ".join(str(warning).split())
            raise UrdfError(f"{line}; mend the file, or take it as it is without strict") from None


def nearest(name: str, known: Iterable[str], otherwise: str | None = None) -> str:
    """A hint at which of ``known`` was meant by ``name``; ``otherwise``, or a list of them all, where none is near."""
    from difflib import get_close_matches  # only messages need it, and every program loads errors

    names = list(known)
    near = get_close_matches(name, names, 1)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"there are {', '.join(names)}" if otherwise is None else otherwise
