"""Expands xacro into URDF, with the package ``xacrodoc``, for files that end in .xacro and for nothing else.

Macros, properties, conditions, ``<xacro:include>``, ``$(arg …)``, ``$(env …)``, ``$(dirname)``, ``$(find …)`` (packages
above the file, and those of ROS_PACKAGE_PATH) and ``load_yaml`` work. Expressions are xacro's, but only plain ones:
numbers, texts, operators, comparisons, ``a if b else c``, lists, dictionaries, indices, attributes, and calls of the
functions that xacro offers. xacro hands expressions to Python's ``eval``, from which a file could run anything; here an
expression's syntax tree is read first, and what could lead out of arithmetic is refused, as is ``$(eval …)``.
"""

from __future__ import annotations

import ast
import io
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from rbdgen.errors import ToolError, UrdfError, short
from rbdgen.extras import optional_module, remedy
from rbdgen.model.robot import Robot
from rbdgen.model.urdf import parse_urdf, read_bytes

SUFFIX = ".xacro"
LARGEST_POWER = 100
"""Largest exponent in an expression, lest one line fills the memory."""

_PLAIN = (
    ast.Expression,
    ast.Constant,
    ast.Name,
    ast.Load,
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.IfExp,
    ast.List,
    ast.Tuple,
    ast.Dict,
    ast.Subscript,
    ast.Slice,
    ast.Attribute,
    ast.Call,
    ast.keyword,
    ast.operator,
    ast.unaryop,
    ast.boolop,
    ast.cmpop,
)
"""What an expression may consist of: no functions of its own, no comprehensions, no formatted texts."""
_LEADS_OUT = frozenset({"vars", "type", "format", "format_map", "map", "filter", "issubclass"})
"""Functions of xacro's and of texts that reach Python's own objects, or call what they are given."""


def load_xacro(
    path: str | Path, base: str = "fixed", arguments: Mapping[str, Any] | None = None
) -> Robot:
    """The robot of a xacro file, expanded with ``arguments`` (those that the command line of xacro takes as
    ``name:=value``).

    UrdfError for what cannot be expanded, ToolError without xacrodoc; else errors and warnings are those of
    :func:`rbdgen.load_urdf`."""
    path = Path(path)
    return parse_urdf(expanded(path, arguments), str(path), path.name.partition(".")[0], base)


def expanded(path: Path, arguments: Mapping[str, Any] | None = None) -> str:
    """The URDF that a xacro file expands to."""
    read_bytes(path)  # its errors are better than xacro's
    given = {str(name): str(value) for name, value in (arguments or {}).items()}
    told = io.StringIO()
    with _guarded_xacro(path) as document, redirect_stderr(told), redirect_stdout(told):
        try:
            # packages are looked for by the guard
            read = document.from_file(str(path), False, subargs=given, resolve_packages=False)
            return read.to_urdf_string()
        except RecursionError:
            reason = "its macros or properties call themselves"
        except Exception as error:  # whatever an expression or a macro raises
            reason = " ".join(str(error).split()) or type(error).__name__
            reason = re.sub(r"<class '[\w.]+'>: ", "", reason)  # xacro shows what it wraps
    raise UrdfError(f"{path}: xacro does not expand it: {reason}; mend the file at that place")


@contextmanager
def _guarded_xacro(path: Path) -> Iterator[Any]:
    """Within, xacro is at ``path``, finds packages above it, and evaluates only what :func:`check_expression` lets
    pass; what xacrodoc reads files with."""
    xacrodoc = optional_module("xacrodoc", "xacro")
    xacro = optional_module("xacro", "xacro")
    substitution = optional_module("xacro.substitution_args", "xacro")
    before: list[Any] = [getattr(xacro, "safe_eval", None)]
    before += [getattr(substitution, name, None) for name in ("_eval", "_eval_find")]
    if None in before:
        raise ToolError(
            "Python package 'xacro' evaluates expressions in a way that is not known here; "
            f"{remedy('xacro')}"
        )
    evaluate, substitute, find = before
    # one of its own for each file: what it has found, it keeps
    finder = xacrodoc.packages.PackageFinder()
    finder.walk_up_from(path)
    xacro.safe_eval = _guarded(evaluate)
    substitution._eval = _refuse_eval
    substitution._eval_find = finder.get_path
    xacro.init_stacks(str(path))  # what relative includes are relative to
    xacro.substitution_args_context["filename"] = str(path)
    try:
        yield xacrodoc.XacroDoc
    finally:
        xacro.safe_eval = evaluate
        substitution._eval = substitute
        substitution._eval_find = find
        xacro.init_stacks(None)
        del xacro.substitution_args_context["filename"]


def _guarded(evaluate: Callable[..., Any]) -> Callable[..., Any]:
    """xacro's ``evaluate``, of plain expressions only."""

    def guarded(expression: str, *symbols: Any) -> Any:
        check_expression(expression)
        return evaluate(expression, *symbols)

    return guarded


def _refuse_eval(expression: str, *context: Any) -> str:
    raise UrdfError(f"$(eval {expression}) could run anything; write ${{{expression}}}")


def check_expression(expression: str) -> None:
    """UrdfError for an expression of xacro's that is more than arithmetic on names and texts. SyntaxError for one that
    is none."""
    for node in ast.walk(ast.parse(expression.strip(), mode="eval")):
        name = _named(node)
        private = name.startswith("_") or name in _LEADS_OUT
        if private or not isinstance(node, _PLAIN) or _is_huge(node):
            what = name or type(node).__name__.lower()
            raise UrdfError(
                f"expression {short(expression)} has {short(what)}, which is not evaluated; "
                "write it with numbers, operators and comparisons"
            )


def _named(node: ast.AST) -> str:
    """The name that an expression looks up; empty if it does not."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_huge(node: ast.AST) -> bool:
    """Whether a power or a shift may fill the memory: its exponent is no small number."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow | ast.LShift)):
        return False
    exponent = node.right
    if isinstance(exponent, ast.UnaryOp):
        exponent = exponent.operand
    value = exponent.value if isinstance(exponent, ast.Constant) else None
    return not (isinstance(value, int | float) and abs(value) <= LARGEST_POWER)
