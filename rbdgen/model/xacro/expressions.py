"""Evaluates xacro's expressions: Python's syntax as far as it is listed here, on names that a file is given.

Nothing is handed to Python's ``eval``: each kind of expression has a method below, and one without has no meaning. An
attribute is an item of a dictionary, a name of a namespace, or a method that :mod:`rbdgen.model.xacro.values` lists.
Operators are Python's on numbers, texts and lists, with bounds on what comes out.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rbdgen.errors import ToolError, short
from rbdgen.model.xacro.values import (
    CALL,
    LONGEST_TEXT,
    MOST_BITS,
    Budget,
    Function,
    Items,
    Namespace,
    XacroError,
    by_percent,
    method_of,
    written_as,
)

_PLAIN: dict[type, Callable[[Any, Any], Any]] = {
    ast.Sub: operator.sub,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.Add: operator.add,
    ast.Mult: operator.mul,
}
_UNARY: dict[type, Callable[[Any], Any]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_COMPARED: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_ROWS = (str, list, tuple)
"""Types that can be joined and repeated."""


def binary(kind: type, a: Any, b: Any, budget: Budget) -> Any:
    """``a`` and ``b`` joined by an operator of :mod:`ast`."""
    if kind is ast.Mod and isinstance(a, str):
        return by_percent(a, b, budget)
    if isinstance(a, _ROWS) or isinstance(b, _ROWS):
        _room(kind, a, b, budget)
    elif isinstance(a, Items):
        # operators on sets look at what they hold
        budget.walk(a, b)
    elif kind is ast.Pow:
        return _power(a, b)
    elif kind is ast.LShift:
        if isinstance(b, int) and b > MOST_BITS:
            raise XacroError(f"a number has more than {MOST_BITS} bits")
        return operator.lshift(a, b)
    if kind not in _PLAIN:
        raise XacroError(f"operator {kind.__name__} is not for {type(a).__name__}")
    return _PLAIN[kind](a, b)


def unary(kind: type, a: Any) -> Any:
    """An operator on ``a``."""
    return _UNARY[kind](a)


def compared(kind: type, a: Any, b: Any, budget: Budget) -> bool:
    """Whether a comparison holds."""
    if kind in (ast.In, ast.NotIn):
        return _within(a, b, budget) is (kind is ast.In)
    # identity asks for nothing that they hold
    if kind not in (ast.Is, ast.IsNot):
        budget.walk(a, b)
    return bool(_COMPARED[kind](a, b))


def _within(a: Any, b: Any, budget: Budget) -> bool:
    """Whether ``a`` is in ``b``."""
    if isinstance(b, range):
        # Python looks at each number where it is not asked for an integer
        return a in (b if isinstance(a, int) else budget.items(b))
    budget.walk(a)
    # these find it by its hash, without going through the others
    if not isinstance(b, dict | set | frozenset):
        budget.walk(b)
    return a in b


def _room(kind: type, a: Any, b: Any, budget: Budget) -> None:
    """Pay for a text or list that is about to be made."""
    count = 0
    row = a if isinstance(a, _ROWS) else b
    if kind is ast.Add and isinstance(b, _ROWS) and isinstance(a, _ROWS):
        count = len(a) + len(b)
    elif kind is ast.Mult:
        times = b if row is a else a
        count = len(row) * max(times, 0) if isinstance(times, int) else 0
    if not isinstance(row, str):
        budget.room(count)
    elif count > LONGEST_TEXT:
        raise XacroError(f"a text has more than {LONGEST_TEXT:,} characters")


def _power(a: Any, b: Any) -> Any:
    """``a`` to the ``b``, which is a real number."""
    whole = isinstance(a, int) and isinstance(b, int)
    # before it is computed: the result has as many bits at least
    if whole and b * (abs(a).bit_length() - 1) > MOST_BITS:
        raise XacroError(f"a number has more than {MOST_BITS} bits")
    result = operator.pow(a, b)
    if isinstance(result, complex):
        raise XacroError("a power of a negative number is no real number")
    return result


LONGEST = 10_000
"""Characters of one expression."""

Names = Callable[[str], Any]
"""The value of a name; XacroError where it has none."""
_Locals = Mapping[str, Any]
"""Values of a comprehension's variables."""


class Expressions:
    """The expressions of one file."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.trees: dict[str, ast.expr] = {}

    def value(self, expression: str, names: Names) -> Any:
        """The value of an ``expression``. XacroError where it has no meaning or fails."""
        try:
            return _Evaluation(self.budget, names).of(self._tree(expression), {})
        except XacroError as error:
            if "\n" in str(error):  # an expression within this one has said where
                raise
            reason = f"{error}\n in expression {short(expression)}"
            raise XacroError(reason, error.remedy) from None
        except ToolError:  # a package is missing
            raise
        except RecursionError:
            raise XacroError("its macros or properties call themselves") from None
        except KeyError as error:
            reason = f"there is no {short(error.args[0] if error.args else '')}"
        except Exception as error:  # whatever operators and functions raise
            reason = str(error) or type(error).__name__
        raise XacroError(f"{reason[:200]}\n in expression {short(expression)}")

    def _tree(self, expression: str) -> ast.expr:
        """The syntax of an expression, read once."""
        text = expression.strip()
        if text not in self.trees:
            if len(text) > LONGEST:
                raise XacroError(f"is longer than {LONGEST:,} characters")
            self.budget.spend(CALL + len(text))
            try:
                self.trees[text] = ast.parse(text, mode="eval").body
            # Python's parser says so
            except MemoryError:
                raise XacroError("is nested too deeply") from None
        return self.trees[text]


class _Evaluation:
    """One expression's evaluation."""

    def __init__(self, budget: Budget, names: Names) -> None:
        self.budget = budget
        self.names = names

    def of(self, node: ast.AST, local: _Locals) -> Any:
        """The value of a part of the expression."""
        self.budget.spend(1)
        method = _METHODS.get(type(node))
        if method is None:
            raise _meaningless(type(node).__name__.lower())
        return method(self, node, local)

    def constant(self, node: ast.Constant, local: _Locals) -> Any:
        """A number, a text, true, false or nothing."""
        # bytes, complex numbers and an ellipsis are constants as well
        if not isinstance(node.value, int | float | str | None):
            raise _meaningless(type(node.value).__name__)
        return self.budget.kept(node.value)

    def name(self, node: ast.Name, local: _Locals) -> Any:
        """The value of a name."""
        return local[node.id] if node.id in local else self.names(node.id)

    def binary(self, node: ast.BinOp, local: _Locals) -> Any:
        """Two values and an operator."""
        a = self.of(node.left, local)
        b = self.of(node.right, local)
        return self.budget.kept(binary(type(node.op), a, b, self.budget))

    def unary(self, node: ast.UnaryOp, local: _Locals) -> Any:
        """A sign or a negation."""
        return self.budget.kept(unary(type(node.op), self.of(node.operand, local)))

    def boolean(self, node: ast.BoolOp, local: _Locals) -> Any:
        """The first value that decides."""
        value = None
        for part in node.values:
            value = self.of(part, local)
            if bool(value) is isinstance(node.op, ast.Or):
                break
        return value

    def comparison(self, node: ast.Compare, local: _Locals) -> bool:
        """A chain of comparisons."""
        a = self.of(node.left, local)
        for kind, right in zip(node.ops, node.comparators, strict=True):
            b = self.of(right, local)
            if not compared(type(kind), a, b, self.budget):
                return False
            a = b
        return True

    def choice(self, node: ast.IfExp, local: _Locals) -> Any:
        """One of two values."""
        chosen = node.body if self.of(node.test, local) else node.orelse
        return self.of(chosen, local)

    def row(self, node: ast.List | ast.Tuple | ast.Set, local: _Locals) -> Any:
        """A list, a tuple or a set."""
        kinds: dict[type, Callable[[list[Any]], Any]] = {ast.List: list, ast.Tuple: tuple}
        values = self._each(node.elts, local)
        if isinstance(node, ast.Set):
            # a hash goes through all that a value holds
            self.budget.walk(values)
        return self.budget.kept(kinds.get(type(node), set)(values))

    def dictionary(self, node: ast.Dict, local: _Locals) -> dict[Any, Any]:
        """Values by key."""
        result: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                result.update(self._dictionary(self.of(value, local)))
            else:
                name = self.of(key, local)
                self.budget.walk(name)
                result[name] = self.of(value, local)
        return self.budget.kept(result)

    def subscript(self, node: ast.Subscript, local: _Locals) -> Any:
        """An item, or some in a row."""
        value = self.of(node.value, local)
        key = self.of(node.slice, local)
        self.budget.walk(key)
        if isinstance(value, Namespace) and isinstance(key, str):
            return value.get(key)
        if not isinstance(value, str | list | tuple | range | dict):
            raise XacroError(f"{type(value).__name__} has no items")
        return self.budget.kept(value[key])

    def slice(self, node: ast.Slice, local: _Locals) -> slice:
        """The bounds of some in a row."""
        bounds = [part and self.of(part, local) for part in (node.lower, node.upper, node.step)]
        return slice(*bounds)

    def attribute(self, node: ast.Attribute, local: _Locals) -> Any:
        """A name of a namespace, an item of a dictionary or a method."""
        value = self.of(node.value, local)
        if isinstance(value, Namespace):
            return value.get(node.attr)
        method = method_of(value, node.attr, self.budget)
        if method is not None:
            return method
        if isinstance(value, dict) and node.attr in value:
            return value[node.attr]
        if isinstance(value, dict) and not node.attr.startswith("__"):
            raise XacroError(f"there is no {short(node.attr)}")
        raise _meaningless(node.attr)

    def call(self, node: ast.Call, local: _Locals) -> Any:
        """The value that a function returns."""
        function = self.of(node.func, local)
        if not isinstance(function, Function):
            raise XacroError(f"{type(function).__name__} cannot be called")
        values = self._each(node.args, local)
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.of(keyword.value, local)
            if keyword.arg is None:
                named.update(self._dictionary(value))
            else:
                named[keyword.arg] = value
        self.budget.spend(CALL)
        return self.budget.kept(function.call(*values, **named))

    def listed(self, node: ast.ListComp | ast.GeneratorExp, local: _Locals) -> list[Any]:
        """A list by a comprehension."""
        rounds = self._rounds(node.generators, local)
        return self.budget.kept([self.of(node.elt, inner) for inner in rounds])

    def set_of(self, node: ast.SetComp, local: _Locals) -> set[Any]:
        """A set by a comprehension."""
        found = set()
        for inner in self._rounds(node.generators, local):
            value = self.of(node.elt, inner)
            self.budget.walk(value)
            found.add(value)
        return found

    def dictionary_of(self, node: ast.DictComp, local: _Locals) -> dict[Any, Any]:
        """A dictionary by a comprehension."""
        found = {}
        for inner in self._rounds(node.generators, local):
            key = self.of(node.key, inner)
            self.budget.walk(key)
            found[key] = self.of(node.value, inner)
        return found

    def formatted(self, node: ast.JoinedStr, local: _Locals) -> str:
        """A text with values in it."""
        return self.budget.read("".join([self.of(part, local) for part in node.values]))

    def formatted_value(self, node: ast.FormattedValue, local: _Locals) -> str:
        """A value in a text."""
        how = self.of(node.format_spec, local) if node.format_spec else ""
        conversion = chr(node.conversion) if node.conversion > 0 else None
        return written_as(self.of(node.value, local), how, conversion, self.budget)

    def _rounds(self, generators: list[ast.comprehension], local: _Locals) -> Iterator[_Locals]:
        """Values of a comprehension's variables, round by round."""
        if not generators:
            yield local
            return
        first, *rest = generators
        for item in self.budget.items(self.of(first.iter, local)):
            inner = {**local, **self._bound(first.target, item)}
            self.budget.spend(1 + len(inner))
            if all(self.of(test, inner) for test in first.ifs):
                yield from self._rounds(rest, inner)

    def _bound(self, target: ast.expr, value: Any) -> dict[str, Any]:
        """A variable's value, or those of several that are in a row."""
        if isinstance(target, ast.Name):
            return {target.id: value}
        if not isinstance(target, ast.Tuple | ast.List):
            raise _meaningless(type(target).__name__.lower())
        found: dict[str, Any] = {}
        for part, item in zip(target.elts, self.budget.items(value), strict=True):
            found |= self._bound(part, item)
        return found

    def _each(self, nodes: list[ast.expr], local: _Locals) -> list[Any]:
        """Values in a row; those of a list with a star one by one."""
        values = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                values += self.budget.items(self.of(node.value, local))
            else:
                values.append(self.of(node, local))
        return values

    def _dictionary(self, value: Any) -> dict[Any, Any]:
        """A dictionary whose items are taken one by one."""
        if not isinstance(value, dict):
            raise XacroError(f"{type(value).__name__} is no dictionary")
        self.budget.spend(len(value))
        return value


def _meaningless(what: str) -> XacroError:
    return XacroError(
        f"has {short(what)}, which is not evaluated",
        "write it with numbers, operators, comparisons and xacro's own functions",
    )


_METHODS: dict[type, Callable[[_Evaluation, Any, _Locals], Any]] = {
    ast.Constant: _Evaluation.constant,
    ast.Name: _Evaluation.name,
    ast.BinOp: _Evaluation.binary,
    ast.UnaryOp: _Evaluation.unary,
    ast.BoolOp: _Evaluation.boolean,
    ast.Compare: _Evaluation.comparison,
    ast.IfExp: _Evaluation.choice,
    ast.List: _Evaluation.row,
    ast.Tuple: _Evaluation.row,
    ast.Set: _Evaluation.row,
    ast.Dict: _Evaluation.dictionary,
    ast.Subscript: _Evaluation.subscript,
    ast.Slice: _Evaluation.slice,
    ast.Attribute: _Evaluation.attribute,
    ast.Call: _Evaluation.call,
    ast.ListComp: _Evaluation.listed,
    ast.GeneratorExp: _Evaluation.listed,
    ast.SetComp: _Evaluation.set_of,
    ast.DictComp: _Evaluation.dictionary_of,
    ast.JoinedStr: _Evaluation.formatted,
    ast.FormattedValue: _Evaluation.formatted_value,
}
"""Kinds of expressions that have a meaning, each with its method."""
