"""Sites: the places of a graph at which an error is made, and what their errors may amount to.

Sites are the nodes' own roundings, what a product's two factors lose on their way into the multiplier, and what a
result loses on its way out. A dot rounds once, and has two factors for each of its products.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rbdgen.ir.graph import Graph

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class ErrorBounds:
    """Bounds of what errors amount to: ``derivatives`` (pairs, sites) of single results at single states, and the
    largest error that each pair may have, its ``limits`` (pairs,). ``squares`` are the derivatives', more or less where
    a site makes several errors of a task that have nothing to do with each other. Errors of sites are in ``units``
    (sites,), as large as they usually are, so that no magnitude of a robot is too small or too large for single
    precision.

    Most derivatives are zero: a result depends on its own branch. Sums go row by row, so that they are the same on
    every machine."""

    derivatives: csr_array
    squares: csr_array
    limits: np.ndarray
    units: np.ndarray

    def means(self, errors: np.ndarray) -> np.ndarray:
        """Mean errors of the pairs, in units of their limits, from those of sites (sites,)."""
        usual = errors / self.units
        return self.derivatives @ usual.astype(np.float32) / self.limits

    def variances(self, errors: np.ndarray) -> np.ndarray:
        """Variances of the pairs, in units of their limits' squares, from mean squares of errors (sites,)."""
        usual = errors / self.units**2
        return self.squares @ usual.astype(np.float32) / self.limits**2

    def weights(self, prices: np.ndarray) -> np.ndarray:
        """Cost of the square of an error at each site, where the variance of each pair has a price (pairs,)."""
        scaled = prices / self.limits**2
        return self.squares.T @ scaled.astype(np.float32) / self.units**2

    def largest(self, errors: np.ndarray) -> np.ndarray:
        """The largest variance (sites,) of any pair, in units of its limit's square, that each of some mean squares of
        errors (sites,) makes alone."""
        found = np.zeros_like(errors)
        # never dense: that would take gigabytes for a robot of many joints
        in_row = np.diff(self.squares.indptr)
        relative = self.squares.data / np.repeat(self.limits**2, in_row)
        np.maximum.at(found, self.squares.indices, relative)
        return found * (errors / self.units**2)

    def made_by(self, pair: int, squares: np.ndarray) -> np.ndarray:
        """Parts (sites,) of one pair's mean square that the mean ``squares`` of sites' errors make."""
        row = self.squares[[pair]].toarray()[0]
        return row * (squares / self.units**2)


@dataclass(frozen=True)
class Sites:
    """Numbers of the sites of a graph: of node i it is i, of its k-th factor (:attr:`rbdgen.ir.graph.Node.factors`)
    ``factors``[i] + k, of a result that may be cut ``results``[name]."""

    factors: dict[int, int]
    results: dict[str, int]
    count: int


def make_sites(graph: Graph, kept: frozenset[str]) -> Sites:
    """The sites of ``graph``; results named in ``kept`` leave as they are made."""
    number = len(graph.nodes)
    factors: dict[int, int] = {}
    for i, node in graph:
        if node.factors:
            factors[i] = number
            number += len(node.factors)
    results: dict[str, int] = {}
    for name, i in graph.outputs.items():
        # operands and constants leave as they came, whole
        made = not graph.nodes[i].is_given
        if made and name not in kept:
            results[name] = number
            number += 1
    return Sites(factors, results, number)


def describe_site(graph: Graph, sites: Sites, site: int) -> str:
    """A site in words: the operation and its submodule, or the result."""
    for i, first in sites.factors.items():
        if 0 <= site - first < len(graph.nodes[i].factors):
            return f"a factor of a product in {graph.nodes[i].owner} (%{i})"
    for name, number in sites.results.items():
        if number == site:
            return f"result {name}"
    node = graph.nodes[site]
    if node.is_input:
        return f"operand {node.attr}"
    for name, i in graph.outputs.items():
        if i == site:
            return f"result {name}"
    return f"a signal ({node.name}) of {node.owner} (%{site})"
