"""Wrappers of compiled functions for JAX and torch, as far as they share: names, operands, and derivatives by the chain
rule.

Which function computes which derivative, and how changes of coordinates are velocities, is said here too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rbdgen.errors import ConfigError, UnsupportedError, short
from rbdgen.functions.record import Function, Slope
from rbdgen.model.robot import Robot
from rbdgen.software.compiled import CompiledFunction
from rbdgen.software.program import Array
from rbdgen.spatial import Vector, dot, mul, reciprocal, transpose
from rbdgen.tracing.words import TraceOptions


@dataclass(frozen=True)
class Source:
    """Where a derivative comes from: a compiled ``function``, by its own name, and the number of its ``result``."""

    function: str
    result: int


def sources(settings: TraceOptions, record: Function, wanted: Sequence[str]) -> dict[str, Source]:
    """Where the derivatives of a function with respect to operands come from, of the functions in ``settings``.
    UnsupportedError for an operand with respect to which none is known, ConfigError naming the functions that are to be
    compiled too."""
    slopes = {slope.operand: slope for slope in record.slopes}
    found: dict[str, Source] = {}
    missing: list[str] = []
    for operand in wanted:
        if operand not in slopes:
            raise UnsupportedError(
                f"{record.method}: its derivative with respect to {operand} is not known; keep {operand} constant, or "
                "approximate it by differences"
            )
        # one that is computed anyway may return it as well, as that of forward dynamics does the inverse
        anyway = [source.function for source in found.values()]
        source = _source(settings, record, slopes[operand], anyway)
        if source is None:
            missing.append(slopes[operand].function)
        else:
            found[operand] = source
    if missing:
        names = " and ".join(dict.fromkeys(missing))
        raise ConfigError(
            f"{record.method}: its derivative with respect to {', '.join(wanted)} needs {names}; compile that too"
        )
    return found


def _source(
    settings: TraceOptions, record: Function, slope: Slope, anyway: Sequence[str]
) -> Source | None:
    """The first compiled function that returns a slope."""
    others = [other.function for other in record.slopes]
    for name in (*anyway, slope.function, *others):
        if name not in settings.functions:
            continue
        returned = settings.returned(name)
        if slope.result in returned:
            return Source(name, returned.index(slope.result))
    return None


def turns(robot: Robot) -> bool:
    """Whether coordinates are not velocities' integrals: then they have a vector of unit length among them."""
    kinds = [body.joint.kinds for body, _, _ in robot.independent]
    return any("unit" in own for own in kinds)


def velocity(robot: Robot, q: Vector, rates: Vector) -> Vector:
    """The velocity (nv) at which coordinates ``q`` change by ``rates`` (nq each), less what leads off unit length: the
    pseudo-inverse of :meth:`rbdgen.model.joints.Coordinates.rates`, over abstract scalars."""
    found: list[Any] = []
    for body, own, _ in robot.independent:
        columns = transpose(body.joint.rates(q[own]))
        for column in columns:
            along = dot(column, rates[own])
            found.append(mul(_weight(column), along))
    return tuple(found)


def gradient(robot: Robot, q: Vector, by_velocity: Vector) -> Vector:
    """A gradient with respect to coordinates (nq), of one with respect to velocities (nv): :func:`velocity`,
    transposed."""
    found: list[Any] = []
    for body, own_q, own_v in robot.independent:
        matrix = body.joint.rates(q[own_q])
        weighted = []
        for column, x in zip(transpose(matrix), by_velocity[own_v], strict=True):
            weighted.append(mul(_weight(column), x))
        for row in matrix:
            found.append(dot(row, tuple(weighted)))
    return tuple(found)


def _weight(column: Vector) -> Any:
    """One over a column's squared length; columns are at right angles."""
    square = dot(column, column)
    return reciprocal(square)


Arrays = Sequence[Any]
"""A framework's arrays."""
ByName = Mapping[str, Any]
"""Arrays by operands' names."""
Results = tuple[Any, ...]
Shape = tuple[int, ...]
DTYPES = ("float64", "float32")
"""Names of the types of numbers that functions are compiled for, in the order of
:data:`rbdgen.software.calls.TYPES`."""


class Functions(Protocol):
    """Compiled functions of a robot, as :class:`rbdgen.software.compiled.Compiled` has them."""

    settings: TraceOptions

    def function(self, name: str) -> CompiledFunction:
        """A function by its own name."""
        ...


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
        self.count = repeat
        """Of a function that repeats, the name of the number of steps."""
        self.names = [x.name for x in self.operands]
        if repeat:
            self.names.append(repeat)

    @abstractmethod
    def __call__(self, *arguments: Any, **operands: Any) -> Any:
        """The results."""

    @abstractmethod
    def applied(self, arrays: Arrays) -> Results:
        """The results of checked operands, as the framework differentiates them."""

    def paired(self, values: Arrays) -> dict[str, Any]:
        """Values of all operands by name."""
        return dict(zip(self.names, values, strict=True))

    def named(self, arguments: Arrays, operands: ByName) -> dict[str, Any]:
        """Operands that a caller gives, by name. ConfigError for an operand that is missing, given twice or not taken;
        external forces may be missing."""
        return self.compiled.named(arguments, operands)

    def ordered(self, given: ByName, dtype: Any) -> tuple[list[Any], Shape]:
        """All operands but a count in order, zeros for those that are missing, and their leading shape."""
        batch: Shape | None = None
        arrays = []
        for x in self.operands:
            if x.name in given:
                batch = leading(x, given[x.name].shape, batch)
                arrays.append(given[x.name])
            else:
                assert batch is not None
                shape = (*batch, *x.shape)
                arrays.append(self.space.zeros(shape, dtype=dtype))
        assert batch is not None
        return arrays, batch

    def slopes(self, given: ByName, wanted: Sequence[str]) -> dict[str, Any]:
        """Derivatives of the only result with respect to operands, by name. Errors of
        :func:`rbdgen.software.wrapping.sources`."""
        settings = self.functions.compiled.settings
        computed: dict[str, Results] = {}
        found = {}
        chosen = sources(settings, self.record, wanted)
        for operand, source in chosen.items():
            name = source.function
            if name not in computed:
                other = self.functions.function(name)
                # by its wrapper, so that the framework can ask for its derivatives in turn
                arrays, _ = other.ordered(given, given["q"].dtype)
                computed[name] = other.applied(arrays)
            found[operand] = computed[name][source.result]
        return found

    def pushed(self, given: ByName, changes: ByName) -> Any:
        """Change of the only result with operands."""
        total: Any = 0
        slopes = self.slopes(given, list(changes))
        for operand, slope in slopes.items():
            change = changes[operand]
            if operand == "q" and self.turns:
                change = self._mapped(velocity, given["q"], change)
            column = change[..., None]
            total = total + (slope @ column)[..., 0]
        return total

    def pulled(self, given: ByName, wanted: Sequence[str], by: Any) -> dict[str, Any]:
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
        found = function(self.robot, _entries(q), _entries(vector))
        return self.space.stack(found, -1)


def _entries(vector: Any) -> Vector:
    """Entries along the last dimension."""
    count = vector.shape[-1]
    return tuple(vector[..., k] for k in range(count))


def present(values: ByName) -> dict[str, Any]:
    """Those that are not None."""
    found = {}
    for name, x in values.items():
        if x is not None:
            found[name] = x
    return found


class Wrappers(ABC):
    """Compiled functions for a framework, by the golden functions' names; each is made when it is first asked for."""

    def __init__(self, compiled: Functions) -> None:
        self.compiled = compiled
        self._records: dict[str, Function] = {}
        for record in compiled.settings.records:
            self._records[record.name] = record
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
        made = []
        for record in self._records.values():
            if record.method == name:
                made.append(self.function(record.name))
        if not made:
            # says which there are
            return getattr(self.compiled, name)
        call = made[0]
        if len(made) > 1:
            call = _Choice(name, made)
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
        given = set(present(operands))
        sets = []
        for function in self.functions:
            rest = function.names[len(arguments) :]
            if given == set(rest):
                return function(*arguments, **operands)
            sets.append(", ".join(function.names))
        raise ConfigError(f"{self.method}: give {'; or '.join(sets)}")


def leading(x: Array, shape: Sequence[int], batch: Shape | None) -> Shape:
    """Dimensions before an operand's own shape. ConfigError for another shape, or other leading dimensions than
    ``batch``."""
    whole = tuple(shape)
    own = batch
    if own is None:
        before = max(len(whole) - len(x.shape), 0)
        own = whole[:before]
    if whole != (*own, *x.shape):
        inner = ", ".join(map(str, x.shape))
        wanted = f"(..., {inner})" if batch is None else str((*batch, *x.shape))
        raise ConfigError(f"{x.name}: must have shape {wanted}, not {whole}")
    return own
