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
from rbdgen.devices.registry import DEFAULT_DEVICE
from rbdgen.errors import ConfigError
from rbdgen.functions.algorithms import KINDS, chosen_algorithms
from rbdgen.machines.options import ENGINE
from rbdgen.machines.pipeline.budget import DEMANDS, Budget, Target
from rbdgen.model.robot import Robot
from rbdgen.options import Options
from rbdgen.setting import INTEGER, NUMBER, WORD, ValueKind, names, settings
from rbdgen.wordlength.targets import finest


@dataclass(frozen=True)
class Axis:
    """Something that can be varied: an option of the compiler, or a demand of its budget, by ``name``; ``kind``: of its
    values, whole numbers, numbers or names. ``flag``: its name on the command line, if it is another."""

    name: str
    kind: ValueKind
    summary: str
    flag: str | None = None

    def read(self, text: str) -> list[Any]:
        """Its values from a text between commas. ConfigError for one of another kind."""
        return [self.kind.read(self.name, part) for part in names(text)]


def _axis(name: str) -> Axis:
    """The axis of an option or a demand, as it is described there."""
    described = {**settings(Options), **DEMANDS}[name]
    known = f": {', '.join(described.choices())}" if described.choices else ""
    kind = described.kind if described.kind in (INTEGER, NUMBER) else WORD
    return Axis(name, kind, f"{described.summary}{known}; several", described.flag)


RATES = (_axis("ii"), _axis("multipliers"), _axis("lanes"))
"""Axes that set the rate, one of these for every point: an option, a demand of a budget, or the lanes of an engine."""
ROOT = Axis("root", WORD, "links that a mobile base carries, by name (the file's root)")
"""The axis that is not an option of the compiler, but of the robot."""
MACHINE, BOARD = _axis("machine"), _axis("board")
"""The kind of hardware, which decides what sets the rate; and the board that a design is for."""
ERROR = Axis(
    "error", NUMBER, "errors allowed of each entry, relative to its own largest magnitude; several"
)
WORDS = _axis("word")
PRECISIONS = (WORDS, ERROR)
"""Axes of arithmetic, one of these for every point: words of one length, or an error."""
PLAIN = tuple(_axis(name) for name in ("replicas", "cores", "goal", "device", "clock", *KINDS))
"""Axes that are options by name and leave others alone."""
AXES = (MACHINE, BOARD, *PRECISIONS, *PLAIN)
"""All but those of the rate; the last varies fastest."""
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
    """One design: its ``options``, the ``budget`` that its interval is chosen for (None: that of the options), the link
    that the base carries (None: the file's root), and the board that it is for. ``paced``: its interval was asked for,
    and is kept on a board."""

    options: Options
    budget: Budget | None = None
    root: str | None = None
    board: str | None = None
    paced: bool = False

    @property
    def target(self) -> Target:
        """What the design is fitted to. ConfigError for an unknown board, ToolError where boards are not installed."""
        multipliers = self.budget.multipliers if self.budget else None
        if self.board is None:
            return Target(budget=self.budget or Budget())
        target = Target.of_board(self.board, multipliers=multipliers, keeps_interval=self.paced)
        target.check_device(None if self.options.device == DEFAULT_DEVICE else self.options.device)
        return target

    @property
    def position(self) -> dict[str, Any]:
        """Its value on every axis; None where another one sets the rate."""
        values: dict[str, Any] = {
            name: getattr(self.options, name)
            for name in NAMES
            if name not in ("multipliers", ROOT.name, BOARD.name)
        }
        values[ROOT.name], values[BOARD.name] = self.root, self.board
        values["error"] = None
        if self.options.targets:
            values["error"] = finest(self.options.targets).plain
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

    Intervals, numbers of multipliers, and lanes, which are an engine's, are alternatives: every one of all; so are word
    lengths and errors. Replicas are of pipelines, cores of engines. ConfigError for too many, or for a number
    of multipliers below 1.
    """

    def each(name: str, usual: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(values.get(name) or usual))

    sets = each("functions", [base.functions])
    roots = each(ROOT.name, [None])
    rates = [Choice(replace(base, ii=ii), paced=True) for ii in each("ii", [])]
    for multipliers in each("multipliers", []):
        if multipliers < 1:
            raise ConfigError(f"multipliers: must be at least 1, not {multipliers}")
        rates.append(Choice(base, Budget(multipliers=multipliers)))
    rates = _by_machine(base, each("machine", []), rates, each("lanes", []))
    boards = each(BOARD.name, [None])
    precisions: list[dict[str, Any]] = [{"word": word, "error": {}} for word in each("word", [])]
    precisions += [{"word": None, "error": {"all": e}} for e in each("error", [])]
    precisions = precisions or [{"word": base.word, "error": base.error}]
    options_by_name = [axis.name for axis in PLAIN]
    others = [each(name, [getattr(base, name)]) for name in options_by_name]
    # counted before any is made: a few axes multiply to millions
    count = math.prod(map(len, (sets, roots, rates, boards, precisions, *others)))
    if count > MAX_POINTS:
        raise ConfigError(f"points: {count} are more than {MAX_POINTS}; give fewer values")
    found = []
    axes = (sets, roots, rates, boards, precisions, *others)
    for functions, root, rate, board, precision, *rest in itertools.product(*axes):
        given = dict(zip(options_by_name, rest, strict=True)) | precision
        # the other machine has none
        del given["replicas" if rate.options.machine == ENGINE else "cores"]
        options = replace(rate.options, functions=functions, **given)
        found.append(replace(rate, options=options, root=root, board=board))
    # what differs on an axis of the other machine is the same
    return tuple({repr(choice): choice for choice in found}.values())


def _by_machine(
    base: Options, machines: Sequence[str], rates: Sequence[Choice], lanes: Sequence[int]
) -> list[Choice]:
    """Choices for every machine: of a pipeline, or of one that the tool chooses, each of its ``rates``; of an engine,
    which knows no interval, each number of ``lanes``."""

    def engine(count: int | None) -> Choice:
        # its precision comes later: words that pipelines have are none of an engine's
        free = replace(base, word=None, error={}, ii=Options().ii, replicas=None)
        return Choice(replace(free, machine=ENGINE, lanes=count))

    engines = list(map(engine, lanes))
    if not machines:
        return [*rates, *engines] or [Choice(base)]
    found: list[Choice] = []
    for machine in machines:
        if machine == ENGINE:
            found += engines or [engine(None)]
        else:
            for rate in rates or [Choice(base)]:
                found.append(replace(rate, options=replace(rate.options, machine=machine)))
    return found


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
