"""The points of a sweep: every combination of the choices, each with a digest of all that decides its figures."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from rbdgen.caching import code_digest
from rbdgen.errors import ConfigError
from rbdgen.functions.algorithms import KINDS, chosen_algorithms
from rbdgen.machines.options import ENGINE
from rbdgen.machines.pipeline.budget import DEMANDS, Budget
from rbdgen.model.robot import Robot
from rbdgen.options import Options
from rbdgen.setting import INTEGER, settings


@dataclass(frozen=True)
class Axis:
    """Something that can be varied: an option of the compiler, or a demand of its budget, by ``name``; ``integers``:
    its values are whole numbers, else names."""

    name: str
    integers: bool
    summary: str


def _axis(name: str) -> Axis:
    """The axis of an option or a demand, as it is described there."""
    described = {**settings(Options), **DEMANDS}[name]
    known = f": {', '.join(described.choices())}" if described.choices else ""
    return Axis(name, described.kind is INTEGER, f"{described.summary}{known}; several")


RATES = (_axis("ii"), _axis("multipliers"), _axis("lanes"))
"""Axes that set the rate, one of these for every point: an option, a demand of a budget, or the lanes of an engine."""
ROOT = Axis("root", False, "links that a mobile base carries, by name (the file's root)")
"""The axis that is not an option of the compiler, but of the robot."""
AXES = tuple(_axis(name) for name in ("replicas", "cores", "word", "device", *KINDS))
"""All else, options by name; the last varies fastest."""
NAMES = ("functions", ROOT.name, *(a.name for a in RATES), *(a.name for a in AXES))
"""Names by which a point's position is told."""
MAX_POINTS = 10_000
"""More points than anyone waits for."""


@dataclass(frozen=True)
class Task:
    """Work of a sweep at every point: ``robot``, and errors over ``count`` random states with this ``seed``, by the
    sources whose digest is ``code``."""

    robot: Robot
    count: int
    seed: int
    code: str = field(default_factory=lambda: code_digest("rbdgen"))


@dataclass(frozen=True)
class Choice:
    """One design: its ``options``, the ``budget`` that its interval is chosen for (None: that of the options), and the
    link that the base carries (None: the file's root)."""

    options: Options
    budget: Budget | None = None
    root: str | None = None

    @property
    def position(self) -> dict[str, Any]:
        """Its value on every axis; None where another one sets the rate."""
        values: dict[str, Any] = {
            name: getattr(self.options, name)
            for name in NAMES
            if name not in ("multipliers", ROOT.name)
        }
        values[ROOT.name] = self.root
        values |= chosen_algorithms(self.options)
        values["functions"] = list(self.options.functions)
        engine = self.options.kinds == (ENGINE,)
        values["replicas"] = None if engine else self.options.replicas or 1
        values["cores"] = self.options.cores or 1 if engine else None
        values["word"] = self.options.word
        values["multipliers"] = self.budget and self.budget.multipliers
        values["ii"] = None if self.budget or engine else self.options.ii
        return {name: values[name] for name in NAMES}


@dataclass(frozen=True)
class Point:
    """A design in a sweep, and the ``key`` under which its figures are kept."""

    choice: Choice
    key: str


def combinations(base: Options, values: Mapping[str, Sequence[Any] | None]) -> tuple[Choice, ...]:
    """Every combination of ``values`` (axis to values), each once; what is not there stays as in ``base``.

    Intervals, numbers of multipliers, and lanes, which are an engine's, are alternatives: every one of all. Replicas
    are of pipelines, cores of engines. ConfigError for too many, or for a number of multipliers below 1.
    """

    def each(name: str, usual: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(values.get(name) or usual))

    sets = each("functions", [base.functions])
    roots = each(ROOT.name, [None])
    rates = [Choice(replace(base, ii=ii)) for ii in each("ii", [])]
    for multipliers in each("multipliers", []):
        if multipliers < 1:
            raise ConfigError(f"multipliers: must be at least 1, not {multipliers}")
        rates.append(Choice(base, Budget(multipliers=multipliers)))
    for lanes in each("lanes", []):
        # an engine has no interval to be given
        rates.append(Choice(replace(base, machine=ENGINE, lanes=lanes, ii=Options().ii)))
    if not rates:
        rates.append(Choice(base))
    names = [axis.name for axis in AXES]
    others = [each(name, [getattr(base, name)]) for name in names]
    # counted before any is made: a few axes multiply to millions
    count = math.prod(map(len, (sets, roots, rates, *others)))
    if count > MAX_POINTS:
        raise ConfigError(f"points: {count} are more than {MAX_POINTS}; give fewer values")
    found = []
    for functions, root, rate, *rest in itertools.product(sets, roots, rates, *others):
        given = dict(zip(names, rest, strict=True))
        # the other machine has none
        del given["replicas" if rate.options.machine == ENGINE else "cores"]
        options = replace(rate.options, functions=functions, **given)
        found.append(replace(rate, options=options, root=root))
    # what differs on an axis of the other machine is the same
    return tuple({repr(choice): choice for choice in found}.values())


def robot_digest(robot: Robot) -> str:
    """SHA-256 of all that a robot is."""
    # dataclasses print all of their fields, and floats to the last bit
    return hashlib.sha256(repr(robot).encode()).hexdigest()


def make_points(task: Task, choices: Sequence[Choice]) -> tuple[Point, ...]:
    """The points of a sweep over ``choices``."""
    # points of other sources have other keys, so that none of an older version is taken
    about = {
        "code": task.code,
        "robot": robot_digest(task.robot),
        "count": task.count,
        "seed": task.seed,
    }
    points = []
    for choice in choices:
        whole = json.dumps(about | asdict(choice), sort_keys=True)
        points.append(Point(choice, hashlib.sha256(whole.encode()).hexdigest()[:24]))
    return tuple(points)
