"""Runs of each function's tasks through a network: in floating point, and bit by bit.

Most functions go through one program, once. A task of one with a first pass goes through both programs, or through
the only one twice, with results of the first pass as operands of the second. Operands that a function doesn't have are
zero."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from rbdgen.functions.quantities import BEGIN, SUM, WEIGHTS
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.graph import Graph
from rbdgen.ir.interpret import evaluate_cone
from rbdgen.ir.machine import Machine
from rbdgen.ir.number_formats import Format
from rbdgen.tracing.network import AGAIN, FEEDBACK, PREFIX, Network

GivenValues = Mapping[str, np.ndarray]
"""Values of operands and parameters by name, one (n,) array each."""
Values = dict[str, np.ndarray]
"""The same, to be added to."""
NEXT = "next_"
"""Prefix to an operand's name in that of the result that feeds it and is no result otherwise."""


def feedback(network: Network) -> dict[str, str | None]:
    """For each operand of the second pass the result of the first that feeds it (None: it is always zero); empty where
    nothing is fed back."""
    exits = {e.name: e for e in network.programs.exits}
    if FEEDBACK not in exits:
        return {}
    produced = exits[FEEDBACK].results
    sources: dict[str, str | None] = {}
    second = network.second_program
    for name, program in network.programs.operands.items():
        if program == second:
            prefix = PREFIX[program]
            plain = name.removeprefix(prefix)
            sources[name] = None
            # results such as a and M⁻¹ have their operand's name, what is only passed on has the prefix
            for source in (plain, NEXT + plain):
                if source in produced:
                    sources[name] = source
                    break
    return sources


def handed_on(network: Network) -> list[tuple[str, str]]:
    """Operands of later passes, and of later evaluations of a function that repeats, each beside the result or the
    operand that it is."""
    found = [(name, source) for name, source in feedback(network).items() if source is not None]
    for name, carried in network.carried.items():
        found += [(name, carried.within), (name, carried.behind)]
    return [*found, *begin_words(network)]


def with_own_feedback(network: Network) -> Network:
    """The network with results of their own for what is fed back, so that they may have other formats than what
    leaves: an operand's name behind ``next_``, as of those that are only passed on."""
    graph = network.graph
    exits = []
    outputs = dict(graph.outputs)
    for e in network.programs.exits:
        if e.name == FEEDBACK:
            named = {}
            for result in e.results:
                own = result
                if not result.startswith(NEXT):
                    own = NEXT + result
                named[own] = graph.outputs[result]
            outputs |= named
            e = replace(e, results=tuple(named))
        exits.append(e)
    taken: set[str] = set()
    for e in exits:
        taken.update(e.results)
    kept = {name: i for name, i in outputs.items() if name in taken}
    graph = Graph(graph.nodes, kept)
    programs = replace(network.programs, exits=tuple(exits))
    return replace(network, graph=graph, programs=programs)


def begin_words(network: Network) -> list[tuple[str, str]]:
    """For each operand that only Runge-Kutta has, the operand of the state that it begins with."""
    pairs = []
    for vector in ("q", "v"):
        for kind in (BEGIN, SUM):
            own = network.operands.get(vector + kind)
            if not own:
                continue
            states = network.operands[vector]
            for word, state in zip(own, states, strict=True):
                pairs.append((word.name, state.name))
    return pairs


def begin_operands(network: Network, function: str) -> list[tuple[str, str]]:
    """For each operand of a first evaluation that a task does not bring, the operand that it is a copy of."""
    return begin_words(network) if function == network.repeated_name else []


def entry_operands(network: Network, function: str, given: GivenValues) -> Values:
    """The operands of the program that a task starts with, from the values (n,) of the function's own by word.

    Parameters are there where ``given`` has them.
    """
    program = network.entry(function)
    first = next(iter(given.values()))
    zero = np.zeros_like(first)
    operands: Values = {}
    for name, taken_by in network.programs.operands.items():
        if taken_by == program:
            plain = name.removeprefix(PREFIX[program])
            operands[name] = given.get(plain, zero)
    return operands | _given_parameters(network, given)


def _given_parameters(network: Network, given: GivenValues) -> Values:
    """The values of the parameters that are among those given."""
    values: Values = {}
    for name in network.programs.parameters:
        if name in given:
            values[name] = given[name]
    return values


def float_passes(
    network: Network,
    graph: Graph,
    function: str,
    given: GivenValues,
    dtype: type[np.floating] = np.float64,
    kept: Container[int] | None = None,
) -> tuple[dict[int, np.ndarray], ...]:
    """Values by node of all that a task of ``function`` computes in ``graph``, a graph of this network, in each of its
    passes (:func:`pass_sources`), for operand values (n,) by word. The last pass has the results. What is handed to a
    pass is among its values, even where nothing in it needs that. ``kept``: only these nodes and the results are."""
    first = next(iter(given.values()))
    zero = np.zeros_like(first, dtype)
    constant = _given_parameters(network, given)
    operands = entry_operands(network, function, given)
    operands |= _begin_values(network, function, given)
    sources_by_pass = pass_sources(network, graph, function)
    found = []
    handed: dict[int, np.ndarray] = {}
    for number, sources in enumerate(sources_by_pass):
        operands |= _weight_values(network, function, number, zero)
        # what a function does not have is zero in all of its passes
        operands = dict.fromkeys(network.programs.operands, zero) | operands
        wanted = [r for r in sources.values() if r is not None]
        values = handed | evaluate_cone(graph, operands, wanted, dtype, kept)
        found.append(values)
        # parameters hold for all passes, operands for one
        operands = dict(constant)
        handed = {}
        for name, source in sources.items():
            taken = zero
            if source is not None:
                node = graph.outputs[source]
                taken = values[node]
            operands[name] = handed[graph.inputs[name]] = np.broadcast_to(taken, zero.shape)
    operands |= _weight_values(network, function, len(sources_by_pass), zero)
    operands = dict.fromkeys(network.programs.operands, zero) | operands
    results = network.exit(function).results
    found.append(handed | evaluate_cone(graph, operands, results, dtype, kept))
    return tuple(found)


def pass_sources(
    network: Network, graph: Graph, function: str
) -> tuple[dict[str, str | None], ...]:
    """For each pass of a task of ``function`` after its first, the results of the pass before that its operands come
    from (None: zero). Of a function that repeats these are the evaluations of a task of one step."""
    if len(network.passes(function)) > 1:
        return (feedback(network),)
    if function != network.repeated_name:
        return ()
    sources: dict[str, str | None] = {}
    for name, carried in network.carried.items():
        source = carried.within
        # a result that is always zero may have been pruned
        sources[name] = source if source in graph.outputs else None
    further = len(network.options.weights) - 1
    return (sources,) * further


def _begin_values(network: Network, function: str, given: GivenValues) -> Values:
    """Operands of the first evaluation of a step that are the state itself."""
    values: Values = {}
    for name, state in begin_operands(network, function):
        values[name] = given[state]
    return values


def _weight_values(network: Network, function: str, number: int, like: np.ndarray) -> Values:
    """The weights of an evaluation, as operands."""
    if function != network.repeated_name:
        return {}
    words = network.operands.get(WEIGHTS, ())
    weights = network.options.weights[number]
    values = {}
    # a step of a single evaluation has no weights among its operands
    for word, weight in zip(words, weights, strict=False):
        values[word.name] = np.full_like(like, weight)
    return values


@dataclass(frozen=True)
class Answer:
    """The bit-true model's answer to n tasks: raw ``values``, one (n,) array per result word, ``overflow`` (n,)."""

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
        key = tuple(results)
        machine = self.machines.get(key)
        if machine is None:
            machine = Machine(self.fixed, results)
            self.machines[key] = machine
        return machine

    @cached_property
    def nominal(self) -> dict[str, int]:
        """Raw parameters by name, as they are after a reset."""
        raw = {}
        for p in self.network.parameters:
            fmt = self.format(p.word.name)
            raw[p.word.name] = int(fmt.quantise(p.nominal))
        return raw

    def format(self, name: str) -> Format:
        """Format of an operand of the graph."""
        node = self.fixed.graph.inputs[name]
        return self.fixed.formats[node]

    def moved(self, name: str, raw: np.ndarray, source: Format) -> tuple[np.ndarray, np.ndarray]:
        """Raw values of format ``source`` as the operand ``name`` takes them, and which of them saturate."""
        return self.format(name).convert(raw, source)

    def begin(self, operands: Values) -> Values:
        """Operands of a roll-out's first evaluation: Runge-Kutta's begin and sum are the state itself."""
        started = dict(operands)
        for name, state in begin_words(self.network):
            origin = self.format(state)
            raw, _ = self.moved(name, operands[state], origin)
            started[name] = raw
        return started

    def roll_out(self, operands: Values, steps: np.ndarray, results: Sequence[str]) -> Answer:
        """Answers to roll-outs of ``steps`` (n,) steps, from the operands of their first evaluation."""
        evaluations = len(self.network.options.weights)
        now = self.begin(operands)
        count = len(steps)
        values = [np.zeros(count, np.int64) for _ in results]
        answer = Answer(values, np.zeros(count, bool))
        # hardware counts a number below 1 as 1, and flags it by its range
        left = np.maximum(steps, 1)
        while (left > 0).any():
            for number in range(evaluations):
                last = number + 1 == evaluations
                now |= self._weights(number, count)
                going = np.flatnonzero(left > 0)
                if last:
                    done = np.flatnonzero(left == 1)
                    self._finish(now, done, results, answer)
                    going = np.flatnonzero(left > 1)
                self._evaluate(now, going, last, answer)
            left = left - 1
        return answer

    def _weights(self, number: int, count: int) -> Values:
        """The raw weights of an evaluation, as operands of ``count`` tasks."""
        words = self.network.operands.get(WEIGHTS, ())
        weights = self.network.options.weights[number]
        raw = {}
        for word, weight in zip(words, weights, strict=False):
            fmt = self.format(word.name)
            value = int(fmt.quantise(weight))
            raw[word.name] = np.full(count, value)
        return raw

    def _finish(self, now: Values, done: np.ndarray, results: Sequence[str], into: Answer) -> None:
        """Put the results of the roll-outs numbered ``done``, at their last evaluation, into an answer."""
        if not len(done):
            return
        operands = {name: x[done] for name, x in now.items()}
        found, flags = self.machine(results).run(operands)
        # a flag that any evaluation raised stays with its task
        into.overflow[done] |= flags
        for value, name in zip(into.values, results, strict=True):
            value[done] = found[name]

    def _evaluate(self, now: Values, going: np.ndarray, last: bool, into: Answer) -> None:
        """Take the roll-outs numbered ``going`` through one evaluation, the ``last`` of its step or not.

        ``now`` becomes the operands of their next; their overflows are put into the answer.
        """
        if not len(going):
            return
        graph = self.fixed.graph
        operands = {name: x[going] for name, x in now.items()}
        results = self.network.exit(AGAIN).results
        found, flags = self.machine(results).run(operands)
        into.overflow[going] |= flags
        for name, carried in self.network.carried.items():
            source = carried.behind if last else carried.within
            node = graph.outputs[source]
            origin = self.fixed.formats[node]
            raw, lost = self.moved(name, found[source], origin)
            # the arrays that came in are the caller's
            now[name] = now[name].copy()
            now[name][going] = raw
            into.overflow[going] |= lost

    def run(
        self,
        function: str,
        raw: Sequence[np.ndarray],
        parameters: GivenValues | None = None,
    ) -> Answer:
        """Answers to raw operands of one function, one (n,) array per operand word.

        ``parameters``: raw ones by name, (n,) each, as far as they are not as after a reset.
        """
        network = self.network
        words = network.operand_words(function)
        given: Values = {}
        for word, x in zip(words, raw, strict=True):
            given[word.name] = np.asarray(x, np.int64)
        count = len(next(iter(given.values())))
        held: Values = {}
        for name, x in self.nominal.items():
            held[name] = np.full(count, x)
        held |= dict(parameters or {})
        operands = entry_operands(network, function, given | held)
        results = network.exit(function).results
        overflow = np.zeros(count, bool)
        if len(network.passes(function)) > 1:
            operands, overflow = self._second_operands(operands, count)
            # operands of the second pass come from the first one's results, parameters from none
            operands = held | operands
        repeated = network.repeated
        if repeated and repeated.repeat and function == repeated.name:
            steps = given[repeated.repeat.count.name]
            return self.roll_out(operands, steps, results)
        answer, flags = self.machine(results).run(operands)
        values = [answer[result] for result in results]
        return Answer(values, overflow | flags)

    def _second_operands(self, operands: Values, count: int) -> tuple[Values, np.ndarray]:
        """Operands of the second pass of ``count`` tasks from those of the first, and which tasks overflow (n,)."""
        outputs = self.fixed.graph.outputs
        sources = feedback(self.network)
        results = [source for source in sources.values() if source is not None]
        first, overflow = self.machine(results).run(operands)
        second: Values = {}
        for name, source in sources.items():
            if source is None:
                second[name] = np.zeros(count, np.int64)
                continue
            node = outputs[source]
            origin = self.fixed.formats[node]
            second[name], lost = self.moved(name, first[source], origin)
            overflow = overflow | lost
        return second, overflow
