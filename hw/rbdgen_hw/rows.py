"""Rows of packets side by side in a stream (:mod:`rbdgen.protocol.tasks`): where they begin and end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from rbdgen.protocol.tasks import FUNCTION_BITS, Packing
from rbdgen_hw.logic import any_of, cut


def lanes(packing: Packing, payload: Value) -> tuple[list[Value], list[Value]]:
    """The beats in the lanes of a stream's beat, and whether there are any: in a single lane always."""
    if packing.lanes == 1:
        return [payload[: packing.beat_bits]], [Const(1)]
    widths = [packing.lane_bits] * packing.lanes
    parts = cut(payload, widths)
    beats = [part[: packing.beat_bits] for part in parts]
    keeps = [part[packing.beat_bits] for part in parts]
    return beats, keeps


class RowEnds:
    """Counts the beats of rows whose packets have the function codes and are there as their first beat says.

    ``first``, ``last``: the present beat is the first or the last one of its row. ``holds``: by lane, whether a packet
    has a beat in it. ``lengths``: beats of a packet by its code; all others have one.
    """

    def __init__(self, lengths: Mapping[int, int], count: int, name: str) -> None:
        self.lengths = lengths
        self.count = count
        self.name = name
        self.most = max(lengths.values())
        self.first = Signal(name=f"{name}_first")
        self.last = Signal(name=f"{name}_last")
        self.holds = [Signal(name=f"{name}_holds{k}") for k in range(count)]

    def write(
        self, m: Module, codes: Sequence[Value], keeps: Sequence[Value], moves: Value
    ) -> None:
        """Write it into ``m``; ``codes`` and ``keeps`` are those of the row's first beat while that is present, and
        ``moves`` says that a beat goes by."""
        inside = Signal(name=f"{self.name}_inside")
        follows = []
        for k, (code, keep) in enumerate(zip(codes, keeps, strict=True)):
            # from the lowest bit on: whether there is the present beat, the next one, ...
            begins = [keep]
            for beats in range(1, self.most):
                begins.append(keep & self._longer(code, beats))
            left = Signal(self.most, name=f"{self.name}_left{k}")
            present = Signal(self.most, name=f"{self.name}_present{k}")
            m.d.comb += [
                present.eq(Mux(inside, left, Cat(*begins))),
                self.holds[k].eq(present[0]),
            ]
            with m.If(moves):
                m.d.sync += left.eq(present >> 1)
            follows.append(present[1:].any())
        m.d.comb += [
            self.first.eq(~inside),
            self.last.eq(~any_of(follows)),
        ]
        with m.If(moves):
            m.d.sync += inside.eq(~self.last)

    def _longer(self, code: Value, beats: int) -> Value:
        """Whether a packet with this function code has more than so many beats."""
        longer = [code == known for known, length in self.lengths.items() if length > beats]
        return any_of(longer)


def code_of(beat: Value) -> Value:
    """The function code in a packet's first beat."""
    return beat[:FUNCTION_BITS]
