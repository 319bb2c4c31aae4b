"""What errors of an entry are relative to: magnitudes by kind of state, with a floor; and results that are nothing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rbdgen.layout.execute import float_passes
from rbdgen.layout.network import Network
from rbdgen.layout.torques import MOTION, TORQUE
from rbdgen.wordlength.targets import ABSOLUTE, ENTRY, FLOOR, LARGEST

FEW = 64
"""States at which it is found which results are nothing but rounding."""
NOTHING = 2.0**-24
"""A result that is nowhere larger than this share of what single precision makes of it is the rounding of float64: it
has none of float64's 53 bits where single precision has lost 24 of 24 and as many again."""


def kinds_of(count: int, free: np.ndarray | None) -> dict[str, np.ndarray]:
    """Masks (n,) of ``count`` states by kind, of those that there are: of motions, and with ``free`` torques (n,) where
    a function takes any."""
    kinds = {MOTION: np.ones(count, bool)}
    if free is not None:
        kinds = {MOTION: ~free, TORQUE: free}
    return {name: chosen for name, chosen in kinds.items() if chosen.any()}


def entry_scales(largest: np.ndarray, of: np.ndarray | str = ENTRY) -> np.ndarray:
    """What errors of a vector's entries are relative to, from their ``largest`` magnitudes at states of one kind and
    what their targets are ``of`` (by entry, or of all): shapes as those. A vector that is zero has scales of 1."""
    most = float(np.max(largest, initial=0.0))
    if not most:
        return np.ones(largest.shape)
    own = np.maximum(largest, FLOOR * most)
    found = np.where(np.equal(of, LARGEST), most, own)
    return np.where(np.equal(of, ABSOLUTE), 1.0, found)


def nothing_but_rounding(
    network: Network, function: str, operands: Mapping[str, np.ndarray]
) -> frozenset[str]:
    """The vectors of ``function`` that a robot's structure cancels, so that float64 leaves its rounding of them,
    whatever their size: found at a few of the states whose ``operands`` are given (n,) by word."""
    few = {name: x[:FEW] for name, x in operands.items()}
    single = {name: x.astype(np.float32) for name, x in few.items()}
    graph = network.graph
    exact = float_passes(network, graph, function, few, kept=())[-1]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        rough = float_passes(network, graph, function, single, np.float32, kept=())[-1]
    found: set[str] = set()
    for vector in network.options.result_vectors(function):
        size = lost = 0.0
        for word in network.results[vector]:
            node = graph.outputs[word.name]
            value = np.asarray(exact[node], float)
            size = max(size, float(np.max(np.abs(value))))
            lost = max(lost, float(np.max(np.abs(np.asarray(rough[node], float) - value))))
        # overflow in single precision is no number, and makes nothing of nothing
        if size <= NOTHING * lost < np.inf:
            found.add(vector)
    return frozenset(found)
