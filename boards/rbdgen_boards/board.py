"""What is known of a board: one folder each in this package, with a ``board.toml`` in it."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from rbdgen.errors import ConfigError

PACKAGE = "rbdgen_boards"
RESOURCES = ("multipliers", "luts", "registers", "memories")
"""What a device has; multipliers are its multiplier blocks, memories its block memories."""


@dataclass(frozen=True)
class Board:
    """A board: ``flow`` makes its bitstreams from ``part`` (the order code); ``timing`` names the delay model
    (:mod:`rbdgen.schedule.device`); ``shell`` is ``uart`` or ``axi``.

    ``resources`` has the counts of :data:`RESOURCES`. ``clock`` MHz comes in at ``clock_pin``; ``pins`` are those of
    ``rx``, ``tx`` and ``led``, ``attributes`` hold for all of them. ``program`` is the command that loads a bitstream,
    without the file. ``vendor`` has what the vendor's flow needs beside that.
    """

    name: str
    summary: str
    flow: str
    part: str
    timing: str
    shell: str
    baud: int
    program: tuple[str, ...]
    resources: Mapping[str, int]
    clock: float
    clock_pin: str
    pins: Mapping[str, tuple[str, ...]]
    attributes: Mapping[str, str]
    vendor: Mapping[str, str]

    def lacking(self, used: Mapping[str, int]) -> list[str]:
        """One phrase for each resource of which ``used`` is more than there is."""
        return [
            f"{used[name]} {name} where it has {total}, {used[name] - total} too many"
            for name, total in self.resources.items()
            if used.get(name, 0) > total
        ]


@cache
def board_names() -> tuple[str, ...]:
    """Names of all boards, sorted."""
    folders = resources.files(PACKAGE).iterdir()
    return tuple(sorted(f.name for f in folders if f.is_dir() and f.joinpath("board.toml").is_file()))


@cache
def get_board(name: str) -> Board:
    """The board of that name; ConfigError with the nearest one."""
    if name not in board_names():
        near = difflib.get_close_matches(name, board_names(), 1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ConfigError(f"board {name!r}: unknown; {hint}known boards: {', '.join(board_names())}")
    content = tomllib.loads(resources.files(PACKAGE).joinpath(name, "board.toml").read_text(encoding="utf-8"))
    pins = {k: tuple(v) if isinstance(v, list) else (v,) for k, v in content.get("pins", {}).items()}
    return Board(
        name=name,
        summary=content["summary"],
        flow=content["flow"],
        part=content["part"],
        timing=content["timing"],
        shell=content["shell"],
        baud=content.get("baud", 0),
        program=tuple(content["program"]),
        resources={r: content["resources"][r] for r in RESOURCES},
        clock=float(content["clock"]["megahertz"]),
        clock_pin=content["clock"].get("pin", ""),
        pins=pins,
        attributes=content.get("attributes", {}),
        vendor=content.get("vendor", {}),
    )
