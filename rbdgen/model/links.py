"""Links by name: those that joints move, those that fixed joints merged into them, and the base."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from rbdgen.errors import ConfigError, short
from rbdgen.model.body import Placement
from rbdgen.model.robot import Robot


def places_of(robot: Robot) -> dict[str, tuple[int, Placement]]:
    """By link's name the body that it is or is a part of (−1: the base), and the link's place in it."""
    places = {body.name: (i, Placement()) for i, body in enumerate(robot.bodies)}
    places |= {frame.name: (frame.body, frame.placement) for frame in robot.frames}
    places.setdefault(robot.base_name, (-1, Placement()))
    return places


def place_of(
    robot: Robot, option: str, name: str, more: Sequence[str] = ()
) -> tuple[int, Placement]:
    """The body that a link is or is a part of (−1: the base), and the link's place in it. ConfigError for a link that
    there is not, as the ``option`` names it; ``more`` are names that it could be as well."""
    places = places_of(robot)
    if name not in places:
        known = [*more, *places]
        raise ConfigError(f"{option}: no link {short(name)} of {robot.name!r}; {hint(name, known)}")
    return places[name]


def hint(name: str, known: Iterable[str]) -> str:
    """What else it may be."""
    names = list(known)
    near = difflib.get_close_matches(name, names, 1)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
