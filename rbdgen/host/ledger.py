"""What all links keep of an exchange: what became of each task, and what the line did to what was sent.

Not here: how tasks and results travel (:mod:`rbdgen.host.link`, :mod:`rbdgen.host.datagrams`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from typing import ClassVar

from rbdgen.errors import LinkError

Progress = Callable[[int, int], None]
"""Called with (tasks answered, tasks in all)."""

DEFAULT_ATTEMPTS = 100
"""Times that a task is sent before it counts as lost."""
HELLOS_ONLY = 3
"""How many times as long as without any progress it may take that hellos are answered, but no task is."""
BAD_SHARE = 0.05
"""Of tasks that are lost, or frames that come damaged: from there on a failure is the line's."""


class DeviceResetError(LinkError):
    """The device lost what it had to keep: ``cause`` says by what."""

    def __init__(self, cause: str = "was reset") -> None:
        super().__init__(
            f"device: {cause} in mid-use; load its parameters and send its tasks again"
        )
        self.cause = cause


@dataclass
class Counters:
    """What a link went through: tasks ``sent`` (again, too), ``lost`` on the way, hellos sent, frames from the device
    that came ``whole`` or ``damaged``, and ``stray`` ones that answer nothing in flight."""

    sent: int = 0
    lost: int = 0
    hellos: int = 0
    whole: int = 0
    damaged: int = 0
    stray: int = 0

    UNIT: ClassVar[str] = "frames"
    """What travels."""
    REMEDY: ClassVar[str] = "check the cable, or lower the baud rate"
    """What to do about a bad line."""

    def __sub__(self, before: Counters) -> Counters:
        """What happened since ``before``."""
        pairs = zip(astuple(self), astuple(before), strict=True)
        return type(self)(*(now - then for now, then in pairs))

    @property
    def bad(self) -> bool:
        """Whether so much was lost or damaged that the line is to blame for what failed."""
        damaged = self.damaged > BAD_SHARE * (self.damaged + self.whole)
        return damaged or self.lost > BAD_SHARE * self.sent

    def measured(self) -> str:
        """What is known of the line, for a complaint."""
        came = self.damaged + self.whole
        share = self.damaged / max(1, came)
        lost = (
            f"{self.lost} of {self.sent} tasks that were sent were lost, and " if self.sent else ""
        )
        damaged = f"{self.damaged} of {came} {self.UNIT} from the device ({share:.0%}) came damaged"
        return lost + damaged


class Ledger:
    """The tasks of one exchange, ``count`` of them, by their index: those that are ``waiting`` to be sent, the
    ``results``, and how many are ``done``, that is answered, or lost for good after so many ``attempts``."""

    def __init__(self, count: int, attempts: int) -> None:
        self.attempts = attempts
        self.results: list[bytes | None] = [None] * count
        self.waiting = deque(range(count))
        self.losses: dict[int, int] = {}
        self.done = 0

    @property
    def count(self) -> int:
        """Tasks in all."""
        return len(self.results)

    def answer(self, index: int, packet: bytes) -> None:
        """A task is answered."""
        self.results[index] = packet
        self.done += 1

    def answer_all(self, indices: Sequence[int], packets: Sequence[bytes]) -> None:
        """Tasks are answered; an index below 0 is none of them."""
        results = self.results
        for index, packet in zip(indices, packets, strict=True):
            if index >= 0:
                self.done += results[index] is None
                results[index] = packet

    def lose(self, index: int) -> None:
        """A task was lost on its way: it is to be sent again, or is lost for good."""
        losses = self.losses.get(index, 0) + 1
        self.losses[index] = losses
        if losses < self.attempts:
            self.waiting.append(index)
        else:
            self.done += 1

    def told(self) -> str:
        """How far it came, for a complaint."""
        return f"after {self.done} of {self.count} tasks"


def check_version(device: str, found: int, known: int) -> None:
    """LinkError unless the ``device`` speaks the version of the protocol that this host does (``known``)."""
    if found != known:
        raise LinkError(
            f"{device}: speaks version {found} of the protocol, this host version {known}; build the board's "
            "bitstream with this version of rbdgen"
        )


def check_design(device: str, found: bytes, identity: bytes, name: str) -> None:
    """LinkError unless the ``device`` holds the design with this ``identity``, the accelerator called ``name``."""
    if found != identity:
        raise LinkError(
            f"{device}: holds design {found.hex()}, not {identity.hex()} ({name}); program the board with that "
            "bitstream, or use the manifest of the design that it holds"
        )
