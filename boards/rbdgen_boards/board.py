"""Facts of a board, which are those of a file: one of the folders of this package has it as ``board.toml``, or a user
anywhere. The file's keys are those of ``rbdgen/schema/board.json``."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from rbdgen.devices.registry import get_device
from rbdgen.errors import ConfigError
from rbdgen.protocol.links import LINKS, Link, get_link, serial_line, spi_bus
from rbdgen.schema.json_files import check, read_object
from rbdgen_boards.ports import OPTIONAL, SHELL_PORTS
from rbdgen_boards.programmers import check_program

PACKAGE = "rbdgen_boards"
FILE = "board.toml"
SUFFIX = ".toml"
"""By it a board's file is told from a board's name."""
KEYS = "docs/extending/board.md has all keys, 'rbdgen boards --new' a file with them"
"""Remedy for a file that is none of a board's."""


@dataclass(frozen=True)
class Board:
    """A board, which is found again by its ``source``: its name, or its file's path. ``flow`` makes its bitstreams
    from ``part`` (the order code); ``timing`` names the device (:mod:`rbdgen.devices`) that the part is one of;
    ``shell`` is ``uart``, ``spi``, ``udp`` or ``axi``; ``rate`` are the bits a second of a serial line or the Hz of an
    SPI bus.

    ``resources`` are the part's, by the names of :class:`rbdgen.devices.device.Resources`. ``clock`` MHz comes in
    at ``clock_pin``, and is what designs run at where it is ``fixed_clock``; ``pins`` are those of the top's other
    ports (up to two lights, ``led``; ``rx`` and ``tx`` of a serial line, or those of an Ethernet PHY),
    ``attributes`` hold for all of them, ``port_attributes`` for one port. ``inverted``: a low pin lights.
    ``clocks`` are MHz of those ports that are further clocks. ``program`` is the command that loads a bitstream,
    with ``{bitstream}`` for the file's name. ``phy_delays`` are the ns by which a PHY's data that is received and
    its clock that is sent are delayed in the device. ``vendor`` has what the flow needs beside that. Tasks and
    results come by ``link``. ``engine`` is the shape of the one that is made for it once, if any is
    (:mod:`rbdgen_boards.engines`).
    """

    name: str
    source: str
    summary: str
    flow: str
    part: str
    timing: str
    shell: str
    rate: int
    program: tuple[str, ...]
    resources: Mapping[str, int]
    clock: float
    fixed_clock: bool
    clock_pin: str
    pins: Mapping[str, tuple[str, ...]]
    inverted: bool
    attributes: Mapping[str, str]
    port_attributes: Mapping[str, Mapping[str, str]]
    clocks: Mapping[str, float]
    phy_delays: tuple[float, float]
    vendor: Mapping[str, str]
    link: Link
    engine: Mapping[str, int]

    @property
    def lights(self) -> int:
        """So many lights it has."""
        return len(self.pins.get("led", ()))

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
    """The link of a board: the one that its ``link`` names, the serial line of its ``baud``, or the SPI bus of its
    ``hertz``. ConfigError where it has none of them, and for a link that is not known."""
    if "link" in content:
        try:
            return get_link(content["link"])
        except ConfigError as error:
            raise ConfigError(f"board {name!r}: {error}") from None
    if "hertz" in content:
        return spi_bus(content["hertz"])
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


def get_board(name: str) -> Board:
    """The board of that name, or of the file at that path, which ends in ``.toml``. ConfigError for a board that is
    not there, with the nearest one, and for a file that is no board's, with what is wrong with it."""
    if str(name).endswith(SUFFIX):
        path = Path(name)
        own = path.parent.resolve().name if path.name == FILE else path.stem
        return read_board(own, path, str(path))
    return _known_board(str(name))


@cache
def _known_board(name: str) -> Board:
    """A board of this package."""
    if name not in board_names():
        near = difflib.get_close_matches(name, board_names(), 1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ConfigError(
            f"board {name!r}: unknown; {hint}known boards: {', '.join(board_names())}; "
            f"or give the path of a board's file, which ends in {SUFFIX}"
        )
    with resources.as_file(resources.files(PACKAGE).joinpath(name, FILE)) as path:
        return read_board(name, path, name)


def read_board(name: str, path: Path, source: str) -> Board:
    """The board called ``name`` of a file, found by ``source``. ConfigError naming the file and the key that is
    wrong, or lacks."""
    content = read_object(path, "TOML", "give the path of a board's file", KEYS, tomllib.loads)
    try:
        check(content, "board")
        return board_of(re.sub(r"\W", "_", name), content, source)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}; {KEYS}") from None


def board_of(name: str, content: Mapping[str, Any], source: str) -> Board:
    """The board called ``name``, found by ``source``, with the ``content`` of a file, whose keys are right.
    ConfigError where they do not go together."""
    pins = {}
    for port, pin in content.get("pins", {}).items():
        # a port of one bit has its pin as text in the file, others a list with the lowest bit first
        pins[port] = tuple(pin) if isinstance(pin, list) else (pin,)
    _check_pins(content, pins)
    check_program(content["program"])
    phy = content.get("phy", {})
    return Board(
        name=name,
        source=source,
        summary=content["summary"],
        flow=content["flow"],
        part=content["part"],
        timing=content["timing"],
        shell=content["shell"],
        rate=content.get("baud", content.get("hertz", 0)),
        program=tuple(content["program"]),
        # what a part has is the device's fact: boards with the same part cannot differ
        resources=part_resources(name, content["timing"], content["part"]),
        clock=float(content["clock"]["megahertz"]),
        fixed_clock=content["clock"].get("fixed", False),
        clock_pin=content["clock"].get("pin", ""),
        pins={port: own for port, own in pins.items() if own},
        inverted=content.get("lit") == "low",
        attributes=content.get("attributes", {}),
        port_attributes=content.get("port_attributes", {}),
        clocks=content.get("clocks", {}),
        phy_delays=(phy.get("received", 0.0), phy.get("sent", 2.0)),
        vendor=content.get("vendor", {}),
        link=board_link(name, content),
        engine=content.get("engine", {}),
    )


def _check_pins(content: Mapping[str, Any], pins: Mapping[str, tuple[str, ...]]) -> None:
    """ConfigError where a port of the shell has no pin, a pin no port, or one pin is two ports'."""
    shell = content["shell"]
    ports = SHELL_PORTS[shell]
    for kind, key, what in (("uart", "baud", "a serial line"), ("spi", "hertz", "an SPI bus")):
        if shell == kind and key not in content:
            raise ConfigError(f"lacks {key}, which {what} has")
    for port in ports:
        if port not in pins and port not in OPTIONAL:
            raise ConfigError(f"lacks pins.{port}, which shell {shell!r} has")
    for port in pins:
        if port not in ports and (port != "led" or not ports):
            raise ConfigError(f"pins.{port}: shell {shell!r} has no such port; leave it out")
    for table in ("port_attributes", "clocks"):
        for port in content.get(table, {}):
            if port not in pins:
                raise ConfigError(f"{table}.{port}: there are no pins of that port; add it to pins")
    taken: dict[str, str] = {}
    clock = content["clock"].get("pin")
    for port, own in [*pins.items(), *([("clock", (clock,))] if clock else [])]:
        for pin in own:
            if pin in taken:
                raise ConfigError(f"pins.{port}: {pin} is a pin of {taken[pin]} already")
            taken[pin] = port
