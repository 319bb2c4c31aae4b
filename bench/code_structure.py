"""Figures of the code: density of lines, nested comprehensions, complexity, import cycles, files, words.

- Tokens per code line: Python's tokens without comments, line ends, indents and docstrings, over the lines on which
  they begin. Dense lines say several things at once.
- Nested comprehensions: comprehensions with another one inside.
- Cyclomatic complexity of a function: one, and one more for each `if`, conditional expression, loop, `else` of a loop
  or of a `try`, handler, case, `assert`, `for` and `if` of a comprehension, and operand of `and` and `or` but the
  first. Functions inside count for themselves.
- Import cycles: files that import each other, directly or by way of others.
- Tests of operations: comparisons, and subjects of ``match``, with something that is called ``op``. They belong where
  operations are defined, and where a back end turns each into something.
- Comments: per hundred lines that have anything else. Docstrings are those of modules, classes, functions and values.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import grimp
import networkx as nx

ROOT = Path(__file__).parents[1]
PACKAGES = ("rbdgen", "hw/rbdgen_hw", "sim/rbdgen_sim", "boards/rbdgen_boards")
DENSEST = 9.5
"""Tokens per line that no folder is over."""
MOST_COMPLEX = 20
"""Complexity that no function is over."""
MOST_FILES, MOST_LINES = 350, 64_000
"""Files of the packages, and their lines."""
MOST_TESTS = 30
"""Tests of operations outside of :data:`OPERATIONS`."""
LEAST_COMMENTS = 2.0
"""Comments per hundred lines."""
MOST_QUESTIONS = 0.01
"""Share of docstrings that open with a question word."""
SHORT = 60
"""A file with fewer lines is short."""

OPERATIONS = (
    "rbdgen/ir/",
    "rbdgen/software/float_statements.py",
    "rbdgen/software/fixed_statements.py",
    "rbdgen/machines/pipeline/operators.py",
    "rbdgen/wordlength/costs.py",
    "hw/rbdgen_hw/pipeline/unit_operators.py",
)
"""Where operations are defined, and the tables of back ends: what each one is there."""
QUESTION = re.compile(r"\W*(What|How|Which)\b")
"""Openings of docstrings that do not say what the thing is or does."""

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


@cache
def imports() -> nx.DiGraph:
    """Modules, with an edge to each that one imports."""
    names = [Path(package).name for package in PACKAGES]
    found = grimp.build_graph(*names, exclude_type_checking_imports=True, cache_dir=None)
    graph = nx.DiGraph()
    graph.add_nodes_from(found.modules)
    for module in found.modules:
        for imported in found.find_modules_directly_imported_by(module):
            graph.add_edge(module, imported)
    return graph


def cycles() -> list[list[str]]:
    """Sets of files that import each other."""
    graph = imports()
    components = nx.strongly_connected_components(graph)
    return sorted(sorted(component) for component in components if len(component) > 1)


@dataclass(frozen=True)
class Files:
    """Counts over the files of the packages: all of them, their lines, those with a single importer, those that are
    short, those that are both, and names that several have."""

    count: int
    lines: int
    with_one_importer: int
    short: int
    short_with_one_importer: int
    repeated_names: int


def files() -> Files:
    """Counts over the files of the packages, as they are now."""
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in _files()}
    short = {path for path, length in lengths.items() if length < SHORT}
    plain = [path for path in lengths if path.name != "__init__.py"]
    one = {path for path in plain if imports().in_degree(_module(path)) == 1}
    names = Counter(path.name for path in plain)
    return Files(
        count=len(lengths),
        lines=sum(lengths.values()),
        with_one_importer=len(one),
        short=len(short),
        short_with_one_importer=len(one & short),
        repeated_names=sum(count > 1 for count in names.values()),
    )


def _module(path: Path) -> str:
    """The name by which a file's module is imported."""
    package = next(ROOT / package for package in PACKAGES if path.is_relative_to(ROOT / package))
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def tests_of_operations() -> dict[str, int]:
    """Tests of operations by file, outside of where they belong, most first."""
    found: Counter[str] = Counter()
    for path in _files():
        name = str(path.relative_to(ROOT))
        if not name.startswith(OPERATIONS):
            found[name] = operation_tests(ast.parse(path.read_text(encoding="utf-8")))
    return {name: count for name, count in found.most_common() if count}


def operation_tests(tree: ast.AST) -> int:
    """Comparisons and ``match`` statements on what is called ``op``."""
    count = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            count += any(_is_operation(side) for side in (node.left, *node.comparators))
        elif isinstance(node, ast.Match):
            subject = node.subject
            parts = subject.elts if isinstance(subject, ast.Tuple) else [subject]
            count += any(_is_operation(part) for part in parts)
    return count


def _is_operation(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name == "op"


@dataclass(frozen=True)
class Words:
    """Counts of comments, of lines that have anything else, of docstrings, and of those that open with a question."""

    comments: int
    lines: int
    docstrings: int
    questions: int

    @property
    def comments_per_hundred(self) -> float:
        """Comments per hundred lines."""
        return 100 * self.comments / self.lines if self.lines else 0.0

    @property
    def share_of_questions(self) -> float:
        """Share of docstrings that open with a question word."""
        return self.questions / self.docstrings if self.docstrings else 0.0


def words() -> dict[str, Words]:
    """Comments and docstrings of every folder that holds code."""
    found = {}
    for folder in sorted({path.parent for path in _files()}):
        parts = [words_of(path.read_text(encoding="utf-8")) for path in folder.glob("*.py")]
        found[str(folder.relative_to(ROOT))] = all_words(parts)
    return found


def all_words(parts: Iterable[Words]) -> Words:
    """Sums over parts."""
    known = list(parts)
    return Words(
        sum(part.comments for part in known),
        sum(part.lines for part in known),
        sum(part.docstrings for part in known),
        sum(part.questions for part in known),
    )


def words_of(text: str) -> Words:
    """Comments and docstrings of a file."""
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    comments = sum(token.type == tokenize.COMMENT for token in tokens)
    lines = {token.start[0] for token in tokens if token.type not in _SILENT}
    texts = list(_docstrings(ast.parse(text)))
    questions = sum(QUESTION.match(docstring) is not None for docstring in texts)
    return Words(comments, len(lines), len(texts), questions)


def _docstrings(tree: ast.Module) -> Iterator[str]:
    """Docstrings of the module, its classes and functions, and strings behind assignments."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        if isinstance(node, (ast.Module, ast.ClassDef, *_FUNCTIONS)):
            text = ast.get_docstring(node, clean=False)
            if text is not None:
                yield text
        for before, statement in pairwise(body):
            if isinstance(before, (ast.Assign, ast.AnnAssign)):
                value = getattr(statement, "value", None)
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    yield value.value


@cache
def _files() -> list[Path]:
    found: list[Path] = []
    for package in PACKAGES:
        found += sorted((ROOT / package).rglob("*.py"))
    return found


def tokens_by_line(text: str) -> dict[int, int]:
    """Count of tokens that begin on each code line."""
    skipped = _docstring_lines(ast.parse(text))
    counts: dict[int, int] = {}
    depth = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line = token.start[0]
        # a formatted string is one token, as it is before Python 3.12
        name = tokenize.tok_name[token.type]
        depth -= name == "FSTRING_END"
        whole = depth == 0 and name != "FSTRING_END"
        depth += name == "FSTRING_START"
        if whole and token.type not in _SILENT and line not in skipped:
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
    """Count of further paths through a function by one of its nodes."""
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
