"""Functions that xacro offers to expressions: some of Python's, all of ``math``, and its own, of which one reads YAML.

Each is bounded by what the file may still take. No tag of YAML makes any object but numbers, texts, lists, dictionaries
and numbers with a unit, and what an alias repeats is paid for each time.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, Protocol

from rbdgen.errors import short
from rbdgen.installation import optional_module
from rbdgen.model.xacro.expressions import binary
from rbdgen.model.xacro.values import Budget, Function, Namespace, XacroError

LARGEST_COUNT = 500
"""Largest argument of factorials and their like."""
LONGEST_NUMBER = 1000
"""Characters of a text that is read as a number."""

_COUNTING = ("factorial", "comb", "perm")
_OF_ROWS = ("fsum", "prod", "dist", "sumprod")
_WITHOUT_BOUND = ("lcm", "prod")
"""Functions of ``math`` whose results grow with each argument."""


class Host(Protocol):
    """The expander as a file's functions ask it."""

    def load_yaml(self, path: str) -> Any:
        """The values of a YAML file."""
        ...

    def absolute(self, path: str) -> str:
        """A path, relative to the file that is read."""
        ...

    def argument(self, name: str) -> str:
        """An argument's value."""
        ...

    def remark(self, text: str) -> None:
        """Take note of what a file says to its user."""
        ...


def global_names(budget: Budget, host: Host) -> dict[str, Any]:
    """Values of names that a file does not define."""
    python = _python(budget)
    mathematics = _mathematics(budget)
    own = _own(budget, host)
    direct = {name: own[name] for name in ("load_yaml", "abs_filename", "dotify")}
    spaces = {
        "python": Namespace("python", python),
        "math": Namespace("math", mathematics),
        "xacro": Namespace("xacro", own),
    }
    return {**python, **mathematics, **direct, **spaces}


def _named(calls: Mapping[str, Callable[..., Any]]) -> dict[str, Function]:
    """Functions under their names."""
    return {name: Function(name, call) for name, call in calls.items()}


def _called(function: Any, budget: Budget, *values: Any) -> Any:
    """The value of an expression's function that another one is given."""
    if not isinstance(function, Function):
        raise XacroError(f"{type(function).__name__} cannot be called")
    budget.spend(1)
    return budget.kept(function.call(*values))


def _python(budget: Budget) -> dict[str, Any]:
    """Python's functions."""
    types = _types(budget)

    def key_of(key: Any) -> Callable[[Any], Any] | None:
        return None if key is None else lambda value: _called(key, budget, value)

    def extreme(choose: Callable[..., Any]) -> Callable[..., Any]:
        def chosen(*values: Any, key: Any = None, **default: Any) -> Any:
            given = budget.items(values[0]) if len(values) == 1 else list(values)
            # comparing goes through all that they hold
            budget.walk(given)
            return choose(given, key=key_of(key), **default)

        return chosen

    def ordered(values: Any, key: Any = None, reverse: bool = False) -> list[Any]:
        given = budget.items(values)
        # sorting compares each about so many times
        for _ in range(len(given).bit_length()):
            budget.walk(given)
        return sorted(given, key=key_of(key), reverse=bool(reverse))

    def added(values: Any, start: Any = 0) -> Any:
        return reduce(
            lambda a, b: budget.kept(binary(ast.Add, a, b, budget)), budget.items(values), start
        )

    def rounded(value: Any, digits: int | None = None) -> Any:
        # for an integer Python computes ten to that power
        if digits is not None and abs(digits) > LONGEST_NUMBER:
            raise XacroError(f"digits {short(digits)} are beyond {LONGEST_NUMBER}")
        return round(value, digits)

    def mapped(function: Any, *rows: Any) -> list[Any]:
        return [_called(function, budget, *row) for row in zip(*map(budget.items, rows))]  # noqa: B905

    def filtered(function: Any, values: Any) -> list[Any]:
        given = budget.items(values)
        if function is None:
            return [value for value in given if value]
        return [value for value in given if _called(function, budget, value)]

    def is_one(value: Any, kinds: Any) -> bool:
        wanted = kinds if isinstance(kinds, tuple) else (kinds,)
        found = [kind.kind for kind in wanted if isinstance(kind, Function)]
        if len(found) < len(wanted) or None in found:
            raise XacroError(f"{short(kinds)} is no type")
        return any(isinstance(value, kind) for kind in found if kind)

    def type_of(value: Any) -> Function:
        for known in types.values():
            if known.kind is type(value):
                return known
        raise XacroError(f"{short(value)} has a type, which is not evaluated")

    others = {
        "len": len,
        "range": range,
        "min": extreme(min),
        "max": extreme(max),
        "round": rounded,
        "sorted": ordered,
        "map": mapped,
        "filter": filtered,
        "abs": abs,
        "all": lambda values: all(budget.items(values)),
        "any": lambda values: any(budget.items(values)),
        "divmod": divmod,
        "enumerate": lambda values, start=0: list(enumerate(budget.items(values), start)),
        "isinstance": is_one,
        "ord": ord,
        "repr": lambda value: (budget.walk(value), repr(value))[1],
        "reversed": lambda values: budget.items(values)[::-1],
        "sum": added,
        "type": type_of,
        "zip": lambda *rows: list(zip(*map(budget.items, rows))),  # noqa: B905
    }
    return {**types, **_named(others), "True": True, "False": False}


def _types(budget: Budget) -> dict[str, Function]:
    """Types, which convert what they are called with."""

    def integer(value: Any = 0, *base: int) -> int:
        return int(_number(value), *base)

    def mapping(*given: Any, **named: Any) -> dict[Any, Any]:
        budget.walk(*given)
        return dict(*given, **named)

    def of_hashed(kind: Callable[..., Any]) -> Callable[..., Any]:
        def made(*values: Any) -> Any:
            budget.walk(*values)
            return kind(*map(budget.items, values))

        return made

    converters: dict[type, Callable[..., Any]] = {
        list: lambda *values: list(*map(budget.items, values)),
        tuple: lambda *values: tuple(*map(budget.items, values)),
        set: of_hashed(set),
        frozenset: of_hashed(frozenset),
        dict: mapping,
        str: lambda value="": budget.text(value),
        int: integer,
        float: lambda value=0.0: float(_number(value)),
        bool: bool,
    }
    return {kind.__name__: Function(kind.__name__, call, kind) for kind, call in converters.items()}


def _number(value: Any) -> Any:
    """A text that is read as a number; XacroError for too long a text."""
    if isinstance(value, str) and len(value) > LONGEST_NUMBER:
        raise XacroError(f"a number has more than {LONGEST_NUMBER:,} characters")
    return value


def _mathematics(budget: Budget) -> dict[str, Any]:
    """The names of ``math``."""

    def counting(call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*values: int) -> int:
            if max(values, default=0) > LARGEST_COUNT:
                raise XacroError(f"{short(max(values))} is above {LARGEST_COUNT}")
            return call(*values)

        return counted

    def of_rows(call: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *rows: call(*[budget.items(row) for row in rows])

    def product(values: Any, start: Any = 1) -> Any:
        return reduce(
            lambda a, b: budget.kept(binary(ast.Mult, a, b, budget)), budget.items(values), start
        )

    def multiple(*values: int) -> int:
        return reduce(lambda a, b: budget.kept(math.lcm(a, b)), values, 1)

    found: dict[str, Any] = {}
    # whatever this Python has: newer ones have more
    for name, value in vars(math).items():
        if name.startswith("_"):
            continue
        if not callable(value):
            found[name] = value
        elif name in _COUNTING:
            found[name] = Function(name, counting(value))
        elif name in _OF_ROWS:
            found[name] = Function(name, of_rows(value))
        elif name not in _WITHOUT_BOUND:
            found[name] = Function(name, value)
    return {**found, **_named({"prod": product, "lcm": multiple})}


def _own(budget: Budget, host: Host) -> dict[str, Any]:
    """xacro's own functions."""

    def told(*values: Any, **how: Any) -> str:
        host.remark(" ".join(map(budget.text, values)))
        return ""

    def fatal(*values: Any) -> None:
        raise XacroError(f"the file says: {' '.join(map(budget.text, values))[:200]}")

    def tokens(text: str, sep: str = ",; ", skip_empty: bool = True) -> list[str]:
        budget.room(len(text))
        parts = re.split(f"[{re.escape(sep)}]", text)
        return [part for part in parts if part] if skip_empty else parts

    return _named(
        {
            "load_yaml": host.load_yaml,
            "abs_filename": host.absolute,
            # dictionaries have their items as attributes already
            "dotify": lambda values: values,
            "arg": host.argument,
            "message": lambda *values, **how: "",
            "print_location": lambda *values, **how: "",
            "warning": told,
            "error": told,
            "fatal": fatal,
            "tokenize": tokens,
        }
    )


UNITS = {
    "!radians": 1.0,
    "!degrees": math.pi / 180.0,
    "!meters": 1.0,
    "!millimeters": 0.001,
    "!foot": 0.3048,
    "!inches": 0.0254,
}
"""xacro's units, in radians and metres."""
DEEPEST = 60
"""Of lists within lists; an alias of what it is in has no end."""
_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"
_COLLECTIONS = "seq map omap pairs set"
_SCALARS = "str null bool int float timestamp binary value merge"
_KNOWN = frozenset(f"{_TAG}{kind}" for kind in f"{_COLLECTIONS} {_SCALARS}".split())
_LONGEST_NUMBER = 100
"""Characters of a number."""


def yaml_values(text: str, budget: Budget, measured: Callable[[str], Any]) -> Any:
    """The values of a YAML ``text``; ``measured`` evaluates what has a unit."""
    yaml = optional_module("yaml", "xacro")
    budget.spend(len(text))
    # that of libyaml is faster, where PyYAML was built with it
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        # nodes, of which values are made here: no tag makes an object, and aliases are paid for
        node = yaml.compose(text, Loader=loader)
        return None if node is None else _Reader(yaml, budget, measured).value(node, 0)
    except yaml.YAMLError as error:
        raise XacroError(f"no YAML: {error}") from None
    except RecursionError:
        raise XacroError("YAML that is nested too deeply") from None


class _Reader:
    """The nodes of one file."""

    def __init__(self, yaml: Any, budget: Budget, measured: Callable[[str], Any]) -> None:
        self.yaml = yaml
        self.budget = budget
        self.measured = measured
        known = yaml.constructor.SafeConstructor()
        self.numbers: dict[str, Callable[[Any], Any]] = {
            f"{_TAG}null": lambda node: None,
            f"{_TAG}bool": known.construct_yaml_bool,
            f"{_TAG}int": known.construct_yaml_int,
            f"{_TAG}float": known.construct_yaml_float,
        }

    def value(self, node: Any, depth: int) -> Any:
        """The value of a node."""
        self.budget.spend(1)
        if depth > DEEPEST:
            raise XacroError("YAML that is nested too deeply")
        if node.tag not in UNITS and node.tag not in _KNOWN:
            raise XacroError(f"YAML has tag {short(node.tag)}, which is not read")
        if isinstance(node, self.yaml.SequenceNode):
            return [self.value(part, depth + 1) for part in node.value]
        if isinstance(node, self.yaml.MappingNode):
            return self._mapping(node, depth)
        if node.tag in UNITS:
            self.budget.spend(len(node.value))
            return float(self.measured(node.value)) * UNITS[node.tag]
        # longer ones stay texts: reading digits takes more than proportional time
        if node.tag in self.numbers and len(node.value) <= _LONGEST_NUMBER:
            return self.numbers[node.tag](node)
        return self.budget.read(node.value)

    def _mapping(self, node: Any, depth: int) -> dict[Any, Any]:
        """Values by key; those that are merged in come before the mapping's own."""
        merged: dict[Any, Any] = {}
        own: dict[Any, Any] = {}
        for key, value in node.value:
            if key.tag == _MERGE:
                merged = {**self._merged(value, depth), **merged}
            elif isinstance(key, self.yaml.ScalarNode):
                own[self.value(key, depth + 1)] = self.value(value, depth + 1)
            else:
                raise XacroError("YAML has a key that is no number or text")
        return {**merged, **own}

    def _merged(self, node: Any, depth: int) -> dict[Any, Any]:
        """The items that one mapping, or several, bring into another; the first of them counts."""
        given = self.value(node, depth + 1)
        found: dict[Any, Any] = {}
        for part in given if isinstance(given, list) else [given]:
            if not isinstance(part, dict):
                raise XacroError("YAML merges what is no mapping")
            self.budget.spend(len(part))
            found = {**part, **found}
        return found
