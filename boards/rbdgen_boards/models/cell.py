"""A cell of a netlist, and what of it a model has looked at: what is left over at the end, no model knows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rbdgen.errors import ToolError

Bit = int | str
"""A net's number, or ``"0"`` and ``"1"``."""
CONSTANTS = ("0", "1")


@dataclass
class Cell:
    """A cell by ``name`` and ``kind``; nets are what ``resolve`` makes of those at its pins."""

    name: str
    kind: str
    parameters: Mapping[str, str]
    pins: Mapping[str, list[Any]]
    resolve: Callable[[Any], Any] = lambda bit: bit
    seen: set[str] = field(default_factory=set)
    """Parameters and pins that were looked at."""

    def text(self, parameter: str, default: str | None = None) -> str:
        """A parameter as text. ToolError where it is missing and has no default."""
        self.seen.add(parameter)
        value = self.parameters.get(parameter, default)
        if value is None:
            raise self.error(f"has no parameter {parameter}")
        # texts that look like numbers end with a blank
        return str(value).rstrip(" ")

    def one_of(self, parameter: str, *known: str) -> str:
        """A parameter that is one of the ``known``, the first where it is not given. ToolError for any other."""
        value = self.text(parameter, known[0])
        if value not in known:
            raise self.error(f"{parameter}={value} has no model, only {', '.join(known)}")
        return value

    def number(self, parameter: str, default: int | None = None) -> int:
        """A parameter in bits as a number. What is undefined there is zero, as nextpnr has it."""
        value = self.text(parameter, None if default is None else f"{default:b}")
        if not re.fullmatch("[01xz]+", value):
            raise self.error(f"{parameter}={value} is no number in bits")
        return int(re.sub("[xz]", "0", value), 2)

    def has(self, pin: str) -> bool:
        """Whether a pin is connected."""
        return bool(self.pins.get(pin))

    def bus(self, pin: str, width: int, default: str | None = None) -> list[Bit]:
        """The nets at a pin of several bits, the lowest first: one pin, or one each with its number in its name.
        ``default`` is what one has that is not connected; without it that is a ToolError."""
        if pin in self.pins:
            self.seen.add(pin)
            bits = self.pins[pin]
            # slices: a bus with fewer nets than bits is open above them
            return [self._net(f"{pin}[{k}]", bits[k : k + 1], default) for k in range(width)]
        return [self.net(f"{pin}{k}", default) for k in range(width)]

    def net(self, pin: str, default: str | None = None) -> Bit:
        """The net at a pin. ``default`` and errors as of :meth:`bus`."""
        self.seen.add(pin)
        return self._net(pin, self.pins.get(pin, []), default)

    def _net(self, pin: str, bits: list[Any], default: str | None) -> Bit:
        found = self.resolve(bits[0]) if bits else "x"
        if found in ("x", "z"):
            if default is None:
                raise self.error(f"pin {pin} is open")
            return default
        return found

    def output(self, pin: str) -> int | None:
        """The net that a pin drives; None where there is none."""
        self.seen.add(pin)
        bits = self.pins.get(pin, [])
        return bits[0] if bits else None

    def outputs(self, pin: str, width: int) -> list[int | None]:
        """The nets that a pin of several bits drives, as of :meth:`bus`."""
        if pin not in self.pins:
            return [self.output(f"{pin}{k}") for k in range(width)]
        self.seen.add(pin)
        bits = self.pins[pin]
        return [bits[k] if k < len(bits) else None for k in range(width)]

    def require(self, pin: str, value: str, default: str | None = None) -> None:
        """ToolError unless a pin is the constant ``value``."""
        if self.net(pin, default) != value:
            raise self.error(f"pin {pin} has no model unless it is always {value}")

    def left(self) -> list[str]:
        """Parameters and connected pins that were not looked at."""
        connected = [pin for pin, bits in self.pins.items() if bits]
        return [name for name in (*self.parameters, *connected) if name not in self.seen]

    def ignore(self, *names: str) -> None:
        """Parameters and pins that do not matter here."""
        self.seen.update(names)

    def error(self, what: str) -> ToolError:
        """An error about this cell."""
        return ToolError(f"netlist: cell {self.name} of type {self.kind}: {what}; {REMEDY}")


REMEDY = "build without --verify, or add a model of it to rbdgen_boards/models"
