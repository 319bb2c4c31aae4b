"""A picture of a build inside a page: built again of the shapes that :mod:`rbdgen.report.drawings.svg` writes.

Whatever else its file may hold is left out, so that it can neither run scripts, nor load anything, nor change the
page's style. In the page its shapes say their titles at the pointer, which those of an image do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from defusedxml import DefusedXmlException, ElementTree

from rbdgen.errors import ConfigError

NAMESPACE = "{http://www.w3.org/2000/svg}"
SHAPES = ("rect", "path", "text", "title", "desc")
"""Elements that are taken over, with their text."""
ATTRIBUTES = ("class", "x", "y", "width", "height", "rx", "d")
"""... and their attributes."""


def inline_picture(svg: str, name: str) -> str:
    """The picture of the file ``name`` as an element of a page; its style is the page's
    (:func:`rbdgen.report.drawings.svg.style_sheet`). ConfigError for what is no picture."""
    try:
        root = ElementTree.fromstring(svg)
    except (ElementTree.ParseError, DefusedXmlException) as error:
        raise ConfigError(f"{name}: broken: {error}; generate again") from None
    if root.tag != f"{NAMESPACE}svg":
        raise ConfigError(f"{name}: broken: not an SVG; generate again")
    width, height = (_length(root.get(side)) for side in ("width", "height"))
    head = (
        f'<svg class="rbdgen" role="img" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}">'
    )
    return "".join([head, *_shapes(root), "</svg>"])


def _length(text: str | None) -> float:
    """A side of the picture in pixels; 100, as good as any, where none is given."""
    try:
        return float(text or "")
    except ValueError:
        return 100.0


def _shapes(parent: Any) -> Iterator[str]:
    """The shapes inside an element."""
    for element in parent:
        name = str(element.tag).removeprefix(NAMESPACE)
        if name not in SHAPES:
            continue
        kept = [key for key in ATTRIBUTES if key in element.attrib]
        attributes = "".join(f" {key}={quoteattr(element.attrib[key])}" for key in kept)
        yield f"<{name}{attributes}>{escape(element.text or '')}"
        yield from _shapes(element)
        yield f"</{name}>"
