"""The families of devices that bitstreams are made for. A new one is a folder with a flow in it, and a line here."""

from __future__ import annotations

from rbdgen_boards.ecp5.flow import Ecp5
from rbdgen_boards.flow import Flow
from rbdgen_boards.gowin.flow import Gowin
from rbdgen_boards.synthesis import Synthesis
from rbdgen_boards.vivado.flow import Vivado

FLOWS: dict[str, Flow] = {flow.name: flow for flow in (Ecp5(), Gowin(), Vivado())}
"""By name."""
USUAL = "ecp5"
"""The timing model as which one counts that no family has."""


def synthesis_for(timing: str) -> tuple[str, Synthesis, Flow]:
    """How a unit is synthesised for the timing model of that name: the model that it counts as, Yosys's commands, and
    the flow that they are of."""
    for flow in FLOWS.values():
        if timing in flow.syntheses:
            return timing, flow.syntheses[timing], flow
    return synthesis_for(USUAL)
