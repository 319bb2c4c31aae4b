"""The bit-true model of a graph, fast: the graph as a tape for a small machine in C, or the interpreter in NumPy.

``machine.c`` knows the operations, not the graph: it is compiled once per computer by the system's C compiler and kept
in the user's cache. Where there is no compiler, or ``RBDGEN_CC`` is empty, :func:`rbdgen.ir.interpret.evaluate_fixed`
computes the same bits.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path

import numpy as np

from rbdgen.ir.fixed import ROUNDED, FixedGraph, reciprocal_table, sine_table
from rbdgen.ir.graph import Node
from rbdgen.ir.interpret import evaluate_fixed
from rbdgen.ir.programs import cone

OPCODES = (
    *("input", "const", "add", "sub", "neg", "mul", "scale", "round", "table_sin", "table_reciprocal", "residual"),
    *("normalise", "rescale", "output", "long mul"),
)
"""In the order of the C file's enumeration; ``table_cos`` is ``table_sin`` a quarter ahead, a long product one that
64-bit arithmetic takes apart."""
FIELDS = 12
"""Numbers of one instruction: operation, destination, two sources, three parameters, then how its result is rounded."""
NO_LIMIT, SATURATE, WRAP = range(3)
BLOCK = 128
"""Tasks in one register."""
FLAGS = ("-O3", "-march=native", "-fwrapv", "-shared", "-fPIC")
INTERPRETED = 4096
"""Tasks that the interpreter runs at once: few enough that its values stay in the processor's cache."""


@cache
def library() -> ctypes.CDLL | None:
    """The compiled machine; None without a C compiler (``RBDGEN_CC``, else ``cc``) or where compiling fails."""
    compiler = shutil.which(os.environ.get("RBDGEN_CC", "cc"))
    if compiler is None:
        return None
    source = files("rbdgen.ir").joinpath("machine.c").read_text()
    key = hashlib.sha256("\n".join([source, *FLAGS, compiler, platform.machine(), _processor()]).encode()).hexdigest()
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rbdgen"
    target = home / f"machine-{key[:16]}.so"
    try:
        if not target.exists():
            home.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=home) as work:
                text, made = Path(work) / "machine.c", Path(work) / "machine.so"
                text.write_text(source)
                line = [compiler, *FLAGS, "-o", str(made), str(text)]
                subprocess.run(line, check=True, capture_output=True, timeout=120)
                made.replace(target)
        loaded = ctypes.CDLL(str(target))
    except (OSError, subprocess.SubprocessError):
        return None
    numbers = ctypes.POINTER(ctypes.c_int64)
    loaded.rbdgen_run.argtypes = [
        *(numbers, ctypes.c_int64, numbers, numbers, numbers),
        *(ctypes.POINTER(ctypes.c_uint8), ctypes.c_int64, numbers),
    ]
    loaded.rbdgen_run.restype = None
    return loaded


def _processor() -> str:
    """What machine code for this processor depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.processor())


class Machine:
    """The bit-true model of ``results`` (default: all) of a fixed-point graph."""

    def __init__(self, fixed: FixedGraph, results: Iterable[str] | None = None) -> None:
        self.fixed = fixed
        self.results = tuple(fixed.graph.outputs if results is None else results)

    @cached_property
    def operands(self) -> tuple[str, ...]:
        """The operands that the results depend on."""
        graph = self.fixed.graph
        return tuple(graph.nodes[i].attr for i in self._nodes if graph.nodes[i].op == "input")

    @cached_property
    def _nodes(self) -> tuple[int, ...]:
        return cone(self.fixed.graph, self.results)

    def run(self, operands: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Raw results (n,) by name and the overflow flags (n,), for raw ``operands`` (n,) in their formats."""
        compiled = library()
        if compiled is None:
            return self.interpret(operands)
        count = len(next(iter(operands.values())))
        given = np.array([operands[name] for name in self.operands], np.int64).reshape(len(self.operands), count)
        out = np.empty((len(self.results), count), np.int64)
        flags = np.zeros(count, np.uint8)
        code, tables, registers = self._tape
        scratch = np.zeros(registers * BLOCK, np.int64)

        def pointer(x: np.ndarray) -> object:
            return x.ctypes.data_as(ctypes.POINTER(ctypes.c_int64))

        compiled.rbdgen_run(
            *(pointer(code), len(code), pointer(tables), pointer(given), pointer(out)),
            *(flags.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8)), count, pointer(scratch)),
        )
        return dict(zip(self.results, out, strict=True)), flags.astype(bool)

    def interpret(self, operands: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """The same as :meth:`run`, by the interpreter."""
        count = len(next(iter(operands.values())))
        parts = [
            evaluate_fixed(self.fixed, {n: x[k : k + INTERPRETED] for n, x in operands.items()}, self.results)
            for k in range(0, max(count, 1), INTERPRETED)
        ]
        outputs = {name: np.concatenate([p.outputs[name] for p in parts]) for name in self.results}
        return outputs, np.concatenate([p.overflow for p in parts])

    @cached_property
    def _tape(self) -> tuple[np.ndarray, np.ndarray, int]:
        """Instructions (n, FIELDS), all tables one behind the other, and the number of registers."""
        graph = self.fixed.graph
        leaving: dict[int, list[int]] = {}
        for k, name in enumerate(self.results):
            leaving.setdefault(graph.outputs[name], []).append(k)
        source = {i: self._source(i) for i in self._nodes}
        last: dict[int, int] = {}
        for i in self._nodes:
            last[source[i]] = i
            for a in graph.nodes[i].args:
                last[source[a]] = i
        number = {name: k for k, name in enumerate(self.operands)}
        tables, where = [0], {}
        register: dict[int, int] = {}
        free: list[int] = []
        used, code = 0, []
        for i in self._nodes:
            node = graph.nodes[i]
            if source[i] == i:
                # the destination is never a source's register: the machine may read sources after writing
                if not free:
                    free, used = [used], used + 1
                register[i] = free.pop()
                args = [register[source[a]] for a in node.args]
                code.append(self._instruction(i, node, register[i], args, number, tables, where))
            at = register[source[i]]
            code += [[OPCODES.index("output"), 0, at, 0, k, *[0] * (FIELDS - 5)] for k in leaving.get(i, ())]
            free += [register[s] for s in {source[i], *(source[a] for a in node.args)} if last[s] == i]
        return np.array(code, np.int64), np.array(tables, np.int64), used

    def _source(self, i: int) -> int:
        """The node whose bits node ``i`` has: shifts only move the binary point."""
        while self.fixed.graph.nodes[i].op == "shift":
            i = self.fixed.graph.nodes[i].args[0]
        return i

    def _instruction(
        self,
        i: int,
        node: Node,
        destination: int,
        args: list[int],
        number: Mapping[str, int],
        tables: list[int],
        where: dict[object, int],
    ) -> list[int]:
        fixed, fmt = self.fixed, self.fixed.formats[i]
        formats = [fixed.formats[a] for a in node.args]
        a, b, p, q, r = *args, *[0] * (2 - len(args)), 0, 0, 0
        match node.op:
            case "input":
                p = number[node.attr]
            case "const":
                p = int(fmt.quantise(node.attr))
            case "add" | "sub":
                p, q = (max(f.frac for f in formats) - f.frac for f in formats)
            case "scale":
                p = fixed.constants[i].mantissa
            case "table_sin" | "table_cos" | "table_reciprocal":
                p, q = formats[0].frac - node.attr, node.attr
                table = reciprocal_table if node.op == "table_reciprocal" else sine_table
                key = table, node.attr, fmt
                if key not in where:
                    where[key] = len(tables)
                    tables += table(node.attr, fmt)
                r, b = where[key], int(node.op == "table_cos")
            case "residual":
                p = formats[0].frac - node.attr
            case "normalise":
                p, q = formats[0].width - 2, formats[0].width - 2 - fmt.frac
            case "rescale":
                p = formats[1].width - 2
        drop = half = low = high = 0
        limit = NO_LIMIT
        if node.op in ROUNDED:
            drop = fixed.dropped_bits(i)
            half = fixed.half(i)
            low, high = fmt.minimum, fmt.maximum
            if fixed.may_overflow(i):
                limit = SATURATE if fixed.saturate else WRAP
        name = "table_sin" if node.op == "table_cos" else node.op
        if node.op == "mul" and fixed.split(i):
            name, p, r = "long mul", fixed.split(i), half
            q, drop, half = drop - p, 0, 0
        op = OPCODES.index(name)
        return [op, destination, a, b, p, q, r, drop, half, limit, low, high]
