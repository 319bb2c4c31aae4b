# amaranth: UnusedElaboratable=no
"""An engine whose memories hold the program of one design from the beginning."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from rbdgen.compiler import Design
from rbdgen.machines.engine.loading import writes
from rbdgen.machines.engine.memories import Memories
from rbdgen_hw.engine.cores import EngineCores
from rbdgen_hw.engine.parameters import ParameterLoader
from rbdgen_hw.library import SharedComponent, forward, instantiate


class EngineAccelerator(SharedComponent):
    """Ports ``i`` (stream of task beats) and ``o`` (stream of result beats)."""

    module_name = ""

    def __init__(self, design: Design) -> None:
        self.design = design
        super().__init__(
            {
                "i": In(stream.Signature(design.tasks.task.row_bits)),
                "o": Out(stream.Signature(design.tasks.result.row_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        machine, tasks = self.design.engine, self.design.tasks
        program = machine.program
        image = Memories.of(program.core, writes(program, tasks.functions))
        cores = EngineCores(program.core, machine.cores, "engine", image, machine.dealt)
        instantiate(m, platform, "engine", cores)
        if not tasks.parameters:
            forward(m, self.i, cores.i)
            forward(m, cores.o, self.o)
            # loaded already
            m.d.comb += cores.load.eq(0)
            return m
        nominal = tuple(program.parameters[word.name] for word in tasks.parameters)
        loader = ParameterLoader(tasks, program.core, nominal)
        instantiate(m, platform, "parameters", loader)
        loader.stand_before(m, cores, self.i, self.o)
        return m
