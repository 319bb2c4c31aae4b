"""The options of the compiler: those of all stages, composed and checked together."""

from rbdgen.options.options import DEMANDS, GOALS, Options

__all__ = ["DEMANDS", "GOALS", "Options"]
