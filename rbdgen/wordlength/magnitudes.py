"""Magnitudes that errors of an entry are relative to, by kind of state, with a floor; and results that are nothing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rbdgen.layout.execute import float_passes
from rbdgen.layout.network import Network
from rbdgen.layout.torques import MOTION, TORQUE
from rbdgen.passes.noise import FEW, is_rounding, some_of
from rbdgen.wordlength.targets import ABSOLUTE, ENTRY, FLOOR, LARGEST

LOADED = "loaded"
"""Remark on kinds of states at which other parameters than the robot's own are loaded."""


def kinds_of(
    count: int, free: np.ndarray | None, loaded: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Masks (n,) of ``count`` states by kind, of those that there are: of motions, and with ``free`` torques (n,) where
    a function takes any; of either, those apart at which other parameters than the robot's own are ``loaded`` (n,)."""
    kinds = {MOTION: np.ones(count, bool)}
    if free is not None:
        kinds = {MOTION: ~free, TORQUE: free}
    if loaded is not None:
        own = {name: chosen & ~loaded for name, chosen in kinds.items()}
        others = {f"{name}, {LOADED}": chosen & loaded for name, chosen in kinds.items()}
        kinds = own | others
    return {name: chosen for name, chosen in kinds.items() if chosen.any()}


def entry_scales(
    largest: np.ndarray,
    of: np.ndarray | str = ENTRY,
    nothing: np.ndarray | bool = False,
) -> np.ndarray:
    """Magnitudes that errors of a vector's entries are relative to, from their ``largest`` ones at states of one kind
    and what their targets are ``of`` (by entry, or of all): shapes as those.

    Entries that are ``nothing`` but rounding count with the largest of those that are something. Scales of a vector of
    which all are nothing are infinite: no error of it counts."""
    something = np.where(nothing, 0.0, largest)
    most = float(np.max(something, initial=0.0))
    if not most:
        return np.full(largest.shape, np.inf)
    own = np.maximum(something, FLOOR * most)
    found = np.where(np.equal(of, LARGEST) | nothing, most, own)
    return np.where(np.equal(of, ABSOLUTE), 1.0, found)


def nothing_but_rounding(
    network: Network,
    function: str,
    operands: Mapping[str, np.ndarray],
) -> frozenset[str]:
    """The results of ``function`` that a robot's structure cancels, so that float64 leaves its rounding of zero: found
    at a few of the states whose ``operands`` are given (n,) by word."""
    few = some_of(operands, FEW)
    single = {name: x.astype(np.float32) for name, x in few.items()}
    graph = network.graph
    exact = float_passes(network, graph, function, few, kept=())[-1]
    # what single precision cannot hold is told apart by :func:`is_rounding`
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        rough = float_passes(network, graph, function, single, np.float32, kept=())[-1]
    found: set[str] = set()
    for word in network.result_words(function):
        node = graph.outputs[word.name]
        value = np.asarray(exact[node], float)
        size = float(np.max(np.abs(value)))
        single_value = np.asarray(rough[node], float)
        difference = np.abs(single_value - value)
        lost = float(np.max(difference))
        if not size or is_rounding(size, lost):
            found.add(word.name)
    return frozenset(found)


def nothing_masks(
    network: Network,
    function: str,
    operands: Mapping[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """The same by vector, as masks of their entries; entries that are no results at all are nothing."""
    names = nothing_but_rounding(network, function, operands)
    quantities = network.options.quantities
    masks: dict[str, np.ndarray] = {}
    for vector in network.options.returned(function):
        size = quantities[vector].size(network.robot)
        masks[vector] = np.ones(size, bool)
    for word in network.result_words(function):
        mask = masks[word.vector]
        mask[word.index] = word.name in names
        # one half of a symmetric matrix is handed out, and the mask is of both
        if quantities[word.vector].symmetric:
            mirrored = tuple(reversed(word.index))
            mask[mirrored] = word.name in names
    return masks
