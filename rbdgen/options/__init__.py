"""The options of the compiler: those of all stages, composed and checked together."""

from rbdgen.options.options import GOALS, Options

__all__ = ["GOALS", "Options"]
