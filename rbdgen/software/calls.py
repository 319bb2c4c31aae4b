"""The C functions that users call, around a program's kernels: of one state, and of many in two layouts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import indent

from rbdgen.software.program import Array, Program

TAB = "    "


@dataclass(frozen=True)
class Type:
    """A number's type in C: its name, its bits, and what stands behind names of functions and of kernels for it."""

    name: str
    bits: int
    suffix: str
    instance: str


TYPES = (Type("double", 64, "", "f64"), Type("float", 32, "_f32", "f32"))
THREADED = 1_000_000
"""Operations from which on they are spread over threads."""
COUNT = "int32_t"
"""Of numbers of steps."""
LAYOUTS = ("batch", "rows")
"""Names of the two functions for many states: an entry's states lie side by side, or a state's entries do."""


class Calls:
    """The functions of a program whose kernel is ``kernel``, called ``name``."""

    types: tuple[Type, ...] = TYPES
    start = 1
    """What checks begin with."""
    flags = ""
    """A last parameter of functions of many states."""

    def __init__(self, program: Program, kernel: str, name: str) -> None:
        self.program = program
        self.kernel = kernel
        self.name = name
        self.operands = program.operands
        self.results = program.results
        self.repeat = program.repeat

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All arrays."""
        return (*self.operands, *self.results)

    def prototype(self, kind: Type, layout: str | None = None) -> str:
        """The head of a function, without what ends it."""
        parameters = [] if layout is None else ["size_t count"]
        parameters += [f"const {kind.name} *{x.name}" for x in self.operands]
        if self.repeat:
            pointer = f"{COUNT} " if layout is None else f"const {COUNT} *"
            parameters.append(f"{pointer}{self.repeat}")
        parameters += [f"{kind.name} *{x.name}" for x in self.results]
        if layout is not None and self.flags:
            parameters.append(self.flags)
        result = "int" if layout is None else "size_t"
        behind = "" if layout is None else f"_{layout}"
        return f"{result} {self.name}{behind}{kind.suffix}({', '.join(parameters)})"

    def declarations(self) -> list[str]:
        """The prototypes of all functions."""
        found = []
        for kind in self.types:
            found += [f"{self.prototype(kind, layout)};" for layout in (None, *LAYOUTS)]
        return found

    def single(self, kind: Type) -> str:
        """The function of one state."""
        count = [f"&{self.repeat}"] if self.repeat else []
        given = [x.name for x in self.operands]
        given += [x.name for x in self.results]
        given += ["checks", *count]
        return (
            f"{self.prototype(kind)}\n{{\n"
            f"{TAB}{kind.name} checks[RBD_CHECKS] = {{{self.start}, {self.start}}};\n"
            f"{TAB}{self.kernel}_{kind.instance}({', '.join(given)});\n"
            f"{TAB}return {self.answer()};\n}}\n"
        )

    def answer(self) -> str:
        """What the function of one state returns."""
        return "checks[rbd_positive] == 0"

    def many(self, kind: Type) -> str:
        """The functions of many states, both layouts."""
        texts = [self._run(kind)]
        names = [x.name for x in self.operands]
        if self.repeat:
            names.append(self.repeat)
        names += [x.name for x in self.results]
        if self.flags:
            names.append("flags")
        for rows, layout in enumerate(LAYOUTS):
            call = f"run_{kind.instance}(count, {rows}, {', '.join(names)})"
            texts.append(f"{self.prototype(kind, layout)}\n{{\n{TAB}return {call};\n}}\n")
        return "\n".join(texts)

    def _run(self, kind: Type) -> str:
        """All states in blocks of as many as there are lanes."""
        parameters = ["size_t count", "int rows"]
        parameters += [f"const {kind.name} *{x.name}" for x in self.operands]
        if self.repeat:
            parameters.append(f"const {COUNT} *{self.repeat}")
        parameters += [f"{kind.name} *{x.name}" for x in self.results]
        if self.flags:
            parameters.append(self.flags)
        lines = [
            "const size_t lanes = RBD_LANES, blocks = (count + lanes - 1) / lanes;",
            "size_t marked = 0;",
            f"RBD_PARALLEL_FOR(count >= {self._worthwhile()})",
            "for (ptrdiff_t block = 0; block < (ptrdiff_t)blocks; block++) {",
            indent("\n".join(self._block(kind)), TAB),
            "}",
            "return marked;",
        ]
        body = indent("\n".join(lines), TAB)
        return f"static size_t run_{kind.instance}({', '.join(parameters)})\n{{\n{body}\n}}\n"

    def _worthwhile(self) -> int:
        """States from which on it pays to wake other threads."""
        return 1 + THREADED // max(1, self.program.statements())

    def _block(self, kind: Type) -> list[str]:
        wide = f"{self.kernel}_wide_{kind.instance}"
        whole = [f"{x.name} + first" for x in self.arrays]
        own = [f"own_{x.name}" for x in self.arrays]
        counted = ["own_count"] if self.repeat else []
        lines = [
            "const size_t first = (size_t)block * lanes, here = count - first < lanes ? count - first : lanes;",
            f"{kind.name} checks[RBD_CHECKS * RBD_LANES];",
            "for (int i = 0; i < RBD_CHECKS * RBD_LANES; i++)",
            f"{TAB}checks[i] = {self.start};",
        ]
        if self.repeat:
            lines += [
                f"{COUNT} own_count[RBD_LANES];",
                "for (size_t lane = 0; lane < lanes; lane++)",
                f"{TAB}own_count[lane] = lane < here ? {self.repeat}[first + lane] : 0;",
            ]
        lines += [
            "if (!rows && here == lanes) {",
            f"{TAB}{wide}({', '.join([*whole, 'checks', *counted])}, count);",
            "} else {",
            *self._moved(kind, wide, own, counted),
            "}",
            "for (size_t lane = 0; lane < here; lane++) {",
            *self.finished(kind),
            "}",
        ]
        return lines

    def _strides(self, x: Array) -> str:
        return f"{x.size}, rows ? 1 : count, rows ? {x.size} : 1"

    def _moved(
        self, kind: Type, wide: str, own: Sequence[str], counted: Sequence[str]
    ) -> list[str]:
        """A block whose states have to be brought side by side first."""
        lines = [f"{kind.name} own_{x.name}[{x.size} * RBD_LANES];" for x in self.arrays]
        for x in self.operands:
            moved = f"own_{x.name}, {x.name}, {self._strides(x)}, first, here"
            lines.append(f"rbd_gather_wide_{kind.instance}({moved});")
        lines.append(f"{wide}({', '.join([*own, 'checks', *counted])}, lanes);")
        for x in self.results:
            moved = f"{x.name}, own_{x.name}, {self._strides(x)}, first, here"
            lines.append(f"rbd_scatter_wide_{kind.instance}({moved});")
        return [TAB + line for line in lines]

    def finished(self, kind: Type) -> list[str]:
        """What is to be said of a state, and those with angles that are too far again, one by one."""
        inside = [f"{kind.name} one_{x.name}[{x.size}];" for x in self.arrays]
        for x in self.operands:
            stride, state = "(rows ? 1 : count)", f"(rows ? {x.size} : 1)"
            inside.append(f"for (size_t i = 0; i < {x.size}; i++)")
            inside.append(
                f"{TAB}one_{x.name}[i] = {x.name}[i * {stride} + (first + lane) * {state}];"
            )
        count = [f"&{self.repeat}[first + lane]"] if self.repeat else []
        given = [f"one_{x.name}" for x in self.arrays] + ["one_checks", *count]
        inside.append(f"{kind.name} one_checks[RBD_CHECKS] = {{1, 1}};")
        inside.append(f"{self.kernel}_{kind.instance}({', '.join(given)});")
        for x in self.results:
            stride, state = "(rows ? 1 : count)", f"(rows ? {x.size} : 1)"
            inside.append(f"for (size_t i = 0; i < {x.size}; i++)")
            inside.append(
                f"{TAB}{x.name}[i * {stride} + (first + lane) * {state}] = one_{x.name}[i];"
            )
        inside.append("checks[rbd_positive * RBD_LANES + lane] = one_checks[rbd_positive];")
        lines = ["if (checks[rbd_near * RBD_LANES + lane] == 0) {"]
        lines += [TAB + line for line in inside]
        lines += ["}", "marked += checks[rbd_positive * RBD_LANES + lane] == 0;"]
        return [TAB + line for line in lines]
