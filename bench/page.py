"""Measurements as data, and the page that is made of them.

Each bench has a file ``docs/measurements/NAME.json`` with the tables that it made with ``--write``. ``python
bench/page.py`` makes ``docs/measurements.md`` of them: a line ``{tables NAME}`` of ``docs/measurements/page.md.in``
stands for all tables of a bench, and the rest is text.

A table is written as a whole, with the commit that it was measured at, or row by row: then a row takes the place of the
one with the same first cells and says its own commit. Numbers are JSON's, with the digits that the bench gave them.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "measurements"
PAGE = ROOT / "docs" / "measurements.md"
TEMPLATE = "page.md.in"
COMMIT = "commit"
"""Head of the column that says where a row was measured."""
NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
"""JSON's numbers."""
PLACE = re.compile(r"^\{tables (\w+)\}$", re.M)
MADE = "<!-- made by bench/page.py of docs/measurements/ -->\n\n"
"""First line of the page."""

Cell = str | None


class Number(str):
    """A number, with its digits."""


@dataclass(frozen=True)
class Table:
    """Rows under ``columns``, made by ``command``: at ``commit``, unless their last column says so."""

    title: str
    command: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    commit: str | None = None
    note: str = ""

    def markdown(self) -> str:
        """The table as a section of the page."""
        origin = f"`{self.command}`" + (f", commit {self.commit}" if self.commit else "")
        lines = [f"### {self.title}", "", origin + (f": {self.note}" if self.note else ""), ""]
        lines += [_line(self.columns), "|" + "---|" * len(self.columns)]
        lines += [_line(row) for row in self.rows]
        return "\n".join(lines)

    def data(self) -> str:
        """The table as JSON, with a line for each row."""
        about = {"title": self.title, "note": self.note, "command": self.command}
        about |= {"commit": self.commit}
        lines = [f'"{key}": {_json(value)}' for key, value in about.items() if value]
        lines.append(f'"columns": {json.dumps(self.columns, ensure_ascii=False)}')
        rows = ",\n".join(f"    [{', '.join(map(_json, row))}]" for row in self.rows)
        lines.append(f'"rows": [\n{rows}\n   ]')
        return "  {\n   " + ",\n   ".join(lines) + "\n  }"


def _line(cells: Sequence[Cell]) -> str:
    """A row of Markdown; what would end a cell or a line is escaped."""
    texts = ("–" if cell is None else cell for cell in cells)
    escaped = (text.replace("|", "\\|").replace("\n", " ") for text in texts)
    return "| " + " | ".join(escaped) + " |"


def _json(cell: Cell) -> str:
    return cell if isinstance(cell, Number) else json.dumps(cell, ensure_ascii=False)


def cells(values: Sequence[Any]) -> tuple[Cell, ...]:
    """The cells of a row that a bench gives: numbers, also those that it has formatted, texts, and None."""
    found: list[Cell] = []
    for value in values:
        text = None if value is None else str(value)
        found.append(Number(text) if text is not None and NUMBER.fullmatch(text) else text)
    return tuple(found)


def read(path: Path) -> list[Table]:
    """A bench's tables; none where it has written none."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    found = json.loads(text, parse_float=Number, parse_int=Number)["tables"]
    tables = []
    for table in found:
        table["columns"] = tuple(table["columns"])
        table["rows"] = tuple(map(tuple, table["rows"]))
        tables.append(Table(**table))
    return tables


def store(path: Path, tables: Sequence[Table]) -> None:
    """Write a bench's tables."""
    text = ",\n".join(table.data() for table in tables)
    path.write_text(f'{{\n "tables": [\n{text}\n ]\n}}\n', encoding="utf-8")


def page(folder: Path = FOLDER) -> str:
    """The text of the page."""

    def tables(place: re.Match[str]) -> str:
        found = read(folder / f"{place[1]}.json")
        return "\n\n".join(table.markdown() for table in found) or "Not measured yet."

    return MADE + PLACE.sub(tables, (folder / TEMPLATE).read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Bench:
    """Bench ``name``, which was run as ``command`` at ``commit``, and where it writes."""

    name: str
    command: str
    commit: str
    folder: Path = FOLDER
    page: Path = PAGE

    def write(
        self,
        title: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        keys: int = 0,
        note: str = "",
    ) -> None:
        """Store a table, whole, or its rows by their first ``keys`` cells, and make the page anew. ValueError if the
        page has no place for the bench."""
        if self.name not in PLACE.findall((self.folder / TEMPLATE).read_text(encoding="utf-8")):
            raise ValueError(
                f"{self.folder / TEMPLATE}: must have the line '{{tables {self.name}}}'"
            )
        path = self.folder / f"{self.name}.json"
        tables = {table.title: table for table in read(path)}
        made = tuple(map(cells, rows))
        if keys:
            table = self._with_rows(tables.get(title), title, columns, made, keys)
        else:
            table = Table(title, self.command, tuple(columns), made, self.commit, note)
        store(path, list((tables | {title: table}).values()))
        self.page.write_text(page(self.folder), encoding="utf-8")

    def _with_rows(
        self,
        old: Table | None,
        title: str,
        columns: Sequence[str],
        rows: Sequence[tuple[Cell, ...]],
        keys: int,
    ) -> Table:
        """A table with new rows, and the old ones that have other keys."""
        kept = {row[:keys]: row for row in old.rows} if old is not None else {}
        kept |= {row[:keys]: (*row, self.commit) for row in rows}
        return Table(title, self.command, (*columns, COMMIT), tuple(kept.values()))


def revision() -> str:
    """The commit of the checkout, with a star where it has changes."""
    hashed = _git("rev-parse", "--short", "HEAD")
    changes = _git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs")
    return hashed + ("*" if changes else "")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def main() -> int:
    """Make the page."""
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
