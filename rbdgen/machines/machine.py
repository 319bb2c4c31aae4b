"""The interface of all machines: all that is asked of hardware without knowing how it is made.

Stages behind formats, the command line, simulations and boards ask a :class:`Machine`. What is inside of one kind,
units and slots and FIFOs, is known to that kind, to its hardware and to the pages and drawings that show it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rbdgen.devices.device import Device, Resources
from rbdgen.protocol.tasks import TaskFormat

MIXED_TASKS = 10_000
"""Tasks of the random order for which an interval of mixes is found."""


@dataclass(frozen=True)
class Buffer:
    """A buffer whose fill a simulation measures: its ``name`` and how many entries it has (``depth``)."""

    name: str
    depth: int


def high_port(name: str) -> str:
    """The port at which a simulation shows a FIFO's high-water mark, by the FIFO's path."""
    return f"high_{name.replace('.', '__')}"


def fault_port(name: str) -> str:
    """The port at which a simulation shows whether a FIFO was ever written while full or read while empty."""
    return f"fault_{name.replace('.', '__')}"


class Machine(ABC):
    """Hardware for one graph on one device. Cycles are those of its clock; a function is given by its name."""

    kind: str
    """The kind's name, in messages."""

    @property
    @abstractmethod
    def device(self) -> Device:
        """The device, and the clock that it is made for."""

    @property
    @abstractmethod
    def blocks(self) -> int:
        """Multiplier blocks of the device that one accelerator takes."""

    @property
    @abstractmethod
    def parts(self) -> Sequence[str]:
        """Names of the modules that compute, of one accelerator."""

    @property
    @abstractmethod
    def timing(self) -> object:
        """All that happens, by cycle: equal for machines of one graph that differ in nothing but their clock."""

    @abstractmethod
    def resources(self, tasks: TaskFormat) -> Resources:
        """Resources that it takes of the device, by the model."""

    @abstractmethod
    def buffers(self, tasks: TaskFormat) -> Sequence[Buffer]:
        """All buffers whose depth was calculated, of all accelerators."""

    @abstractmethod
    def check(self) -> None:
        """Prove by rules of its own that the hardware computes the graph; ValueError naming what breaks one."""

    # promises

    @abstractmethod
    def latency(self, function: str, tasks: TaskFormat) -> int:
        """Cycles from the last beat's acceptance to the last result beat's offer, of a lone task (of a roll-out: of one
        step)."""

    @abstractmethod
    def steady_latency(self, function: str, tasks: TaskFormat) -> int | None:
        """The same where tasks of the function alone come without a pause; None where nothing is promised."""

    @abstractmethod
    def interval(self, function: str) -> int:
        """Cycles from one task to the next in one accelerator, where nothing else runs."""

    def mean_interval(self, function: str, tasks: TaskFormat) -> float:
        """The same on average, of all accelerators behind the stream together."""
        return self.interval(function) / tasks.replicas

    @abstractmethod
    def bunched_cycles(self, function: str) -> int:
        """Cycles more than their intervals that any number of tasks take at most, where nothing else runs."""

    @abstractmethod
    def step_cycles(self, function: str) -> int:
        """Cycles that each step after the first adds to the latency of a lone task; 0 of a function that does not
        repeat."""

    @abstractmethod
    def ordered_interval(self, tasks: TaskFormat, order: np.ndarray) -> float | None:
        """Cycles per task where tasks come in this ``order`` (numbers of functions) without a pause; None where nothing
        is promised."""

    def mixed_interval(self, tasks: TaskFormat, functions: int) -> float | None:
        """The same where tasks of so many functions come equally often, in a random order."""
        order = np.random.default_rng(0).integers(0, functions, MIXED_TASKS)
        return self.ordered_interval(tasks, order)
