"""Makes a function of a robot a program: its graph, once through all passes, under names that C takes.

Hardware runs a task of a function with a first pass through a program twice; here both passes are one graph, in which
what they have in common is there once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from rbdgen.errors import UnsupportedError
from rbdgen.functions.quantities import WEIGHTS
from rbdgen.ir.builder import Builder
from rbdgen.ir.graph import Graph, MatrixProduct
from rbdgen.ir.programs import cone
from rbdgen.model.robot import Robot
from rbdgen.passes.constant_factors import absorb_negations, move_constants, move_shifts
from rbdgen.protocol.identifiers import FILES, sanitize
from rbdgen.software.cutting import Cut
from rbdgen.software.program import (
    Array,
    Program,
    operand_arrays,
    operand_places,
    parameter_places,
    record_of,
    result_arrays,
)
from rbdgen.tracing.building import build_network
from rbdgen.tracing.execute import begin_words, pass_sources
from rbdgen.tracing.network import PREFIX, Network
from rbdgen.tracing.trace_options import TraceOptions
from rbdgen.tracing.words import Word

OWN = frozenset(["rbd", "table"])
"""Words with which sources of all libraries begin names of their own."""
BESIDE = "_robot"
"""Behind the name of a robot that is called like one of them."""
_LOCAL = """
    block blocks call checks count first flags found here i k lane lanes lost most near number own_count positive rows
    singular slots stride
"""
LOCAL = frozenset(_LOCAL.split())
"""Names that the text of functions has for itself."""


def library_name(robot: str) -> str:
    """The name of the library of a robot of this name."""
    plain = sanitize([robot])[robot]
    # some file systems do not tell small letters from capital ones
    low = plain.lower()
    own = low in OWN or low.startswith("rbd_")
    return f"{plain}{BESIDE}" if own or low in FILES else plain


def check_names(function: str, arrays: Iterable[str]) -> None:
    """UnsupportedError for an operand or result of ``function`` that is called like what its text has for itself."""
    for name in arrays:
        if name in LOCAL:
            raise UnsupportedError(
                f"function {function!r}: {name!r} is a name that programs have for themselves; rename the quantity"
            )


STATES = 64
"""States at which it is found which operands are always zero."""


def software_network(robot: Robot, settings: TraceOptions, function: str) -> Network:
    """One function's network as processors take it."""
    # two programs have sums of their own for what both need
    own = replace(settings, functions=(function,), programs="one")
    network, _ = build_network(robot, own, count=STATES, software=True)
    return network


def make_program(robot: Robot, settings: TraceOptions, function: str) -> Program:
    """A function of ``robot`` as a program; of ``settings`` all but the functions counts. UnsupportedError and
    ConfigError as for hardware."""
    network = software_network(robot, settings, function)
    return _Composition(network, function).program()


class _Copy:
    """Nodes of a network's graph in the graph of a composition, for some operands."""

    def __init__(self, into: _Composition, operands: Mapping[str, int]) -> None:
        self.into = into
        self.operands = operands
        self.graph = into.network.graph
        self.made: dict[int, int] = {}
        self.products: dict[str, MatrixProduct] = {}
        for product in into.network.products:
            self.products |= dict.fromkeys(product.entries.values(), product)

    def make(self, results: Iterable[str]) -> None:
        """All that these results depend on."""
        for i in cone(self.graph, results):
            if i not in self.made:
                self._make(i)

    def _make(self, i: int) -> None:
        node = self.graph.nodes[i]
        if node.is_input and node.attr in self.products:
            product = self.products[node.attr]
            self.make([*product.left.values(), *product.right.values()])
            for name, made in self.into.place(product, self.made).items():
                self.made[self.graph.inputs[name]] = made
        elif node.is_input:
            self.made[i] = self.operands[node.attr]
        else:
            args = tuple(self.made[a] for a in node.args)
            builder = self.into.builder
            builder.owner = node.owner
            self.made[i] = builder.make(node.op, args, node.attr)


class _Composition:
    """Puts a function's passes into one graph, and cuts that where products stay whole."""

    def __init__(self, network: Network, function: str) -> None:
        self.network = network
        self.function = function
        self.record = record_of(network, function)
        self.builder = Builder()
        self.products: list[MatrixProduct] = []
        self.outputs: dict[str, int] = {}

    def program(self) -> Program:
        """The program."""
        network, function = self.network, self.function
        made = self._passes()
        repeat = self.record.repeat
        counted = repeat.count.name if repeat else None
        # C takes a number of steps as an integer, not in an array of operands
        operands = tuple(x for x in operand_arrays(network, function) if x.name != counted)
        results, written = result_arrays(network, function)
        self.outputs |= {name: made[name] for name in written.values()}
        reads = operand_places(network, function) | parameter_places(network)
        cut = Cut(self._graph(), self.products, reads, results, written)
        check_names(function, [x.name for x in (*operands, *results)])
        return Program(
            network.robot.name,
            self.record,
            operands,
            results,
            cut.local(),
            cut.steps(),
            counted,
            self._again(results) if repeat else (),
        )

    def _words(self) -> dict[str, Word]:
        """Operand words of the function and parameters, by name."""
        counted = self.record.repeat.count.name if self.record.repeat else None
        words = self.network.operand_words(self.function)
        found = {w.name: w for w in words if w.vector != counted}
        used = self.network.graph.inputs
        return found | {p.word.name: p.word for p in self.network.parameters if p.word.name in used}

    def _passes(self) -> dict[str, int]:
        """The nodes of the function's results, by name, of all passes one after the other."""
        network = self.network
        given = {name: self.builder.input(name) for name in self._words()}
        zero = self.builder.const(0.0)
        entry = network.entry(self.function)
        constant = {p: given[p] for p in network.programs.parameters if p in given}
        operands = dict(constant)
        for name, program in network.programs.operands.items():
            if program == entry:
                operands[name] = given.get(name.removeprefix(PREFIX[program]), zero)
        if self.record.repeat:
            operands |= {name: given[state] for name, state in begin_words(network)}
        sources_by_pass = pass_sources(network, network.graph, self.function)
        for number, sources in enumerate(sources_by_pass):
            operands |= self._weights(number)
            wanted = [source for source in sources.values() if source is not None]
            made = self._copied(dict.fromkeys(network.programs.operands, zero) | operands, wanted)
            # parameters are the same in all passes
            operands = dict(constant)
            for name, source in sources.items():
                operands[name] = zero if source is None else made[source]
        operands |= self._weights(len(sources_by_pass))
        results = network.exit(self.function).results
        return self._copied(dict.fromkeys(network.programs.operands, zero) | operands, results)

    def _weights(self, number: int) -> dict[str, int]:
        """The weights of an evaluation, which are constants here."""
        words = self.network.operands.get(WEIGHTS, ())
        if not self.record.repeat or not words:
            return {}
        values = self.network.options.weights[number]
        return {w.name: self.builder.const(x) for w, x in zip(words, values, strict=True)}

    def _copied(self, operands: Mapping[str, int], results: Iterable[str]) -> dict[str, int]:
        """The nodes of ``results`` for these operands of the network's graph."""
        graph = self.network.graph
        copy = _Copy(self, operands)
        copy.make(results)
        return {name: copy.made[graph.outputs[name]] for name in results}

    def place(self, product: MatrixProduct, made: Mapping[int, int]) -> Mapping[str, int]:
        """A product of the network's graph in this one: its entries' nodes, by their names there."""
        number = len(self.products)
        sides = []
        for side, entries in (("left", product.left), ("right", product.right)):
            names = {(i, j): f"{side}{number}_{i}_{j}" for i, j in entries}
            for index, name in names.items():
                self.outputs[name] = made[self.network.graph.outputs[entries[index]]]
            sides.append(names)
        entries = {(i, j): f"product{number}_{i}_{j}" for i, j in product.entries}
        self.products.append(MatrixProduct(sides[0], sides[1], entries))
        found = {}
        for index, name in entries.items():
            found[product.entries[index]] = self.builder.input(name)
        return found

    def _graph(self) -> Graph:
        """The graph with as few operations as passes leave."""
        graph = self.builder.graph(self.outputs)
        return absorb_negations(move_shifts(move_constants(graph)))

    def _again(self, results: tuple[Array, ...]) -> tuple[str, ...]:
        """The operands that the results of a step of time are."""
        vectors = {}
        for name, carried in self.network.carried.items():
            for array in results:
                words = {w.name for w in self.network.results[array.name]}
                plain = self._words().get(name)
                if plain is not None and carried.behind in words:
                    vectors[array.name] = plain.vector
        return tuple(vectors[array.name] for array in results)
