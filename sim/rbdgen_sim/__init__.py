"""Simulators behind one interface: Verilator and Icarus through cocotb, and Amaranth's own.

Not here: what the beats mean (:mod:`rbdgen.host`), and the comparison with the software model.
"""

from rbdgen_sim.interface import (
    DeadlockError,
    ProtocolError,
    Rtl,
    Simulator,
    Stimulus,
    Trace,
    get_simulator,
)

__all__ = ["DeadlockError", "ProtocolError", "Rtl", "Simulator", "Stimulus", "Trace", "get_simulator"]
