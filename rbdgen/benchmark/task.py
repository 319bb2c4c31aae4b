"""What is computed: a robot, its functions and seeded states, with the oracle's results in float64."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rbdgen import golden
from rbdgen.errors import ConfigError
from rbdgen.functions import registry
from rbdgen.functions.quantities import MINV, States
from rbdgen.functions.record import Function
from rbdgen.model.robot import Robot
from rbdgen.processor_times import timing_states
from rbdgen.tracing.torques import slowed

DRAWN = 4
"""Times as many states are drawn as are used."""
DIGITS = 9
"""Behind the point, of numbers that are compared between machines."""


@dataclass(frozen=True)
class Task:
    """``functions`` (codes) of a ``robot``, read from ``file`` with its ``base``, at ``count`` states of ``seed``.
    ``batches``: states per call. ``name`` is the robot's in the results."""

    name: str
    robot: Robot
    file: Path
    base: str
    functions: tuple[str, ...]
    count: int
    seed: int
    batches: tuple[int, ...]

    @cached_property
    def states(self) -> States:
        """The states, inside the declared ranges, with the torques and inverses that go with them: motions that a robot
        can make with its declared effort. ConfigError for one that cannot make enough of them."""
        taken = {x.name for f in self.functions for x in registry.function(f).operands}
        drawn = timing_states(self.robot, DRAWN * self.count, self.seed, MINV.name in taken)
        declared = golden.declared_ranges(self.robot).tau_max
        limits = [np.inf if effort is None else effort for effort in declared]
        order = np.arange(len(drawn.q))
        # those at even places are slowed, then those that were at odd ones
        for _ in range(2):
            order = np.roll(order, 1)
            drawn = slowed(drawn.part(order), limits, self._torques)
        inside = np.flatnonzero(np.all(np.abs(drawn.tau) <= limits, axis=1))
        if len(inside) < self.count:
            raise ConfigError(
                f"robot {self.name!r}: its declared effort is enough for {len(inside)} of {len(drawn.q)} states only; "
                "ask for fewer states"
            )
        return drawn.part(inside[: self.count])

    def _torques(self, s: States) -> np.ndarray:
        return golden.rnea(self.robot, s.q, s.v, s.a)

    @cached_property
    def oracle(self) -> dict[str, list[np.ndarray]]:
        """The golden model's results (count, …) by function."""
        found = {}
        for name in self.functions:
            values = record(name).evaluated(self.robot, self.states, None, None)
            found[name] = [np.asarray(x) for x in values]
        return found

    def operands(self, function: str) -> list[np.ndarray]:
        """A function's operands (count, …), in its order."""
        return [
            np.ascontiguousarray(getattr(self.states, x.name)) for x in record(function).operands
        ]

    @cached_property
    def identity(self) -> str:
        """Digits that differ where robots or states do, and are the same on every machine."""
        s = self.states
        arrays = [s.q, s.v, s.a, np.array(self.robot.gravity)]
        for body in self.robot.bodies:
            inertia, placement = body.inertia, body.placement
            arrays += [
                np.array([body.parent or 0, inertia.mass, *inertia.first_moment]),
                np.array(inertia.second_moment),
                np.array(placement.rotation),
                np.array(placement.translation),
            ]
        digest = hashlib.sha256()
        for x in arrays:
            # a zero has no sign here, and what is far below has none of its digits
            digest.update(",".join(f"{y:.{DIGITS}f}" for y in np.ravel(x) + 0.0).encode())
        joints = [f"{body.joint_name}: {body.joint!r}" for body in self.robot.bodies]
        digest.update("\n".join(joints).encode())
        return digest.hexdigest()[:16]

    def content(self) -> dict[str, Any]:
        """What the results say of it."""
        return {
            "name": self.name,
            "base": self.base,
            "nq": self.robot.nq,
            "nv": self.robot.nv,
            "identity": self.identity,
            "states": self.count,
            "seed": self.seed,
        }

    def states_content(self) -> dict[str, Any]:
        """States and oracle's results as numbers, for an implementation in another language."""
        functions = {}
        for name in self.functions:
            own = record(name)
            functions[name] = {
                "operands": [x.name for x in own.operands],
                "results": {
                    x.name: y.tolist() for x, y in zip(own.results, self.oracle[name], strict=True)
                },
            }
        operands = {x.name for f in self.functions for x in record(f).operands}
        given = {name: getattr(self.states, name).tolist() for name in sorted(operands)}
        return {"robot": self.content(), "operands": given, "functions": functions}


def record(function: str) -> Function:
    """A function's record."""
    return registry.function(function)


def check_functions(names: Sequence[str]) -> tuple[str, ...]:
    """Those functions, which all libraries have. ConfigError for another one."""
    known = registry.common()
    for name in names:
        if name not in known:
            raise ConfigError(
                f"function {name!r}: not in the benchmark, which has what all libraries do: {', '.join(known)}"
            )
    return tuple(names)
