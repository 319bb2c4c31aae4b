"""A self-checking testbench in SystemVerilog for a design, which needs nothing but a simulator."""

from __future__ import annotations

from rbdgen.compiler import Design
from rbdgen.errors import UnsupportedError
from rbdgen_hw.testbench.text import AXI, BARE, bench_text, hexadecimal
from rbdgen_hw.testbench.vectors import make_vectors

SEED = 104_729
"""Seed of the vectors, added to the design's own: its formats were found at other states."""


def testbench_files(design: Design, count: int, shell: str) -> dict[str, str]:
    """The files by name: ``<name>_tb.sv``, and its vectors as hexadecimal text, of ``count`` mixed tasks beside those
    that measure latencies and intervals. They are the same bytes for the same design and count.

    With the ``shell`` :data:`AXI` it is ``<name>_axi_tb.sv``, around the AXI shell; :data:`BARE` is none.
    UnsupportedError for several accelerators behind one stream.
    """
    replicas = design.tasks.replicas
    if replicas > 1:
        raise UnsupportedError(
            f"testbench: drives one accelerator, not {replicas} behind one stream; leave it out, or use --replicas 1"
        )
    vectors = make_vectors(design, count, design.options.seed + SEED)
    name = f"{design.name}{shell}_tb"
    tasks = [(trial, trial.task) for trial in vectors.trials]
    results = [(trial, trial.result) for trial in vectors.by_code]
    return {
        f"{name}.sv": bench_text(design, vectors, shell),
        f"{name}_tasks.hex": hexadecimal(tasks, design.tasks.task.beat_bits),
        f"{name}_results.hex": hexadecimal(results, design.tasks.result.beat_bits),
    }


__all__ = ["AXI", "BARE", "testbench_files"]
