"""One function of a design as a program of its own arithmetic: bit for bit what the hardware does, pass after pass.

Unlike in floating point, passes are not merged: each computes what hardware computes in it, and what is handed to the
next is rounded and saturated to that one's formats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rbdgen.compiler import Design
from rbdgen.functions.quantities import WEIGHTS
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.graph import Graph, Node
from rbdgen.ir.number_formats import Format
from rbdgen.ir.programs import cone
from rbdgen.software.program import (
    Array,
    Place,
    Program,
    Straight,
    operand_arrays,
    operand_places,
    parameter_places,
    record_of,
    result_arrays,
)
from rbdgen.tracing.execute import begin_operands, feedback
from rbdgen.tracing.network import PREFIX
from rbdgen.tracing.parameters import PARAMETERS

HANDED = "handed"
"""The array of what one pass hands to the next."""
STATE, NEXT_STATE = "state", "next_state"
"""The arrays of the operands of a function that repeats, all of its program's, raw: now, and behind a step."""


@dataclass(frozen=True)
class FixedStraight(Straight):
    """A straight step in the formats of ``fixed``; a write is converted from one format to another where
    ``conversions`` says so, by its place."""

    fixed: FixedGraph
    conversions: Mapping[Place, tuple[Format, Format]] = field(default_factory=dict)


@dataclass(frozen=True)
class FixedProgram:
    """A function's ``program`` over raw numbers, and the ``formats`` of the entries of its arrays of operands and
    results, by place.

    Of a function that repeats, ``program`` is the last step of time, from :data:`STATE`; ``begin`` makes that of the
    operands, and ``again`` makes the state behind a step."""

    program: Program
    formats: Mapping[Place, Format]
    limits: Mapping[Place, tuple[int, int]]
    begin: Program | None = None
    again: Program | None = None


def fixed_program(design: Design, function: str) -> FixedProgram:
    """A function of a design. ConfigError for one that it does not have."""
    return _Passes(design, function).program()


class _Passes:
    """Makes the steps of a function's passes."""

    def __init__(self, design: Design, function: str) -> None:
        self.network = design.network
        self.design = design
        self.fixed = design.whole
        self.function = function
        self.record = record_of(design.network, function)

    def program(self) -> FixedProgram:
        """The program."""
        operands = operand_arrays(self.network, self.function)
        results, written = result_arrays(self.network, self.function)
        formats = self._formats(written)
        limits = self._limits()
        if self.record.repeat:
            return self._repeated(operands, results, written, formats, limits)
        reads = self._entry_reads()
        steps: list[FixedStraight] = []
        local: tuple[Array, ...] = ()
        if len(self.network.passes(self.function)) > 1:
            first, handed = self._first_pass(reads)
            steps.append(first)
            local = (Array(HANDED, (len(handed),)),)
            reads = handed | parameter_places(self.network)
        steps.append(self._straight(reads, written.items(), {}))
        program = self._made(operands, results, local, steps)
        return FixedProgram(program, formats, limits)

    def _made(
        self,
        operands: Sequence[Array],
        results: Sequence[Array],
        local: Sequence[Array],
        steps: Sequence[FixedStraight],
    ) -> Program:
        return Program(
            self.network.robot.name,
            self.record,
            tuple(operands),
            tuple(results),
            tuple(local),
            tuple(steps),
        )

    def _entry_reads(self) -> dict[str, Place]:
        """Where the operands of the program that a task starts with are; those that it does not bring are missing."""
        places = operand_places(self.network, self.function)
        entry = self.network.entry(self.function)
        reads = parameter_places(self.network)
        for name, program in self.network.programs.operands.items():
            plain = name.removeprefix(PREFIX[program])
            if program == entry and plain in places:
                reads[name] = places[plain]
        return reads

    def _formats(self, written: Mapping[Place, str]) -> dict[Place, Format]:
        """The formats of entries that are words."""
        task = self.design.tasks.functions[self.function]
        places = operand_places(self.network, self.function)
        found = {places[word.name]: word.format for word in task.operands}
        for name, place in parameter_places(self.network).items():
            found[place] = self.design.input_format(name)
        formats = {word.name: word.format for word in task.results}
        return found | {place: formats[name] for place, name in written.items()}

    def _limits(self) -> dict[Place, tuple[int, int]]:
        """Raw declared limits of operand words."""
        places = operand_places(self.network, self.function)
        task = self.design.tasks.functions[self.function]
        return {places[word.name]: word.codes for word in task.operands}

    def _first_pass(self, reads: Mapping[str, Place]) -> tuple[FixedStraight, dict[str, Place]]:
        """The first of two passes, and where the operands of the second are then."""
        writes: list[tuple[Place, str]] = []
        conversions = {}
        handed: dict[str, Place] = {}
        for name, source in feedback(self.network).items():
            if source is None:
                continue
            place = HANDED, len(handed)
            handed[name] = place
            writes.append((place, source))
            conversions[place] = self._conversion(source, name)
        return self._straight(reads, writes, conversions), handed

    def _conversion(self, source: str, operand: str) -> tuple[Format, Format]:
        """From the format of a result to that of an operand."""
        graph = self.fixed.graph
        formats = self.fixed.formats
        return formats[graph.outputs[source]], formats[graph.inputs[operand]]

    def _straight(
        self,
        reads: Mapping[str, Place],
        writes: Iterable[tuple[Place, str]],
        conversions: Mapping[Place, tuple[Format, Format]],
        constants: Mapping[str, float] | None = None,
    ) -> FixedStraight:
        """A step that makes results of the graph; operands that are not read have a constant's value, else zero."""
        writes = list(writes)
        own, numbers = part_of(self.fixed, {name for _, name in writes}, reads, constants or {})
        taken = {name: place for name, place in reads.items() if name in own.graph.inputs}
        outputs = self.fixed.graph.outputs
        left = tuple((place, numbers[outputs[name]]) for place, name in writes)
        return FixedStraight(own.graph, taken, left, own, conversions)

    def _repeated(
        self,
        operands: tuple[Array, ...],
        results: tuple[Array, ...],
        written: Mapping[Place, str],
        formats: Mapping[Place, Format],
        limits: Mapping[Place, tuple[int, int]],
    ) -> FixedProgram:
        """A function that repeats: how its state begins, goes on and ends."""
        names = list(self.network.carried)
        state = Array(STATE, (len(names),), "operands of a step")
        following = Array(NEXT_STATE, (len(names),), "those of the next step")
        # parameters stay as they are while states go on
        kept = tuple(x for x in operands if x.name == PARAMETERS)
        begin = self._made(operands, (state,), (), [self._begin(names)])
        ends = self._evaluations(
            names, lambda reads, weights: self._straight(reads, written.items(), {}, weights)
        )
        again = self._evaluations(
            names, lambda reads, weights: self._next(names, following.name, True, reads, weights)
        )
        local = tuple(Array(f"{STATE}{k}", (len(names),)) for k in range(len(ends) - 1))
        return FixedProgram(
            self._made((state, *kept), results, local, ends),
            formats,
            limits,
            begin,
            self._made((state, *kept), (following,), local, again),
        )

    def _begin(self, names: Sequence[str]) -> FixedStraight:
        """The state that a task's operands are."""
        reads = self._entry_reads()
        copies = dict(begin_operands(self.network, self.function))
        nodes: list[Node] = []
        formats: list[Format] = []
        writes = []
        conversions = {}
        taken = {}
        for k, name in enumerate(names):
            source = copies.get(name, name)
            fmt = self.design.whole.formats[self.fixed.graph.inputs[source]]
            # what a task does not bring is zero
            node = Node("const", (), 0.0, "")
            if source in reads:
                node = Node("input", (), f"{name}_begin", "input")
                taken[f"{name}_begin"] = reads[source]
            nodes.append(node)
            formats.append(fmt)
            writes.append(((STATE, k), k))
            own = self.fixed.formats[self.fixed.graph.inputs[name]]
            if own != fmt:
                conversions[STATE, k] = fmt, own
        fixed = FixedGraph(
            Graph(tuple(nodes), {}), tuple(formats), {}, overflow=self.fixed.overflow
        )
        return FixedStraight(fixed.graph, taken, tuple(writes), fixed, conversions)

    def _evaluations(self, names: Sequence[str], last: Last) -> list[FixedStraight]:
        """The steps of all evaluations of a step of time; ``last`` makes that of the last one."""
        steps: list[FixedStraight] = []
        array = STATE
        count = len(self.network.options.weights)
        for number in range(count):
            reads = {name: (array, k) for k, name in enumerate(names)} | parameter_places(
                self.network
            )
            weights = self._weights(number)
            if number + 1 == count:
                steps.append(last(reads, weights))
                break
            array = f"{STATE}{number}"
            steps.append(self._next(names, array, False, reads, weights))
        return steps

    def _weights(self, number: int) -> dict[str, float]:
        """The weights of an evaluation by operand."""
        words = self.network.operands.get(WEIGHTS, ())
        values = self.network.options.weights[number]
        # where a step has a single evaluation, there are no words for weights
        return {w.name: x for w, x in zip(words, values, strict=False)}

    def _next(
        self,
        names: Sequence[str],
        array: str,
        behind: bool,
        reads: Mapping[str, Place],
        weights: Mapping[str, float],
    ) -> FixedStraight:
        """The step to the next evaluation's operands, in a step of time or ``behind`` it."""
        writes = []
        conversions = {}
        for k, name in enumerate(names):
            carried = self.network.carried[name]
            source = carried.behind if behind else carried.within
            writes.append(((array, k), source))
            conversions[array, k] = self._conversion(source, name)
        return self._straight(reads, writes, conversions, weights)


Last = Callable[[Mapping[str, Place], Mapping[str, float]], FixedStraight]
"""Makes the step of a last evaluation, of where operands are and of its weights."""


def part_of(
    fixed: FixedGraph,
    results: Iterable[str],
    reads: Mapping[str, Place],
    constants: Mapping[str, float],
) -> tuple[FixedGraph, dict[int, int]]:
    """The part of a graph that ``results`` depend on, with the new numbers of its nodes. Its inputs are those that are
    read; others have a constant's value, or are zero."""
    graph = fixed.graph
    numbers: dict[int, int] = {}
    nodes: list[Node] = []
    for i in cone(graph, results):
        node = graph.nodes[i]
        if node.is_input and node.attr not in reads:
            node = Node("const", (), constants.get(node.attr, 0.0), "")
        numbers[i] = len(nodes)
        args = tuple(numbers[a] for a in node.args)
        nodes.append(Node(node.op, args, node.attr, node.owner))
    outputs = {name: numbers[graph.outputs[name]] for name in sorted(results)}
    part = FixedGraph(
        Graph(tuple(nodes), outputs),
        tuple(fixed.formats[i] for i in numbers),
        {numbers[i]: c for i, c in fixed.constants.items() if i in numbers},
        frozenset(numbers[i] for i in fixed.truncated if i in numbers),
        fixed.overflow,
        {numbers[i]: point for i, point in fixed.points.items() if i in numbers},
    )
    return part, numbers
