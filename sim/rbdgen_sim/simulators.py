"""The simulators by name."""

from __future__ import annotations

from rbdgen.errors import ConfigError
from rbdgen_sim.interface import Simulator

SIMULATORS = ("verilator", "icarus", "amaranth")
"""Names that :func:`get_simulator` knows."""


def get_simulator(name: str) -> Simulator:
    """The simulator of that name, one of :data:`SIMULATORS`. Raises ConfigError on any other.

    The back ends are imported here, so that a missing package is reported by ``available`` and hinders no other one.
    """
    if name == "amaranth":
        from rbdgen_sim.amaranth_backend import AmaranthSimulator

        return AmaranthSimulator()
    if name == "verilator":
        from rbdgen_sim.cocotb_backend import VerilatorSimulator

        return VerilatorSimulator()
    if name == "icarus":
        from rbdgen_sim.cocotb_backend import IcarusSimulator

        return IcarusSimulator()
    raise ConfigError(f"simulator: must be one of {', '.join(SIMULATORS)}, not {name!r}")
