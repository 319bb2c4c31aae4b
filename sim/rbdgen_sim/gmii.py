"""A board's Ethernet in Verilator behind cocotbext-eth's wire: what runs it, and the cocotb test that plays frames to
its GMII, with cocotbext-eth's preambles and check sums, which the simulator imports."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.eth import GmiiFrame, GmiiSink, GmiiSource

from rbdgen_sim.cocotb_bench import Bench, read_job, write_outcome

# pyright: reportAttributeAccessIssue=false
# a cocotb handle gets its kind, and with it its value, from the design at run time


# one gigabit per second
BYTE_PICOSECONDS = 8000
RESET_CYCLES = 64
QUIET_BYTES = 3000
"""Of a wire on which no frame is on its way any more."""
MOST_GAP = 40
"""Bytes between two frames, beyond what there must be."""
ARP = b"\x08\x06"
ASKS = b"\x00\x01\x08\x00\x06\x04\x00\x01"
ANSWERS = b"\x00\x01\x08\x00\x06\x04\x00\x02"


class Wire:
    """Both ends of the board's GMII; ``stations`` answer ARP requests, in hexadecimal digits."""

    def __init__(self, dut: Any, stations: dict[str, str]) -> None:
        self.stations = {bytes.fromhex(k): bytes.fromhex(v) for k, v in stations.items()}
        self.random = random.Random(1)
        self.dut = dut
        self.source = GmiiSource(dut.eth_rx_data, None, dut.eth_rx_dv, dut.eth_rx_clk)
        self.sink = GmiiSink(dut.eth_tx_data, None, dut.eth_tx_en, dut.eth_tx_clk)
        for end in (self.source, self.sink):
            # else each frame is a line of the log
            end.log.setLevel("WARNING")

    async def send(self, data: bytes, sound: bool) -> None:
        """Send a frame."""
        frame = GmiiFrame.from_payload(data)
        if not sound:
            whole = bytearray(frame.data)
            # counted from the end, so that the preamble stays whole and the frame is seen
            whole[-1 - self.random.randrange(len(data))] ^= 1 << self.random.randrange(8)
            frame = GmiiFrame(bytes(whole))
        await self.source.send(frame)

    async def play(self, frames: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
        """Send frames, and return what comes until nothing does any more."""
        came: list[tuple[str, bool]] = []
        quiet = gap = 0
        rest = list(frames)
        while rest or quiet < QUIET_BYTES:
            await RisingEdge(self.dut.eth_rx_clk)
            busy = self.sink.active or not self.source.idle() or rest
            quiet = 0 if busy else quiet + 1
            if rest and self.source.idle():
                gap -= 1
                if gap < 0:
                    data, sound = rest.pop(0)
                    await self.send(bytes.fromhex(data), sound)
                    gap = self.random.randrange(MOST_GAP)
            while not self.sink.empty():
                frame = self.sink.recv_nowait()
                payload, sound = bytes(frame.get_payload()), frame.check_fcs()
                came.append((payload.hex(), bool(sound)))
                await self._answer(payload)
        return came

    async def _answer(self, payload: bytes) -> None:
        """Answer an ARP request for one of the stations."""
        # ARP begins behind 14 bytes of MAC addresses and type; what is asked for is its last field
        address = payload[38:42]
        mac = self.stations.get(address)
        if payload[12:14] == ARP and payload[14:22] == ASKS and mac is not None:
            asker = payload[22:32]
            await self.send(asker[:6] + mac + ARP + ANSWERS + mac + address + asker, True)


@cocotb.test()
async def played(dut: Any) -> None:
    """Reset, and play the job's rounds."""
    job = read_job()
    # even, so that both halves are whole steps
    cycle = 2 * round(0.5e12 / job["clock"])
    Clock(dut.clk, cycle, unit="ps").start()
    Clock(dut.eth_rx_clk, BYTE_PICOSECONDS, unit="ps").start()
    Clock(dut.eth_tx_clk, BYTE_PICOSECONDS, unit="ps").start()
    wire = Wire(dut, job["stations"])
    dut.rst.value = 1
    for _ in range(RESET_CYCLES):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    write_outcome([await wire.play(frames) for frames in job["rounds"]])


BENCH = Bench("gmii", "rbdgen_sim.gmii", ("clk", "rst", "eth_*"), "1ps")


@dataclass(frozen=True)
class Frame:
    """A frame from its MAC addresses on, without check sum; ``sound``: that is sent, or was, as it must be."""

    data: bytes
    sound: bool = True


def play(
    sources: Sequence[Path],
    top: str,
    rounds: Sequence[Sequence[Frame]],
    stations: Mapping[int, int],
    clock: float,
    directory: Path,
) -> list[list[Frame]]:
    """Frames that the board, whose clock is ``clock`` Hz, sends in each of ``rounds``, in which it gets these frames
    one behind the other with gaps of any length; a round ends when the wire is quiet. ARP requests for ``stations``,
    IPv4 addresses with their MAC addresses, are answered.

    Errors as of :meth:`rbdgen_sim.cocotb_bench.Bench.run`.
    """
    sent = [[(frame.data.hex(), frame.sound) for frame in frames] for frames in rounds]
    answers = {f"{address:08x}": f"{mac:012x}" for address, mac in stations.items()}
    job = {"rounds": sent, "stations": answers, "clock": clock}
    came = BENCH.run(sources, top, job, directory)
    return [[Frame(bytes.fromhex(data), sound) for data, sound in frames] for frames in came]
