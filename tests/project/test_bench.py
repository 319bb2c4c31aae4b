"""Benches: measurements and the page of them, and how the code's figures are counted."""

from __future__ import annotations

import ast
import json
import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest

from bench.code_structure import (
    OPERATIONS,
    complexity,
    nested_comprehensions,
    operation_tests,
    tokens_by_line,
    words_of,
)
from bench.page import FOLDER, MADE, PAGE, PLACE, TEMPLATE, Bench, page, read, store

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
    assert [path for path in OPERATIONS if not (ROOT / path).exists()] == []


def test_comments_and_docstrings_are_counted() -> None:
    text = words_of(f'{CODE}\nLIMIT = 3\n"""``What`` it is."""\n\nclass A:\n    """Aware."""\n')
    assert (text.comments, text.docstrings, text.questions) == (1, 4, 1)
    # a docstring is one token, and so one line
    assert text.lines == 11


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Measurements of no bench yet."""
    path = tmp_path / "measurements"
    path.mkdir()
    (path / TEMPLATE).write_text("# Page\n\n{tables one}\n\nProse.\n")
    return path


def bench(folder: Path, commit: str) -> Bench:
    return Bench("one", "python bench/one.py", commit, folder, folder.parent / "page.md")


def test_a_table_is_replaced_as_a_whole(folder: Path) -> None:
    for commit, value in (("aaa", "1"), ("bbb", "2.50")):
        one = bench(folder, commit)
        one.write("Times", ["what", "s|min", ""], [["a", value, "ok"], ["b", None, ""]])
        one.write("Other", ["x"], [[value]], note="a note")
    assert one.page.read_text() == (
        f"{MADE}# Page\n\n"
        "### Times\n\n`python bench/one.py`, commit bbb\n\n"
        "| what | s\\|min |  |\n|---|---|---|\n| a | 2.50 | ok |\n| b | – |  |\n\n"
        "### Other\n\n`python bench/one.py`, commit bbb: a note\n\n| x |\n|---|\n| 2.50 |\n\n"
        "Prose.\n"
    )


def test_rows_take_the_place_of_those_with_the_same_keys(folder: Path) -> None:
    first, second = bench(folder, "aaa"), bench(folder, "1234567")
    first.write("Builds", ["board", "MHz"], [["x", 1], ["y", 2]], keys=1)
    second.write("Builds", ["board", "MHz"], [["y", 3], ["z", 4]], keys=1)
    rows = re.findall(r"^\| [xyz] .*", first.page.read_text(), re.M)
    assert rows == ["| x | 1 | aaa |", "| y | 3 | 1234567 |", "| z | 4 | 1234567 |"]
    with pytest.raises(ValueError, match=r"must have the line '\{tables two\}'$"):
        Bench("two", "run", "aaa", folder).write("T", ["x"], [])


def test_numbers_are_numbers_and_keep_their_digits(folder: Path) -> None:
    row = ["2.50", 3, "7e-05", "007", "98.5%", None, True]
    bench(folder, "1234567").write("Errors", list("abcdefg"), [row], keys=1)
    text = (folder / "one.json").read_text()
    known = [2.5, 3, 7e-05, "007", "98.5%", None, "True", "1234567"]
    assert json.loads(text)["tables"][0]["rows"] == [known]
    assert "[2.50, 3, 7e-05," in text


def test_the_page_is_what_the_measurements_give(tmp_path: Path) -> None:
    """``python bench/page.py`` makes it."""
    assert PAGE.read_text(encoding="utf-8") == page()
    places = PLACE.findall((FOLDER / TEMPLATE).read_text(encoding="utf-8"))
    assert {path.stem for path in FOLDER.glob("*.json")} <= set(places) <= set(BENCHES)
    for path in FOLDER.glob("*.json"):
        copy = tmp_path / path.name
        store(copy, read(path))
        assert copy.read_text(encoding="utf-8") == path.read_text(encoding="utf-8")


def test_benches_need_no_tests() -> None:
    for name in BENCHES:
        tree = ast.parse((ROOT / f"bench/{name}.py").read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] != "tests"
            elif isinstance(node, ast.Import):
                assert all(alias.name.split(".")[0] != "tests" for alias in node.names)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_commands_of_measurements_are_there(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each bench takes the options that its tables were made with, and says them."""
    commands = [shlex.split(table.command) for table in read(path)]
    (script,) = {command[1] for command in commands}
    assert script == f"bench/{path.stem}.py"
    given = [argument for command in commands for argument in command[2:]]
    monkeypatch.setattr(sys, "argv", [script, *given, "--help"])
    monkeypatch.setattr(sys, "path", [str(ROOT / "bench"), *sys.path])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / script), run_name="__main__")
    assert ended.value.code == 0, capsys.readouterr().err
    assert "--write" in capsys.readouterr().out
