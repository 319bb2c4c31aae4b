"""Compiled functions in torch: on tensors of the CPU, differentiable by autograd.

Tensors are not copied where they are contiguous. Derivatives are those of
:attr:`rbdgen.functions.record.Function.slopes`.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

from rbdgen.errors import ConfigError, SingularityError, UnsupportedError
from rbdgen.functions.record import Function
from rbdgen.installation import optional_module
from rbdgen.numeric.batch import configuration
from rbdgen.software.calls import TYPES
from rbdgen.software.compiled import whole_numbers
from rbdgen.software.wrapping import (
    DTYPES,
    Arrays,
    ByName,
    Functions,
    Results,
    Wrapper,
    Wrappers,
    present,
    sources,
)


class TorchFunction(Wrapper):
    """One function for torch; see :class:`TorchFunctions`."""

    def __init__(self, functions: TorchFunctions, record: Function) -> None:
        super().__init__(functions, record, functions.torch)
        self.call = functions.call
        self.known: dict[Any, str] = {}
        self.entries: dict[Any, Callable[..., int]] = {}
        rows = f"{self.compiled.symbol}_rows"
        for kind, name in zip(TYPES, DTYPES, strict=True):
            dtype = getattr(self.space, name)
            entry = getattr(self.compiled.library, f"{rows}{kind.suffix}")
            entry.restype = ctypes.c_size_t
            self.known[dtype] = name
            self.entries[dtype] = entry

    def __call__(self, *arguments: Any, **operands: Any) -> Any:
        tensors = self._tensors(self.named(arguments, operands))
        if self.space.is_grad_enabled():
            pairs = self.paired(tensors)
            wanted = [name for name, x in pairs.items() if x.requires_grad]
            # before it is computed, not when it is too late
            sources(self.functions.compiled.settings, self.record, wanted)
        results = self.applied(tensors)
        return results[0] if len(results) == 1 else results

    def applied(self, arrays: Arrays) -> Results:
        return self.call.apply(self, *arrays)

    def _tensors(self, given: ByName) -> list[Any]:
        """Operands in order, of one type and one leading shape."""
        tensors = dict(given)
        counts = tensors.pop(self.count) if self.count else None
        for name, tensor in tensors.items():
            self._check(name, tensor)
        dtype = tensors["q"].dtype
        for name, tensor in tensors.items():
            if tensor.dtype != dtype:
                raise ConfigError(
                    f"{name}: must be {self.known[dtype]} as q is, not {self.known[tensor.dtype]}"
                )
        arrays, batch = self.ordered(tensors, dtype)
        if counts is not None:
            whole = self.space.as_tensor(counts)
            arrays.append(whole.broadcast_to(batch))
        return arrays

    def _check(self, name: str, tensor: Any) -> None:
        """ConfigError for what is no tensor of numbers, UnsupportedError for one that is not the CPU's."""
        if not isinstance(tensor, self.space.Tensor):
            raise ConfigError(
                f"{name}: must be a tensor, not {type(tensor).__name__}; give torch.as_tensor(...)"
            )
        if tensor.device.type != "cpu":
            raise UnsupportedError(
                f"{name}: is on {tensor.device}; functions for torch run on the CPU: give {name}.cpu()"
            )
        if tensor.dtype not in self.known:
            raise ConfigError(f"{name}: must be {' or '.join(DTYPES)}, not {tensor.dtype}")

    def compute(self, tensors: Arrays) -> Results:
        """The results. ConfigError for vectors that must be of unit length, SingularityError where a matrix has no
        inverse."""
        first = tensors[0]
        batch = first.shape[:-1]
        # keeps what pointers lead to
        arrays = [x.detach().contiguous() for x in tensors]
        if self.turns:
            configuration(self.robot, arrays[0].numpy())
        if self.count:
            counts = whole_numbers(self.count, arrays.pop().numpy())
            arrays.append(self.space.from_numpy(counts))
        results = []
        for x in self.results:
            shape = (*batch, *x.shape)
            results.append(self.space.empty(shape, dtype=first.dtype))
        pointers = [ctypes.c_void_p(x.data_ptr()) for x in (*arrays, *results)]
        count = math.prod(batch)
        rows = self.entries[first.dtype]
        if count and rows(ctypes.c_size_t(count), *pointers):
            raise SingularityError(
                f"{self.record.method}: a matrix that it inverts is not positive definite at one of the states; keep "
                "away from singular ones"
            )
        return tuple(results)


class TorchFunctions(Wrappers):
    """Compiled functions for torch, by the golden functions' names: ``rnea(q, v, a)``.

    Operands are tensors of the CPU of any equal leading shape, float32 or float64. Gradients with respect to q are
    those with respect to velocities, through the pseudo-inverse of q̇ = G(q) v. ToolError where there is no torch, or no
    C compiler.
    """

    def __init__(self, compiled: Functions) -> None:
        super().__init__(compiled)
        self.torch = optional_module("torch", "torch")

    def make(self, record: Function) -> TorchFunction:
        return TorchFunction(self, record)

    @cached_property
    def call(self) -> Any:
        """The class by which autograd knows functions."""
        return _autograd_class(self.torch)


def _autograd_class(torch: Any) -> Any:
    """A class of torch's, which can be made only where torch is there."""

    class Call(torch.autograd.Function):
        """A function of a robot and tensors."""

        @staticmethod
        def forward(function: TorchFunction, *tensors: Any) -> Results:
            return function.compute(tensors)

        # apart from forward, as torch.func's transformations want it
        @staticmethod
        def setup_context(ctx: Any, inputs: Results, output: Results) -> None:
            ctx.function, *tensors = inputs
            ctx.save_for_backward(*tensors)
            ctx.save_for_forward(*tensors)
            # gradients that are nobody's stay None, and are spared
            ctx.set_materialize_grads(False)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Results:
            function: TorchFunction = ctx.function
            given = function.paired(ctx.saved_tensors)
            needed = function.paired(ctx.needs_input_grad[1:])
            wanted = [name for name in needed if needed[name]]
            found: ByName = {}
            if any(by is not None for by in gradients):
                found = function.pulled(given, wanted, gradients[0])
            return (None, *(found.get(name) for name in given))

        @staticmethod
        def jvp(ctx: Any, _: Any, *changes: Any) -> Results:
            function: TorchFunction = ctx.function
            given = function.paired(ctx.saved_tensors)
            moved = present(function.paired(changes))
            return (function.pushed(given, moved),)

        @staticmethod
        def vmap(info: Any, in_dims: Results, function: Any, *tensors: Any) -> Any:
            """The mapped dimension goes before the others."""
            whole = []
            for tensor, dim in zip(tensors, in_dims[1:], strict=True):
                if dim is None:
                    whole.append(tensor.expand(info.batch_size, *tensor.shape))
                else:
                    whole.append(tensor.movedim(dim, 0))
            results = Call.apply(function, *whole)
            return results, (0,) * len(results)

    return Call
