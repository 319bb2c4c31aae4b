"""Runs a board's Ethernet in Verilator behind cocotbext-eth's wire (:mod:`rbdgen_sim.gmii_bench`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rbdgen_sim.cocotb_bench import Bench

BENCH = Bench("gmii", "rbdgen_sim.gmii_bench", ("clk", "rst", "eth_*"), "1ps")


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
    """What the board, whose clock is ``clock`` Hz, sends in each of ``rounds``, in which it gets these frames one
    behind the other with gaps of any length; a round ends when the wire is quiet. ARP requests for ``stations``, IPv4
    addresses with their MAC addresses, are answered.

    Errors as of :meth:`rbdgen_sim.cocotb_bench.Bench.run`.
    """
    sent = [[(frame.data.hex(), frame.sound) for frame in frames] for frames in rounds]
    answers = {f"{address:08x}": f"{mac:012x}" for address, mac in stations.items()}
    job = {"rounds": sent, "stations": answers, "clock": clock}
    came = BENCH.run(sources, top, job, directory)
    return [[Frame(bytes.fromhex(data), sound) for data, sound in frames] for frames in came]
