"""A small writer of SVG: shapes by class, colours for light and dark in one style sheet.

Lengths are in pixels from the top left corner. Not here: what is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape, quoteattr

FONT, SMALL, HEAD = 12, 11, 18
"""Sizes of text."""
LETTER = 0.6
"""Width of a letter in units of its size: what most letters of a sans-serif font stay below."""
Point = tuple[float, float]
"""A point: x to the right, y downward."""
HUES = 9
"""Colours that tell things apart: classes ``hue0``, ``hue1`` and so on; ``pale0`` and so on are fainter."""

_LIGHT = {
    "paper": "#ffffff",
    "ink": "#1b2430",
    "faint": "#667080",
    "line": "#b6bec9",
    "card": "#f3f5f8",
    "box": "#ffffff",
    "idle": "#e3e7ed",
    "hue0": "#2563eb",
    "hue1": "#b45309",
    "hue2": "#047857",
    "hue3": "#b91c1c",
    "hue4": "#6d28d9",
    "hue5": "#0e7490",
    "hue6": "#be185d",
    "hue7": "#4d7c0f",
    "hue8": "#64748b",
}
_DARK = {
    "paper": "#12161c",
    "ink": "#e6eaf0",
    "faint": "#97a2b1",
    "line": "#4a5563",
    "card": "#1b212a",
    "box": "#242c37",
    "idle": "#333d4a",
    "hue0": "#7fb0ff",
    "hue1": "#f0a860",
    "hue2": "#5fd3a4",
    "hue3": "#f58a8a",
    "hue4": "#b79bff",
    "hue5": "#62cbe0",
    "hue6": "#f58cbc",
    "hue7": "#a8d06a",
    "hue8": "#a3b1c4",
}


def style_sheet() -> str:
    """The rules of all pictures, for light and dark; they concern nothing outside pictures."""

    def variables(colours: dict[str, str]) -> str:
        return " ".join(f"--{name}: {value};" for name, value in colours.items())

    rules = [
        f".rbdgen {{ {variables(_LIGHT)} color-scheme: light dark; }}",
        # on screens only, as paper is light
        f"@media screen and (prefers-color-scheme: dark) {{ .rbdgen {{ {variables(_DARK)} }} }}",
        f".rbdgen text {{ font: {FONT}px system-ui, sans-serif; fill: var(--ink); }}",
        f".rbdgen text.small {{ font-size: {SMALL}px; }}",
        f".rbdgen text.head {{ font-size: {HEAD}px; font-weight: 600; }}",
        ".rbdgen text.strong { font-weight: 600; }",
        ".rbdgen text.faint { fill: var(--faint); }",
        ".rbdgen text.end { text-anchor: end; }",
        ".rbdgen text.middle { text-anchor: middle; }",
        ".rbdgen .paper { fill: var(--paper); }",
        ".rbdgen .card { fill: var(--card); stroke: var(--line); }",
        ".rbdgen .box { fill: var(--box); stroke: var(--line); }",
        ".rbdgen .guest { fill: none; stroke: var(--faint); stroke-dasharray: 3 3; }",
        ".rbdgen .idle { fill: var(--idle); }",
        ".rbdgen .line { fill: none; stroke: var(--line); }",
        ".rbdgen .connection { fill: none; stroke: var(--faint); stroke-width: 1.5; }",
        ".rbdgen .arrow { fill: var(--faint); }",
        ".rbdgen .cover { fill: none; pointer-events: all; }",
        ".rbdgen .queue { fill: none; stroke: var(--ink); }",
    ]
    for k in range(HUES):
        rules += [
            f".rbdgen .hue{k} {{ fill: var(--hue{k}); }}",
            f".rbdgen .pale{k} {{ fill: var(--hue{k}); fill-opacity: 0.3; }}",
        ]
    return "\n".join(rules)


def number(x: float) -> str:
    """A length as text: at most two decimals."""
    return f"{x:.2f}".rstrip("0").rstrip(".") if x % 1 else str(int(x))


def text_width(text: str, size: float = FONT) -> float:
    """Room that a text needs."""
    return LETTER * size * len(text)


def fitting(text: str, width: float, size: float = FONT) -> str:
    """A text that fits ``width``: its middle left out if it is longer."""
    most = max(int(width / (LETTER * size)), 3)
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


def _size(kind: str) -> int:
    """The size of a text of that class."""
    if "head" in kind:
        return HEAD
    return SMALL if "small" in kind else FONT


class Canvas:
    """Collects shapes and grows with them."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.width = self.height = 0.0

    def _reach(self, x: float, y: float) -> None:
        self.width = max(self.width, x)
        self.height = max(self.height, y)

    def _add(self, element: str, title: str) -> None:
        name = element[1:].split(" ", 1)[0]
        self.parts.append(
            f"{element}><title>{escape(title)}</title></{name}>" if title else f"{element}/>"
        )

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        kind: str,
        title: str = "",
        corner: float = 0,
    ) -> None:
        """A rectangle of class ``kind``, with a tooltip if it has a ``title``."""
        self._reach(x + width, y + height)
        attributes = (
            f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
        )
        attributes += f' rx="{number(corner)}"' if corner else ""
        self._add(f'<rect class="{kind}" {attributes}', title)

    def path(self, commands: str, kind: str, title: str = "") -> None:
        """A path, drawn inside what other shapes span."""
        self._add(f'<path class="{kind}" d="{commands}"', title)

    def line(self, points: Iterable[Point], kind: str, title: str = "") -> None:
        """A line through ``points``."""
        spots = list(points)
        for x, y in spots:
            self._reach(x, y)
        corners = [f"{number(x)} {number(y)}" for x, y in spots]
        self.path("M" + " L".join(corners), kind, title)

    def arrow(self, x: float, y: float, towards: int) -> None:
        """The head of a horizontal arrow whose tip is at (x, y); ``towards``: 1 right, −1 left."""
        self.path(f"M{number(x)} {number(y)} l{-6 * towards} -3.5 v7 z", "arrow")

    def text(self, x: float, y: float, text: str, kind: str = "", title: str = "") -> None:
        """A text whose baseline begins at (x, y); or ends or is centred there, by class."""
        width = text_width(text, _size(kind))
        if "end" in kind:
            width = 0
        elif "middle" in kind:
            width /= 2
        # letters reach below the baseline
        self._reach(x + width, y + 4)
        inner = escape(text)
        if title:
            inner += f"<title>{escape(title)}</title>"
        style = f" class={quoteattr(kind)}" if kind else ""
        self.parts.append(f'<text x="{number(x)}" y="{number(y)}"{style}>{inner}</text>')

    def paragraph(self, x: float, y: float, parts: Sequence[str], width: float, kind: str) -> float:
        """``parts`` with dots between them, in as many lines as keep within ``width``; the last line's baseline."""
        size = _size(kind)
        line = parts[0]
        for part in parts[1:]:
            longer = f"{line} · {part}"
            if text_width(longer, size) > width:
                self.text(x, y, line, kind)
                y += size + 4
                line = part
            else:
                line = longer
        self.text(x, y, line, kind)
        return y

    def document(self, title: str, description: str, margin: float = 16) -> str:
        """The whole file."""
        width = number(round(self.width + margin))
        height = number(round(self.height + margin))
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="rbdgen" role="img" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}">'
        )
        return "\n".join(
            [
                head,
                f"<title>{escape(title)}</title>",
                f"<desc>{escape(description)}</desc>",
                f"<style>\n{style_sheet()}\n</style>",
                f'<rect class="paper" width="{width}" height="{height}"/>',
                *self.parts,
                "</svg>",
                "",
            ]
        )


def bars(cells: Iterable[tuple[float, float, float]], base: float) -> str:
    """Commands of a path of upright bars on the line y = ``base``: of each the left end, the width and the height."""
    return "".join(
        f"M{number(x)} {number(base)}v{number(-height)}h{number(width)}v{number(height)}z"
        for x, width, height in cells
    )
