"""What benches share: the page that they write, and how the code's figures are counted."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench.code_structure import (
    complexity,
    nested_comprehensions,
    operation_tests,
    tokens_by_line,
    words_of,
)
from bench.page import Page

ROOT = Path(__file__).parents[2]
BENCHES = sorted(path.stem for path in (ROOT / "bench").glob("*.py"))

CODE = '''"""About
this."""

def f(a, b):
    """Says
    what."""
    x = a + b  # why
    return [
        x
    ]
'''


def test_tokens_are_counted_where_they_begin() -> None:
    assert tokens_by_line(CODE) == {4: 8, 7: 5, 8: 2, 9: 1, 10: 1}


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("return 1", 1),
        ("if a and b or c:\n  pass\nelif b:\n  pass", 5),
        ("for x in a:\n  while x:\n    pass\nelse:\n  pass", 4),
        ("try:\n  pass\nexcept A:\n  pass\nexcept B:\n  pass\nelse:\n  pass", 4),
        ("return [x if x else 0 for y in a for x in y if x]", 5),
        ("assert a\nwith a:\n  pass", 2),
        ("match a:\n  case 1:\n    pass\n  case 2:\n    pass\n  case _:\n    pass", 3),
        ("def g():\n  if a:\n    pass\nreturn g", 1),
    ],
)
def test_complexity_counts_the_ways_through_a_function(body: str, count: int) -> None:
    lines = "\n".join(f"  {line}" for line in body.splitlines())
    function = ast.parse(f"def f(a, b, c):\n{lines}\n").body[0]
    assert isinstance(function, ast.FunctionDef)
    assert complexity(function) == count


def test_a_comprehension_inside_another_is_seen() -> None:
    tree = ast.parse("[[x for x in y] for y in z]\n[x for y in z for x in y]\n{k: v for k in z}")
    assert nested_comprehensions(tree) == 1


def test_tests_of_operations_are_seen() -> None:
    tree = ast.parse("a.op == 'dot'\nop in (x, y)\nx == a\nmatch a.op, b:\n  case 1:\n    pass")
    assert operation_tests(tree) == 3


def test_comments_and_docstrings_are_counted() -> None:
    text = words_of(f'{CODE}\nLIMIT = 3\n"""``What`` it is."""\n\nclass A:\n    """Aware."""\n')
    assert (text.comments, text.docstrings, text.questions) == (1, 4, 1)
    # a docstring is one token, and so one line
    assert text.lines == 11


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text("# Page\n\n<!-- begin one -->\n\n<!-- end one -->\n\nProse.\n")
    return path


def test_a_section_is_replaced_as_a_whole(page: Path) -> None:
    for commit, value in (("aaa", 1), ("bbb", 2)):
        bench = Page("one", "python bench/one.py", commit, page)
        bench.write("Times", ["what", "s|min", ""], [["a", value, "ok"], ["b", None, ""]])
        bench.write("Other", ["x"], [[value]])
    assert page.read_text() == (
        "# Page\n\n<!-- begin one -->\n\n"
        "### Times\n\n`python bench/one.py`, commit bbb\n\n"
        "| what | s\\|min |  |\n|---|---|---|\n| a | 2 | ok |\n| b | – |  |\n\n"
        "### Other\n\n`python bench/one.py`, commit bbb\n\n| x |\n|---|\n| 2 |\n\n"
        "<!-- end one -->\n\nProse.\n"
    )


def test_rows_take_the_place_of_those_with_the_same_keys(page: Path) -> None:
    first, second = (Page("one", "run", commit, page) for commit in ("aaa", "bbb"))
    first.write("Builds", ["board", "MHz"], [["x", 1], ["y", 2]], keys=1)
    second.write("Builds", ["board", "MHz"], [["y", 3], ["z", 4]], keys=1)
    rows = re.findall(r"^\| [xyz] .*", page.read_text(), re.M)
    assert rows == ["| x | 1 | aaa |", "| y | 3 | bbb |", "| z | 4 | bbb |"]
    with pytest.raises(ValueError, match=r"must have the lines '<!-- begin two -->' and"):
        Page("two", "run", "aaa", page).write("T", ["x"], [])


def test_the_page_is_as_benches_write_it(tmp_path: Path) -> None:
    """What stands there is read and written again without a change."""
    text = (ROOT / "docs/measurements.md").read_text(encoding="utf-8")
    copy = tmp_path / "measurements.md"
    for name in re.findall(r"<!-- begin (\w+) -->", text):
        assert name in BENCHES
        copy.write_text(text, encoding="utf-8")
        Page(name, "run", "aaa", copy).write("New", ["x"], [[1]])
        written = copy.read_text(encoding="utf-8")
        added = "### New\n\n`run`, commit aaa\n\n| x |\n|---|\n| 1 |\n\n"
        assert written.replace(added, "", 1) == text


def test_benches_need_no_tests() -> None:
    for name in BENCHES:
        tree = ast.parse((ROOT / f"bench/{name}.py").read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] != "tests"
            elif isinstance(node, ast.Import):
                assert all(alias.name.split(".")[0] != "tests" for alias in node.names)


@pytest.mark.parametrize(
    "name",
    [
        "boards",
        "control",
        "ethernet",
        "formats",
        "functions",
        "golden",
        "host_side",
        "layouts",
        "package",
        "spine",
    ],
)
def test_a_bench_says_its_options(name: str) -> None:
    done = subprocess.run(
        [sys.executable, f"bench/{name}.py", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "--write" in done.stdout
