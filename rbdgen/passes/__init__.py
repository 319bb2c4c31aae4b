"""Passes over graphs: one file each; :mod:`rbdgen.passes.pipeline` is the order in which they run."""
