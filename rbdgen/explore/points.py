"""The points of a sweep: every combination of the choices, each with a digest of all that decides its figures."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import rbdgen
from rbdgen.compiler import Options
from rbdgen.errors import ConfigError
from rbdgen.model.robot import Robot

AXES = ("functions", "ii", "word", "device", "derivative", "mass_matrix")
"""What can be varied: options of the compiler by name, the last varying fastest."""
MAX_POINTS = 10_000
"""More points than anyone waits for."""


@dataclass(frozen=True)
class Task:
    """What a sweep computes at every point: ``robot``, and errors over ``count`` random states with this ``seed``."""

    robot: Robot
    count: int
    seed: int


@dataclass(frozen=True)
class Point:
    """One design: its ``options``, and the ``key`` under which its figures are kept."""

    options: Options
    key: str

    @property
    def choices(self) -> dict[str, Any]:
        """The point's place on every axis."""
        values = {name: getattr(self.options, name) for name in AXES}
        return {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}


@lru_cache
def code_digest() -> str:
    """SHA-256 of the compiler's own sources: figures of another rbdgen are not taken for this one's."""
    root = Path(rbdgen.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def robot_digest(robot: Robot) -> str:
    """SHA-256 of all that a robot is."""
    return hashlib.sha256(repr(robot).encode()).hexdigest()


def make_points(task: Task, base: Options, choices: Mapping[str, Sequence[Any]]) -> tuple[Point, ...]:
    """Every combination of ``choices`` (axis to values; what is not there stays as in ``base``), each once.

    ConfigError for too many points.
    """
    unknown = set(choices) - set(AXES)
    assert not unknown, unknown
    values = [tuple(dict.fromkeys(choices.get(name) or (getattr(base, name),))) for name in AXES]
    count = 1
    for v in values:
        count *= len(v)
    if count > MAX_POINTS:
        raise ConfigError(f"points: {count} are more than {MAX_POINTS}; give fewer values")
    about = {"code": code_digest(), "robot": robot_digest(task.robot), "count": task.count, "seed": task.seed}
    points = []
    for combination in itertools.product(*values):
        options = replace(base, **dict(zip(AXES, combination, strict=True)))
        whole = json.dumps(about | {"options": asdict(options)}, sort_keys=True)
        points.append(Point(options, hashlib.sha256(whole.encode()).hexdigest()[:24]))
    return tuple(points)
