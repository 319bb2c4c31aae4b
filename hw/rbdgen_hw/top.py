"""The hardware of a design's machine, of any kind: one component with a stream of tasks and one of results."""

from __future__ import annotations

from typing import Protocol

from rbdgen.compiler import Design
from rbdgen.machines.engine.engine import Engine
from rbdgen.machines.engine.resident import Resident
from rbdgen.protocol.tasks import TaskFormat
from rbdgen_hw.engine.accelerator import EngineAccelerator
from rbdgen_hw.engine.resident import ResidentEngine
from rbdgen_hw.library import SharedComponent
from rbdgen_hw.pipeline.accelerator import Accelerator
from rbdgen_hw.pipeline.replicas import Replicas


class Hardware(Protocol):
    """What a shell must know of what it is around: a design, or an engine without one."""

    @property
    def name(self) -> str:
        """The name of its Verilog's top module."""
        ...

    @property
    def tasks(self) -> TaskFormat:
        """The layout of its streams."""
        ...

    @property
    def multiplied_by(self) -> str:
        """The option that puts several of it behind its stream."""
        ...


def top_level(design: Hardware) -> SharedComponent:
    """The component with the streams ``i`` and ``o``: an accelerator, or several behind one stream, or an engine whose
    programs come by it."""
    if isinstance(design, Resident):
        return ResidentEngine(design)
    assert isinstance(design, Design)
    if isinstance(design.machine, Engine):
        return EngineAccelerator(design)
    if design.tasks.replicas == 1:
        return Accelerator(design)
    return Replicas(design)
