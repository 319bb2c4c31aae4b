"""Error targets: how large an error each entry of each result may have, and what it is measured against.

A target is a number that may say what it is relative to. ``1e-3`` or ``entry:1e-3``: the entry's own largest magnitude,
which is the default. ``largest:1e-3``: the largest magnitude of any entry of its vector or matrix. ``abs:1e-4``:
nothing, so that it is in the entry's unit. Magnitudes are those of the declared states, motions and free torques apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from rbdgen.errors import ConfigError, dotted
from rbdgen.functions.quantities import Quantity, labels
from rbdgen.model.robot import Robot
from rbdgen.protocol.identifiers import sanitize
from rbdgen.setting import ValueKind, must_be, names, read_number
from rbdgen.tracing.network import Network
from rbdgen.tracing.words import Word

Key = tuple[str, str]
"""Function and vector."""
Entry = tuple[str, str]
"""Function and name of a result."""

ENTRY, LARGEST, ABSOLUTE = "entry", "largest", "abs"
KINDS = {
    ENTRY: "the entry's own largest magnitude",
    LARGEST: "the largest magnitude of any entry of its vector or matrix",
    ABSOLUTE: "nothing: it is in the entry's unit",
}
"""Magnitudes that an error may be relative to; the first is the default."""
FLOOR = 1e-6
"""An entry whose own largest magnitude is below this share of its vector's largest counts with this share: it is tiny
by the robot's structure, such as what an axis that is nearly parallel to another leaves."""
DEFAULT_ERROR = 1e-3
"""The largest error of any entry, relative to its own largest magnitude, where neither a word length nor an error is
asked for."""
SUFFIX = "_joint"
"""End of joints' names in many files, which may be left out."""
FINEST_ERROR = 1e-12
"""The smallest relative error that can be asked for: float64, which judges it, has little more."""


@dataclass(frozen=True)
class Target:
    """An error of at most ``value``, relative to what ``of`` says (:data:`KINDS`)."""

    value: float
    of: str = ENTRY

    @property
    def plain(self) -> float | str:
        """Text that :func:`read_target` reads as this: a number where that is enough."""
        return self.value if self.of == ENTRY else f"{self.of}:{self.value!r}"

    def __str__(self) -> str:
        return f"{self.value:g}" if self.of == ENTRY else f"{self.of}:{self.value:g}"


def read_target(where: str, given: Any) -> Target:
    """A target from a number, or a text such as ``abs:1e-4``. ConfigError, that begins with ``where``, for another."""
    of, value = ENTRY, given
    if isinstance(given, str):
        kind, _, text = given.rpartition(":")
        of = kind.strip() or ENTRY
        try:
            value = float(text)
        except ValueError:
            # no kind has this name, so that the message below is given
            of = ""
        if of not in KINDS:
            behind = ", ".join(f"{kind}:" for kind in KINDS)
            raise ConfigError(f"{where}: must be a number, or one behind {behind}, not {given!r}")
    if of == ABSOLUTE:
        bounds, good = "above 0", 0 < value < math.inf
    else:
        bounds, good = f"{FINEST_ERROR:g} or more and below 1", FINEST_ERROR <= value < 1
    if not good:
        raise ConfigError(f"{where}: must be {bounds}, not {value:g}")
    return Target(float(value), of)


def _targets(name: str, value: Any) -> dict[str, float | str]:
    if not isinstance(value, Mapping):
        return {"all": _target(name, value)}
    return {str(target): _target(dotted(name, str(target)), x) for target, x in value.items()}


def _target(path: str, value: Any) -> float | str:
    if not isinstance(value, str):
        value = read_number(path, value)
    return read_target(path, value).plain


def _read_targets(name: str, text: str) -> dict[str, float | str]:
    found: dict[str, float | str] = {}
    for part in names(text):
        target, _, value = part.rpartition("=")
        found[target.strip() or "all"] = value.strip()
    if not found:
        raise must_be("a number, or NAME=NUMBER,...", name, text)
    return found


TARGETS = ValueKind("number, or numbers by name", _targets, _read_targets)
"""Errors by name, as an option has them."""


def finest(given: Mapping[str, float | str]) -> Target:
    """The smallest target of those given, relative ones first."""
    found = []
    for name, value in given.items():
        target = read_target(name, value)
        found.append(target)
    return min(found, key=lambda target: (target.of == ABSOLUTE, target.value))


def check_names(given: Mapping[str, float | str], keys: Sequence[Key]) -> None:
    """ConfigError for a target of no function or output among ``keys``; entries are not known before there is a
    robot."""
    known = _known_names(keys)
    for name in given:
        of_entry = any(name.startswith(f"{k}.") for k in known if k != "all")
        if name not in known and not of_entry:
            raise ConfigError(
                f"error: {name!r} is no function or output of this design{_nearest(name, known)}; choose from "
                f"{', '.join(known)}, or an entry of these, such as {keys[0][1]}.JOINT"
            )


def for_all(
    given: Mapping[str, float | str], keys: Iterable[Key], usual: float
) -> Mapping[str, float | str]:
    """The ``given`` targets, and the ``usual`` one where an output among ``keys`` has none of its own."""
    for function, vector in keys:
        if not any(name in given for name in _names_of(function, vector)):
            return {"all": usual, **given}
    return given


def _names_of(function: str, vector: str) -> tuple[str, ...]:
    """The names of targets that a whole vector may have, the most specific first."""
    return f"{function}.{vector}", vector, function, "all"


def resolve_targets(given: Mapping[str, float | str], network: Network) -> dict[Entry, Target]:
    """The target of every result of every function of a network, from targets by ``all``, function, output,
    ``function.output``, and any of the last two with an entry behind it: ``tau.JOINT``, ``m.JOINT`` (its row and
    column), ``m.JOINT.JOINT``. The more specific counts.

    ConfigError for a name that is none, with the nearest, and for an absolute error of what has several units."""
    targets = {}
    for name, value in given.items():
        targets[name] = read_target(f"error: {name}", value)
    names = _EntryNames(network)
    for name in given:
        if name not in names.known:
            raise ConfigError(
                f"error: {name!r} is no function, output or entry of {network.robot.name!r}"
                f"{_nearest(name, names.known)}"
            )
    found: dict[Entry, Target] = {}
    for (function, vector), words in names.words.items():
        for word in words:
            whole = _names_of(function, vector)
            own = names.of_entry(function, vector, word)
            # names stand from the most specific on: the first that is given counts
            name = next(n for n in (*own, *whole) if n in targets)
            target = targets[name]
            # an entry has one unit, where its vector may have several
            if target.of == ABSOLUTE and name in whole:
                quantity = network.options.quantities[word.vector]
                one_vector = name in (
                    vector,
                    f"{function}.{vector}",
                )
                _check_unit(
                    name,
                    target,
                    quantity,
                    one_vector,
                    network.robot,
                )
            found[function, word.name] = target
    return found


class _EntryNames:
    """The result ``words`` of a network by function and vector, and all names that targets may have (``known``)."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.words: dict[Key, tuple[Word, ...]] = {}
        self.known: dict[str, None] = {}
        for function in network.functions:
            for vector in network.options.result_vectors(function):
                self.words[function, vector] = network.results[vector]
                whole = _names_of(function, vector)
                self.known |= dict.fromkeys(reversed(whole))
        for (function, vector), words in self.words.items():
            for word in words:
                own = self.of_entry(function, vector, word)
                self.known |= dict.fromkeys(own)

    def of_entry(self, function: str, vector: str, word: Word) -> list[str]:
        """The names of an entry, the most specific first."""
        quantity = self.network.options.quantities[word.vector]
        own = _entry_names(self.network.robot, quantity, word)
        heads = f"{function}.{vector}", vector
        return [f"{head}.{entry}" for entry in own for head in heads]


def entry_label(robot: Robot, quantity: Quantity, index: Sequence[int]) -> str:
    """Name of an entry by joints, frames, directions: ``wrist_3``, or ``wrist_3.wrist_1`` of a matrix."""
    return ".".join(_labels(robot, quantity, index))


def _labels(robot: Robot, quantity: Quantity, index: Sequence[int]) -> list[str]:
    """The name of an entry's place along each dimension."""
    known = [labels(robot, dimension, robot.joint_names) for dimension in quantity.shape]
    return [own[k] for k, own in zip(index, known, strict=True)]


def _entry_names(robot: Robot, quantity: Quantity, word: Word) -> list[str]:
    """All names of an entry, the most specific first."""
    own = _labels(robot, quantity, word.index)
    plain = sanitize(own)
    spelled: list[str] = []
    spellings = (
        own,
        [plain[x] for x in own],
        [x.removesuffix(SUFFIX) for x in own],
    )
    for parts in spellings:
        spelled.append(".".join(parts))
        # either triangle of a symmetric matrix may be named
        if quantity.symmetric:
            spelled.append(".".join([*parts[:-2], *reversed(parts[-2:])]))
    # of a matrix one joint stands for its whole row and column
    if len(own) > 1:
        for x in own:
            spelled += [x, plain[x], x.removesuffix(SUFFIX)]
    return list(dict.fromkeys(spelled))


def _check_unit(
    name: str, target: Target, quantity: Quantity, one_vector: bool, robot: Robot
) -> None:
    """ConfigError where an absolute error would be in several units."""
    if not one_vector:
        raise ConfigError(
            f"error: {name}={target}: an absolute error has a unit, and {name} has several outputs; give it by output, "
            f"such as {quantity.name}={target} (in {quantity.unit})"
        )
    # where some joints turn and others slide, such a unit differs by entry
    if "," in quantity.unit and _mixed(robot):
        raise ConfigError(
            f"error: {name}={target}: an absolute error has a unit, and the entries of {name} are in {quantity.unit}; "
            f"give it by entry, such as {name}.{_labels(robot, quantity, [0] * len(quantity.shape))[0]}={target}"
        )


def _mixed(robot: Robot) -> bool:
    """Whether some coordinates of a robot are lengths and some angles."""
    kinds: set[str] = set()
    for body, _, _ in robot.independent:
        kinds.update(body.joint.kinds)
    return "length" in kinds and len(kinds) > 1


def _known_names(keys: Iterable[Key]) -> list[str]:
    """All names that a target of no single entry may have."""
    keys = list(keys)
    functions = [function for function, _ in keys]
    vectors = [vector for _, vector in keys]
    both = [f"{function}.{vector}" for function, vector in keys]
    return list(dict.fromkeys(["all", *functions, *vectors, *both]))


def _nearest(name: str, known: Iterable[str]) -> str:
    """Advice: the known name that is most like this one."""
    close = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; the nearest is {close[0]!r}" if close else ""
