"""A program as C text over macros: the same for one state and for many side by side, for double, float and CUDA.

What the macros mean is in ``c/rbd_kernel.h``, and in the instance that comes before each kernel (``c/rbd_instance.h``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from textwrap import indent

from rbdgen.software.blocks import Block, Blocks, cut
from rbdgen.software.float_statements import FloatStatements
from rbdgen.software.program import Program, Straight, Whole
from rbdgen.software.statements import Statements

TAB = "    "
STRIDE = " RBD_STRIDE_PARAMETER", " RBD_STRIDE_ARGUMENT"
"""A function's last parameter, where it reads or writes arrays of the caller's, and its argument."""


class Kernel:
    """The text of a program's kernel, called ``name``, in the arithmetic of ``statements``; operands and results
    that are ``inside`` are arrays of another kernel's own."""

    def __init__(
        self,
        program: Program,
        name: str,
        statements: type[Statements] = FloatStatements,
        inside: Collection[str] = (),
    ) -> None:
        self.inside = inside
        self.statements = statements
        self.program = program
        self.name = name
        self.kinds = self._kinds()
        self.patterns: dict[str, list[bool]] = {}
        self.tables: dict[str, tuple[int, ...]] = {}
        """Tables that the text reads, by name."""

    def _kinds(self) -> dict[str, str]:
        """By which macro an array is accessed."""
        kinds = {x.name: "IN" for x in self.program.operands}
        kinds |= {x.name: "OUT" for x in self.program.results}
        kinds |= {x.name: "LOCAL" for x in self.program.local}
        kinds |= dict.fromkeys(kinds.keys() & set(self.inside), "LOCAL")
        if self.program.repeat:
            kinds |= dict.fromkeys((*self.program.again, *self._results), "LOCAL")
        return kinds

    @property
    def _results(self) -> list[str]:
        return [x.name for x in self.program.results]

    def text(self) -> str:
        """All functions of the kernel; the last one is the whole."""
        functions = []
        calls = [self._zeros()]
        slots = 0
        number = 0
        steps = [s for s in self.program.steps if isinstance(s, Straight)]
        straights = [cut(s, self.statements.longest) for s in steps]
        several = sum(len(s.blocks) for s in straights) > 1
        pending = iter(straights)
        for step in self.program.steps:
            if isinstance(step, Whole):
                calls.append(self._product(step))
                continue
            blocks = next(pending)
            slots = max(slots, blocks.slots)
            for block in blocks.blocks:
                text, call = self._block(blocks, block, number, several)
                functions.append(text)
                calls.append(call)
                number += 1
        body = [f"RBD_LOCAL_ARRAY({x.name}, {x.size});" for x in self.program.local]
        if slots:
            body.append(f"RBD_LOCAL_ARRAY(slots, {slots});")
        body += [call for call in calls if call]
        functions.append(self._whole(body))
        return "\n".join([*self._tables(), *functions])

    def _parameters(self, arrays: Iterable[str]) -> str:
        """Parameters of a function that has these arrays."""
        found = []
        for name in arrays:
            const = "const " if self._is_constant(name) else ""
            found.append(f"{const}RBD_REAL *RBD_RESTRICT {name}")
        return ", ".join(found)

    def _is_constant(self, name: str) -> bool:
        return any(x.name == name for x in self.program.operands)

    def _block(self, blocks: Blocks, block: Block, number: int, several: bool) -> tuple[str, str]:
        """One block as a function, and its call."""
        statements = self.statements(blocks.straight, block, self.kinds)
        lines = statements.text()
        self.tables |= statements.tables
        # parameters are what the lines name, so that none is unused
        used = [x for x in self.program.arrays if f"({x}, " in "\n".join(lines)]
        if block.takes or block.leaves:
            used.append("slots")
        if statements.checks:
            used.append("checks")
        strided = any(f"{macro}(" in line for line in lines for macro in ("RBD_IN", "RBD_OUT"))
        parameter, argument = STRIDE if strided else ("", "")
        name = f"{self.name}_{number}"
        # a single part is as well inside the whole; several stay functions that compilers can take
        kind = "RBD_PART" if several else "RBD_INLINE"
        head = f"{kind} void RBD_NAME({name})({self._parameters(used)}{parameter})"
        body = indent("\n".join([*statements.begin(), *lines, *statements.end()]), TAB)
        text = f"{head}\n{{\nRBD_FOR_LANES {{\n{body}\n}}\n}}\n"
        return text, f"RBD_NAME({name})({', '.join(used)}{argument});"

    def _product(self, step: Whole) -> str:
        arrays = self.program.arrays
        rows, inner = arrays[step.left].shape
        columns = arrays[step.right].shape[1]
        stride = "RBD_STRIDE" if self.kinds[step.result] == "OUT" else "RBD_LANES"
        own = f"{self.name}_pattern{len(self.patterns)}"
        self.patterns[own] = [(k, j) in step.entries for k in range(inner) for j in range(columns)]
        return (
            f"RBD_NAME(rbd_negated_product)({step.result}, {stride}, {step.left}, {step.right}, "
            f"{rows}, {inner}, {columns} RBD_PATTERN({own}));"
        )

    def _tables(self) -> list[str]:
        """Entries of products' right factors that may differ from zero, for those who look."""
        lines = []
        for name, pattern in self.patterns.items():
            text = ", ".join(str(int(there)) for there in pattern)
            table = f"static const unsigned char {name}[{len(pattern)}] = {{{text}}};"
            guard = f"RBD_{name}"
            lines.append(
                f"#if defined(RBD_PATTERNS) && !defined({guard})\n#define {guard}\n{table}\n#endif\n"
            )
        return lines

    def _zeros(self) -> str:
        """Zeros where no step writes."""
        written: dict[str, set[int]] = {x: set() for x in self.program.arrays}
        for step in self.program.steps:
            if isinstance(step, Whole):
                written[step.result] = set(range(self.program.arrays[step.result].size))
                continue
            for (array, k), _ in step.writes:
                written[array].add(k)
        lines = []
        for x in (*self.program.results, *self.program.local):
            missing = sorted(set(range(x.size)) - written[x.name])
            if missing:
                # before all steps, so that all of the array can be cleared for some of its entries
                stride = "RBD_STRIDE" if self.kinds[x.name] == "OUT" else "RBD_LANES"
                lines.append(f"RBD_NAME(rbd_zero)({x.name}, {stride}, {x.size});")
        return "\n".join(lines)

    def _whole(self, body: list[str]) -> str:
        """The whole kernel: one call, or steps of time."""
        arrays = [*self.program.operands, *self.program.results]
        names = [*(x.name for x in arrays), "checks"]
        inside = indent("\n".join(body), TAB)
        name = self.name if not self.program.repeat else f"{self.name}_step"
        head = f"RBD_WHOLE void RBD_NAME({name})({self._parameters(names)} RBD_STRIDE_PARAMETER)"
        text = f"{head}\n{{\n{inside}\n}}\n"
        return text if not self.program.repeat else f"{text}\n{self._repeated()}"

    def _repeated(self) -> str:
        """Steps of time, as many as each lane has."""
        program = self.program
        lines = [f"RBD_LOCAL_ARRAY(now_{x.name}, {x.size});" for x in program.results]
        lines += [f"RBD_LOCAL_ARRAY(next_{x.name}, {x.size});" for x in program.results]
        own = dict(zip(program.again, program.results, strict=True))
        for operand, x in own.items():
            lines.append(
                f"RBD_NAME(rbd_copy)(now_{x.name}, RBD_LANES, {operand}, RBD_STRIDE, {x.size});"
            )
        given = [f"now_{own[x.name].name}" if x.name in own else x.name for x in program.operands]
        given += [f"next_{x.name}" for x in program.results]
        lines.append(f"const size_t most = RBD_NAME(rbd_most_steps)({program.repeat});")
        lines.append("for (size_t number = 0; number < most; number++) {")
        lines.append(
            f"{TAB}RBD_NAME({self.name}_step)({', '.join([*given, 'checks'])} RBD_STRIDE_ARGUMENT);"
        )
        for x in program.results:
            moved = f"now_{x.name}, next_{x.name}, {x.size}, {program.repeat}, number"
            lines.append(f"{TAB}RBD_NAME(rbd_advance)({moved});")
        lines.append("}")
        for x in program.results:
            lines.append(
                f"RBD_NAME(rbd_copy)({x.name}, RBD_STRIDE, now_{x.name}, RBD_LANES, {x.size});"
            )
        names = [*(x.name for x in (*program.operands, *program.results)), "checks"]
        head = (
            f"RBD_WHOLE void RBD_NAME({self.name})({self._parameters(names)}, "
            f"const int32_t *RBD_RESTRICT {program.repeat} RBD_STRIDE_PARAMETER)"
        )
        return f"{head}\n{{\n{indent(chr(10).join(lines), TAB)}\n}}\n"
