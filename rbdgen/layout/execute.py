"""How a task of each function runs through a network: in floating point, and bit by bit.

All functions but ``dfd`` go through one program. A task of ``dfd`` goes through both, with results of the first as
operands of the second. Operands that a function doesn't have are zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.graph import Graph
from rbdgen.ir.interpret import evaluate_cone
from rbdgen.ir.machine import Machine
from rbdgen.layout.network import FEEDBACK, GRADIENT, PREFIX, Network


def feedback(network: Network) -> dict[str, str | None]:
    """For each operand of the second program the result of the first that feeds it (None: it is always zero); empty
    where nothing is fed back."""
    produced = next((e.results for e in network.programs.exits if e.name == FEEDBACK), None)
    if produced is None:
        return {}
    links: dict[str, str | None] = {}
    for name, program in network.programs.operands.items():
        if program == GRADIENT:
            plain = name.removeprefix(PREFIX[GRADIENT])
            links[name] = next((r for r in (plain, f"next_{plain}") if r in produced), None)
    return links


def entry_operands(network: Network, function: str, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The operands of the program that a task starts with, from the values (n,) of the function's own by word."""
    program = network.entry(function)
    zero = np.zeros_like(next(iter(given.values())))
    names = [n for n, p in network.programs.operands.items() if p == program]
    return {n: given.get(n.removeprefix(PREFIX[program]), zero) for n in names}


def float_values(
    network: Network,
    graph: Graph,
    function: str,
    given: Mapping[str, np.ndarray],
    dtype: type[np.floating] = np.float64,
) -> dict[int, np.ndarray]:
    """Values by node of all that a task of ``function`` computes in ``graph``, a graph of this network, for operand
    values (n,) by word."""
    operands, results = entry_operands(network, function, given), network.exit(function).results
    if function != "dfd":
        return evaluate_cone(graph, operands, results, dtype)
    links = feedback(network)
    values = evaluate_cone(graph, operands, [r for r in links.values() if r is not None], dtype)
    zero = np.zeros_like(next(iter(given.values())), dtype)
    second = {n: zero if r is None else np.broadcast_to(values[graph.outputs[r]], zero.shape) for n, r in links.items()}
    return values | evaluate_cone(graph, second, results, dtype)


@dataclass(frozen=True)
class Answer:
    """What the bit-true model answers to n tasks: raw ``values``, one (n,) array per result word, ``overflow`` (n,)."""

    values: list[np.ndarray]
    overflow: np.ndarray


@dataclass(frozen=True)
class BitTrueModel:
    """The bit-true model of all functions of a network in the formats of ``fixed``."""

    network: Network
    fixed: FixedGraph
    machines: dict[tuple[str, ...], Machine] = field(default_factory=dict, repr=False)

    def machine(self, results: Sequence[str]) -> Machine:
        """The model of these results; made once."""
        return self.machines.setdefault(tuple(results), Machine(self.fixed, results))

    def run(self, function: str, raw: Sequence[np.ndarray]) -> Answer:
        """Answers to raw operands of one function, one (n,) array per operand word."""
        network, fixed = self.network, self.fixed
        words = network.operand_words(function)
        given = {w.name: np.asarray(x, np.int64) for w, x in zip(words, raw, strict=True)}
        operands, results = entry_operands(network, function, given), network.exit(function).results
        count = len(next(iter(given.values())))
        overflow = np.zeros(count, bool)
        if function == "dfd":
            links = feedback(network)
            first, overflow = self.machine([r for r in links.values() if r is not None]).run(operands)
            operands = {}
            for name, source in links.items():
                operands[name] = np.zeros(count, np.int64)
                if source is not None:
                    target, origin = fixed.graph.inputs[name], fixed.graph.outputs[source]
                    operands[name], lost = fixed.formats[target].convert(first[source], fixed.formats[origin])
                    overflow = overflow | lost
        answer, flags = self.machine(results).run(operands)
        return Answer([answer[r] for r in results], overflow | flags)
