"""What every implementation of the benchmark is to it: a name, how it is called, and how its functions are prepared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from rbdgen.benchmark.cells import NotThereError, Prepared
from rbdgen.benchmark.task import Task
from rbdgen.model.robot import Robot

Open = Callable[[Task, ExitStack], Callable[[str], Prepared]]
"""Gives, for a task, what prepares a function; what must be closed goes on the stack. NotThereError, ImportError and
ToolError mean that it is not there, any other error that it failed."""


@dataclass(frozen=True)
class Adapter:
    """An implementation: ``called`` says by whom, ``precision`` is a key of
    :data:`rbdgen.benchmark.cells.TOLERANCES` or ``fixed point``; ``package``: whose version is told; ``ours``: made by
    rbdgen."""

    key: str
    name: str
    called: str
    precision: str
    open: Open
    package: str | None = None
    ours: bool = False


def stacked(results: Sequence[Sequence[np.ndarray]]) -> list[np.ndarray]:
    """Results of one state after another (state, result) as arrays (n, …) by result."""
    return [np.array(own) for own in zip(*results, strict=True)]


def rows(arrays: Sequence[np.ndarray], count: int) -> list[tuple[np.ndarray, ...]]:
    """Operands (n, …) of the first ``count`` states, state by state, each in memory of its own."""
    found = []
    for k in range(count):
        found.append(tuple(x[k].copy() for x in arrays))
    return found


def tupled(x: np.ndarray | Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Results as a tuple, also a single one."""
    return (x,) if isinstance(x, np.ndarray) else tuple(x)


def require_simple(robot: Robot, library: str) -> None:
    """NotThereError unless every joint has one position that is one degree of freedom: others have coordinates of their
    own in each library."""
    for body in robot.bodies:
        if body.joint.nq != 1 or body.joint.nv != 1 or body.mimic is not None:
            raise NotThereError(
                f"the adapter of {library} takes joints of one coordinate only, which {body.joint_name!r} has not"
            )
