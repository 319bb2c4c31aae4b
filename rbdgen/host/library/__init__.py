"""The host's library in C and C++: a runtime that is the same for all designs, and a design's tables and typed calls.

The runtime is what :mod:`rbdgen.host.link`, ``sessions``, ``datagrams``, ``parameters`` and ``driver`` are in Python;
tests hold the two against each other.
"""

from rbdgen.host.library.files import library_files

__all__ = ["library_files"]
