"""A program's kernel spread over the warps of a GPU's block, as text over the macros of ``c/rbd_cuda.h``.

A block has 32 states, one per lane of each of its warps. Shared memory holds, 32 states side by side, the arrays
between steps, the state of a roll-out, and the slots in which values go from warp to warp.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from textwrap import indent

from rbdgen.software.float_statements import FloatStatements
from rbdgen.software.kernel import TAB
from rbdgen.software.program import Array, Program, Straight, Whole
from rbdgen.software.spread import QUANTA, Spread, Spreading

STATES = 32
"""States of a block."""
WARPS = (2, 4, 8)
"""Numbers of warps of a block that there may be."""
SHARED_MEMORY = 227 * 1024
"""Bytes of shared memory that a block may have from compute capability 9.0 on (CUDA C++ Programming Guide, table of
technical specifications)."""
MULTIPROCESSOR_SHARED = 228 * 1024
"""Bytes of shared memory of a multiprocessor of capability 9.0 (same table)."""
RESERVED = 1024
"""Bytes of it that the system takes of each block (same guide, from capability 8.0 on)."""
MOST_WARPS = 64
"""Warps that are resident on a multiprocessor at most (same table)."""
LATENCY = 4
"""Cycles from one operation of a warp to the next, with what parallelism there is within it."""
RATE = {64: 2, 32: 4}
"""Operations of warps that a multiprocessor begins in a cycle: 64 of double and 128 of float for threads (same guide,
throughput of arithmetic instructions, capability 9.0)."""
FLAGS = STATES * 4
"""Bytes of flags, one per state."""


def spreadings_of(program: Program) -> tuple[Spreading, ...]:
    """For each straight step of a program what spreads it."""
    return tuple(Spreading(step) for step in program.steps if isinstance(step, Straight))


class SpreadKernel:
    """The text of a program's kernel called ``name``, over so many ``warps``, for numbers of so many ``bits``.

    ``quantum``: operations of a warp in a phase at most. ``spreadings``: of the program's straight steps, where other
    kernels use them too.
    """

    def __init__(
        self,
        program: Program,
        name: str,
        warps: int,
        bits: int,
        quantum: int = QUANTA[0],
        spreadings: Sequence[Spreading] | None = None,
    ) -> None:
        self.program = program
        self.name = name
        self.warps = warps
        self.bits = bits
        self.quantum = quantum
        self.spreadings = spreadings_of(program) if spreadings is None else spreadings
        self.kinds = {x.name: "IN" for x in program.operands}
        self.kinds |= {x.name: "OUT" for x in program.results}
        # a roll-out has the results of its steps in shared memory
        self.in_place = {} if program.repeat else _in_place(program)
        self.kinds |= dict.fromkeys(self.in_place, "OUT")
        self.kinds |= dict.fromkeys((x.name for x in self._inner()), "SHARED")
        if program.repeat:
            self.kinds |= dict.fromkeys(program.again, "SHARED")

    @cached_property
    def spreads(self) -> tuple[Spread, ...]:
        """The straight steps, spread."""
        size = self.warps, self.quantum, self.bits
        return tuple(spreading.over(*size) for spreading in self.spreadings)

    @property
    def time(self) -> float:
        """An estimate of the cycles for a block on a multiprocessor that is full: either all wait for operations of
        their own, or for the multiprocessor."""
        room = MULTIPROCESSOR_SHARED // (self.shared_bytes + RESERVED)
        resident = max(min(room, MOST_WARPS // self.warps), 1)
        waiting = LATENCY * sum(s.cost for s in self.spreads) / resident
        issuing = sum(s.work for s in self.spreads) / RATE[self.bits]
        return max(waiting, issuing)

    @property
    def threads(self) -> int:
        """Of a block."""
        return STATES * self.warps

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block."""
        return self._entries() * STATES * self.bits // 8 + FLAGS

    def _inner(self) -> tuple[Array, ...]:
        """Arrays that a step of the kernel has in shared memory."""
        own = self.program.results if self.program.repeat else ()
        local = [x for x in self.program.local if x.name not in self.in_place]
        return (*local, *own)

    @cached_property
    def _places(self) -> dict[str, int]:
        """Where arrays begin in shared memory, in entries; the slots come last."""
        places = {}
        entries = 0
        if self.program.repeat:
            for x in self.program.results:
                places[f"now_{x.name}"] = entries
                entries += x.size
        for x in self._inner():
            places[x.name] = entries
            entries += x.size
        return places | {"slots": entries}

    def _entries(self) -> int:
        return self._places["slots"] + max((s.slots for s in self.spreads), default=0)

    def text(self) -> str:
        """All functions of the kernel; the last one is the whole."""
        functions = []
        for number, own in enumerate(self.spreads):
            functions += [self._part(own, number, w) for w in range(self.warps)]
        functions.append(self._step())
        if self.program.repeat:
            functions.append(self._repeated())
        return "\n".join(functions)

    def _arrays(self) -> list[str]:
        """Names of all arrays of a step."""
        return [*self.program.arrays, "slots"]

    def _parameters(self, names: Iterable[str], extra: Sequence[str] = ()) -> str:
        """Parameters of a function with these arrays."""
        operands = {x.name for x in self.program.operands}
        found = []
        for name in names:
            const = "const " if name in operands else ""
            # other warps write into shared memory as well
            restrict = "" if self.kinds.get(name, "SHARED") == "SHARED" else "RBD_RESTRICT "
            found.append(f"{const}RBD_REAL *{restrict}{name}")
        return ", ".join([*found, "RBD_REAL *checks", *extra]) + " RBD_STRIDE_PARAMETER"

    def _part_name(self, number: int, warp: int) -> str:
        return f"RBD_NAME({self.name}_{number}_{warp})"

    @property
    def _barrier(self) -> str:
        return f"RBD_BARRIER({self.threads});"

    def _part(self, own: Spread, number: int, warp: int) -> str:
        """The part of a straight step that one warp does."""
        blocks = [phase[warp] for phase in own.phases]
        statements = FloatStatements(own.straight, blocks[0], self.kinds, "SHARED")
        statements.text()
        for block in blocks[1:]:
            statements.lines.append(self._barrier)
            statements.proceed(block)
            statements.text()
        body = indent("\n".join([*statements.begin(), *statements.lines, *statements.end()]), TAB)
        head = (
            f"RBD_INLINE void {self._part_name(number, warp)}({self._parameters(self._arrays())})"
        )
        return f"{head}\n{{\n{body}\n}}\n"

    def _zeros(self) -> list[str]:
        """Zeros where no step writes, dealt out to the warps."""
        written = {
            place for s in self.program.steps if isinstance(s, Straight) for place, _ in s.writes
        }
        whole = {s.result for s in self.program.steps if isinstance(s, Whole)}
        places = []
        for x in (*self.program.results, *self.program.local):
            for k in range(x.size):
                if (x.name, k) not in written and x.name not in whole:
                    places.append((x.name, k))
        lines = []
        for w in range(self.warps):
            own = places[w :: self.warps]
            entries = [f"RBD_{self.kinds[name]}({name}, {k}) = 0;" for name, k in own]
            if entries:
                lines += [f"if (warp == {w}) {{", *(TAB + line for line in entries), "}"]
        return lines

    def _step(self) -> str:
        """All steps, one behind the other."""
        given = f"{', '.join([*self._arrays(), 'checks'])} RBD_STRIDE_ARGUMENT"
        parts = []
        number = 0
        for step in self.program.steps:
            if isinstance(step, Whole):
                parts.append([self._product(step)])
                continue
            lines = ["switch (warp) {"]
            for w in range(self.warps):
                lines += [
                    f"case {w}:",
                    f"{TAB}{self._part_name(number, w)}({given});",
                    f"{TAB}break;",
                ]
            parts.append([*lines, "}"])
            number += 1
        lines = self._zeros()
        for k, part in enumerate(parts):
            if k:
                lines.append(self._barrier)
            lines += part
        name = f"{self.name}_step" if self.program.repeat else self.name
        places = self._pointers([*(x.name for x in self._inner()), "slots"])
        places += [f"RBD_REAL *{right} = {result};" for right, result in self.in_place.items()]
        outer = [x.name for x in self.program.operands]
        if not self.program.repeat:
            outer += [x.name for x in self.program.results]
        return self._function(name, outer, [], [*places, *lines])

    def _product(self, step: Whole) -> str:
        """A product, whose rows, or columns, are dealt out to the warps."""
        arrays = self.program.arrays
        rows, inner = arrays[step.left].shape
        columns = arrays[step.right].shape[1]
        # in place it is done once: not by lanes that do another's state again
        if step.right in self.in_place:
            return (
                f"if (own) RBD_NAME(rbd_product_in_place)<{rows}>({step.result}, RBD_STRIDE, {step.left}, {columns}, "
                f"warp, {self.warps});"
            )
        stride = "RBD_STRIDE" if self.kinds[step.result] == "OUT" else "RBD_STATES"
        return (
            f"RBD_NAME(rbd_rows_of_product)({step.result}, {stride}, {step.left}, {step.right}, RBD_STATES, "
            f"{rows}, {inner}, {columns}, warp, {self.warps});"
        )

    def _pointers(self, names: Iterable[str]) -> list[str]:
        """Where arrays in shared memory begin."""
        places = self._places
        return [f"RBD_REAL *{x} = shared + {places[x]} * RBD_STATES;" for x in names]

    def _function(
        self, name: str, arrays: list[str], extra: Sequence[str], lines: list[str]
    ) -> str:
        """A function of all warps; ``own`` in C: whether the lane has a state of its own, not another's again."""
        parameters = self._parameters([*arrays, "shared"], extra)
        body = indent("\n".join(lines), TAB)
        head = f"RBD_WHOLE void RBD_NAME({name})(int warp, bool own, {parameters})"
        return f"{head}\n{{\n{body}\n}}\n"

    def _repeated(self) -> str:
        """Steps of time: as many as the state of the block that has most of them; each state keeps to its own."""
        program = self.program
        own = dict(zip(program.again, program.results, strict=True))
        now = [f"now_{x.name}" for x in program.results]
        lines = self._pointers([*now, *(x.name for x in program.results)])
        for operand, x in own.items():
            lines += self._each(x, f"RBD_SHARED(now_{x.name}, i) = RBD_IN({operand}, i);")
        given = [f"now_{own[x.name].name}" if x.name in own else x.name for x in program.operands]
        call = f"warp, own, {', '.join([*given, 'shared', 'step_checks'])} RBD_STRIDE_ARGUMENT"
        lines += [
            self._barrier,
            "for (int32_t number = 0; number < most; number++) {",
            # checks of steps that a state does not take any more do not count
            f"{TAB}RBD_REAL step_checks[RBD_CHECKS] = {{1, 1}};",
            f"{TAB}RBD_NAME({self.name}_step)({call});",
            f"{TAB}{self._barrier}",
            f"{TAB}if (number < {program.repeat}[0]) {{",
            f"{TAB}{TAB}checks[rbd_positive] *= step_checks[rbd_positive];",
        ]
        for x in program.results:
            moved = self._each(x, f"RBD_SHARED(now_{x.name}, i) = RBD_SHARED({x.name}, i);")
            lines += [f"{TAB}{TAB}{line}" for line in moved]
        lines += [f"{TAB}}}", f"{TAB}{self._barrier}", "}"]
        for x in program.results:
            lines += self._each(x, f"RBD_OUT(end_{x.name}, i) = RBD_SHARED(now_{x.name}, i);")
        outer = [x.name for x in program.operands] + [f"end_{x.name}" for x in program.results]
        extra = [f"const int32_t *{program.repeat}", "int32_t most"]
        return self._function(self.name, outer, extra, lines)

    def _each(self, x: Array, statement: str) -> list[str]:
        """A statement for the entries of an array that are the warp's."""
        return [f"for (int i = warp; i < {x.size}; i += {self.warps})", f"{TAB}{statement}"]


def _in_place(program: Program) -> dict[str, str]:
    """Right factors that can be where their products will be, in memory of the caller's: those that nothing else reads,
    and as large."""
    wholes = [step for step in program.steps if isinstance(step, Whole)]
    taken = [name for step in wholes for name in (step.left, step.right)]
    for step in program.steps:
        if isinstance(step, Straight):
            taken += {array for array, _ in step.reads.values()}
    results = {x.name for x in program.results}
    arrays = program.arrays
    found = {}
    for step in wholes:
        fits = arrays[step.right].shape == arrays[step.result].shape
        if fits and step.result in results and taken.count(step.right) == 1:
            found[step.right] = step.result
    return found
