"""A robot's functions in CUDA C++: kernels over many states, what launches them, and a program that times them.

Each function has two kernels at most, in double and in float. The plain one computes one state per thread, by the same
text as the C library's. Where its values would not fit into a thread's registers, by an estimate from its graph, there
is a spread one too, in which the warps of a block share the work on 32 states (:mod:`rbdgen.software.spread_kernel`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from textwrap import indent

from rbdgen.installation import license_text
from rbdgen.ir.graph import Graph
from rbdgen.software.blocks import Block, cut
from rbdgen.software.calls import COUNT, TYPES, Type
from rbdgen.software.composition import library_name
from rbdgen.software.kernel import TAB, Kernel
from rbdgen.software.library import support
from rbdgen.software.program import Program, Straight
from rbdgen.software.spread import QUANTA, Spreading
from rbdgen.software.spread_kernel import (
    FLAGS,
    SHARED_MEMORY,
    STATES,
    WARPS,
    SpreadKernel,
    spreadings_of,
)

REGISTERS = 255
"""Of 32 bits that a thread may have (CUDA C++ Programming Guide, table of technical specifications)."""
OTHERS = 30
"""Registers that addresses and the like take."""


def most_alive(graph: Graph, order: Sequence[int]) -> int:
    """Results of operations that are alive at once at most, computed in this order."""
    last: dict[int, int] = {}
    for i in order:
        last |= dict.fromkeys(graph.nodes[i].args, i)
    ends: dict[int, int] = {}
    for a, i in last.items():
        # operands and constants can be read again
        if not graph.nodes[a].is_given:
            ends[i] = ends.get(i, 0) + 1
    alive = most = 0
    for i in order:
        alive += (i in last) - ends.get(i, 0)
        most = max(most, alive)
    return most


def depth_first(graph: Graph, roots: Sequence[int]) -> list[int]:
    """The operations that these nodes need: all for the first, then what more the second needs, and so on."""
    order: list[int] = []
    seen: set[int] = set()
    # a stack of its own: graphs are deeper than Python's may be
    waiting = [(root, False) for root in reversed(roots)]
    while waiting:
        i, ready = waiting.pop()
        node = graph.nodes[i]
        if i in seen or node.is_given:
            continue
        if ready:
            seen.add(i)
            order.append(i)
            continue
        waiting.append((i, True))
        waiting += [(a, False) for a in reversed(node.args)]
    return order


def pressure(straight: Straight) -> int:
    """Values that must be alive at once: the least of some orders."""
    graph = straight.graph
    roots = [i for _, i in straight.writes]
    given = [i for i, node in graph if not node.is_given]
    orders = (given, depth_first(graph, roots), depth_first(graph, roots[::-1]))
    return min(most_alive(graph, order) for order in orders)


def spills(program: Program, bits: int) -> bool:
    """Whether a plain kernel for numbers of so many bits is expected to keep values in memory."""
    # whole products go through memory in any case
    if program.local:
        return True
    straights = [step for step in program.steps if isinstance(step, Straight)]
    most = max((pressure(straight) for straight in straights), default=0)
    return most * bits // 32 + OTHERS > REGISTERS


HEADER = "rbd_cuda.h"
BENCH = "rbd_bench.cuh"
FOLDER = "cuda/"
THREADS = 64
"""Threads of a block of a plain kernel: two warps, so that a thousand states are on sixteen multiprocessors."""
CALLED_FROM = {64: 4, 32: 10}
"""Parts of a plain kernel, by the bits of its numbers, from which on it calls them, and values between them stay in
memory: of larger functions NVIDIA's assembler often moves several times as much to memory and back."""
SINGULAR = "unsigned long long *singular"


@dataclass(frozen=True)
class CudaKernel:
    """A ``__global__`` function: what stands behind the function's name in its ``name``, and how it is launched.

    A block has ``threads`` threads (32 by ``warps`` of a spread kernel), takes ``states`` states and ``shared`` bytes
    of dynamic shared memory. ``kept``: bytes of values that the text itself writes into a thread's memory and reads
    there, between parts that it calls.
    """

    name: str
    kind: Type
    warps: int
    threads: int
    states: int
    shared: int
    kept: int = 0

    @property
    def spread(self) -> bool:
        """Whether warps share the work."""
        return self.name.startswith("spread")


class CudaFunction:
    """All CUDA text of one function, whose blocks take so many bytes of shared memory at most."""

    def __init__(self, program: Program, shared_memory: int = SHARED_MEMORY) -> None:
        self.program = program
        self.shared_memory = shared_memory
        self.prefix = library_name(program.robot)
        self.name = program.function.name
        self.whole = f"{self.prefix}_{self.name}"

    @cached_property
    def spreadings(self) -> tuple[Spreading, ...]:
        """Spreadings of the straight steps."""
        return spreadings_of(self.program)

    @cached_property
    def spreads(self) -> dict[int, SpreadKernel]:
        """The spread kernel by the bits of its numbers, where it is worth while and there is one that fits."""
        found = {}
        for kind in TYPES:
            if spills(self.program, kind.bits):
                chosen = self.best_spread(kind.bits)
                if chosen is not None:
                    found[kind.bits] = chosen
        return found

    def best_spread(self, bits: int) -> SpreadKernel | None:
        """The spread kernel with the shortest time by the model; None where none fits into shared memory."""
        fitting = []
        name = f"{self.name}_spread"
        for warps, quantum in product(WARPS, QUANTA):
            kernel = SpreadKernel(self.program, name, warps, bits, quantum, self.spreadings)
            if kernel.shared_bytes <= self.shared_memory:
                fitting.append(kernel)
        return min(fitting, key=lambda k: k.time, default=None)

    def kernels(self, kind: Type) -> tuple[CudaKernel, ...]:
        """The kernels for numbers of this type; the last one is the one to take."""
        kept = self._kept(kind.bits)
        found = [CudaKernel(f"plain{kind.suffix}", kind, 1, THREADS, THREADS, 0, kept)]
        own = self.spreads.get(kind.bits)
        if own is not None:
            name = f"spread{kind.suffix}"
            found.append(CudaKernel(name, kind, own.warps, own.threads, STATES, own.shared_bytes))
        return tuple(found)

    @cached_property
    def _blocks(self) -> list[Block]:
        """The parts of the plain kernel."""
        found: list[Block] = []
        for step in self.program.steps:
            if isinstance(step, Straight):
                found += cut(step).blocks
        return found

    def _called(self, bits: int) -> bool:
        """Whether the plain kernel calls its parts."""
        return len(self._blocks) >= CALLED_FROM[bits]

    def _kept(self, bits: int) -> int:
        """Bytes that go through memory between parts, where they are called."""
        if not self._called(bits):
            return 0
        values = sum(len(part.takes) + len(part.leaves) for part in self._blocks)
        return values * bits // 8

    def global_name(self, kernel: CudaKernel) -> str:
        """The name of a kernel's ``__global__`` function."""
        return f"{self.whole}_{kernel.name}_kernel"

    def texts(self) -> dict[str, str]:
        """The headers with the kernels' text, by name."""
        found = {f"{self.whole}_kernel.h": Kernel(self.program, self.name).text()}
        for bits, kernel in self.spreads.items():
            found[f"{self.whole}_spread_f{bits}.h"] = kernel.text()
        return found

    def device(self) -> str:
        """The kernels, which is all that NVRTC compiles."""
        parts = []
        for kind in TYPES:
            parts.append(f'#undef RBD_BITS\n#define RBD_BITS {kind.bits}\n#include "{HEADER}"')
            if self._called(kind.bits):
                # parts are inline otherwise
                parts.append("#undef RBD_PART\n#define RBD_PART RBD_CALLED")
            parts.append(f'#include "{self.whole}_kernel.h"')
            if kind.bits in self.spreads:
                parts.append(f'#include "{self.whole}_spread_f{kind.bits}.h"')
            for kernel in self.kernels(kind):
                parts.append(self._spread(kernel) if kernel.spread else self._plain(kernel))
        return "\n".join(parts)

    def source(self) -> str:
        """The ``.cu`` file."""
        launchers = "\n".join(self.launchers())
        return (
            f'#if !defined(__CUDACC_RTC__)\n#include "{self.prefix}.cuh"\n#endif\n{self.device()}\n'
            f"#if !defined(__CUDACC_RTC__)\n{launchers}#endif\n"
        )

    def parameters(self, kind: Type, pointer: str = "*") -> list[str]:
        """Parameters of kernels and launchers."""
        found = ["size_t count"]
        found += [f"const {kind.name} {pointer}{x.name}" for x in self.program.operands]
        if self.program.repeat:
            found.append(f"const {COUNT} {pointer}{self.program.repeat}")
        found += [f"{kind.name} {pointer}{x.name}" for x in self.program.results]
        return [*found, SINGULAR]

    @property
    def arguments(self) -> list[str]:
        """The arguments for them."""
        count = [self.program.repeat] if self.program.repeat else []
        operands = [x.name for x in self.program.operands]
        results = [x.name for x in self.program.results]
        return ["count", *operands, *count, *results, "singular"]

    def _kernel(self, kernel: CudaKernel, lines: Sequence[str]) -> str:
        head = f'extern "C" __global__ void __launch_bounds__({kernel.threads})'
        parameters = ", ".join(self.parameters(kernel.kind, "*__restrict__ "))
        body = indent("\n".join(lines), TAB)
        return f"{head} {self.global_name(kernel)}({parameters})\n{{\n{body}\n}}\n"

    def _states(self) -> list[str]:
        """The arrays, moved on to a thread's state."""
        return [f"{x.name} + state" for x in (*self.program.operands, *self.program.results)]

    def _plain(self, kernel: CudaKernel) -> str:
        """A thread for each state."""
        count = [f"{self.program.repeat} + state"] if self.program.repeat else []
        given = ", ".join([*self._states(), "checks", *count, "count"])
        return self._kernel(
            kernel,
            [
                "const size_t state = (size_t)blockIdx.x * blockDim.x + threadIdx.x;",
                "if (state >= count)",
                f"{TAB}return;",
                f"{kernel.kind.name} checks[RBD_CHECKS] = {{1, 1}};",
                f"{self.name}_{kernel.kind.instance}({given});",
                "if (checks[rbd_positive] == 0)",
                f"{TAB}atomicAdd(singular, 1ull);",
            ],
        )

    def _spread(self, kernel: CudaKernel) -> str:
        """A lane for each state, in all warps; beyond the last state lanes do that again."""
        real = kernel.kind.name
        repeat = self.program.repeat
        flags = kernel.shared - FLAGS
        most = []
        if repeat:
            most = [
                "int32_t most = 0;",
                "for (size_t k = index - threadIdx.x; k < count && k < index - threadIdx.x + RBD_STATES; k++)",
                f"{TAB}most = {repeat}[k] > most ? {repeat}[k] : most;",
            ]
        counts = [f"{repeat} + state", "most"] if repeat else []
        given = ", ".join(
            ["RBD_WARP()", "index < count", *self._states(), "shared", "checks", *counts, "count"]
        )
        return self._kernel(
            kernel,
            [
                "extern __shared__ double rbd_shared[];",
                "const size_t index = (size_t)blockIdx.x * RBD_STATES + threadIdx.x;",
                # all threads must come to barriers: those without a state do another one again
                "const size_t state = index < count ? index : count - 1;",
                f"{real} *shared = ({real} *)rbd_shared + threadIdx.x;",
                # any warp may find a state's matrix singular, which counts once
                f"{COUNT} *failed = ({COUNT} *)((char *)rbd_shared + {flags}) + threadIdx.x;",
                "if (threadIdx.y == 0)",
                f"{TAB}*failed = 0;",
                *most,
                f"RBD_BARRIER({kernel.threads});",
                f"{real} checks[RBD_CHECKS] = {{1, 1}};",
                f"{self.name}_spread_{kernel.kind.instance}({given});",
                "if (checks[rbd_positive] == 0)",
                f"{TAB}*failed = 1;",
                f"RBD_BARRIER({kernel.threads});",
                "if (threadIdx.y == 0 && index < count && *failed)",
                f"{TAB}atomicAdd(singular, 1ull);",
            ],
        )

    def prototype(self, name: str, kind: Type) -> str:
        """The head of a launcher."""
        parameters = ", ".join([*self.parameters(kind), "cudaStream_t stream"])
        return f'extern "C" cudaError_t {self.whole}_{name}({parameters})'

    def declarations(self) -> list[str]:
        """Prototypes of all launchers."""
        found = []
        for kind in TYPES:
            found += [f"{self.prototype(k.name, kind)};" for k in self.kernels(kind)]
            found.append(f"{self.prototype(f'cuda{kind.suffix}', kind)};")
        return found

    def launchers(self) -> list[str]:
        """The functions of the host that launch kernels."""
        found = []
        given = ", ".join(self.arguments)
        for kind in TYPES:
            kernels = self.kernels(kind)
            found += [self._launcher(k) for k in kernels]
            call = f"return {self.whole}_{kernels[-1].name}({given}, stream);"
            found.append(f"{self.prototype(f'cuda{kind.suffix}', kind)}\n{{\n{TAB}{call}\n}}\n")
        return found

    def _launcher(self, kernel: CudaKernel) -> str:
        name = self.global_name(kernel)
        # CUDA refuses to launch no blocks
        lines = ["if (count == 0)", f"{TAB}return cudaSuccess;"]
        if kernel.shared:
            # CUDA grants more than 48 KiB only where they are asked for
            attribute = "cudaFuncAttributeMaxDynamicSharedMemorySize"
            lines += [
                f"const cudaError_t error = cudaFuncSetAttribute({name}, {attribute}, {kernel.shared});",
                "if (error != cudaSuccess)",
                f"{TAB}return error;",
            ]
        threads = f"dim3({STATES}, {kernel.warps})" if kernel.spread else f"{kernel.threads}"
        lines += [
            f"const unsigned blocks = (unsigned)((count + {kernel.states - 1}) / {kernel.states});",
            f"{name}<<<blocks, {threads}, {kernel.shared}, stream>>>({', '.join(self.arguments)});",
            "return cudaGetLastError();",
        ]
        body = indent("\n".join(lines), TAB)
        return f"{self.prototype(kernel.name, kernel.kind)}\n{{\n{body}\n}}\n"

    def benches(self, kind: Type) -> list[str]:
        """Calls that time the launchers of a type."""
        operands, results = self.program.operands, self.program.results
        arrays = len(operands) + len(results)
        given = [f"x[{k}]" for k in range(arrays)]
        if self.program.repeat:
            given.insert(len(operands), "steps")
        sizes = ", ".join(str(x.size) for x in operands)
        own = ", ".join(str(x.size) for x in results)
        found = []
        head = f"size_t count, {kind.name} *const *x, const {COUNT} *steps, {SINGULAR}, cudaStream_t stream"
        for kernel in self.kernels(kind):
            title = f"{self.name} {kernel.name.partition('_')[0]}"
            call = f"{self.whole}_{kernel.name}(count, {', '.join(given)}, singular, stream)"
            found += [
                f'bench.run<{kind.name}>("{title}", {{{sizes}}}, {{{own}}},',
                f"{TAB}[]({head}) {{",
                f"{TAB}{TAB}return {call};",
                f"{TAB}}});",
            ]
        return found


def cuda_files(programs: Sequence[Program], shared_memory: int = SHARED_MEMORY) -> dict[str, str]:
    """CUDA sources and headers of programs of one robot, by name, all in the folder ``cuda``.

    ``ROBOT.cuh`` declares a launcher for each kernel, and one called ``ROBOT_FUNCTION_cuda`` (``_f32`` behind it for
    float) for the one to take. Arrays are on the device; entry i (in C order) of state k is at ``x[i * count + k]``.
    ``*singular``, on the device too, grows by the number of states at which a matrix is not positive definite.
    ``shared_memory``: bytes that a block may have at most; a launcher returns CUDA's error where the device has less.
    """
    functions = [CudaFunction(program, shared_memory) for program in programs]
    prefix = functions[0].prefix
    found = {HEADER: support(HEADER), BENCH: support(BENCH)}
    declarations: list[str] = []
    calls: list[str] = []
    for function in functions:
        found |= function.texts()
        found[f"{function.whole}.cu"] = function.source()
        declarations += function.declarations()
        for kind in TYPES:
            calls += function.benches(kind)
    found[f"{prefix}.cuh"] = _header(declarations)
    found[f"{prefix}_bench.cu"] = _bench(prefix, calls)
    found["LICENSE"] = license_text()
    return {FOLDER + name: text for name, text in found.items()}


def _header(declarations: Sequence[str]) -> str:
    lines = "\n".join(declarations)
    return (
        "#pragma once\n#include <cuda_runtime.h>\n#include <stddef.h>\n#include <stdint.h>\n\n"
        "/* Launch a kernel on `stream` for `count` states. Arrays are on the device: entry i of state k is at\n"
        " * x[i * count + k]. *singular, on the device too, grows by the number of states at which a matrix is not\n"
        f" * positive definite. */\n{lines}\n"
    )


def _bench(prefix: str, calls: Sequence[str]) -> str:
    body = indent("\n".join(calls), TAB)
    return (
        f'#include "{prefix}.cuh"\n#include "{BENCH}"\n\nint main(int count, char **words)\n{{\n'
        f"{TAB}rbd_bench bench(count, words);\n{body}\n{TAB}return bench.failed;\n}}\n"
    )
