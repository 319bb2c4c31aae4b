"""What is odd about a robot's description, told once, as one list; on request an error instead."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from rbdgen.errors import RobotWarning, UrdfError

MOST_NAMED = 8
"""Of many links or joints in a remark."""


def plain(name: str) -> str:
    """A name as it stands in a line; formats allow line breaks in names."""
    return name if name.isprintable() else repr(name)


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
            line = " ".join(str(warning).split())
            raise UrdfError(f"{line}; mend the file, or take it as it is without strict") from None
