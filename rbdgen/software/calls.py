"""The C functions that users call, around a program's kernels: of one state, and of many in two layouts; those of
fixed-point kernels over raw numbers, and over real ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import indent

from rbdgen.ir.fixed import Format
from rbdgen.software.fixed_program import NEXT_STATE, STATE, FixedProgram
from rbdgen.software.fixed_statements import FixedStatements
from rbdgen.software.kernel import Kernel
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
    """Value that checks begin with."""
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
        """Value that the function of one state returns."""
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
        # states that lie side by side already, and fill all lanes, need not be moved
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
        """Lines that report on a state, and those with angles that are too far again, one by one."""
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
        # side by side, sines are for near angles only; a state by itself has the system's too
        lines = ["if (checks[rbd_near * RBD_LANES + lane] == 0) {"]
        lines += [TAB + line for line in inside]
        lines += ["}", "marked += checks[rbd_positive * RBD_LANES + lane] == 0;"]
        return [TAB + line for line in lines]


INSIDE = (STATE, NEXT_STATE)
"""Arrays that the parts of a function that repeats hand to each other."""
RAW = Type("int64_t", 64, "_raw", "raw")


def fixed_kernel(made: FixedProgram, name: str) -> str:
    """The text of a fixed-point kernel, with the tables that it reads before it."""
    parts = {"": made.program}
    if made.begin and made.again:
        parts = {"_begin": made.begin, "_again": made.again, "_last": made.program}
    tables: dict[str, tuple[int, ...]] = {}
    texts = []
    for behind, program in parts.items():
        kernel = Kernel(program, name + behind, FixedStatements, INSIDE)
        texts.append(kernel.text())
        tables |= kernel.tables
    if made.begin and made.again:
        texts.append(_repeated(made, name))
    # the kernel's text is included for one state and for many, its tables must be there once
    guard = f"RBD_TABLES_{name}"
    lines = [f"#ifndef {guard}", f"#define {guard}"]
    for table, values in sorted(tables.items()):
        lines.append(f"static const int64_t {table}[{len(values)}] = {{")
        lines += [f"{TAB}{row}," for row in _rows_of(values)]
        lines.append("};")
    lines.append("#endif\n")
    return "\n".join([*lines, *texts])


def _rows_of(values: Sequence[int], width: int = 8) -> list[str]:
    """Numbers, some to a line."""
    rows = [values[k : k + width] for k in range(0, len(values), width)]
    return [", ".join(map(str, row)) for row in rows]


def _repeated(made: FixedProgram, name: str) -> str:
    """Steps of time: as many as each lane has, one at least."""
    assert made.begin is not None
    size = made.begin.results[0].size
    operands = [x.name for x in made.begin.operands]
    results = [x.name for x in made.program.results]
    kept = [x.name for x in made.program.operands if x.name != STATE]
    repeat = made.program.function.repeat
    assert repeat is not None
    count = repeat.count.name
    begun = ", ".join([*operands, STATE, "unheeded"])
    again = ", ".join([STATE, *kept, NEXT_STATE, "going"])
    last = ", ".join([STATE, *kept, *results, "checks"])
    parameters = [f"const RBD_REAL *RBD_RESTRICT {x}" for x in operands]
    parameters += [f"RBD_REAL *RBD_RESTRICT {x}" for x in (*results, "checks")]
    lines = [
        f"RBD_LOCAL_ARRAY({STATE}, {size});",
        f"RBD_LOCAL_ARRAY({NEXT_STATE}, {size});",
        "RBD_LOCAL_ARRAY(unheeded, RBD_CHECKS) = {0};",
        f"RBD_NAME({name}_begin)({begun} RBD_STRIDE_ARGUMENT);",
        "RBD_REAL most = 1;",
        "for (size_t lane = 0; lane < RBD_LANES; lane++)",
        f"{TAB}most = {count}[lane] > most ? {count}[lane] : most;",
        "for (RBD_REAL number = 1; number < most; number++) {",
        f"{TAB}RBD_LOCAL_ARRAY(going, RBD_CHECKS) = {{0}};",
        f"{TAB}RBD_NAME({name}_again)({again} RBD_STRIDE_ARGUMENT);",
        f"{TAB}for (size_t lane = 0; lane < RBD_LANES; lane++) {{",
        f"{TAB * 2}if ({count}[lane] <= number)",
        f"{TAB * 3}continue;",
        f"{TAB * 2}checks[lane] |= going[lane];",
        f"{TAB * 2}for (size_t i = 0; i < {size}; i++)",
        f"{TAB * 3}RBD_LOCAL({STATE}, i) = RBD_LOCAL({NEXT_STATE}, i);",
        f"{TAB}}}",
        "}",
        f"RBD_NAME({name}_last)({last} RBD_STRIDE_ARGUMENT);",
    ]
    body = indent("\n".join(lines), TAB)
    head = f"RBD_WHOLE void RBD_NAME({name})({', '.join(parameters)} RBD_STRIDE_PARAMETER)"
    return f"{head}\n{{\n{body}\n}}\n"


class FixedCalls(Calls):
    """The functions of a fixed-point program: of raw numbers in its formats, in all layouts, and of real ones, one
    state or state after state. They say as flags what hardware says of a task."""

    types = (RAW,)
    start = 0
    flags = "uint8_t *flags"

    def __init__(self, made: FixedProgram, kernel: str, name: str) -> None:
        super().__init__(made.program, kernel, name)
        self.made = made
        operands = made.begin.operands if made.begin else made.program.operands
        self.operands = operands
        self.results = made.program.results
        # the number of steps is one of the raw operands here
        self.repeat = None

    def tables(self) -> str:
        """Formats and limits of all words."""
        lines = []
        for x in self.arrays:
            # entries that are no words are zero, or are not read
            formats = [self.made.formats.get((x.name, k), Format(1, 0)) for k in range(x.size)]
            rows = [f"{{{f.width}, {f.frac}}}" for f in formats]
            lines.append(_table("rbd_format", self._of(x, "formats"), rows))
        for x in self.operands:
            # C has no literal for −2^63
            everything = (-(2**63) + 1, 2**63 - 1)
            limits = [self.made.limits.get((x.name, k), everything) for k in range(x.size)]
            rows = [f"{{INT64_C({low}), INT64_C({high})}}" for low, high in limits]
            lines.append(_table("rbd_limits", self._of(x, "limits"), rows))
        return "\n".join(lines)

    def _of(self, x: Array, what: str) -> str:
        return f"{self.kernel}_{x.name}_{what}"

    def outside(self) -> str:
        """Whether a state's operands are outside their declared ranges."""
        parameters = [f"const int64_t *{x.name}" for x in self.operands]
        tests = []
        for x in self.operands:
            limits = self._of(x, "limits")
            tests.append(f"rbd_outside({x.name}, {limits}, {x.size}, stride)")
        return (
            f"static int {self.kernel}_outside({', '.join(parameters)}, size_t stride)\n{{\n"
            f"{TAB}return {' || '.join(tests)} ? RBD_OUTSIDE : 0;\n}}\n"
        )

    def answer(self) -> str:
        """The flags of one state."""
        names = ", ".join(x.name for x in self.operands)
        return f"(checks[rbd_lost] ? RBD_OVERFLOW : 0) | {self.kernel}_outside({names}, 1)"

    def finished(self, kind: Type) -> list[str]:
        """The flags of a state, and whether it has any."""
        own = []
        for x in self.operands:
            own.append(f"{x.name} + (first + lane) * (rows ? {x.size} : 1)")
        outside = f"{self.kernel}_outside({', '.join(own)}, rows ? 1 : count)"
        lines = [
            f"const int found = (checks[rbd_lost * RBD_LANES + lane] ? RBD_OVERFLOW : 0) | {outside};",
            "if (flags)",
            f"{TAB}flags[first + lane] = (uint8_t)found;",
            "marked += found != 0;",
        ]
        return [TAB + line for line in lines]

    def real_prototype(self, many: bool) -> str:
        """The head of a function of real numbers: of one state, or of states one after the other."""
        parameters = ["size_t count"] if many else []
        parameters += [f"const double *{x.name}" for x in self.operands]
        parameters += [f"double *{x.name}" for x in self.results]
        if many:
            parameters.append(self.flags)
        result = "size_t" if many else "int"
        behind = "_rows" if many else ""
        return f"{result} {self.name}{behind}_fixed({', '.join(parameters)})"

    def declarations(self) -> list[str]:
        """The prototypes of all functions."""
        real = [f"{self.real_prototype(many)};" for many in (False, True)]
        return [*super().declarations(), *real]

    def real(self) -> str:
        """The functions of real numbers."""
        lines = [f"int64_t raw_{x.name}[{x.size}];" for x in self.arrays]
        for x in self.operands:
            moved = f"raw_{x.name}, {x.name}, {self._of(x, 'formats')}, {x.size}"
            lines.append(f"rbd_quantise({moved});")
        names = ", ".join(f"raw_{x.name}" for x in self.arrays)
        lines.append(f"const int found = {self.name}_raw({names});")
        for x in self.results:
            moved = f"{x.name}, raw_{x.name}, {self._of(x, 'formats')}, {x.size}"
            lines.append(f"rbd_real({moved});")
        lines.append("return found;")
        one = f"{self.real_prototype(False)}\n{{\n{indent(chr(10).join(lines), TAB)}\n}}\n"
        own = ", ".join(f"{x.name} + k * {x.size}" for x in self.arrays)
        lines = [
            "size_t marked = 0;",
            f"RBD_PARALLEL_FOR(count >= {self._worthwhile()})",
            "for (ptrdiff_t state = 0; state < (ptrdiff_t)count; state++) {",
            f"{TAB}const size_t k = (size_t)state;",
            f"{TAB}const int found = {self.name}_fixed({own});",
            f"{TAB}if (flags)",
            f"{TAB * 2}flags[k] = (uint8_t)found;",
            f"{TAB}marked += found != 0;",
            "}",
            "return marked;",
        ]
        many = f"{self.real_prototype(True)}\n{{\n{indent(chr(10).join(lines), TAB)}\n}}\n"
        return f"{one}\n{many}"


def _table(kind: str, name: str, rows: Sequence[str]) -> str:
    """A constant array."""
    lines = [f"static const {kind} {name}[{len(rows)}] = {{"]
    for k in range(0, len(rows), 4):
        lines.append(f"{TAB}{', '.join(rows[k : k + 4])},")
    return "\n".join([*lines, "};"])
