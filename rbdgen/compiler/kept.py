"""Designs that were compiled before, from the user's cache: the same input gives the same, which is made once."""

from __future__ import annotations

import hashlib
import pickle
import sys
import warnings
import zlib
from collections.abc import Callable

import numpy as np

from rbdgen.caching import cached, code_digest, keep
from rbdgen.compiler.design import Design
from rbdgen.machines.pipeline.budget import Target
from rbdgen.model.robot import Robot
from rbdgen.options import Options

CACHE, SUFFIX = "designs", ".pickle"
"""Where designs are kept, and how their files' names end."""


def kept_design(
    robot: Robot,
    options: Options,
    target: Target,
    compile_it: Callable[[], Design],
    found: Callable[[], None],
) -> Design:
    """The design of ``compile_it``, or the one that it gave before for the same robot, options and target; ``found`` is
    told where that is so. Its warnings come again, and it has a key by which what is made of it can be kept as well."""
    key = _key(robot, options, target)
    kept = cached(CACHE, key, SUFFIX)
    told: list[tuple[str, type[Warning]]] = []
    try:
        if kept is None:
            design = _compiled(compile_it, told)
            keep(CACHE, key, SUFFIX, zlib.compress(pickle.dumps((design, told)), 1))
        else:
            found()
            # unpickling runs code: the cache gives only what no other user can have written
            design, told = pickle.loads(zlib.decompress(kept.content))
    finally:
        for message, category in told:
            warnings.warn(message, category, stacklevel=2)
    object.__setattr__(design, "key", key)
    return design


def _compiled(compile_it: Callable[[], Design], told: list[tuple[str, type[Warning]]]) -> Design:
    """The design of ``compile_it``; its warnings are added to ``told`` instead, even where it fails."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            return compile_it()
        finally:
            told += [(str(w.message), w.category) for w in caught]


def _key(robot: Robot, options: Options, target: Target) -> str:
    """Digits that differ where designs might."""
    versions = code_digest("rbdgen"), np.__version__, sys.version
    # dataclasses print all of their fields, and floats to the last bit
    about = "\n".join([*versions, repr(robot), repr(options), repr(target)])
    return hashlib.sha256(about.encode()).hexdigest()[:32]
