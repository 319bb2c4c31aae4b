"""Writes what a bench measured into ``docs/measurements.md``, and nowhere else.

The page has a place for each bench, between the lines ``<!-- begin NAME -->`` and ``<!-- end NAME -->``. In it each
table is a section: a heading, the command that made it with the commit that it was measured at, and the rows. A
section is replaced as a whole, or, where it has ``keys``, row by row: a row takes the place of the one that has the
same first cells, and says its own commit.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "measurements.md"
COMMIT = "commit"
"""Head of the column that says where a row was measured."""
HEADING = "### "


@dataclass(frozen=True)
class Section:
    """A table of the page: its title, the line that says where it is from, its head and rows of cells."""

    title: str
    origin: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def text(self) -> str:
        """As Markdown."""
        lines = [f"{HEADING}{self.title}", "", self.origin, "", _line(self.head)]
        lines.append("|" + "---|" * len(self.head))
        lines += [_line(row) for row in self.rows]
        return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cells(values: Sequence[Any]) -> tuple[str, ...]:
    """A row's cells; what would end a cell or a line is escaped."""
    texts = ("–" if value is None else str(value) for value in values)
    return tuple(text.replace("|", "\\|").replace("\n", " ") for text in texts)


def _read(text: str) -> list[Section]:
    """The sections of a bench's place."""
    found = []
    for block in text.split(f"\n{HEADING}")[1:]:
        title, _, rest = block.partition("\n")
        lines = [line for line in rest.splitlines() if line]
        origin, head, _, *rows = lines
        table = [_parts(line) for line in (head, *rows)]
        found.append(Section(title, origin, table[0], tuple(table[1:])))
    return found


def _parts(line: str) -> tuple[str, ...]:
    inner = line.removeprefix("| ").removesuffix(" |")
    return tuple(inner.split(" | "))


@dataclass(frozen=True)
class Page:
    """The page as bench ``name`` sees it, which was run as ``command`` at ``commit``."""

    name: str
    command: str
    commit: str
    path: Path = PAGE

    def write(
        self, title: str, head: Sequence[str], rows: Sequence[Sequence[Any]], keys: int = 0
    ) -> None:
        """Put a table there, whole, or its rows by their first ``keys`` cells. ValueError if the page has no place for
        the bench."""
        before, mine, after = self._split()
        sections = _read(mine)
        old = next((section for section in sections if section.title == title), None)
        new = self._section(title, head, rows, keys, old)
        if old is None:
            sections.append(new)
        else:
            sections[sections.index(old)] = new
        body = "\n\n".join(section.text() for section in sections)
        self.path.write_text(f"{before}\n\n{body}\n\n{after}", encoding="utf-8")

    def _split(self) -> tuple[str, str, str]:
        """The page up to the bench's place, the place, and the rest."""
        begin, end = f"<!-- begin {self.name} -->", f"<!-- end {self.name} -->"
        text = self.path.read_text(encoding="utf-8")
        if begin not in text or end not in text:
            raise ValueError(f"{self.path}: must have the lines {begin!r} and {end!r}")
        before, _, rest = text.partition(begin)
        mine, _, after = rest.partition(end)
        return before + begin, mine, end + after

    def _section(
        self,
        title: str,
        head: Sequence[str],
        rows: Sequence[Sequence[Any]],
        keys: int,
        old: Section | None,
    ) -> Section:
        if not keys:
            origin = f"`{self.command}`, commit {self.commit}"
            return Section(title, origin, _cells(head), tuple(map(_cells, rows)))
        made = {row[:keys]: row for row in (_cells([*values, self.commit]) for values in rows)}
        kept = old.rows if old is not None else ()
        table = {row[:keys]: row for row in kept}
        table.update(made)
        return Section(title, f"`{self.command}`", _cells([*head, COMMIT]), tuple(table.values()))


def revision() -> str:
    """The commit of the checkout, with a star where it has changes."""
    hashed = _git("rev-parse", "--short", "HEAD")
    changes = _git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs")
    return hashed + ("*" if changes else "")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()
