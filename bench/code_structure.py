"""What the code looks like, in figures: density of lines, nested comprehensions, complexity, import cycles.

- Tokens per code line: Python's tokens without comments, line ends, indents and docstrings, over the lines on which
  they begin. Dense lines say several things at once.
- Nested comprehensions: comprehensions with another one inside.
- Cyclomatic complexity of a function: one, and one more for each `if`, conditional expression, loop, `else` of a loop
  or of a `try`, handler, case, `assert`, `for` and `if` of a comprehension, and operand of `and` and `or` but the
  first. Functions inside count for themselves.
- Import cycles: files that import each other, directly or by way of others.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import grimp
import networkx as nx

ROOT = Path(__file__).parents[1]
PACKAGES = ("rbdgen", "hw/rbdgen_hw", "sim/rbdgen_sim", "boards/rbdgen_boards")
DENSEST = 9.5
"""Tokens per line that no folder is over."""
MOST_COMPLEX = 20
"""Complexity that no function is over."""

_SILENT = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Folder:
    """A folder's own files: tokens, lines that have any, and nested comprehensions."""

    name: str
    tokens: int
    lines: int
    nested: int

    @property
    def density(self) -> float:
        """Tokens per code line."""
        return self.tokens / self.lines if self.lines else 0.0


@dataclass(frozen=True)
class Function:
    """A function by file, line and name, with its complexity."""

    path: str
    line: int
    name: str
    complexity: int


def folders() -> list[Folder]:
    """Every folder of the packages that holds code."""
    found = []
    for folder in sorted({path.parent for path in _files()}):
        tokens = lines = nested = 0
        for path in sorted(folder.glob("*.py")):
            text = path.read_text(encoding="utf-8")
            counts = tokens_by_line(text)
            tokens += sum(counts.values())
            lines += len(counts)
            nested += nested_comprehensions(ast.parse(text))
        found.append(Folder(str(folder.relative_to(ROOT)), tokens, lines, nested))
    return found


def functions() -> list[Function]:
    """Every function of the packages, the most complex one first."""
    found = []
    for path in _files():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, _FUNCTIONS):
                name = str(path.relative_to(ROOT))
                found.append(Function(name, node.lineno, node.name, complexity(node)))
    return sorted(found, key=lambda function: -function.complexity)


def cycles() -> list[list[str]]:
    """Sets of files that import each other."""
    names = [Path(package).name for package in PACKAGES]
    imports = grimp.build_graph(*names, exclude_type_checking_imports=True, cache_dir=None)
    graph = nx.DiGraph()
    for module in imports.modules:
        for imported in imports.find_modules_directly_imported_by(module):
            graph.add_edge(module, imported)
    components = nx.strongly_connected_components(graph)
    return sorted(sorted(component) for component in components if len(component) > 1)


def _files() -> list[Path]:
    found: list[Path] = []
    for package in PACKAGES:
        found += sorted((ROOT / package).rglob("*.py"))
    return found


def tokens_by_line(text: str) -> dict[int, int]:
    """How many tokens begin on each code line."""
    skipped = _docstring_lines(ast.parse(text))
    counts: dict[int, int] = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line = token.start[0]
        if token.type not in _SILENT and line not in skipped:
            counts[line] = counts.get(line, 0) + 1
    return counts


def _docstring_lines(tree: ast.Module) -> set[int]:
    """The lines of docstrings of the module, its classes and functions."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Module, ast.ClassDef, *_FUNCTIONS)):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            lines.update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return lines


def nested_comprehensions(tree: ast.AST) -> int:
    """Comprehensions with another one inside."""
    count = 0
    for node in ast.walk(tree):
        if isinstance(node, _COMPREHENSIONS):
            inside = [child for child in ast.walk(node) if child is not node]
            count += any(isinstance(child, _COMPREHENSIONS) for child in inside)
    return count


def complexity(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """A function's cyclomatic complexity, without the functions inside it."""
    return 1 + sum(_decisions(node) for node in _own_nodes(function))


def _own_nodes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function's body, but not those of functions and classes inside it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            yield node
            waiting += ast.iter_child_nodes(node)


def _decisions(node: ast.AST) -> int:
    """How many more ways there are through a function by one of its nodes."""
    match node:
        case ast.If() | ast.IfExp() | ast.Assert():
            return 1
        case ast.For() | ast.AsyncFor() | ast.While():
            return 1 + bool(node.orelse)
        case ast.Try():
            return len(node.handlers) + bool(node.orelse)
        case ast.BoolOp():
            return len(node.values) - 1
        case ast.comprehension():
            return 1 + len(node.ifs)
        case ast.Match():
            return len(node.cases) - any(_takes_all(case.pattern) for case in node.cases)
        case _:
            return 0


def _takes_all(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None
