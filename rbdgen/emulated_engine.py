"""An engine that is on a board once and for all, emulated in this process.

It keeps what is written into it, and executes program words on that: nothing of a robot reaches it in any other way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rbdgen.machines.engine.memories import Memories
from rbdgen.machines.engine.resident import Resident
from rbdgen.protocol.loading import READ, ROUTINE, TOLD_BIT, read_block
from rbdgen.protocol.packets import header, packet_rows
from rbdgen.protocol.tasks import LOAD, LOAD_WORDS, Flag, join_header, split_header
from rbdgen.shells.datagram_shell import DatagramShell, UdpServer
from rbdgen.shells.shell import AcceleratorModel, ShellModel


class _Emulated(AcceleratorModel):
    """Such an ``engine`` behind any shell: what it holds is what was loaded."""

    engine: Resident

    def reset(self) -> None:
        # what was loaded is forgotten, as memories may hold anything then
        self.memories = Memories(self.engine.core)
        super().reset()

    def measure(self) -> None:
        task, result, memories = self.tasks.task, self.tasks.result, self.memories
        known = [code for code in range(LOAD) if memories.knows(code)]
        operands = {code: memories.operands(code) for code in known} | {LOAD: LOAD_WORDS}
        results = {code: memories.results(code) for code in known}
        codes = range(LOAD + 1)
        self.lengths = tuple(task.packet_bytes(operands.get(code, 0)) for code in codes)
        self.answer_lengths = tuple(result.packet_bytes(results.get(code, 0)) for code in codes)

    def keep(self, packet: bytes) -> None:
        if header(packet)[0] != LOAD:
            super().keep(packet)
            return
        self.work()
        self.answers.append(self._load(packet))

    def work(self) -> None:
        for code, packets in self.pending.items():
            known = self.memories.knows(code)
            self.answers += self._results(code, packets) if known else self.errors(packets)
        self.pending = {}

    def _load(self, packet: bytes) -> bytes:
        """Write what a packet says, or read what it asks for; the answer."""
        code, tag, _ = header(packet)
        words = np.frombuffer(packet, "<u4").tolist()[1:]
        found = read_block(words)
        if found is None:
            return self.answer(packet, Flag.RANGE)
        told = 0
        for own in found:
            if own.target == READ:
                told = self.memories.directory[own.address]
            else:
                self.memories.write(own)
        if any(own.target == ROUTINE for own in found):
            self.measure()
        word = join_header(code, tag) | told << TOLD_BIT
        return word.to_bytes(self.tasks.result.packet_bytes(0), "little")

    def _results(self, code: int, packets: Sequence[bytes]) -> list[bytes]:
        """Result packets of tasks of one function."""
        words = packet_rows(packets).view("<u4")
        raw = words[:, 1:].astype(np.int32).astype(np.int64)
        routine = self.memories.routine(code)
        # each task is one of as many cores in lockstep
        answers = routine.run(raw.T[None])
        flags = np.where(answers.flags[0], Flag.OVERFLOW, 0)
        flags |= np.where(self.memories.outside(code, raw), Flag.RANGE, 0)
        _, tags, _ = split_header(words[:, 0].astype(np.int64))
        heads = join_header(code, tags, flags)
        rows = np.column_stack([heads, answers.values[0].T & 0xFFFFFFFF]).astype("<u4")
        return [row.tobytes() for row in rows]


class EmulatedEngine(_Emulated, ShellModel):
    """Such an engine behind a link of bytes, in this process: a transport."""

    def __init__(self, engine: Resident) -> None:
        self.engine = engine
        super().__init__(engine.identity, engine.tasks, _no_function)


class EmulatedStation(_Emulated, DatagramShell):
    """Such an engine behind a link of datagrams, in this process."""

    def __init__(self, engine: Resident) -> None:
        self.engine = engine
        super().__init__(engine.identity, engine.tasks, _no_function)


def serve_engine(engine: Resident, address: str = "127.0.0.1:0") -> UdpServer:
    """An emulated engine at a UDP ``address`` of this machine, while the context lasts; port 0 is any that is free."""
    return UdpServer(EmulatedStation(engine), address)


def _no_function(
    function: str, raw: Sequence[np.ndarray]
) -> tuple[Sequence[np.ndarray], np.ndarray]:
    raise AssertionError(function)
