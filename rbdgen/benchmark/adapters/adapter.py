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


@dataclass(frozen=True)
class Order:
    """Another library's order of the joints: its k-th is our ``ours[k]``-th."""

    ours: tuple[int, ...]

    @classmethod
    def by_name(cls, robot: Robot, theirs: Sequence[str], library: str) -> Order:
        """The order of joints that are called so. NotThereError for other joints than the robot's."""
        own = [body.joint_name for body in robot.bodies]
        if sorted(own) != sorted(theirs):
            raise NotThereError(f"the joints of {library} are {', '.join(theirs)}")
        return cls(tuple(own.index(name) for name in theirs))

    def given(self, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Operands (n, nv) of ours in its order."""
        return [np.ascontiguousarray(x[:, self.ours]) for x in operands]

    def taken(self, results: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Its results (n, nv) or (n, nv, nv) in our order."""
        theirs = np.argsort(self.ours)
        found = []
        for x in results:
            ordered = x[:, theirs]
            found.append(ordered if x.ndim == 2 else ordered[:, :, theirs])
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
