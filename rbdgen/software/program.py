"""One function of a robot as a program for a processor: its graph, once through all passes, between arrays.

Hardware runs a task of a function with a first pass through a program twice; here both passes are one graph, in which
what they have in common is there once. Products of large matrices stay whole, and cut the graph: a program is a list of
steps, straight graphs and such products, that read and write arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from rbdgen.functions.quantities import WEIGHTS
from rbdgen.functions.record import Function
from rbdgen.ir.builder import Builder
from rbdgen.ir.graph import Graph
from rbdgen.ir.products import MatrixProduct
from rbdgen.ir.programs import cone
from rbdgen.layout.building import build_network
from rbdgen.layout.calibration import PARAMETERS
from rbdgen.layout.execute import begin_words, pass_sources
from rbdgen.layout.network import PREFIX, Network
from rbdgen.layout.words import TraceOptions, Word
from rbdgen.model.robot import Robot
from rbdgen.passes.constant_motion import move_constants
from rbdgen.passes.negations import absorb_negations
from rbdgen.software.naming import check_names

STATES = 64
"""States at which it is found which operands are always zero."""
ANYWHERE = ("input", "const")
"""What every step and every block of one has for itself."""
Place = tuple[str, int]
"""An array's name, and the number of an entry in C order."""


@dataclass(frozen=True)
class Array:
    """An array of a program, by its ``name``: the ``shape`` for one state, and what it is."""

    name: str
    shape: tuple[int, ...]
    text: str = ""

    @property
    def size(self) -> int:
        """Entries of one state."""
        return prod(self.shape)


@dataclass(frozen=True)
class Straight:
    """A graph whose inputs are entries of arrays, by name in ``reads``, and whose nodes are ``writes``: to these
    places."""

    graph: Graph
    reads: Mapping[str, Place]
    writes: tuple[tuple[Place, int], ...]


@dataclass(frozen=True)
class Whole:
    """``result`` = −``left`` · ``right``: names of arrays that are matrices; all but ``entries`` of the right are 0."""

    result: str
    left: str
    right: str
    entries: frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Program:
    """A ``function`` of a robot called ``robot``.

    ``operands`` and ``results`` are those of the golden function of that record; ``local`` are arrays between
    ``steps``. ``repeat``: of a function that repeats, the name of the count; the steps are then one step of time, whose
    results are the operands ``again``, in this order. Entries of results that no step writes are zero.
    """

    robot: str
    function: Function
    operands: tuple[Array, ...]
    results: tuple[Array, ...]
    local: tuple[Array, ...]
    steps: tuple[Straight | Whole, ...]
    repeat: str | None = None
    again: tuple[str, ...] = ()

    @property
    def arrays(self) -> dict[str, Array]:
        """All arrays by name."""
        return {x.name: x for x in (*self.operands, *self.results, *self.local)}

    def statements(self) -> int:
        """Operations of all straight steps."""
        return sum(len(s.graph.nodes) for s in self.steps if isinstance(s, Straight))


def software_network(robot: Robot, settings: TraceOptions, function: str) -> Network:
    """One function's network as processors take it."""
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
        if node.op == "input" and node.attr in self.products:
            product = self.products[node.attr]
            self.make([*product.left.values(), *product.right.values()])
            for name, made in self.into.place(product, self.made).items():
                self.made[self.graph.inputs[name]] = made
        elif node.op == "input":
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
        self.record = next(f for f in network.options.records if f.name == function)
        self.builder = Builder()
        self.products: list[MatrixProduct] = []
        self.outputs: dict[str, int] = {}

    def program(self) -> Program:
        """The program."""
        made = self._passes()
        repeat = self.record.repeat
        operands = self._operand_arrays()
        results, written = self._results(made)
        graph = self._graph(written)
        cut = _Cut(graph, self.products, self._reads(operands), written)
        check_names(self.function, [x.name for x in (*operands, *results)])
        return Program(
            self.network.robot.name,
            self.record,
            operands,
            results,
            cut.local(),
            cut.steps(),
            repeat.count.name if repeat else None,
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

    def _operand_arrays(self) -> tuple[Array, ...]:
        """The operands that a caller gives, in their order."""
        counted = self.record.repeat.count.name if self.record.repeat else None
        quantities = self.network.options.quantities
        arrays = []
        for name in self.network.options.operand_vectors(self.function):
            if name != counted:
                quantity = quantities[name]
                arrays.append(Array(name, quantity.size(self.network.robot), quantity.text))
        if self.network.parameters:
            size = len(self.network.parameters)
            arrays.append(Array(PARAMETERS, (size,), "inertial parameters"))
        return tuple(arrays)

    def _reads(self, operands: tuple[Array, ...]) -> dict[str, Place]:
        """Where operand words are."""
        shapes = {x.name: x.shape for x in operands}
        numbers = {p.word.name: k for k, p in enumerate(self.network.parameters)}
        places = {}
        for name, word in self._words().items():
            if word.vector == PARAMETERS:
                places[name] = PARAMETERS, numbers[name]
            else:
                places[name] = word.vector, flat(word.index, shapes[word.vector])
        return places

    def _results(self, made: Mapping[str, int]) -> tuple[tuple[Array, ...], dict[Place, str]]:
        """The arrays of results, and which of the graph's results is at which place."""
        network = self.network
        arrays, written = [], {}
        groups = network.options.result_vectors(self.function)
        returned = network.options.returned(self.function)
        for group, name in zip(groups, returned, strict=True):
            quantity = network.options.quantities[name]
            array = Array(name, quantity.size(network.robot), quantity.text)
            arrays.append(array)
            for word in network.results[group]:
                self.outputs[word.name] = made[word.name]
                indices = {word.index, word.index[::-1] if quantity.symmetric else word.index}
                for index in sorted(indices):
                    written[name, flat(index, array.shape)] = word.name
        return tuple(arrays), written

    def _graph(self, written: Mapping[Place, str]) -> Graph:
        """The graph with as few operations as the passes of hardware leave."""
        graph = self.builder.graph(self.outputs)
        return absorb_negations(move_constants(graph))

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


def flat(index: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """An entry's number in C order."""
    return int(np.ravel_multi_index(index, shape))


CARRIED = "carried"
"""The array of values that one straight step makes and a later one takes."""


class _Cut:
    """Cuts a graph into straight steps between whole products."""

    def __init__(
        self,
        graph: Graph,
        products: list[MatrixProduct],
        reads: Mapping[str, Place],
        written: Mapping[Place, str],
    ) -> None:
        self.graph = graph
        self.products = products
        self.written = {place: graph.outputs[name] for place, name in written.items()}
        self.places: dict[str, Place] = dict(reads)
        self.made_by: dict[str, int] = {}
        self.arrays: list[Array] = []
        self.wholes: list[Whole] = []
        self.factors: dict[object, str] = {}
        for number, product in enumerate(products):
            self._add_product(number, product)
        self.levels = self._levels()

    def _add_product(self, number: int, product: MatrixProduct) -> None:
        """The arrays of a product, and what is to be written into them."""
        rows = 1 + max(i for i, _ in product.entries)
        inner = 1 + max(k for _, k in product.left)
        columns = 1 + max(j for _, j in product.entries)
        left = Array(f"left{number}", (rows, inner))
        right = Array(f"right{number}", (inner, columns))
        factors = [self._factor(left, product.left), self._factor(right, product.right)]
        result = self._result(number, product, (rows, columns))
        one, other = factors
        self.wholes.append(Whole(result.name, one, other, frozenset(product.right)))
        for index, name in product.entries.items():
            self.made_by[name] = number
            self.places[name] = result.name, flat(index, result.shape)

    def _factor(self, array: Array, entries: Mapping[tuple[int, int], str]) -> str:
        """The array that a product's factor is in: ``array``, or one that holds the same already."""
        nodes = {flat(index, array.shape): self.graph.outputs[n] for index, n in entries.items()}
        key = array.shape, tuple(sorted(nodes.items()))
        if key not in self.factors:
            self.factors[key] = array.name
            self.arrays.append(array)
            for k, node in nodes.items():
                self.written[array.name, k] = node
        return self.factors[key]

    def _result(self, number: int, product: MatrixProduct, shape: tuple[int, int]) -> Array:
        """Where a product goes: into the result that it is, or an array of its own."""
        nodes = {
            self.graph.inputs[n]: index
            for index, n in product.entries.items()
            if n in self.graph.inputs
        }
        wanted: dict[str, dict[int, int]] = {}
        for (array, k), node in self.written.items():
            wanted.setdefault(array, {})[k] = node
        for array, entries in wanted.items():
            same = {
                k: node
                for k, node in entries.items()
                if node in nodes and flat(nodes[node], shape) == k
            }
            if same and same == entries and len(same) == len(nodes):
                for k in same:
                    del self.written[array, k]
                return Array(array, shape)
        own = Array(f"product{number}", shape)
        self.arrays.append(own)
        return own

    def _levels(self) -> list[int]:
        """For each node how many products one after the other come before it."""
        sides: list[list[int]] = []
        for product in self.products:
            names = [*product.left.values(), *product.right.values()]
            sides.append([self.graph.outputs[name] for name in names])
        levels = [0] * len(self.graph.nodes)
        while True:
            before = list(levels)
            for i, node in self.graph:
                level = max((levels[a] for a in node.args), default=0)
                if node.op == "input" and node.attr in self.made_by:
                    own = sides[self.made_by[node.attr]]
                    level = 1 + max(levels[k] for k in own)
                levels[i] = level
            if levels == before:
                return levels

    def local(self) -> tuple[Array, ...]:
        """The arrays between steps."""
        carried = self._carried()
        more = (Array(CARRIED, (len(carried),)),) if carried else ()
        return (*self.arrays, *more)

    def _carried(self) -> dict[int, int]:
        """Nodes that a later straight step takes, by number, with their place among the carried."""
        found: set[int] = set()
        for i, node in self.graph:
            for a in node.args:
                if self.levels[a] != self.levels[i] and self.graph.nodes[a].op not in ANYWHERE:
                    found.add(a)
        return {node: k for k, node in enumerate(sorted(found))}

    def steps(self) -> tuple[Straight | Whole, ...]:
        """Straight steps and products in an order in which they can be done."""
        steps: list[Straight | Whole] = []
        carried = self._carried()
        pending = dict(enumerate(self.wholes))
        for level in range(max(self.levels) + 1):
            straight = self._straight(level, carried)
            if straight is not None:
                steps.append(straight)
            for number in list(pending):
                if self._product_level(number) == level:
                    steps.append(pending.pop(number))
        return tuple(steps)

    def _product_level(self, number: int) -> int:
        product = self.products[number]
        names = [*product.left.values(), *product.right.values()]
        return max(self.levels[self.graph.outputs[name]] for name in names)

    def _straight(self, level: int, carried: Mapping[int, int]) -> Straight | None:
        """The step of what comes behind so many products; None where there is nothing."""
        part = _Part(self.graph, self.places, carried)
        for i, node in self.graph:
            if self.levels[i] == level and node.op not in ANYWHERE:
                part.add(i)
        for place, i in self.written.items():
            if self.levels[i] == level:
                part.leave(place, i)
        for i, k in carried.items():
            if self.levels[i] == level:
                part.leave((CARRIED, k), i)
        return part.straight()


class _Part:
    """One straight step under construction."""

    def __init__(
        self, graph: Graph, places: Mapping[str, Place], carried: Mapping[int, int]
    ) -> None:
        self.graph = graph
        self.places = places
        self.carried = carried
        self.builder = Builder()
        self.reads: dict[str, Place] = {}
        self.new: dict[int, int] = {}
        self.outputs: dict[str, int] = {}
        self.left: list[tuple[Place, str]] = []

    def add(self, i: int) -> None:
        """A node of the whole graph, whose arguments are here or come from elsewhere."""
        node = self.graph.nodes[i]
        args = tuple(self._here(a) for a in node.args)
        self.new[i] = self.builder.copied(node, args)

    def leave(self, place: Place, i: int) -> None:
        """Write a node to a place."""
        name = f"out{len(self.left)}"
        self.outputs[name] = self._here(i)
        self.left.append((place, name))

    def _here(self, i: int) -> int:
        """A node of the whole graph in this one."""
        if i in self.new:
            return self.new[i]
        node = self.graph.nodes[i]
        if node.op == "const":
            return self.builder.const(node.attr)
        name, place = f"{CARRIED}{self.carried.get(i)}", (CARRIED, self.carried.get(i, 0))
        if node.op == "input":
            name, place = node.attr, self.places[node.attr]
        self.reads[name] = place
        return self.builder.input(name)

    def straight(self) -> Straight | None:
        """The step; None where it would write nothing."""
        if not self.left:
            return None
        made = self.builder.graph(self.outputs)
        used = {name: place for name, place in self.reads.items() if name in made.inputs}
        writes = tuple((place, made.outputs[name]) for place, name in self.left)
        return Straight(made, used, writes)
