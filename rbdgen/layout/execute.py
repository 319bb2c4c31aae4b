"""How a task of each function runs through a network: in floating point, and bit by bit.

All functions but ``dfd`` go through one program, once. A task of ``dfd`` goes through both, or through the only one
twice, with results of the first pass as operands of the second. Operands that a function doesn't have are zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from rbdgen.ir.fixed import FixedGraph, Format
from rbdgen.ir.graph import Graph
from rbdgen.ir.interpret import evaluate_cone
from rbdgen.ir.machine import Machine
from rbdgen.layout.functions import ROLL_OUT
from rbdgen.layout.network import FEEDBACK, PREFIX, Network
from rbdgen.layout.rollout import AGAIN, BEGIN, SUM, WEIGHTS, weight_table

NEXT = "next_"
"""What stands before an operand's name in that of the result that feeds it and is no result otherwise."""


def feedback(network: Network) -> dict[str, str | None]:
    """For each operand of the second pass the result of the first that feeds it (None: it is always zero); empty where
    nothing is fed back."""
    produced = next((e.results for e in network.programs.exits if e.name == FEEDBACK), None)
    if produced is None:
        return {}
    links: dict[str, str | None] = {}
    second = network.exit("dfd").program
    for name, program in network.programs.operands.items():
        if program == second:
            plain = name.removeprefix(PREFIX[second])
            links[name] = next((r for r in (plain, NEXT + plain) if r in produced), None)
    return links


def with_own_feedback(network: Network) -> Network:
    """The network with results of their own for what ``dfd`` feeds back, so that they may have other formats than what
    leaves: an operand's name behind ``next_``, as of those that are only passed on."""
    graph, exits, outputs = network.graph, [], dict(network.graph.outputs)
    for e in network.programs.exits:
        if e.name == FEEDBACK:
            named = {r: r if r.startswith(NEXT) else NEXT + r for r in e.results}
            outputs |= {new: graph.outputs[r] for r, new in named.items()}
            e = replace(e, results=tuple(named.values()))
        exits.append(e)
    taken = {r for e in exits for r in e.results}
    graph = Graph(graph.nodes, {n: i for n, i in outputs.items() if n in taken})
    return replace(network, graph=graph, programs=replace(network.programs, exits=tuple(exits)))


def begin_words(network: Network) -> list[tuple[str, str]]:
    """For each operand that only Runge-Kutta has, the operand of the state that it begins with."""
    pairs = []
    for vector in ("q", "v"):
        for kind in (BEGIN, SUM):
            own = network.operands.get(vector + kind, ())
            pairs += [
                (w.name, state.name) for w, state in zip(own, network.operands[vector] if own else (), strict=True)
            ]
    return pairs


def entry_operands(network: Network, function: str, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The operands of the program that a task starts with, from the values (n,) of the function's own by word.

    Parameters are there where ``given`` has them.
    """
    program = network.entry(function)
    zero = np.zeros_like(next(iter(given.values())))
    names = [n for n, p in network.programs.operands.items() if p == program]
    parameters = {n: given[n] for n in network.programs.parameters if n in given}
    return {n: given.get(n.removeprefix(PREFIX[program]), zero) for n in names} | parameters


def float_passes(
    network: Network,
    graph: Graph,
    function: str,
    given: Mapping[str, np.ndarray],
    dtype: type[np.floating] = np.float64,
) -> tuple[dict[int, np.ndarray], ...]:
    """Values by node of all that a task of ``function`` computes in ``graph``, a graph of this network, in each of its
    passes, for operand values (n,) by word. The last pass has the results."""
    operands, way = entry_operands(network, function, given), network.way(function)
    results = way[-1].results
    if len(way) == 1:
        return (evaluate_cone(graph, operands, results, dtype),)
    links = feedback(network)
    values = evaluate_cone(graph, operands, [r for r in links.values() if r is not None], dtype)
    zero = np.zeros_like(next(iter(given.values())), dtype)
    second = {n: zero if r is None else np.broadcast_to(values[graph.outputs[r]], zero.shape) for n, r in links.items()}
    second |= {n: given[n] for n in network.programs.parameters}
    return values, evaluate_cone(graph, second, results, dtype)


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

    @cached_property
    def nominal(self) -> dict[str, int]:
        """Raw parameters by name, as they are after a reset."""
        return {p.word.name: int(self.format(p.word.name).quantise(p.nominal)) for p in self.network.parameters}

    def format(self, name: str) -> Format:
        """Format of an operand of the graph."""
        return self.fixed.formats[self.fixed.graph.inputs[name]]

    def moved(self, name: str, raw: np.ndarray, source: Format) -> tuple[np.ndarray, np.ndarray]:
        """Raw values of format ``source`` as the operand ``name`` takes them, and which of them saturate."""
        return self.format(name).convert(raw, source)

    def begin(self, operands: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Operands of a roll-out's first evaluation: Runge-Kutta's begin and sum are the state itself."""
        started = dict(operands)
        for name, state in begin_words(self.network):
            started[name] = self.moved(name, operands[state], self.format(state))[0]
        return started

    def roll_out(self, operands: dict[str, np.ndarray], steps: np.ndarray, results: Sequence[str]) -> Answer:
        """Answers to roll-outs of ``steps`` (n,) steps, from the operands of their first evaluation."""
        options, network, fixed = self.network.options, self.network, self.fixed
        table = weight_table(options.integrator, options.time_step)
        now = self.begin(operands)
        overflow = np.zeros(len(steps), bool)
        values = [np.zeros(len(steps), np.int64) for _ in results]
        again = next(e for e in network.programs.exits if e.name == AGAIN)
        left = np.maximum(steps, 1)
        while (left > 0).any():
            for number, weights in enumerate(table):
                last = number + 1 == len(table)
                for word, x in zip(network.operands.get(WEIGHTS, ()), weights, strict=False):
                    now[word.name] = np.full(len(steps), int(self.format(word.name).quantise(x)))
                done = np.flatnonzero(left == 1) if last else np.zeros(0, int)
                if len(done):
                    answer, flags = self.machine(results).run({n: x[done] for n, x in now.items()})
                    overflow[done] |= flags
                    for value, name in zip(values, results, strict=True):
                        value[done] = answer[name]
                going = np.flatnonzero(left > 1) if last else np.flatnonzero(left > 0)
                if not len(going):
                    continue
                answer, flags = self.machine(again.results).run({n: x[going] for n, x in now.items()})
                overflow[going] |= flags
                for name, carried in network.carried.items():
                    source = carried.behind if last else carried.within
                    raw, lost = self.moved(name, answer[source], fixed.formats[fixed.graph.outputs[source]])
                    now[name] = now[name].copy()
                    now[name][going] = raw
                    overflow[going] |= lost
            left = left - 1
        return Answer(values, overflow)

    def run(
        self, function: str, raw: Sequence[np.ndarray], parameters: Mapping[str, np.ndarray] | None = None
    ) -> Answer:
        """Answers to raw operands of one function, one (n,) array per operand word.

        ``parameters``: raw ones by name, (n,) each, as far as they are not as after a reset.
        """
        network, fixed = self.network, self.fixed
        words = network.operand_words(function)
        given = {w.name: np.asarray(x, np.int64) for w, x in zip(words, raw, strict=True)}
        count = len(next(iter(given.values())))
        held = {n: np.full(count, x) for n, x in self.nominal.items()} | dict(parameters or {})
        operands, results = entry_operands(network, function, given | held), network.exit(function).results
        overflow = np.zeros(count, bool)
        if len(network.way(function)) > 1:
            links = feedback(network)
            first, overflow = self.machine([r for r in links.values() if r is not None]).run(operands)
            operands = dict(held)
            for name, source in links.items():
                operands[name] = np.zeros(count, np.int64)
                if source is not None:
                    target, origin = fixed.graph.inputs[name], fixed.graph.outputs[source]
                    operands[name], lost = fixed.formats[target].convert(first[source], fixed.formats[origin])
                    overflow = overflow | lost
        if function == ROLL_OUT.name:
            return self.roll_out(operands, given["steps"], results)
        answer, flags = self.machine(results).run(operands)
        return Answer([answer[r] for r in results], overflow | flags)
