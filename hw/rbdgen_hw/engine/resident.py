# amaranth: UnusedElaboratable=no
"""An engine without a program: what it computes, and for which robots, comes over its link."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from rbdgen.machines.engine.resident import Resident
from rbdgen_hw.engine.cores import EngineCores
from rbdgen_hw.engine.loading import LOAD
from rbdgen_hw.engine.programs import ProgramLoader
from rbdgen_hw.library import SharedComponent, instantiate


class ResidentEngine(SharedComponent):
    """Ports ``i`` and ``o``: streams of beats. ``load``: what is written, for whoever must know packets' lengths."""

    module_name = ""

    def __init__(self, engine: Resident) -> None:
        self.engine = engine
        tasks = engine.tasks
        super().__init__(
            {
                "i": In(stream.Signature(tasks.task.row_bits)),
                "o": Out(stream.Signature(tasks.result.row_bits)),
                "load": Out(LOAD),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # what comes one after the other goes to cores in turn
        engine = self.engine
        cores = EngineCores(engine.core, engine.cores, "engine", dealt=engine.cores > 1)
        loader = ProgramLoader(engine.tasks)
        instantiate(m, platform, "engine", cores)
        instantiate(m, platform, "programs", loader)
        loader.stand_before(m, cores, self.i, self.o)
        m.d.comb += self.load.eq(loader.load)
        return m
