"""Draws the picture that the README opens with, ``docs/first.svg``: a robot's tree, its pipeline, and the timing of its
units, as ``rbdgen layout --svg`` and ``--chart`` draw them; seconds. Not a measurement."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from rbdgen import Options, compile_robot, load_robot
from rbdgen.compiler import Design
from rbdgen.report.drawings import layout_picture, timing_chart

PICTURE = Path(__file__).parents[1] / "docs" / "first.svg"
HEIGHT = 620
"""Of the layout, which is drawn smaller; the chart is as large as it is drawn elsewhere, in its middle."""
GAP = 24
SIZE = re.compile(r'width="(\d+)" height="(\d+)"')


def picture(drawn: Design) -> str:
    """Both drawings side by side."""
    layout, chart = layout_picture(drawn), timing_chart(drawn)
    (width, height), (wide, high) = _size(layout), _size(chart)
    width = round(width * HEIGHT / height)
    whole = width + GAP + wide
    inside = [
        _placed(layout, (0, 0), (width, HEIGHT)),
        _placed(chart, (width + GAP, (HEIGHT - high) // 2), (wide, high)),
    ]
    title = f"{drawn.robot.name}: its tree, its hardware, its timing"
    box = f'width="{whole}" height="{HEIGHT}" viewBox="0 0 {whole} {HEIGHT}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {box}>\n<title>{title}</title>\n'
    return head + "\n".join(inside) + "\n</svg>\n"


def _size(svg: str) -> tuple[int, int]:
    """A drawing's width and height."""
    found = SIZE.search(svg)
    assert found is not None
    return int(found[1]), int(found[2])


def _placed(svg: str, at: tuple[int, int], size: tuple[int, int]) -> str:
    """A drawing at a place inside of another, scaled to a size."""
    place = f'x="{at[0]}" y="{at[1]}" width="{size[0]}" height="{size[1]}"'
    return SIZE.sub(place, svg, count=1).strip()


def design() -> Design:
    """The design that is drawn."""
    return compile_robot(load_robot("iiwa14"), Options(functions=("id",), ii=4))


def main() -> int:
    """Draw it."""
    PICTURE.write_text(picture(design()), encoding="utf-8")
    print(f"wrote {PICTURE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
