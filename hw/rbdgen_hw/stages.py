"""Where tasks are in the pipelines: a valid bit per interval moves along with them; strobes come from registers."""

from __future__ import annotations

from itertools import pairwise

from amaranth.hdl import Module, Mux, Signal, Value

from rbdgen_hw.phases import Phases


class TaskStages:
    """The stages of tasks that come with ``start``, up to their cycle ``last``; ``name`` says which tasks.

    Bit s of ``valid`` is high in the cycles s·ii to s·ii + ii − 1 of a task.
    """

    def __init__(self, m: Module, phases: Phases, name: str, start: Value, last: int) -> None:
        self.m = m
        self.phases = phases
        self.ii = phases.ii
        self.name = name
        self.start = start
        count = last // self.ii + 1
        self.valid = [Signal(name=f"valid_{name}{s}") for s in range(count)]
        self._strobes: dict[int, Signal] = {}
        moves = [after.eq(before) for before, after in pairwise(self.valid)]
        if self.ii == 1:
            m.d.comb += self.valid[0].eq(start)
            m.d.sync += moves
            return
        started = Signal(name=f"started_{name}")
        first = phases.at(0)
        with m.If(first):
            m.d.sync += started.eq(start)
        now = Mux(first, start, started)
        m.d.comb += self.valid[0].eq(now)
        with m.If(phases.at(self.ii - 1)):
            m.d.sync += moves

    def strobe(self, cycle: int) -> Value:
        """High in ``cycle`` of a task."""
        m = self.m
        if cycle == 0:
            return self.start
        if self.ii == 1:
            return self.valid[cycle]
        if cycle not in self._strobes:
            before = cycle - 1
            stage = self.valid[before // self.ii]
            phase = self.phases.at(before)
            strobe = Signal(name=f"strobe_{self.name}{cycle}")
            m.d.sync += strobe.eq(stage & phase)
            self._strobes[cycle] = strobe
        return self._strobes[cycle]
