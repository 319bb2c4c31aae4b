"""The parameters that were loaded into a device, kept: a reset loses them, and what follows it would be of others."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from rbdgen.errors import ConfigError, LinkError, RbdgenWarning
from rbdgen.host.exchanges import Access, DeviceResetError, Progress
from rbdgen.operands import number
from rbdgen.protocol.packets import header, parameter_rows
from rbdgen.protocol.tasks import TaskFormat

RESETS = 5
"""Times that a device may be reset during one call."""


class Link(Protocol):
    """A link that tasks are sent over."""

    @property
    def attempts(self) -> int:
        """Times that a task is sent before it counts as lost."""
        ...

    @property
    def epoch(self) -> int:
        """Names what follows the device's last reset, as it was last told."""
        ...

    def exchange(
        self, packets: Sequence[bytes], progress: Progress, epoch: int | None
    ) -> list[bytes | None]:
        """Each task packet's result packet, None where it was lost for good; all of one ``epoch`` where it is given,
        else a DeviceResetError."""
        ...

    def close(self) -> None:
        """Let go of the device."""
        ...


class Parameters:
    """The parameters of the device behind ``link``: loaded, and loaded again where it was reset. ``access``: its calls
    are one after the other."""

    def __init__(self, tasks: TaskFormat, link: Link, access: Access | None = None) -> None:
        self.tasks, self.link = tasks, link
        self.access = access or Access()
        self.numbers = {word.name: k for k, word in enumerate(tasks.parameters)}
        self.held: dict[int, int] = {}
        """Raw values by the parameters' numbers."""
        self.epoch: int | None = None
        """In which the device holds them; None while nothing was loaded."""
        self.cause = "was reset"
        """By what the device lost them last."""

    def load(self, values: Mapping[str, float], progress: Progress) -> None:
        """Load ``values`` by name. ConfigError for a name that there is not and a value that is no number or outside
        its declared range, LinkError where one was lost."""
        if not isinstance(values, Mapping):
            raise ConfigError(
                f"parameters: must be values by their names, not {type(values).__name__}"
            )
        for name in values:
            if name not in self.numbers:
                known = ", ".join(self.numbers) or "none; build with --calibratable"
                raise ConfigError(
                    f"parameter {name!r}: this accelerator has no such; parameters are {known}"
                )
        # all are checked before any is sent: a call loads everything or says why not
        given = {name: number(f"parameter {name!r}", value) for name, value in values.items()}
        new = {}
        for name, value in given.items():
            word = self.tasks.parameters[self.numbers[name]]
            new[self.numbers[name]] = int(word.format.quantise(value))
        with self.access.call():
            if self.epoch is None:
                self.epoch = self.link.epoch
            results = self._exchange(self._packets(new), progress)
            for (place, raw), result in zip(new.items(), results, strict=True):
                if result is not None and not header(result)[2]:
                    self.held[place] = raw
        for name, result in zip(given, results, strict=True):
            self._check(name, result, f"{given[name]:.6g}")

    def exchange(self, packets: Sequence[bytes], progress: Progress) -> list[bytes | None]:
        """The results of tasks, all of a device that held what was loaded. LinkError where it is reset too often,
        closed or amid a call."""
        with self.access.call():
            return self._exchange(packets, progress)

    def _exchange(self, packets: Sequence[bytes], progress: Progress) -> list[bytes | None]:
        for _ in range(RESETS):
            try:
                self._hold()
                return self.link.exchange(packets, progress, self.epoch)
            except DeviceResetError as error:
                self.cause = error.cause
        raise LinkError(
            f"device: was reset {RESETS} times during one call; check its power supply and its reset"
        )

    def _hold(self) -> None:
        """Load again what was loaded, where the device was reset since."""
        if self.epoch is None:
            return
        epoch = self.link.epoch
        if epoch == self.epoch:
            return
        results = self.link.exchange(self._packets(self.held), lambda done, total: None, epoch)
        for place, result in zip(self.held, results, strict=True):
            word = self.tasks.parameters[place]
            value = float(word.format.real(np.array(self.held[place])))
            self._check(word.name, result, f"{value:.6g}")
        self.epoch = epoch
        if self.held:
            warnings.warn(
                f"device: {self.cause} in mid-use; its {len(self.held)} parameters were loaded again, and this call's "
                "tasks repeated",
                RbdgenWarning,
                stacklevel=7,
            )

    def _packets(self, values: Mapping[int, int]) -> list[bytes]:
        """Tasks that load raw values by the parameters' numbers."""
        numbers, raw = np.array([*values], np.int64), np.array([*values.values()], np.int64)
        return [row.tobytes() for row in parameter_rows(self.tasks, numbers, raw)]

    def _check(self, name: str, result: bytes | None, value: str) -> None:
        """That a parameter was loaded."""
        if result is None:
            raise LinkError(
                f"parameter {name!r}: lost {self.link.attempts} times; check the cable, then load all again"
            )
        if header(result)[2]:
            word = self.tasks.parameters[self.numbers[name]]
            low, high = (float(word.format.real(np.array(c))) for c in word.codes)
            raise ConfigError(f"parameter {name!r}: must be {low:.6g} to {high:.6g}, not {value}")
