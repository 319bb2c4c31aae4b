"""Compiled functions in JAX: custom calls of XLA under ``jit``, ``vmap`` and ``grad``, on the CPU.

A function's C code is registered with XLA by a small handler, which the system's compiler makes when the function is
first called. Derivatives are those of :attr:`rbdgen.functions.record.Function.slopes`.
"""

from __future__ import annotations

import ctypes
import hashlib
import threading
import uuid
from pathlib import Path
from typing import Any

from rbdgen import native
from rbdgen.errors import ConfigError
from rbdgen.functions.record import Function
from rbdgen.installation import optional_module
from rbdgen.software.calls import COUNT, TYPES, Type
from rbdgen.software.compiled import CompiledFunction
from rbdgen.software.library import support
from rbdgen.software.wrapping import DTYPES, Arrays, ByName, Functions, Results, Wrapper, Wrappers

CACHE = "xla"
"""Where compiled handlers are kept."""
FLAGS = ("-std=c99", "-O2")
HEADER = "xla/ffi/api/c_api.h"
"""XLA's C interface, in the folder that JAX names."""
_registered: dict[str, ctypes.CDLL] = {}
"""Handlers by the names under which XLA has them: it has them as long as the process lives."""
_lock = threading.Lock()


class JaxFunction(Wrapper):
    """One function for JAX; see :class:`JaxFunctions`."""

    def __init__(self, functions: JaxFunctions, record: Function) -> None:
        jax = functions.jax
        super().__init__(functions, record, jax.numpy)
        self.jax = jax
        self.targets = _targets(jax, self.compiled)
        self.primitive = jax.custom_jvp(self._computed)
        # zeros are told, so that no derivative is asked for that nobody needs
        self.primitive.defjvp(self._changed, symbolic_zeros=True)
        self.jitted = jax.jit(self._checked)

    def __call__(self, *arguments: Any, **operands: Any) -> Any:
        results = self.jitted(self.named(arguments, operands))
        return results[0] if len(results) == 1 else results

    def applied(self, arrays: Arrays) -> Results:
        return self.primitive(*arrays)

    def _checked(self, given: ByName) -> Results:
        """The results of operands as a caller gives them; checks take time only when it is traced."""
        return self.primitive(*self._arrays(given))

    def _arrays(self, given: ByName) -> list[Any]:
        """Operands in order, of one type and one leading shape."""
        jnp = self.space
        numbers = dict(given)
        counts = numbers.pop(self.count) if self.count else None
        for name, x in numbers.items():
            numbers[name] = jnp.asarray(x)
        dtype = jnp.result_type(float, *numbers.values())
        if dtype.name not in DTYPES:
            raise ConfigError(
                f"{', '.join(numbers)}: must be {' or '.join(DTYPES)}, not {dtype.name}"
            )
        for name, x in numbers.items():
            numbers[name] = x.astype(dtype)
        arrays, batch = self.ordered(numbers, dtype)
        if counts is not None:
            whole = jnp.asarray(counts, "int32")
            arrays.append(jnp.broadcast_to(whole, batch))
        return arrays

    def _computed(self, *arrays: Any) -> Results:
        """The results."""
        first = arrays[0]
        batch = first.shape[:-1]
        shapes = []
        for x in self.results:
            shape = (*batch, *x.shape)
            shapes.append(self.jax.ShapeDtypeStruct(shape, first.dtype))
        target = self.targets[first.dtype.name]
        # mapped dimensions go before the others, where functions have their leading shape
        call = self.jax.ffi.ffi_call(target, shapes, vmap_method="broadcast_all")
        return tuple(call(*arrays))

    def _changed(self, arrays: Arrays, changes: Arrays) -> tuple[Results, Results]:
        """The results, and how they change with the operands."""
        results = self.applied(arrays)
        still = self.jax.custom_derivatives.SymbolicZero
        moved = {}
        for name, change in self.paired(changes).items():
            if not isinstance(change, still):
                moved[name] = change
        if not moved:
            zeros = [self.space.zeros_like(x) for x in results]
            return results, tuple(zeros)
        change = self.pushed(self.paired(arrays), moved)
        return results, (change,)


class JaxFunctions(Wrappers):
    """Compiled functions for JAX, by the golden functions' names: ``rnea(q, v, a)``.

    Operands are arrays of any equal leading shape, float32 or float64 (with ``jax_enable_x64``). They are not checked
    for values: what is not finite stays so, and vectors of unit length in q must have it. Gradients with respect to q
    are those with respect to velocities, through the pseudo-inverse of q̇ = G(q) v. ToolError where there is no JAX, or
    no C compiler.
    """

    def __init__(self, compiled: Functions) -> None:
        super().__init__(compiled)
        self.jax = optional_module("jax", "jax")
        # a part that is not there until it is imported
        optional_module("jax.ffi", "jax")

    def make(self, record: Function) -> JaxFunction:
        return JaxFunction(self, record)


def _targets(jax: Any, function: CompiledFunction) -> dict[str, str]:
    """The names under which XLA has a function, by type of numbers; registered now if it was not before."""
    library = Path(function.library._name)
    # the same for the same code, so that what XLA keeps between processes can be used
    digits = uuid.uuid4().hex
    if library.exists():
        digits = hashlib.sha256(library.read_bytes()).hexdigest()[:32]
    own = f"{function.symbol}_{digits}"
    found = {}
    with _lock:
        for kind, dtype in zip(TYPES, DTYPES, strict=True):
            target = f"rbdgen_{own}_{kind.instance}"
            found[dtype] = target
            if target not in _registered:
                handler = _handler(jax, function, kind, target)
                capsule = jax.ffi.pycapsule(handler.handle)
                jax.ffi.register_ffi_target(target, capsule, platform="cpu")
                _registered[target] = handler
    return found


def _handler(jax: Any, function: CompiledFunction, kind: Type, target: str) -> ctypes.CDLL:
    """The library of a function's handler, which calls the function."""
    header = Path(jax.ffi.include_dir()) / HEADER
    texts = {
        "xla_ffi.h": header.read_text(encoding="utf-8"),
        "rbd_xla.h": support("rbd_xla.h"),
        "handler.c": handler_text(function, kind, target),
    }
    handler = native.library(CACHE, texts, FLAGS)
    single = getattr(function.library, f"{function.symbol}{kind.suffix}")
    many = getattr(function.library, f"{function.symbol}_rows{kind.suffix}")
    handler.bind_one(ctypes.cast(single, ctypes.c_void_p))
    handler.bind_rows(ctypes.cast(many, ctypes.c_void_p))
    return handler


def handler_text(function: CompiledFunction, kind: Type, target: str) -> str:
    """The C source of a handler: a library of its own, which is told where the function is."""
    one, rows = [], ["size_t"]
    of_one, of_rows = [], ["count"]
    for i in range(len(function.operands)):
        one.append(f"const {kind.name} *")
        of_one.append(f"in[{i}]")
    rows += one
    of_rows += of_one
    if function.program.repeat:
        last = f"in[{len(function.operands)}]"
        one.append(COUNT)
        of_one.append(f"*(const {COUNT} *){last}")
        rows.append(f"const {COUNT} *")
        of_rows.append(last)
    for i in range(len(function.results)):
        for types, given in ((one, of_one), (rows, of_rows)):
            types.append(f"{kind.name} *")
            given.append(f"out[{i}]")
    return (
        f'#define RBD_ARRAYS {len(of_rows)}\n#include "rbd_xla.h"\n\n'
        f"static int (*one)({', '.join(one)});\n"
        f"static size_t (*rows)({', '.join(rows)});\n\n"
        "void bind_one(void *called)\n{\n    *(void **)&one = called;\n}\n\n"
        "void bind_rows(void *called)\n{\n    *(void **)&rows = called;\n}\n\n"
        "static size_t run(size_t count, void **in, void **out)\n{\n"
        "    if (count == 1)\n"
        f"        return one({', '.join(of_one)}) != 0;\n"
        f"    return rows({', '.join(of_rows)});\n}}\n\n"
        "XLA_FFI_Error *handle(XLA_FFI_CallFrame *frame)\n{\n"
        # a library keeps what is bound to it: the name makes it another one for each target
        f"    /* {target} */\n"
        f'    return rbd_call(frame, "{function.method}", run);\n}}\n'
    )
