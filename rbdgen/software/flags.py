"""How the C of kernels is compiled."""

from __future__ import annotations

FLAGS = (
    "-std=c99",
    "-O2",
    "-ftree-vectorize",
    "-march=native",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fwrapv",
)
"""A product and a sum may be one operation, nobody asks for floating-point exceptions, and integers wrap around."""
PARALLEL = ("-fopenmp",)
"""For many states on all cores."""
LIBRARIES = ("-lm",)
"""What a program is linked with."""
