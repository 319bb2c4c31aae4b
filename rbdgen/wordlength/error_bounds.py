"""The bounds of a search: where errors of results are largest, how sites reach them, and how large they may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import scipy  # its sparse matrices are imported when first used: a quarter of the time that importing rbdgen takes

from rbdgen.passes.noise import thinned
from rbdgen.passes.pipeline import Simplified
from rbdgen.tracing.execute import float_passes
from rbdgen.wordlength.experiment import Experiment, VectorErrors
from rbdgen.wordlength.request import FormatRequest
from rbdgen.wordlength.sensitivity import FactorDerivatives, Pairs, derivatives, one_result_each
from rbdgen.wordlength.sites import ErrorBounds, Sites
from rbdgen.wordlength.targets import Key

AIM = 0.6
"""Share of the target that the largest error is to take where word lengths are chosen."""
SCOUTS = 512
"""States among which the most sensitive are looked for."""
SENSITIVE, ORDINARY = 20, 8
"""States of each vector at which derivatives of all its entries are taken: the most sensitive, and others."""
PAIRS = 96
"""Pairs of an entry and a state that bound each vector's error; at least one for each entry."""
TOGETHER = 256
"""Pairs whose derivatives are found in one sweep: the arrays that it fills have room for zeros."""
STEEPEST = 1e15
"""Times its usual error by which a site's may move a result, in units of what is allowed: beyond, no format helps, and
squares would be too large for single precision."""
FOUND = 12
"""Pairs that each measurement adds for a vector that misses its target: those with the largest errors."""
UNFORESEEN = 10.0
"""Errors of so many targets went across bends of |x|: beyond both ends of a range derivatives are zero, and let an
operand have no bits that would show where it is."""

EntryAtState = tuple[str, int]
"""A result's name and the number of a state."""
Allowed = Mapping[str, np.ndarray]
"""Errors that results may have at some states (n,), by name."""
Passes = Sequence[Mapping[int, np.ndarray]]
"""Values by node of each pass of a task."""


class BoundFinder:
    """Collects the bounds of a search: derivatives at pairs of an entry and a state, the error that each may make, and
    each pair's vector (``keys``)."""

    def __init__(
        self,
        request: FormatRequest,
        simplified: Simplified,
        sites: Sites,
        experiment: Experiment,
    ) -> None:
        self.graph = simplified.graph
        self.network = request.network.pruned(self.graph)
        self.sites = sites
        self.experiment = experiment
        self.usual = np.array([f.resolution for f in simplified.choice.formats])
        self.units = self._units()
        # a robot whose results are all zero has no rows
        none = scipy.sparse.csr_array((0, sites.count), dtype=np.float32)
        self.derivatives, self.squares = [none], [none]
        self.limits: list[float] = []
        self.keys: list[Key] = []

    def start(self) -> None:
        """Bound every vector at its most sensitive entries and states."""
        for function in self.network.functions:
            operands = self.experiment.operands[function]
            first = next(iter(operands.values()))
            total = len(first)
            scouts = thinned(total, SCOUTS)
            values = self._values(function, scouts)
            for key in self.experiment.vectors(function):
                names = self._names(key[1])
                if not names:
                    continue
                allowed = self._allowed(function, names, scouts)
                states = self._sensitive_states(function, values, allowed)
                pairs = self._sensitive_pairs(function, values, states, allowed)
                self._add(key, pairs, values, allowed)

    def learn(self, errors: Mapping[Key, VectorErrors]) -> None:
        """Bound the entries and states at which the largest errors were measured."""
        for key, measured in errors.items():
            if measured.worst <= AIM:
                continue
            function, vector = key
            known = self._names(vector)
            states: list[int] = []
            pairs: list[EntryAtState] = []
            for name, state in measured.where:
                if name in known and len(pairs) < FOUND:
                    pairs.append((name, len(states)))
                    states.append(state)
            if pairs:
                there = np.array(states)
                values = self._values(function, there)
                if measured.worst > UNFORESEEN:
                    values = self._bent(values, len(there))
                allowed = self._allowed(function, known, there)
                self._add(key, pairs, values, allowed)

    def _bent(self, values: Passes, count: int) -> Passes:
        """The values at ``count`` states with any signs for what is under |x|, the same ones in all passes."""
        # a fixed seed: the same request finds the same formats
        rng = np.random.default_rng(0)
        under = [node.args[0] for _, node in self.graph if node.operation.is_bent]
        signs = {a: rng.choice([-1.0, 1.0], count) for a in under}
        found = []
        for own in values:
            bent = {a: np.abs(own[a]) * sign for a, sign in signs.items() if a in own}
            found.append({**own, **bent})
        return found

    def bounds(self, share: Mapping[Key, float]) -> ErrorBounds:
        """The bounds, with a ``share`` of the target for each vector."""
        shares = np.array([share[key] for key in self.keys])
        limits = np.array(self.limits) * shares
        derivatives = scipy.sparse.csr_array(scipy.sparse.vstack(self.derivatives))
        squares = scipy.sparse.csr_array(scipy.sparse.vstack(self.squares))
        # the rows are there once
        self.derivatives, self.squares = [derivatives], [squares]
        return ErrorBounds(derivatives, squares, limits, self.units)

    def _units(self) -> np.ndarray:
        """By site, how large an error usually is there."""
        units = np.ones(self.sites.count)
        units[: len(self.usual)] = self.usual
        for i, first in self.sites.factors.items():
            factors = list(self.graph.nodes[i].factors)
            units[first : first + len(factors)] = self.usual[factors]
        for name, site in self.sites.results.items():
            units[site] = self.usual[self.graph.outputs[name]]
        return units

    def _names(self, vector: str) -> list[str]:
        """The results of a vector that the graph has."""
        return [word.name for word in self.network.results[vector]]

    def _allowed(self, function: str, names: list[str], states: np.ndarray) -> Allowed:
        """The errors that results may have at some of the experiment's states."""
        return {name: self.experiment.allowed[function, name][states] for name in names}

    def _values(self, function: str, states: np.ndarray) -> Passes:
        """All nodes' values at some of the experiment's states, by pass."""
        operands = self.experiment.operands[function]
        given = {name: x[states] for name, x in operands.items()}
        return float_passes(self.network, self.graph, function, given)

    def _add(
        self, key: Key, pairs: Sequence[EntryAtState], values: Passes, allowed: Allowed
    ) -> None:
        """Bound the errors of one vector at ``pairs`` of an entry and a number of a state of ``values`` by what is
        ``allowed`` there."""
        same = self._same(values)
        limits = np.array([allowed[name][state] for name, state in pairs])
        # powers of two round nothing, and keep tiny robots' squares in single precision's range
        mantissas, exponents = np.frexp(limits)
        scales = np.ldexp(1.0, -exponents)
        for start in range(0, len(pairs), TOGETHER):
            here = slice(start, start + TOGETHER)
            self._add_rows(key[0], pairs[here], values, same, scales[here])
        self.limits += mantissas.tolist()
        self.keys += [key] * len(pairs)

    def _add_rows(
        self,
        function: str,
        pairs: Sequence[EntryAtState],
        values: Passes,
        same: np.ndarray,
        scales: np.ndarray,
    ) -> None:
        """Find the derivatives of ``pairs``, times their ``scales``; by site, whether what is rounded there is the
        ``same`` in all passes."""
        by_pass = self._derivatives(function, pairs, values, scales)
        matrix = np.sum(by_pass, axis=0)
        # a site that several passes go through makes an error in each of them: the same one where the signal is the
        # same, else one that has nothing to do with the other
        apart = np.sum(by_pass**2, axis=0)
        squares = np.where(same, matrix**2, apart)
        # the sweep ends at nodes: the cut of a result on its way out shows in that result alone
        for k, (name, _) in enumerate(pairs):
            site = self.sites.results.get(name)
            if site is not None:
                own = scales[k] * self.units[site]
                matrix[k, site] = own
                squares[k, site] = own**2
        self.derivatives.append(scipy.sparse.csr_array(matrix))
        self.squares.append(scipy.sparse.csr_array(squares))

    def _derivatives(
        self,
        function: str,
        pairs: Sequence[EntryAtState],
        values: Passes,
        scales: np.ndarray,
    ) -> np.ndarray:
        """Derivatives of ``pairs``, times their ``scales``, with respect to every site in its unit, (passes, pairs,
        sites)."""
        shape = len(values), len(pairs), self.sites.count
        matrices = np.zeros(shape, np.float32)

        def visit(number: int, i: int, here: np.ndarray, factors: FactorDerivatives) -> None:
            matrices[number, :, i] = here * scales * self.units[i]
            first = self.sites.factors.get(i, 0)
            for site, factor in enumerate(factors, first):
                matrices[number, :, site] += factor * scales * self.units[site]

        results = one_result_each(pairs)
        derivatives(self.network, self.graph, function, values, results, visit)
        return np.clip(matrices, -STEEPEST, STEEPEST)

    def _same(self, values: Passes) -> np.ndarray:
        """By site, whether what is rounded there is the same in all passes."""
        same = np.ones(self.sites.count, bool)
        first, *others = values
        common = set(first).intersection(*others)
        for i in common:
            same[i] = all(np.array_equal(other[i], first[i]) for other in others)
        for i, first_site in self.sites.factors.items():
            for site, source in enumerate(self.graph.nodes[i].factors, first_site):
                same[site] = same[source]
        return same

    def _spread(self, function: str, values: Passes, pairs: Pairs) -> np.ndarray:
        """Variance (pairs,) of results where every node's error is its usual one."""
        total = np.zeros(len(pairs.states))

        def visit(number: int, i: int, here: np.ndarray, factors: FactorDerivatives) -> None:
            error = here * self.usual[i]
            np.add(total, error**2, out=total)

        derivatives(self.network, self.graph, function, values, pairs, visit)
        return total

    def _sensitive_states(self, function: str, values: Passes, allowed: Allowed) -> list[int]:
        """The states at which a vector's errors are expected to be largest beside what is ``allowed``, then some
        others.

        The sum over entries of their variances, by the trick of random signs (Hutchinson).
        """
        count = len(next(iter(allowed.values())))
        # a fixed seed: the same request finds the same formats
        rng = np.random.default_rng(0)
        signs = rng.choice([-1.0, 1.0], (len(allowed), count))
        weights = {}
        for (name, most), own in zip(allowed.items(), signs, strict=True):
            weights[name] = own / most
        pairs = Pairs(weights, np.arange(count))
        spread = self._spread(function, values, pairs)
        order = np.argsort(-spread, kind="stable")
        stride = max(1, count // ORDINARY)
        chosen = np.concatenate([order[:SENSITIVE], order[SENSITIVE::stride]])
        return chosen.tolist()

    def _sensitive_pairs(
        self, function: str, values: Passes, states: list[int], allowed: Allowed
    ) -> list[EntryAtState]:
        """The entries and states with the largest expected errors beside what is ``allowed``."""
        grid = [(name, state) for name in allowed for state in states]
        own = np.array([allowed[name][state] for name, state in grid])
        spread = self._spread(function, values, one_result_each(grid)) / own**2
        # each entry has a share, lest the most sensitive one take all pairs
        most = -(-PAIRS // len(allowed))
        taken = dict.fromkeys(allowed, 0)
        chosen = []
        for k in np.argsort(-spread, kind="stable"):
            name = grid[k][0]
            if taken[name] < most:
                taken[name] += 1
                chosen.append(grid[k])
        return chosen
