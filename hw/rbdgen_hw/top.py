"""The hardware of a design's machine, of either kind: one component with a stream of tasks and one of results."""

from __future__ import annotations

from rbdgen.compiler import Design
from rbdgen.machines.engine.engine import Engine
from rbdgen_hw.engine.accelerator import EngineAccelerator
from rbdgen_hw.library import SharedComponent
from rbdgen_hw.pipeline.accelerator import Accelerator
from rbdgen_hw.pipeline.replicas import Replicas


def top_level(design: Design) -> SharedComponent:
    """The component with the design's streams ``i`` and ``o``: an accelerator, or several behind one stream."""
    if isinstance(design.machine, Engine):
        return EngineAccelerator(design)
    if design.tasks.replicas == 1:
        return Accelerator(design)
    return Replicas(design)
