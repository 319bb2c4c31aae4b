"""The host's end of AXI streams: a batch of tasks is one transfer (:mod:`rbdgen.host.transfers`).

Its results come in one transfer, those of each function in the order of their tasks.
"""

from __future__ import annotations

import secrets
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from rbdgen.errors import LinkError
from rbdgen.host.ledger import Counters, DeviceResetError, Progress
from rbdgen.host.manifest import Manifest
from rbdgen.host.transfers import result_packets, task_transfer
from rbdgen.protocol.frames import IDENTITY_BYTES
from rbdgen.protocol.packets import code_of
from rbdgen.protocol.registers import IDENTITY_WORDS, VERSION, Register

DEFAULT_BATCH = 4096
"""Tasks per transfer."""
MOST_EPOCH = (1 << 32) - 1
"""The largest number that ``EPOCH`` holds."""


class StreamDevice(Protocol):
    """A device behind AXI streams, with registers beside them (:mod:`rbdgen.protocol.registers`)."""

    def transfer(self, data: bytes, size: int) -> bytes:
        """Send the beats of a batch of tasks, and receive those of its results, ``size`` bytes. LinkError where they do
        not come."""
        ...

    def read_register(self, address: int) -> int:
        """The register at ``address``."""
        ...

    def write_register(self, address: int, value: int) -> None:
        """Write the register at ``address``."""
        ...

    def close(self) -> None:
        """Let go of the device."""
        ...


@dataclass
class StreamLink:
    """A device behind AXI streams, for :class:`rbdgen.host.driver.Driver`, if it is the manifest's; else a LinkError.
    ``batch`` tasks make a transfer."""

    manifest: Manifest
    device: StreamDevice
    batch: int = DEFAULT_BATCH
    attempts: int = 1
    counters: Counters = field(default_factory=Counters)

    def __post_init__(self) -> None:
        self.tasks = self.manifest.tasks
        self._meet()

    @property
    def epoch(self) -> int:
        """What was last written to ``EPOCH``."""
        return self.written

    def exchange(
        self,
        packets: Sequence[bytes],
        progress: Progress = lambda done, total: None,
        epoch: int | None = None,
    ) -> list[bytes | None]:
        """Each task packet's result packet. LinkError where they do not belong together; DeviceResetError where they
        are not all of the ``epoch`` that is given."""
        results: list[bytes | None] = []
        for k in range(0, len(packets), self.batch):
            try:
                results += self._one(packets[k : k + self.batch])
            finally:
                # a reset explains what else is wrong
                self._check(epoch)
            progress(len(results), len(packets))
        return results

    def close(self) -> None:
        """Let go of the device."""
        self.device.close()

    def _meet(self) -> None:
        """See that the device is the manifest's, and write down that this host met it."""
        found = self.device.read_register(Register.VERSION)
        if found != VERSION:
            raise LinkError(
                f"device: has registers of version {found}, this host knows version {VERSION}; build the bitstream "
                "with this version of rbdgen"
            )
        addresses = [Register.IDENTITY + 4 * k for k in range(IDENTITY_WORDS)]
        words = [self.device.read_register(address) for address in addresses]
        check_identity(words, self.manifest.identity, self.manifest.name)
        self.written = 1 + secrets.randbelow(MOST_EPOCH)
        self.device.write_register(Register.EPOCH, self.written)

    def _check(self, epoch: int | None) -> None:
        """See whether the device was reset."""
        if self.device.read_register(Register.EPOCH) != self.written:
            self._meet()
        if epoch is not None and epoch != self.written:
            raise DeviceResetError

    def _one(self, packets: Sequence[bytes]) -> list[bytes]:
        sent, size = task_transfer(packets, self.tasks)
        answers = result_packets(self.device.transfer(sent, size), self.tasks)
        self.counters.sent += len(packets)
        if len(answers) != len(packets):
            raise LinkError(
                f"device: answered {len(answers)} of {len(packets)} tasks of a batch; reset it"
            )
        queues: defaultdict[int, deque[bytes]] = defaultdict(deque)
        for packet in answers:
            queues[code_of(packet)].append(packet)
        try:
            return [queues[code_of(packet)].popleft() for packet in packets]
        except IndexError:
            raise LinkError(
                "device: answered other functions than it was asked; reset it"
            ) from None


def check_identity(words: Sequence[int], identity: bytes, name: str) -> None:
    """LinkError unless the identity registers are those of the accelerator called ``name``."""
    found = np.array(words, "<u4").tobytes()[:IDENTITY_BYTES]
    if found != identity:
        raise LinkError(
            f"device: holds design {found.hex()}, not {identity.hex()} ({name}); load that bitstream, or use the "
            "manifest of the design that it holds"
        )
