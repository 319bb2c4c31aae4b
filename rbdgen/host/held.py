"""What was loaded into a device, kept: a reset loses it, and what follows would be of something else."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from rbdgen.errors import LinkError, RbdgenWarning
from rbdgen.host.exchanges import Access, DeviceResetError, Progress

T = TypeVar("T")
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


def quietly(done: int, total: int) -> None:
    """Progress that nobody is told."""


class Held(ABC):
    """Something that the device behind ``link`` holds, and is given again where it was reset. ``access``: its calls are
    one after the other."""

    def __init__(self, link: Link, access: Access) -> None:
        self.link, self.access = link, access
        self.epoch: int | None = None
        """In which the device holds it; None while nothing was loaded."""
        self.cause = "was reset"
        """By what the device lost it last."""

    @abstractmethod
    def again(self, epoch: int) -> str:
        """Load it again, in this ``epoch``; what that was, for a warning, or nothing. LinkError where that fails, a
        DeviceResetError where the device is reset again."""

    def exchange(self, packets: Sequence[bytes], progress: Progress) -> list[bytes | None]:
        """The results of tasks, all of a device that held what was loaded. LinkError where it is reset too often,
        closed or amid a call."""
        with self.access.call():
            return self.exchanged(packets, progress)

    def exchanged(self, packets: Sequence[bytes], progress: Progress) -> list[bytes | None]:
        """The same, amid a call."""
        return self.mended(lambda epoch: self.link.exchange(packets, progress, epoch))

    def mended(self, work: Callable[[int | None], T]) -> T:
        """What ``work`` in an epoch gives, again in the next one where the device is reset meanwhile."""
        for _ in range(RESETS):
            try:
                self._hold()
                return work(self.epoch)
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
        what = self.again(epoch)
        self.epoch = epoch
        if what:
            warnings.warn(
                f"device: {self.cause} in mid-use; its {what} loaded again, and this call's tasks repeated",
                RbdgenWarning,
                stacklevel=8,
            )
