"""What wrappers of compiled functions for JAX and torch share: names, operands, and derivatives by the chain rule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rbdgen.errors import ConfigError, short
from rbdgen.functions.quantities import F_EXT
from rbdgen.functions.record import Function
from rbdgen.software.compiled import Compiled
from rbdgen.software.differentiable import gradient, sources, turns, velocity
from rbdgen.software.program import Array
from rbdgen.spatial import Vector

DTYPES = ("float64", "float32")
"""Names of the types of numbers that functions are compiled for, in the order of
:data:`rbdgen.software.calls.TYPES`."""


class Wrapper(ABC):
    """One compiled function for a framework, of which ``space`` are the functions on arrays."""

    def __init__(self, functions: Wrappers, record: Function, space: Any) -> None:
        self.functions = functions
        self.record = record
        self.space = space
        self.compiled = functions.compiled.function(record.name)
        self.robot = self.compiled.robot
        self.turns = turns(self.robot)
        self.operands = self.compiled.operands
        self.results = self.compiled.results
        repeat = self.compiled.program.repeat
        self.count = Array(repeat, ()) if repeat else None
        """Of a function that repeats, the number of steps."""
        self.taken = (*self.operands, self.count) if self.count else self.operands
        self.names = [x.name for x in self.taken]

    @abstractmethod
    def __call__(self, *arguments: Any, **operands: Any) -> Any:
        """The results."""

    @abstractmethod
    def applied(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The results of checked operands, as the framework differentiates them."""

    def paired(self, values: Sequence[Any]) -> dict[str, Any]:
        """Values of all operands by name."""
        return dict(zip(self.names, values, strict=True))

    def named(self, arguments: Sequence[Any], operands: Mapping[str, Any]) -> dict[str, Any]:
        """What a caller gives, by name. ConfigError for an operand that is missing, given twice or not taken; external
        forces may be missing."""
        method, names = self.record.method, ", ".join(self.names)
        if len(arguments) > len(self.names):
            raise ConfigError(f"{method}: takes {names}, not {len(arguments)} arguments")
        given = dict(zip(self.names, arguments, strict=False))
        for name, x in operands.items():
            if name in given:
                raise ConfigError(f"{name}: given twice")
            if name not in self.names:
                raise ConfigError(f"{name}: {method} was compiled for {names}")
            given[name] = x
        found = {name: x for name, x in given.items() if x is not None}
        for name in self.names:
            if name not in found and name != F_EXT.name:
                raise ConfigError(f"{name}: missing; {method} takes {names}")
        return found

    def ordered(self, given: Mapping[str, Any], dtype: Any) -> tuple[list[Any], tuple[int, ...]]:
        """All operands but a count in order, zeros for those that are missing, and their leading shape."""
        batch: tuple[int, ...] | None = None
        arrays = []
        for x in self.operands:
            if x.name in given:
                batch = leading(x, given[x.name].shape, batch)
                arrays.append(given[x.name])
            else:
                assert batch is not None
                arrays.append(self.space.zeros((*batch, *x.shape), dtype=dtype))
        assert batch is not None
        return arrays, batch

    def slopes(self, given: Mapping[str, Any], wanted: Sequence[str]) -> dict[str, Any]:
        """Derivatives of the only result with respect to operands, by name. Errors of
        :func:`rbdgen.software.differentiable.sources`."""
        settings = self.functions.compiled.settings
        computed: dict[str, tuple[Any, ...]] = {}
        found = {}
        for operand, source in sources(settings, self.record, wanted).items():
            name = source.function
            if name not in computed:
                other = self.functions.function(name)
                arrays, _ = other.ordered(given, given["q"].dtype)
                computed[name] = other.applied(arrays)
            found[operand] = computed[name][source.result]
        return found

    def pushed(self, given: Mapping[str, Any], changes: Mapping[str, Any]) -> Any:
        """How the only result changes with operands."""
        total: Any = 0
        for operand, slope in self.slopes(given, list(changes)).items():
            change = changes[operand]
            if operand == "q" and self.turns:
                change = self._mapped(velocity, given["q"], change)
            column = change[..., None]
            total = total + (slope @ column)[..., 0]
        return total

    def pulled(self, given: Mapping[str, Any], wanted: Sequence[str], by: Any) -> dict[str, Any]:
        """Gradients with respect to operands, of one with respect to the only result."""
        found = {}
        for operand, slope in self.slopes(given, wanted).items():
            row = by[..., None, :]
            change = (row @ slope)[..., 0, :]
            if operand == "q" and self.turns:
                change = self._mapped(gradient, given["q"], change)
            found[operand] = change
        return found

    def _mapped(self, function: Callable[..., Vector], q: Any, vector: Any) -> Any:
        """A vector at coordinates as another kind of it, (..., nq) or (..., nv)."""
        entries = [q[..., k] for k in range(q.shape[-1])]
        given = [vector[..., k] for k in range(vector.shape[-1])]
        found = function(self.robot, tuple(entries), tuple(given))
        return self.space.stack(found, -1)


class Wrappers(ABC):
    """Compiled functions for a framework, by the golden functions' names; each is made when it is first asked for."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self._records = {record.name: record for record in compiled.settings.records}
        self._made: dict[str, Wrapper] = {}

    @abstractmethod
    def make(self, record: Function) -> Wrapper:
        """Wrap a function."""

    def function(self, name: str) -> Wrapper:
        """A function by its own name, such as ``id``. ConfigError where it was not compiled."""
        if name not in self._made:
            if name not in self._records:
                known = ", ".join(self._records)
                raise ConfigError(
                    f"function {short(name)}: was not compiled, only {known}; compile it too"
                )
            self._made[name] = self.make(self._records[name])
        return self._made[name]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        own = [record.name for record in self._records.values() if record.method == name]
        if not own:
            # says which there are
            return getattr(self.compiled, name)
        made = [self.function(function) for function in own]
        call = made[0] if len(made) == 1 else _Choice(name, made)
        # found at once from now on
        setattr(self, name, call)
        return call

    def __dir__(self) -> list[str]:
        methods = {record.method for record in self._records.values()}
        return sorted({*super().__dir__(), *methods})


class _Choice:
    """Functions with the same golden function, of which the operands say which is meant."""

    def __init__(self, method: str, functions: Sequence[Wrapper]) -> None:
        self.method = method
        self.functions = functions

    def __call__(self, *arguments: Any, **operands: Any) -> Any:
        given = {name for name, x in operands.items() if x is not None}
        for function in self.functions:
            rest = function.names[len(arguments) :]
            if given == set(rest):
                return function(*arguments, **operands)
        sets = "; or ".join(", ".join(function.names) for function in self.functions)
        raise ConfigError(f"{self.method}: give {sets}")


def leading(x: Array, shape: Sequence[int], batch: tuple[int, ...] | None) -> tuple[int, ...]:
    """What is before an operand's own shape. ConfigError for another shape, or other leading dimensions than
    ``batch``."""
    whole = tuple(shape)
    own = whole[: max(len(whole) - len(x.shape), 0)] if batch is None else batch
    if whole != (*own, *x.shape):
        inner = ", ".join(map(str, x.shape))
        wanted = f"(..., {inner})" if batch is None else str((*batch, *x.shape))
        raise ConfigError(f"{x.name}: must have shape {wanted}, not {whole}")
    return own
