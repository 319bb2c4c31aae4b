"""Descriptions of options: their groups, what they mean, which values they take. Values are checked here, wherever they
come from.

The command line, ``config.toml``, ``--help`` and the reference in the documentation are made from these descriptions.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from rbdgen.errors import LONGEST_PATH, ConfigError, dotted, short
from rbdgen.operands import number_of, several_of, truth_of

GROUPS = {
    "what": "what is computed",
    "arithmetic": "with what arithmetic",
    "rate": "at what rate, within what budget",
    "sharing": "how hardware is shared; the tool chooses unless told",
    "target": "on what target",
}
"""Groups of options, in the order in which they are shown."""
OPEN = "auto"
"""The word for what the tool is to choose."""
METADATA = "setting"
"""The key of a field's metadata under which its setting is."""


@dataclass(frozen=True)
class Setting:
    """One option.

    ``summary`` is a line of help, ``otherwise`` what it is where nothing is said. ``choices``: the words that it may
    be, beside those that are taken but ``unlisted``; ``listed``: names to show, of what is checked elsewhere;
    ``least`` and ``most``: the range of a number, with ``open`` ends that are themselves outside. ``basic``: one that
    most people need. ``flag``: its name on the command line, if it is another."""

    kind: ValueKind
    group: str
    summary: str
    otherwise: str = ""
    choices: Callable[[], Iterable[str]] | None = None
    unlisted: Callable[[], Iterable[str]] = tuple
    listed: Callable[[], Iterable[str]] | None = None
    least: float = -math.inf
    most: float = math.inf
    open: bool = False
    basic: bool = False
    flag: str | None = None
    metavar: str | None = None
    on_command_line: bool = True

    def check(self, name: str, value: Any) -> Any:
        """The value in its own type; ConfigError naming the option, the value and what it may be."""
        if self.flag:
            name = f"{name} (--{self.flag})"
        value = self.kind.taken(name, value)
        if self.choices is not None:
            self._check_word(name, value)
        # Python's truths are numbers as well
        if isinstance(value, int | float) and not isinstance(value, bool):
            self._check_range(name, value)
        return value

    def _check_word(self, name: str, value: Any) -> None:
        assert self.choices is not None
        known = tuple(self.choices())
        if value not in known and value not in self.unlisted():
            near = nearest(value, known)
            raise ConfigError(
                f"{name}: must be one of {', '.join(known)}, not {short(value)}{near}"
            )

    def _check_range(self, name: str, value: float) -> None:
        inside = self.least <= value <= self.most
        if self.open:
            inside = self.least < value < self.most
        if inside:
            return
        if self.most == math.inf:
            span = f"{'above' if self.open else 'at least'} {self.least:g}"
        else:
            span = f"{'between ' if self.open else ''}{self.least:g} {'and' if self.open else 'to'} {self.most:g}"
        given = short(value) if isinstance(value, int) else f"{value:g}"
        raise ConfigError(f"{name}: must be {span}{self.kind.unit(self)}, not {given}")


@dataclass(frozen=True)
class ValueKind:
    """A type of values: its ``name``, how a value is ``taken`` from Python or TOML, and ``read`` from text."""

    name: str
    taken: Callable[[str, Any], Any]
    read: Callable[[str, str], Any]

    def unit(self, setting: Setting) -> str:
        """The unit of a setting's range, for its complaint."""
        # help shows the unit in place of a value's name
        units = {"BITS": " bits", "MHZ": " MHz", "S": " seconds", "CYCLES": " cycles"}
        return units.get(setting.metavar or "", "")


def nearest(name: str, known: Iterable[str]) -> str:
    """A question after the nearest known name, where one is near."""
    # cut off: difflib's time grows with the square of a text's length
    found = difflib.get_close_matches(name[:LONGEST_PATH], list(known), 1, cutoff=0.5)
    return f"; did you mean {found[0]!r}?" if found else ""


def must_be(what: str, name: str, value: Any) -> ConfigError:
    """The error that an option's value is not what it must be."""
    return ConfigError(f"{name}: must be {what}, not {short(value)}")


def _integer(name: str, value: Any) -> int:
    number = number_of(value)
    if not isinstance(number, int):
        raise must_be("a whole number", name, value)
    return number


def _read_integer(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise must_be("a whole number", name, text) from None


def read_number(name: str, value: Any) -> float:
    """A finite number; ConfigError for anything else."""
    given = number_of(value)
    if given is None:
        raise must_be("a number", name, value)
    try:
        number = float(given)
    except OverflowError:  # a whole number larger than any double
        number = math.inf
    if not math.isfinite(number):
        raise must_be("a number", name, value)
    return number


def _read_number(name: str, text: str) -> float:
    try:
        return read_number(name, float(text))
    except ValueError:
        raise must_be("a number", name, text) from None


def _switch(name: str, value: Any) -> bool:
    truth = truth_of(value)
    if truth is None:
        raise must_be("true or false", name, value)
    return truth


def _read_switch(name: str, text: str) -> bool:
    if text not in ("true", "false"):
        raise must_be("true or false", name, text)
    return text == "true"


def _word(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise must_be("a word", name, value)
    return value


def names(text: str) -> list[str]:
    """The parts of a text between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def _words(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise must_be("a list of names", name, value)
    if not all(isinstance(part, str) for part in value):
        raise must_be("a list of names", name, value)
    return tuple(value)


def _read_pairs(name: str, text: str, form: str) -> dict[str, float]:
    """Numbers by name from NAME=NUMBER,...; one without a name by an empty one. ConfigError says the ``form``."""
    found = {}
    for part in names(text):
        key, _, value = part.rpartition("=")
        try:
            found[key.strip()] = float(value)
        except ValueError:
            raise must_be(form, name, text) from None
    if not found:
        raise must_be(form, name, text)
    return found


def _limits(name: str, value: Any) -> Mapping[str, Mapping[str, float]]:
    if not isinstance(value, Mapping):
        raise must_be("limits by joint", name, value)
    for joint, limits in value.items():
        if not isinstance(limits, Mapping):
            raise must_be("a table of limits", dotted(name, str(joint)), limits)
    return value


def _vector(name: str, value: Any) -> tuple[float, ...]:
    entries = several_of(value)
    if entries is None or len(entries) != 3:
        raise must_be("three numbers", name, value)
    return tuple(read_number(name, x) for x in entries)


def _read_vector(name: str, text: str) -> tuple[float, ...]:
    try:
        return _vector(name, [float(part) for part in text.split(",")])
    except ValueError:
        raise must_be("three numbers X,Y,Z", name, text) from None


def _by_joint(name: str, value: Any) -> dict[str, float | tuple[float, ...]]:
    if not isinstance(value, Mapping):
        raise must_be("a table of numbers by joint", name, value)
    given: dict[str, float | tuple[float, ...]] = {}
    for joint, x in value.items():
        path = dotted(name, str(joint))
        entries = several_of(x)
        if entries is None:
            given[str(joint)] = read_number(path, x)
        else:
            given[str(joint)] = tuple(read_number(path, y) for y in entries)
    return given


def _read_by_joint(name: str, text: str) -> dict[str, float]:
    form = "JOINT=NUMBER,..."
    given = _read_pairs(name, text, form)
    if "" in given:
        raise must_be(form, name, text)
    return given


def _payloads(name: str, value: Any) -> dict[str, tuple[float, ...]]:
    if not isinstance(value, Mapping):
        raise must_be("a table of numbers by link", name, value)
    given = {}
    for link, numbers in value.items():
        path = dotted(name, str(link))
        entries = [numbers] if number_of(numbers) is not None else several_of(numbers)
        if entries is None:
            raise must_be("a list of numbers", path, numbers)
        given[str(link)] = tuple(read_number(path, x) for x in entries)
    return given


def _read_payloads(name: str, text: str) -> dict[str, tuple[float, ...]]:
    form = "LINK:MASS,... (several with semicolons)"
    return _read_by_link(name, text, form)


def _read_frames(name: str, text: str) -> dict[str, tuple[float, ...]]:
    form = "LINK or LINK:X,Y,Z,... (several with semicolons)"
    # a link alone is one with no numbers behind its colon
    parts = [part if _has_numbers(part) else f"{part}:" for part in text.split(";")]
    return _read_by_link(name, ";".join(parts), form)


def _has_numbers(part: str) -> bool:
    """Whether what follows the last colon are numbers, or meant as such; else the colon belongs to a name as
    ``arm::lower``."""
    _, colon, tail = part.rpartition(":")
    first = tail.partition(",")[0].strip()
    try:
        float(first or "0")
    except ValueError:
        return "," in tail
    return bool(colon)


def _read_by_link(name: str, text: str, form: str) -> dict[str, tuple[float, ...]]:
    """Numbers by link from LINK:NUMBER,...;... ConfigError says the ``form``, also for a link that is there twice."""
    given: dict[str, tuple[float, ...]] = {}
    for part in text.split(";"):
        link, _, numbers = part.rpartition(":")
        link = link.strip()
        if not link or link in given:
            raise must_be(form, name, text)
        try:
            given[link] = tuple(float(x) for x in names(numbers))
        except ValueError:
            raise must_be(form, name, text) from None
    return given


TIMES = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
RATES = {"khz": 1e3, "mhz": 1e6, "hz": 1.0, "k": 1e3, "m": 1e6}
"""Units that may stand behind a time, in seconds, and behind a rate, in tasks per second, whatever their case."""


def _read_with(units: Mapping[str, float], example: str) -> Callable[[str, str], float]:
    """A reader of numbers with one of these ``units`` behind them, or none."""

    def read(name: str, text: str) -> float:
        plain = text.strip()
        unit = next((u for u in units if plain.lower().endswith(u)), "")
        try:
            number = float(plain.removesuffix(plain[len(plain) - len(unit) :]) if unit else plain)
        except ValueError:
            raise must_be(f"a number, such as {example}", name, text) from None
        return read_number(name, number * units.get(unit, 1.0))

    return read


INTEGER = ValueKind("integer", _integer, _read_integer)
TIME = ValueKind("number", read_number, _read_with(TIMES, "20us or 2e-5"))
RATE = ValueKind("number", read_number, _read_with(RATES, "10000 or 10k"))
NUMBER = ValueKind("number", read_number, _read_number)
SWITCH = ValueKind("true or false", _switch, _read_switch)
WORD = ValueKind("word", _word, lambda name, text: text)
WORDS = ValueKind("list of words", _words, lambda name, text: tuple(names(text)))
VECTOR = ValueKind("three numbers", _vector, _read_vector)
BY_JOINT = ValueKind("numbers by joint", _by_joint, _read_by_joint)
PAYLOADS = ValueKind("numbers by link", _payloads, _read_payloads)
FRAMES = ValueKind("numbers by link", _payloads, _read_frames)
# no argument of the command line holds a table
LIMITS = ValueKind("table", _limits, lambda name, text: {})


def setting(default: Any, kind: ValueKind, group: str, summary: str, **more: Any) -> Any:
    """A field of a dataclass with its setting."""
    metadata = {METADATA: Setting(kind, group, summary, **more)}
    # dataclasses refuse a default that could be changed
    if isinstance(default, dict):
        return dataclasses.field(default_factory=dict, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def settings(owner: type) -> dict[str, Setting]:
    """The settings of those of a dataclass's fields that have one, in the order of the groups and in theirs."""
    declared = dataclasses.fields(owner)
    found = {f.name: f.metadata[METADATA] for f in declared if METADATA in f.metadata}
    order = list(GROUPS)
    return dict(sorted(found.items(), key=lambda item: order.index(item[1].group)))


Stage = TypeVar("Stage", bound="StageOptions")


@dataclass(frozen=True)
class StageOptions:
    """The options of a stage: fields that are made by :func:`setting`, and checked as they are made. Those of several
    stages are composed by inheritance; what a stage is given is its own :meth:`part`, or a record that has it."""

    def __post_init__(self) -> None:
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            # none is what an option may be left at, if that is its default
            if value is not None or f.default is not None:
                object.__setattr__(self, f.name, f.metadata[METADATA].check(f.name, value))

    def part(self, stage: type[Stage]) -> Stage:
        """The options of one of the stages that these are composed of."""
        return stage(**{f.name: getattr(self, f.name) for f in dataclasses.fields(stage)})
