"""Expressions of xacro: Python's values, where they have a meaning here; nothing else, and nothing without end."""

from __future__ import annotations

import ast
import math
import time
from typing import Any

import pytest

from rbdgen.model.xacro.expressions import Expressions
from rbdgen.model.xacro.functions import global_names
from rbdgen.model.xacro.values import Budget, XacroError


class Host:
    """A file that has neither arguments nor neighbours."""

    def load_yaml(self, path: str) -> dict[str, Any]:
        return {"limits": {"lower": -1.5, "items": 2}, "names": ["a", "b"]}

    absolute = str
    argument = str

    def remark(self, text: str) -> None:
        pass


def value(expression: str, **names: Any) -> Any:
    """What an expression comes to beside a file's own names, within a tenth of what a file may take."""
    budget = Budget(200_000)
    known = {**global_names(budget, Host()), **names}

    def named(name: str) -> Any:
        if name not in known:
            raise XacroError(f"name {name!r} is not defined")
        return known[name]

    return Expressions(budget).value(expression, named)


@pytest.mark.parametrize(
    "expression",
    [
        "1 + 2 * -3.5 ** 2 // 2 % 5 - (7 >> 1 | 4 & 6 ^ 1) + ~2",
        "'a' if x > 1 and not y else 'b'",
        "0 < x <= 2 != 3 and (y or 'z') == 'z' and x is not None",
        "max(1, math.radians(90), math.pi), min([3, 1, 2]), max('ab', 'b', key=len)",
        "[1, 2, 3][0] + {'k': 1}['k'], 'abc'[-1], [1, 2, 3, 4][1:-1:2], (1, 2)[1]",
        "round(1.25, 1), round(7), abs(-2), divmod(7, 2), pow(2.0, 3.0), sum([1, 2.5]), len('abc')",
        "2 ** -3, 1 << 10, 10 ** 20, -(2 ** 100)",
        "'%s_%03d_%.2f%%' % ('a', 7, 1 / 3), '%(a)s' % {'a': 1}, '%s' % x",
        "'{}-{name:>5}-{0:.1e}'.format(3.0, name='n') if False else '{:>5}|{:+.2f}'.format('a', 1)",
        "f'{x:.2f} {x!r} {y}'",
        "[i * j for i in range(3) if i for j in (1, 2)], {k: v for k, v in zip('ab', [1, 2])}",
        "sorted({i % 2 for i in range(5)}), list(enumerate('ab')), [*range(2), 5]",
        "' A,b '.strip().lower().split(','), '-'.join(['a', 'b']), 'abc'.replace('b', 'xx')",
        "'ab'.startswith(('a', 'x')), 'a' in 'abc', 3 in [1, 2], 'k' not in {'k': 1}, 5 in range(9)",
        "list(map(float, '1 2'.split())), list(filter(None, [0, 1])), any([0, 1]), all([])",
        "isinstance(x, int), isinstance('', (int, str)), type(x) == int, bool(''), int('12'), float('1e3')",
        "dict(a=1, **{'b': 2}).get('b'), list(dict(a=1)), list({'a': 1}.items()), list(reversed([1, 2]))",
        "str([1, 'a', None, True]), repr('a'), ord('a'), [1, 2] * 2 + [3], 'ab' * 2, (1,) + (2,)",
        "'7'.zfill(3), 'a'.center(5, '*'), [3, 1].index(1), (1, 1).count(1), 2.0.is_integer()",
        "math.atan2(1, 2), math.hypot(3, 4), math.factorial(5), math.fsum([0.1] * 3), math.prod([2, 3])",
    ],
)
def test_expressions_have_pythons_values(expression: str) -> None:
    names = {"x": 2, "y": ""}
    assert value(expression, **names) == eval(expression, {"math": math}, names)


def test_everything_python_offers_stands_behind_its_name() -> None:
    assert value("python.sum(python.range(4)) + len(python.str(x))", x=10) == 8
    assert value("math['pi']") == math.pi
    assert value("sin(pi / 2)") == 1.0


def test_names_of_the_file_come_first() -> None:
    assert value("type + map", type="a", map="b") == "ab"
    assert value("filter.list[0]", filter={"list": [1]}) == 1


def test_dictionaries_have_their_items_behind_a_point() -> None:
    assert value("xacro.load_yaml('a').limits.lower") == -1.5
    assert value("xacro.dotify(dict(a=dict(b=1))).a.b") == 1
    assert value("list(load_yaml('a').limits.items())") == [("lower", -1.5), ("items", 2)]
    with pytest.raises(XacroError, match="there is no 'upper'"):
        value("load_yaml('a').limits.upper")


def test_xacros_own_functions() -> None:
    assert value("xacro.tokenize('a,b; c')") == ["a", "b", "c"]
    assert value("xacro.warning('odd')") == ""
    with pytest.raises(XacroError, match="the file says: bad 3"):
        value("xacro.fatal('bad', 3)")


@pytest.mark.parametrize(
    "expression",
    [
        "().__class__",
        "(lambda: ().__class__)()",
        "[c for c in ().__class__.__mro__]",
        "python['vars'](python['type'])",
        "python.vars(python.str)",
        "python['type'](xacro.load_yaml)['__globals__']",
        "xacro.load_yaml.call",
        "xacro.load_yaml.__globals__",
        "str.call.__globals__",
        "str.mro()",
        "math.names",
        "python.names.update(pi=3)",
        "math.update(pi=99)",
        "'{0.__class__}'.format(1)",
        "'{0[a]}'.format({'a': 1})",
        "'{:{}}'.format(1, 10**9)",
        "'%s'.format_map({})",
        "f'{(1).real}'",
        "(x := 1)",
        "dict.fromkeys",
        "{}.update(a=1)",
        "[1].append(2)",
        "''.encode()",
        "b'a'",
        "1j",
        "...",
        "(yield)",
        "load_yaml('a').__class__",
        "str.kind('x')",
    ],
)
def test_what_could_lead_out_has_no_meaning(expression: str) -> None:
    with pytest.raises(XacroError, match=r"which is not evaluated|there is no 'update'|not known"):
        value(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os')",
        "open('/etc/passwd')",
        "eval('1')",
        "getattr(1, 'real')",
        "type(1)(2)(3)",
        "'a'()",
        "[].x()",
    ],
)
def test_what_is_not_there_is_refused(expression: str) -> None:
    with pytest.raises(XacroError):
        value(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "max(range(10**13))",
        "list(range(10**9))",
        "sum(range(10**9))",
        "[i for i in range(10**9)]",
        "[0 for i in range(3000) for j in range(3000)]",
        "0.5 in range(10**13)",
        "len(range(10**30))",
        "9 ** 9 ** 9",
        "(2 ** 4000) * (2 ** 4000)",
        "1 << 10 ** 9",
        "factorial(10**8)",
        "comb(10**8, 10**7)",
        "lcm(*range(1, 5000))",
        "prod(range(1, 90000))",
        "round(5, -10**9)",
        "int('1' * 90000)",
        "'a' * 10**9",
        "10**9 * 'a'",
        "[[0] * 1000] * 10**9",
        "str([[[[0] * 200] * 200] * 200] * 200)",
        "'%s' % ([[[[0] * 200] * 200] * 200] * 200,)",
        "[[[[0] * 200] * 200] * 200] * 200 == [[[[0] * 200] * 200] * 200] * 200",
        "1 in [[[[0] * 200] * 200] * 200] * 200",
        "{((((((0,) * 99,) * 99,) * 99,) * 99,) * 99,): 1}",
        "('a' * 50000).replace('a', 'b' * 50000)",
        "('b' * 50000).join(['a'] * 50000)",
        "'%1000000000d' % 1",
        "'%.1000000000f' % 1",
        "'%*d' % (10**9, 1)",
        "'{:1000000000}'.format(1)",
        "format(1, '1000000000')",
        "f'{1:1000000000}'",
        "'a'.ljust(10**9)",
        "'a'.zfill(10**9)",
        "sum([[0] * 50000] * 50000, [])",
        "-" * 9000 + "1",
        "+".join(["1"] * 4900),
        "(" * 3000 + ")" * 3000,
        "1+" * 90000 + "1",
    ],
)
def test_nothing_takes_without_end(expression: str) -> None:
    begin = time.monotonic()
    with pytest.raises(XacroError) as caught:
        value(expression)
    assert len(str(caught.value)) < 600
    assert time.monotonic() - begin < 5


def test_an_error_is_no_longer_than_a_line() -> None:
    with pytest.raises(XacroError) as caught:
        value("dict(a=1)['" + "x" * 9000 + "']")
    assert len(str(caught.value)) < 600


def test_what_is_evaluated_here_is_python() -> None:
    """The list of kinds of expressions keeps up with Python's."""
    from rbdgen.model.xacro.expressions import _METHODS

    refused = {"Lambda", "NamedExpr", "Await", "Yield", "YieldFrom", "Starred"}
    kinds = {kind.__name__ for kind in ast.expr.__subclasses__()}
    known = {kind.__name__ for kind in _METHODS}
    assert {"Lambda", "NamedExpr", "Await", "Yield"} <= kinds - known
    assert known <= kinds
    assert refused.isdisjoint(known)
