"""The page of a build, in a real browser: nothing from a network, every picture there, light, dark and printed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rbdgen.cli.main import main
from rbdgen.report.error_grid import cell_paths, error_grid
from tests.report.browser import visit

FUNCTIONS = ("id", "dfd")
PLOTS = ("Roofline",)


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small build with a simulation."""
    folder = tmp_path_factory.mktemp("build")
    asked = [
        "--functions",
        ",".join(FUNCTIONS),
        "--ii",
        "4",
        "--tasks",
        "6",
        "--simulator",
        "amaranth",
    ]
    assert main(["simulate", "pendulum2", *asked, "-o", str(folder), "--json"]) == 0
    assert main(["report", str(folder)]) == 0
    return folder


def brightness(colour: str) -> float:
    """Mean of a computed colour's channels, 0 to 255."""
    return sum(map(float, re.findall(r"[\d.]+", colour)[:3])) / 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_opens_without_complaints(scheme: str, build: Path) -> None:
    page = build / "report.html"
    with visit(page, scheme) as seen:
        for label in PLOTS:
            box = seen.page.locator(f'svg[aria-label="{label}"]').bounding_box()
            assert box, label
            assert min(box["width"], box["height"]) > 30, label
        loaded = (
            "(images) => images.map(i => i.complete && i.naturalWidth > 100 && i.clientWidth > 100)"
        )
        assert seen.page.locator("img").evaluate_all(loaded) == [True, True]
        for vector in ("tau", "da_dq", "da_dv"):
            assert seen.page.locator(f'svg[aria-label="Errors of {vector}"] path').count() >= 1
        # nothing is cut off or sticks out at the side
        assert (
            seen.page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            == 0
        )
        style = "(name) => getComputedStyle(document.body)[name]"
        paper, ink = (
            brightness(seen.page.evaluate(style, name)) for name in ("backgroundColor", "color")
        )
        assert (paper > 200 > ink) if scheme == "light" else (ink > 200 > paper)
        text = seen.page.evaluate("getComputedStyle(document.querySelector('.plot svg text')).fill")
        assert abs(brightness(text) - paper) > 100
        assert len(seen.page.screenshot(full_page=True)) > 20_000
        assert seen.complaints == []
        assert [url for url in seen.requests if not url.startswith("data:")] == [page.as_uri()]


def test_page_prints_on_white(build: Path) -> None:
    with visit(build / "report.html", "dark") as seen:
        seen.page.emulate_media(media="print", color_scheme="dark")
        assert (
            brightness(seen.page.evaluate("getComputedStyle(document.body).backgroundColor")) > 200
        )
        assert brightness(seen.page.evaluate("getComputedStyle(document.body).color")) < 60
        seen.page.set_viewport_size({"width": 700, "height": 1000})
        everything = "[...document.querySelectorAll('svg, img, table')]"
        wide = f"{everything}.filter(e => e.getBoundingClientRect().right > innerWidth + 1)"
        assert (
            seen.page.evaluate(
                f"{wide}.map(e => e.getAttribute('aria-label') || e.alt || e.innerText)"
            )
            == []
        )
        pdf = seen.page.pdf(prefer_css_page_size=True, print_background=True)
        assert pdf.startswith(b"%PDF")
        assert seen.complaints == []


def test_page_fits_a_small_window(build: Path) -> None:
    with visit(build / "report.html", width=420) as seen:
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 420


def test_page_says_what_was_measured(build: Path) -> None:
    report = json.loads((build / "simulation.json").read_text())
    with visit(build / "report.html") as seen:
        for name in FUNCTIONS:
            row = seen.page.locator(
                f'#functions ~ .scroll table tr:has(td:first-child code:text-is("{name}"))'
            ).first
            cells = row.locator("td").all_inner_texts()
            assert cells[2:4] == [
                str(report["functions"][name][k]) for k in ("ii_cycles", "latency_cycles")
            ]
            assert f"{report['functions'][name]['max_relative_error']:.1e}" in cells
        made = seen.page.locator("#produced ~ pre").first.inner_text()
        assert "--tasks 6 --seed 0 --simulator amaranth" in made
        assert report["produced"]["graph_sha256"] in seen.page.content()


def test_promises_are_called_promises(build: Path, tmp_path: Path) -> None:
    for name in ("report.json", "config.toml"):
        (tmp_path / name).write_text((build / name).read_text())
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "page.html")]) == 0
    text = (tmp_path / "page.html").read_text()
    assert "Nothing on this page was measured" in text
    assert "mismatches" not in text


def test_the_same_build_gives_the_same_page(build: Path, tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        assert main(["report", str(build), "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_names_cannot_break_the_page(build: Path, tmp_path: Path) -> None:
    report = json.loads((build / "report.json").read_text())
    report["robot"] = "<script>alert(1)</script>"
    report["tree"][0]["link"] = '"><img src=x>'
    (tmp_path / "report.json").write_text(json.dumps(report))
    assert main(["report", str(tmp_path)]) == 0
    with visit(tmp_path / "report.html") as seen:
        assert seen.page.locator("h1").inner_text() == report["robot"]
        assert seen.page.locator("script, img[src=x]").count() == 0


def test_a_build_without_pictures_says_so(build: Path, tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text((build / "report.json").read_text())
    assert main(["report", str(tmp_path)]) == 0
    with visit(tmp_path / "report.html") as seen:
        assert seen.page.locator("img").count() == 0
        assert seen.page.locator(".note").all_inner_texts() == [
            "layout.svg is missing; generate again",
            "timing.svg is missing; generate again",
        ]
        assert seen.complaints == []


def test_a_picture_can_do_nothing(build: Path, tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text((build / "report.json").read_text())
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>console.error("x")</script></svg>'
    for name in ("layout.svg", "timing.svg"):
        (tmp_path / name).write_text(svg)
    assert main(["report", str(tmp_path)]) == 0
    with visit(tmp_path / "report.html") as seen:
        assert seen.page.locator("img").count() == 2
        assert seen.complaints == []


def test_cells_are_shaded_by_decades() -> None:
    assert cell_paths([(0, 0, 2, 1, 3), (4, 0, 2, 1, 1), (8, 0, 2, 1, 3)]) == (
        (1, "M4 0h2v1h-2z"),
        (3, "M0 0h2v1h-2zM8 0h2v1h-2z"),
    )
    grid = error_grid("m", {"max": [[0.0, 1e-3], [1e-6, 1e-9]], "rms": [[0.0, 1.0], [0.0, 1.0]]})
    assert (grid.largest, grid.least, grid.rows, grid.columns) == (1e-3, 1e-9, 2, 2)
    assert dict(grid.cells).keys() == {1, 3, 9}
    assert grid.rms == pytest.approx(0.5**0.5)
    assert error_grid("tau", {"max": [0.0, 0.0], "rms": [0.0, 0.0]}).cells == ()
