"""Parameters: inputs of a graph that belong to no task, and are loaded."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rbdgen.tracing.words import Word

PARAMETERS = "parameters"
"""The vector that they are entries of."""
VARIATIONS = 64
"""Sets of values by which ranges are found; the first is what a reset leaves."""


@dataclass(frozen=True)
class Parameter:
    """One parameter: its ``word`` (vector :data:`PARAMETERS`, declared range), the body and entry that it is, and its
    ``nominal`` value; of a place the ``frame`` whose it is."""

    word: Word
    body: int
    entry: str
    nominal: float
    frame: str = ""


@dataclass(frozen=True)
class ParameterSet:
    """Some parameters, and their ``variations`` (:data:`VARIATIONS`, n)."""

    parameters: tuple[Parameter, ...] = ()
    variations: np.ndarray = field(default_factory=lambda: np.empty((VARIATIONS, 0)))
