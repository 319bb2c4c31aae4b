"""What nextpnr-ecp5 says while it places and routes, and whether that leads anywhere."""

from __future__ import annotations

import re
from dataclasses import dataclass

LONG = 2.5
"""Tiles per connection above which a placement is not worth routing. nextpnr's usual placer leaves wires of multipliers
that many operations share that long."""
WINDOW = 600.0
"""Seconds over which the router's pace is taken."""
LONGEST = 8 * 3600.0
"""Seconds that the rest may take at that pace."""
NEARLY = 0.1
"""Share of connections that may be left whatever the pace: the last ones come and go."""
ROUND = re.compile(r"^Info: +\d+ \|[^|]+\|[^|]+\| *(\d+)\| *[\d.]+ +([\d.]+)\|", re.MULTILINE)
"""A line of the router's table: connections that are left, and seconds that it took so far."""


@dataclass(frozen=True)
class Pace:
    """Of ``total`` connections so many are ``left`` after ``seconds``, and of these so many are made ``per_second``."""

    total: int
    left: int
    seconds: float
    per_second: float

    @property
    def hopeless(self) -> bool:
        """Whether the rest would take too long."""
        return self.left > NEARLY * self.total and self.left > LONGEST * self.per_second

    def __str__(self) -> str:
        return (
            f"after {self.seconds:.0f} s {self.left} of {self.total} connections are left, of which nextpnr makes "
            f"{self.per_second:.1f} a second"
        )


def wires_are_long(log: str) -> bool:
    """Whether nextpnr's output, as far as it is there, says that connections are longer than :data:`LONG`."""
    lengths = re.findall(r"wirelen = (\d+)", log)
    arcs = _connections(log)
    if not lengths or arcs is None:
        return False
    return int(lengths[-1]) > LONG * arcs


def pace(log: str) -> Pace | None:
    """The router's pace, by nextpnr's output as far as it is there; None until it is known."""
    total = _connections(log)
    rounds = [(int(left), float(seconds)) for left, seconds in ROUND.findall(log)]
    if total is None or not rounds:
        return None
    left, seconds = rounds[-1]
    earlier = [r for r in rounds if r[1] <= seconds - WINDOW]
    if not earlier:
        return None
    left_then, then = earlier[-1]
    made = max(0, left_then - left)
    return Pace(total, left, seconds, made / (seconds - then))


def stands(log: str) -> bool:
    """Whether the router would take too long for the rest."""
    known = pace(log)
    return known is not None and known.hopeless


def _connections(log: str) -> int | None:
    """How many the router has to make."""
    found = re.search(r"Routing (\d+) arcs", log)
    return int(found[1]) if found else None
