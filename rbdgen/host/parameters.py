"""The parameters that were loaded into a device: a reset loses them, and what follows it would be of others."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rbdgen.errors import ConfigError, LinkError
from rbdgen.host.exchanges import Access, Progress
from rbdgen.host.held import Held, Link, quietly
from rbdgen.operands import number
from rbdgen.protocol.packets import header, parameter_rows
from rbdgen.protocol.tasks import OperandWord, TaskFormat


def raw_parameters(tasks: TaskFormat, values: Mapping[str, float]) -> dict[int, int]:
    """Raw values of parameters by their numbers, from values by name. ConfigError for a name that there is not and a
    value that is no number."""
    numbers = {word.name: k for k, word in enumerate(tasks.parameters)}
    if not isinstance(values, Mapping):
        raise ConfigError(f"parameters: must be values by their names, not {type(values).__name__}")
    for name in values:
        if name not in numbers:
            known = ", ".join(numbers) or "none; build with --calibratable"
            raise ConfigError(
                f"parameter {name!r}: this accelerator has no such; parameters are {known}"
            )
    found = {}
    for name, value in values.items():
        word = tasks.parameters[numbers[name]]
        found[numbers[name]] = int(word.format.quantise(number(f"parameter {name!r}", value)))
    return found


def check_parameters(tasks: TaskFormat, raw: Mapping[int, int]) -> None:
    """ConfigError for a raw value outside its declared range."""
    for place, value in raw.items():
        word = tasks.parameters[place]
        if not word.codes[0] <= value <= word.codes[1]:
            raise _outside(word, f"{float(word.format.real(np.array(value))):.6g}")


def _outside(word: OperandWord, value: str) -> ConfigError:
    """The complaint of a value that is outside its range."""
    low, high = (float(word.format.real(np.array(c))) for c in word.codes)
    return ConfigError(f"parameter {word.name!r}: must be {low:.6g} to {high:.6g}, not {value}")


class Parameters(Held):
    """The parameters of the device behind ``link``: loaded, and loaded again where it was reset."""

    def __init__(self, tasks: TaskFormat, link: Link, access: Access | None = None) -> None:
        super().__init__(link, access or Access())
        self.tasks = tasks
        self.numbers = {word.name: k for k, word in enumerate(tasks.parameters)}
        self.held: dict[int, int] = {}
        """Raw values by the parameters' numbers."""

    def load(self, values: Mapping[str, float], progress: Progress) -> None:
        """Load ``values`` by name. ConfigError for a name that there is not and a value that is no number or outside
        its declared range, LinkError where one was lost."""
        # all are checked before any is sent: a call loads everything or says why not
        new = raw_parameters(self.tasks, values)
        with self.access.call():
            if self.epoch is None:
                self.epoch = self.link.epoch
            results = self.exchanged(self._packets(new), progress)
            for (place, raw), result in zip(new.items(), results, strict=True):
                if result is not None and not header(result)[2]:
                    self.held[place] = raw
        for name, result in zip(values, results, strict=True):
            self._check(name, result, f"{values[name]:.6g}")

    def again(self, epoch: int) -> str:
        results = self.link.exchange(self._packets(self.held), quietly, epoch)
        for place, result in zip(self.held, results, strict=True):
            word = self.tasks.parameters[place]
            value = float(word.format.real(np.array(self.held[place])))
            self._check(word.name, result, f"{value:.6g}")
        return f"{len(self.held)} parameters were" if self.held else ""

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
            raise _outside(self.tasks.parameters[self.numbers[name]], value)
