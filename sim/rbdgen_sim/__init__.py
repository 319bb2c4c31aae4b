"""Simulators behind one interface (:mod:`rbdgen_sim.interface`, :mod:`rbdgen_sim.simulators`): Verilator and Icarus
through cocotb, and Amaranth's own; and the comparison of an accelerator with its models (:mod:`rbdgen_sim.cosim`).

Not here: what the beats mean (:mod:`rbdgen.host`).
"""
