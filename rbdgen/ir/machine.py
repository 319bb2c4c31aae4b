"""The bit-true model of a graph, fast: the graph as a tape for a small machine in C, or the interpreter in NumPy.

``machine.c`` knows the operations, not the graph: it is compiled once per computer by the system's C compiler and kept
in the user's cache (:mod:`rbdgen.caching`). Where there is no compiler, or ``RBDGEN_CC`` is empty,
:func:`rbdgen.ir.interpret.evaluate_fixed` computes the same bits.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

import numpy as np

from rbdgen import native
from rbdgen.errors import ToolError
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.graph import Node
from rbdgen.ir.interpret import FixedResult, Operands, evaluate_fixed
from rbdgen.ir.number_formats import BITS, Format
from rbdgen.ir.ops.reciprocals import reciprocal_table
from rbdgen.ir.ops.sines import sine_table
from rbdgen.ir.programs import cone

OPCODES = (
    "input",
    "const",
    "add",
    "sub",
    "neg",
    "abs",
    "sign",
    "mul",
    "scale",
    "round",
    "table_sin",
    "table_reciprocal",
    "residual",
    "normalise",
    "rescale",
    "output",
    "long mul",
    "plus product",
    "plus long product",
    "plus",
)
"""In the order of the C file's enumeration; ``table_cos`` is ``table_sin`` a quarter ahead, a long product one that
64-bit arithmetic takes apart. A ``dot`` begins with a constant, to which each term is added."""
Instruction = tuple[str, int, int, int]
"""An instruction's name and its three parameters."""
FIELDS = 12
"""Numbers of one instruction: operation, destination, two sources, three parameters, then how its result is rounded."""
NO_LIMIT, SATURATE, WRAP = range(3)
BLOCK = 128
"""Tasks in one register."""
CACHE = "machine"
"""Where the compiled machine is kept."""
FLAGS = ("-O3", "-march=native", "-fwrapv")
INTERPRETED = 4096
"""Tasks that the interpreter runs at once: few enough that its values stay in the processor's cache."""


@cache
def library() -> ctypes.CDLL | None:
    """The compiled machine; None without a C compiler (``RBDGEN_CC``, else ``cc``) or where compiling fails."""
    source = files("rbdgen.ir").joinpath("machine.c").read_text(encoding="utf-8")
    try:
        loaded = native.library(CACHE, {"machine.c": source}, FLAGS)
    except ToolError:
        return None
    numbers = ctypes.POINTER(ctypes.c_int64)
    flags = ctypes.POINTER(ctypes.c_uint8)
    count = ctypes.c_int64
    loaded.rbdgen_run.argtypes = [
        numbers,
        count,
        numbers,
        numbers,
        numbers,
        flags,
        count,
        numbers,
    ]
    loaded.rbdgen_run.restype = None
    return loaded


class Machine:
    """The bit-true model of ``results`` (default: all) of a fixed-point graph."""

    def __init__(self, fixed: FixedGraph, results: Iterable[str] | None = None) -> None:
        self.fixed = fixed
        self.results = tuple(fixed.graph.outputs if results is None else results)

    @cached_property
    def operands(self) -> tuple[str, ...]:
        """The operands that the results depend on."""
        graph = self.fixed.graph
        nodes = [graph.nodes[i] for i in self._nodes]
        return tuple(node.attr for node in nodes if node.is_input)

    @cached_property
    def _nodes(self) -> tuple[int, ...]:
        return cone(self.fixed.graph, self.results)

    def run(self, operands: Operands) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Raw results (n,) by name and the overflow flags (n,), for raw ``operands`` (n,) in their formats."""
        compiled = library()
        if compiled is None:
            return self.interpret(operands)
        count = len(next(iter(operands.values())))
        given = np.empty((len(self.operands), count), np.int64)
        for k, name in enumerate(self.operands):
            given[k] = operands[name]
        out = np.empty((len(self.results), count), np.int64)
        overflow = np.zeros(count, np.uint8)
        tape = self._tape
        scratch = np.zeros(tape.registers * BLOCK, np.int64)
        compiled.rbdgen_run(
            _numbers(tape.code),
            len(tape.code),
            _numbers(tape.tables),
            _numbers(given),
            _numbers(out),
            overflow.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8)),
            count,
            _numbers(scratch),
        )
        results = dict(zip(self.results, out, strict=True))
        return results, overflow.astype(bool)

    def interpret(self, operands: Operands) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """The same as :meth:`run`, by the interpreter."""
        count = len(next(iter(operands.values())))
        parts: list[FixedResult] = []
        # once for an empty batch too, so that its results are arrays
        for begin in range(0, max(count, 1), INTERPRETED):
            part = {name: x[begin : begin + INTERPRETED] for name, x in operands.items()}
            parts.append(evaluate_fixed(self.fixed, part, self.results))
        outputs = {}
        for name in self.results:
            pieces = [part.outputs[name] for part in parts]
            outputs[name] = np.concatenate(pieces)
        overflow = np.concatenate([part.overflow for part in parts])
        return outputs, overflow

    @cached_property
    def _tape(self) -> _Tape:
        writer = _TapeWriter(self.fixed, self.results, self.operands)
        last = self._last_uses(writer)
        for i in self._nodes:
            writer.write(i, last)
        code = np.array(writer.code, np.int64)
        tables = np.array(writer.tables, np.int64)
        return _Tape(code, tables, writer.registers)

    def _last_uses(self, writer: _TapeWriter) -> dict[int, int]:
        """For each node that has bits of its own the last one that needs them."""
        last: dict[int, int] = {}
        for i in self._nodes:
            # what nobody reads is needed by itself, and its register is free at once
            last[writer.source(i)] = i
            for a in self.fixed.graph.nodes[i].args:
                last[writer.source(a)] = i
        return last


def _numbers(x: np.ndarray) -> object:
    """An array for the C function."""
    return x.ctypes.data_as(ctypes.POINTER(ctypes.c_int64))


@dataclass(frozen=True)
class _Tape:
    """Instructions (n, FIELDS) in ``code``, all ``tables`` one behind the other, and the number of ``registers``."""

    code: np.ndarray
    tables: np.ndarray
    registers: int


class _TapeWriter:
    """Writes instructions for one node after the other, and gives out registers."""

    def __init__(
        self, fixed: FixedGraph, results: tuple[str, ...], operands: tuple[str, ...]
    ) -> None:
        self.fixed = fixed
        self.graph = fixed.graph
        self.operand_number = {name: k for k, name in enumerate(operands)}
        self.leaving: dict[int, list[int]] = {}
        for k, name in enumerate(results):
            i = self.graph.outputs[name]
            self.leaving.setdefault(i, []).append(k)
        self.code: list[list[int]] = []
        self.tables = [0]
        self.table_place: dict[object, int] = {}
        self.register: dict[int, int] = {}
        self.free: list[int] = []
        self.registers = 0

    def source(self, i: int) -> int:
        """The node whose bits node ``i`` has: shifts only move the binary point."""
        while self.graph.nodes[i].op == "shift":
            i = self.graph.nodes[i].args[0]
        return i

    def write(self, i: int, last: Mapping[int, int]) -> None:
        """The instructions for node ``i``; registers that it is the ``last`` to need are free then."""
        node = self.graph.nodes[i]
        own = self.source(i)
        needed = [self.source(a) for a in node.args]
        if own == i:
            # the destination is never a source's register: the machine may read sources after writing
            self.register[i] = self._free_register()
            arguments = [self.register[source] for source in needed]
            if node.terms.count and not self._is_simple(i, node):
                self.code += self._dot(i, node, arguments)
            else:
                self.code.append(self._instruction(i, node, arguments))
        for k in self.leaving.get(i, ()):
            output = [0] * FIELDS
            output[0] = OPCODES.index("output")
            output[2] = self.register[own]
            output[4] = k
            self.code.append(output)
        for source in {own, *needed}:
            if last[source] == i:
                self.free.append(self.register[source])

    def _is_simple(self, i: int, node: Node) -> bool:
        """Whether a sum is one instruction."""
        return not node.terms.is_dot and i not in self.fixed.points

    def _free_register(self) -> int:
        if self.free:
            return self.free.pop()
        self.registers += 1
        return self.registers - 1

    def _dot(self, i: int, node: Node, arguments: list[int]) -> list[list[int]]:
        """A dot's instructions: nothing, plus a term in each; the last one rounds."""
        frac, _, _ = self.fixed.exact(i)
        formats = [self.fixed.formats[a] for a in node.args]
        destination = self.register[i]
        exactly = [0, 0, NO_LIMIT, 0, 0]
        nothing = [OPCODES.index("const"), destination, 0, 0, 0, 0, 0, *exactly]
        code = [nothing]
        factors = node.terms.factors
        for k, sign in enumerate(node.terms.products):
            one, other = arguments[2 * k : 2 * k + 2]
            low = self.fixed.split(*node.args[2 * k : 2 * k + 2])
            # shifts by 64 places and more have no meaning; 63 leave nothing but the sign
            places = max(frac - formats[2 * k].frac - formats[2 * k + 1].frac + low, -BITS)
            op = OPCODES.index("plus long product" if low else "plus product")
            code.append([op, destination, one, other, places, sign, low, *exactly])
        for k, (sign, _) in enumerate(node.addends, factors):
            places = max(frac - formats[k].frac, -BITS)
            op = OPCODES.index("plus")
            code.append([op, destination, arguments[k], 0, places, sign, 0, *exactly])
        code[-1][-len(exactly) :] = self._rounding(i, node)
        return code

    def _instruction(self, i: int, node: Node, arguments: list[int]) -> list[int]:
        """One node's instruction, with the registers of its arguments."""
        a, b = [*arguments, 0, 0][:2]
        drop, rounds, limit, low, high = self._rounding(i, node)
        name, p, q, r = INSTRUCTIONS[node.op](self, i, node)
        if node.op == "table_cos":
            b = 1
        if name == "long mul":
            # the instruction takes off the lowest p itself
            drop, rounds = self._drop(i, self.fixed.dropped_bits(i) - p)
        op = OPCODES.index(name)
        return [op, self.register[i], a, b, p, q, r, drop, rounds, limit, low, high]

    def given_input(self, i: int, node: Node) -> Instruction:
        """An operand by its number."""
        return "input", self.operand_number[node.attr], 0, 0

    def const(self, i: int, node: Node) -> Instruction:
        """A constant's raw value."""
        return "const", int(self.fixed.formats[i].quantise(node.attr)), 0, 0

    def sum(self, i: int, node: Node) -> Instruction:
        """A sum that is no dot."""
        if i in self.fixed.constants:
            return "scale", self.fixed.constants[i].mantissa, 0, 0
        if node.terms.is_product:
            low = self.fixed.split(*node.args)
            # where no other bits are dropped, the low ones must be rounded as they are taken off
            half = self.fixed.half(i) if low == self.fixed.dropped_bits(i) else 0
            if not low:
                return "mul", 0, 0, 0
            return "long mul", low, 0, half
        fracs = [self.fixed.formats[a].frac for a in node.args]
        frac = max(fracs)
        places = [frac - own for own in fracs]
        if len(places) == 1:
            return node.name, 0, 0, 0
        one, other = places
        return node.name, one, other, 0

    def magnitude(self, i: int, node: Node) -> Instruction:
        """|x|."""
        return "abs", 0, 0, 0

    def sign(self, i: int, node: Node) -> Instruction:
        """1 or -1, by the binary point of either."""
        return "sign", self.fixed.formats[i].frac, 0, 0

    def round(self, i: int, node: Node) -> Instruction:
        """The argument, before bits are dropped."""
        return "round", 0, 0, 0

    def looked_up(self, i: int, node: Node) -> Instruction:
        """Entry of a table: bits below its address, bits of that, and where it begins."""
        fmt = self.fixed.formats[i]
        op = "table_sin"
        if node.operation.memory == "reciprocals":
            op = node.op
        place = self._table(node, fmt)
        return op, self._below(node), node.attr, place

    def residual(self, i: int, node: Node) -> Instruction:
        """Rest that an address leaves."""
        return "residual", self._below(node), 0, 0

    def normalise(self, i: int, node: Node) -> Instruction:
        """The argument's highest place, and bits dropped then."""
        top = self.fixed.formats[node.args[0]].width - 2
        return "normalise", top, top - self.fixed.formats[i].frac, 0

    def rescale(self, i: int, node: Node) -> Instruction:
        """The second argument's highest place."""
        return "rescale", self.fixed.formats[node.args[1]].width - 2, 0, 0

    def shift(self, i: int, node: Node) -> Instruction:
        """No instruction: a shift has its argument's bits (:meth:`source`)."""
        raise AssertionError(node.op)

    def _below(self, node: Node) -> int:
        """Bits of an argument below a table's address."""
        return self.fixed.formats[node.args[0]].frac - node.attr

    def _table(self, node: Node, fmt: Format) -> int:
        """Where a table begins among all tables."""
        table = sine_table
        if node.operation.memory == "reciprocals":
            table = reciprocal_table
        key = table, node.attr, fmt
        if key not in self.table_place:
            self.table_place[key] = len(self.tables)
            self.tables += table(node.attr, fmt)
        return self.table_place[key]

    def _rounding(self, i: int, node: Node) -> tuple[int, int, int, int, int]:
        """Bits dropped, whether they are rounded, and what becomes of results outside the limits, with these."""
        if not node.operation.rounds:
            return 0, 0, NO_LIMIT, 0, 0
        limit = NO_LIMIT
        if self.fixed.may_overflow(i):
            limit = SATURATE if self.fixed.saturates else WRAP
        fmt = self.fixed.formats[i]
        drop, rounds = self._drop(i, self.fixed.dropped_bits(i))
        return drop, rounds, limit, fmt.minimum, fmt.maximum

    def _drop(self, i: int, bits: int) -> tuple[int, int]:
        """Bits that node ``i`` drops, no more than change the result, and whether it rounds."""
        rounds = i not in self.fixed.truncated
        # rounding drops the last place in a step of its own: no shift is of more than 63
        return min(bits, BITS + rounds), int(rounds)


INSTRUCTIONS = {
    "input": _TapeWriter.given_input,
    "const": _TapeWriter.const,
    "sum": _TapeWriter.sum,
    "shift": _TapeWriter.shift,
    "round": _TapeWriter.round,
    "abs": _TapeWriter.magnitude,
    "sign": _TapeWriter.sign,
    "table_sin": _TapeWriter.looked_up,
    "table_cos": _TapeWriter.looked_up,
    "table_reciprocal": _TapeWriter.looked_up,
    "residual": _TapeWriter.residual,
    "normalise": _TapeWriter.normalise,
    "rescale": _TapeWriter.rescale,
}
"""The instruction of every operation of fixed-point graphs."""
