"""The algorithms that an accelerator's functions may be traced by: one record each, by what it computes.

Every module of this folder that has ``ALGORITHMS`` adds to them (:mod:`rbdgen.functions.registry`). Nothing else asks
for an algorithm's name: options, the layout, choices by cost and comparisons iterate over the records.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from rbdgen.errors import ConfigError
from rbdgen.functions.record import Function, Need
from rbdgen.setting import OPEN


@dataclass(frozen=True)
class Kind:
    """Something that algorithms compute: in words, and whether it makes a difference for a function (``matters``)."""

    summary: str
    matters: Callable[[Function], bool]


KINDS = {
    "derivative": Kind(
        "the derivatives of inverse dynamics", lambda f: Need.GRADIENT in f.all_needs
    ),
    "mass_matrix": Kind(
        "the mass matrix and its inverse",
        lambda f: bool({Need.INVERSE, Need.ACCELERATION} & f.all_needs),
    ),
    "inverse_dynamics": Kind("inverse dynamics", lambda f: Need.TORQUE in f.all_needs),
    "forward_dynamics": Kind("forward dynamics", lambda f: Need.ACCELERATION in f.all_needs),
    "operational_space": Kind(
        "the inertia of frames and contacts", lambda f: "operational_space" in f.uses
    ),
}
"""Purposes of algorithms, by the option that chooses among them."""


@dataclass(frozen=True)
class Algorithm:
    """One algorithm for something of :data:`KINDS`; the first of a ``kind`` is the usual one and takes trees.

    ``text`` traces it: of a traced program and what :mod:`rbdgen.functions.dynamics_algorithms` says of its kind.
    ``serial``: it takes serial chains only, and is found by ``levels`` of joining neighbours, by the number of links.
    ``factored``: it goes by the factors of M, or gives them. ``mass``: a text of M that it brings with it.
    ``calibratable`` and ``moving_base``: whether it goes with these options; ``needs``: algorithms of other kinds that
    it goes with. ``comparison``: it is there to be compared with: no help lists it and no search tries it.
    """

    kind: str
    name: str
    summary: str
    text: Any
    serial: bool = False
    levels: Callable[[int], int] | None = None
    factored: bool = False
    mass: Callable[[Any], Any] | None = None
    calibratable: bool = True
    moving_base: bool = True
    needs: Mapping[str, str] = field(default_factory=dict)
    comparison: bool = False

    @property
    def asked(self) -> str:
        """The words of a message for its choice."""
        return f"{self.kind.replace('_', '-')} {self.name}"


_known: dict[str, dict[str, Algorithm]] = {kind: {} for kind in KINDS}


def register(algorithm: Algorithm) -> None:
    """Add an algorithm. ConfigError where its kind has one of that name."""
    own = _known[algorithm.kind]
    # options leave the choice open by a word, which is no name therefore
    if algorithm.name in own or algorithm.name == OPEN:
        raise ConfigError(f"algorithm {algorithm.asked}: the name is taken; choose another")
    own[algorithm.name] = algorithm


def unregister(algorithm: Algorithm) -> None:
    """Take out an algorithm that was added."""
    del _known[algorithm.kind][algorithm.name]


def known(kind: str) -> Mapping[str, Algorithm]:
    """The algorithms of a kind by name, the usual one first."""
    return _known[kind]


def usual(kind: str) -> Algorithm:
    """The algorithm of a kind where nothing is said."""
    return next(iter(_known[kind].values()))


def open_kinds() -> tuple[str, ...]:
    """The kinds of which the tool may choose the algorithm: those with some for serial chains only."""
    return tuple(k for k, own in _known.items() if any(a.serial for a in own.values()))


def listed(kind: str) -> tuple[str, ...]:
    """The words by which an option chooses among a kind, as help lists them; the first is the default."""
    names = tuple(a.name for a in _known[kind].values() if not a.comparison)
    return (OPEN, *names) if kind in open_kinds() else names


def chosen(kind: str, options: Any) -> Algorithm:
    """The algorithm of a kind that options (of any stage) choose; of what they leave open the usual one."""
    name = getattr(options, kind)
    return usual(kind) if name == OPEN else _known[kind][name]


def chosen_algorithms(options: Any) -> dict[str, str]:
    """The name of the algorithm of each kind that options choose."""
    return {kind: chosen(kind, options).name for kind in KINDS}


def needed_kinds(functions: Collection[Function]) -> tuple[str, ...]:
    """The kinds of algorithms that make a difference for ``functions``."""
    return tuple(name for name, kind in KINDS.items() if any(map(kind.matters, functions)))


def check_combination(options: Any) -> None:
    """ConfigError naming an algorithm that does not go with another option."""
    for option in ("calibratable", "moving_base"):
        if not getattr(options, option):
            continue
        for kind in KINDS:
            given = chosen(kind, options)
            if not getattr(given, option):
                raise ConfigError(_needs(option, kind, usual(kind).name, given.name))
    for kind in KINDS:
        asking = chosen(kind, options)
        for other, needed in asking.needs.items():
            given = chosen(other, options)
            if given.name != needed:
                raise ConfigError(_needs(f"{kind} {asking.name}", other, needed, given.name))


def _needs(option: str, kind: str, needed: str, given: str) -> str:
    return f"{option} and {kind}: {option} needs {kind} {needed}, not {given}"
