"""Facts of a board: one folder each in this package, with a ``board.toml`` in it."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from rbdgen.devices.registry import get_device
from rbdgen.errors import ConfigError
from rbdgen.protocol.links import LINKS, Link, get_link, serial_line

PACKAGE = "rbdgen_boards"
FILE = "board.toml"


@dataclass(frozen=True)
class Board:
    """A board: ``flow`` makes its bitstreams from ``part`` (the order code); ``timing`` names the device
    (:mod:`rbdgen.devices`) that the part is one of; ``shell`` is ``uart``, ``udp`` or ``axi``.

    ``resources`` are the part's, by the names of :class:`rbdgen.devices.device.Resources`. ``clock`` MHz comes in at
    ``clock_pin``, and is what designs run at where it is ``fixed_clock``; ``pins`` are those of the top's other ports
    (``led``; ``rx`` and ``tx`` of a serial line, or those of an Ethernet PHY), ``attributes`` hold for all of them,
    ``port_attributes`` for one port. ``clocks`` are MHz of those ports that are further clocks. ``program`` is the
    command that loads a bitstream, with ``{bitstream}`` for the file's name. ``vendor`` has what the flow needs beside
    that. Tasks and results come by ``link``. ``engine`` is the shape of the one that is made for it once, if any is
    (:mod:`rbdgen_boards.engines`).
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
    fixed_clock: bool
    clock_pin: str
    pins: Mapping[str, tuple[str, ...]]
    attributes: Mapping[str, str]
    port_attributes: Mapping[str, Mapping[str, str]]
    clocks: Mapping[str, float]
    vendor: Mapping[str, str]
    link: Link
    engine: Mapping[str, int]

    @property
    def running_clock(self) -> float | None:
        """MHz that every design runs at; None where that is up to the design."""
        return self.clock if self.fixed_clock else None

    def lacking(self, used: Mapping[str, int]) -> list[str]:
        """One phrase for each resource of which ``used`` is more than there is."""
        phrases = []
        for name, total in self.resources.items():
            excess = used.get(name, 0) - total
            if excess > 0:
                phrases.append(f"{used[name]} {name} where it has {total}, {excess} too many")
        return phrases


def part_resources(board: str, device: str, part: str) -> dict[str, int]:
    """Resources of a board's part, by name. ConfigError where its device has no such part."""
    parts = get_device(device).parts
    if part not in parts:
        known = ", ".join(parts) or "none"
        raise ConfigError(
            f"board {board!r}: device {device} has no part {part!r}; its parts are {known}: add it to the device's file"
        )
    return parts[part].as_dict()


def board_link(name: str, content: Mapping[str, Any]) -> Link:
    """The link of a board: the one that its ``link`` names, or the serial line of its ``baud``. ConfigError where it
    has neither, and for a link that is not known."""
    if "link" in content:
        try:
            return get_link(content["link"])
        except ConfigError as error:
            raise ConfigError(f"board {name!r}: {error}") from None
    if "baud" not in content:
        raise ConfigError(
            f"board {name!r}: has neither baud nor a link; give the name of its link in {FILE}: {', '.join(LINKS)}"
        )
    return serial_line(content["baud"])


@cache
def board_names() -> tuple[str, ...]:
    """Names of all boards, sorted."""
    folders = resources.files(PACKAGE).iterdir()
    return tuple(sorted(folder.name for folder in folders if folder.joinpath(FILE).is_file()))


@cache
def get_board(name: str) -> Board:
    """The board of that name; ConfigError with the nearest one."""
    if name not in board_names():
        near = difflib.get_close_matches(str(name), board_names(), 1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ConfigError(
            f"board {name!r}: unknown; {hint}known boards: {', '.join(board_names())}"
        )
    file = resources.files(PACKAGE).joinpath(name, FILE)
    content = tomllib.loads(file.read_text(encoding="utf-8"))
    pins = {}
    for port, pin in content.get("pins", {}).items():
        # a port of one bit has its pin as text in the file, others a list with the lowest bit first
        pins[port] = tuple(pin) if isinstance(pin, list) else (pin,)
    return Board(
        name=name,
        summary=content["summary"],
        flow=content["flow"],
        part=content["part"],
        timing=content["timing"],
        shell=content["shell"],
        baud=content.get("baud", 0),
        program=tuple(content["program"]),
        # what a part has is the device's fact: boards with the same part cannot differ
        resources=part_resources(name, content["timing"], content["part"]),
        clock=float(content["clock"]["megahertz"]),
        fixed_clock=content["clock"].get("fixed", False),
        clock_pin=content["clock"].get("pin", ""),
        pins=pins,
        attributes=content.get("attributes", {}),
        port_attributes=content.get("port_attributes", {}),
        clocks=content.get("clocks", {}),
        vendor=content.get("vendor", {}),
        link=board_link(name, content),
        engine=content.get("engine", {}),
    )
