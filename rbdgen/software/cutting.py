"""Cuts a graph into straight steps between the products of matrices that stay whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rbdgen.ir.builder import Builder
from rbdgen.ir.graph import Graph, MatrixProduct, shape
from rbdgen.software.program import Array, Place, Straight, Whole, flat

CARRIED = "carried"
"""The array of values that one straight step makes and a later one takes."""


class Cut:
    """Cuts a graph into straight steps between whole products."""

    def __init__(
        self,
        graph: Graph,
        products: list[MatrixProduct],
        reads: Mapping[str, Place],
        results: Iterable[Array],
        written: Mapping[Place, str],
    ) -> None:
        self.graph = graph
        self.results = tuple(results)
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
        rows, inner = shape(product.left)
        _, columns = shape(product.entries)
        left = Array(f"left{number}", (rows, inner))
        right = Array(f"right{number}", (inner, columns))
        one = self._factor(left, product.left)
        other = self._factor(right, product.right)
        result = self._result(number, product, (rows, columns))
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
        placed = {}
        for index, name in product.entries.items():
            if name in self.graph.inputs:
                placed[flat(index, shape)] = self.graph.inputs[name]
        wanted: dict[str, dict[int, int]] = {}
        for (array, k), node in self.written.items():
            wanted.setdefault(array, {})[k] = node
        for known in (*self.results, *self.arrays):
            entries = wanted.get(known.name, {})
            if known.shape == shape and entries == placed:
                # the product itself writes them
                for k in entries:
                    del self.written[known.name, k]
                return known
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
        # entries of products are inputs, which may stand before the factors that they are made of
        while True:
            before = list(levels)
            for i, node in self.graph:
                level = max((levels[a] for a in node.args), default=0)
                if node.is_input and node.attr in self.made_by:
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
                if self.levels[a] != self.levels[i] and not self.graph.nodes[a].is_given:
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
            if self.levels[i] == level and not node.is_given:
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
        if node.is_const:
            return self.builder.const(node.attr)
        name, place = f"{CARRIED}{self.carried.get(i)}", (CARRIED, self.carried.get(i, 0))
        if node.is_input:
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
