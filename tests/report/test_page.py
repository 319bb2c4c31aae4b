"""The page of a build, in a real browser: nothing from a network, every picture there, light, dark and printed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from defusedxml import ElementTree

from rbdgen.cli.main import main
from rbdgen.errors import ConfigError
from rbdgen.report.page import SCRIPT, cell_paths, error_grid, inline_picture
from tests.conftest import few
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


@pytest.mark.parametrize("scheme", few(["light", "dark"], "dark"))
@pytest.mark.slow
def test_page_opens_without_complaints(scheme: str, build: Path) -> None:
    page = build / "report.html"
    with visit(page, scheme) as seen:
        for label in PLOTS:
            box = seen.page.locator(f'svg[aria-label="{label}"]').bounding_box()
            assert box, label
            assert min(box["width"], box["height"]) > 30, label
        shown = "(pictures) => pictures.map(p => p.clientWidth > 100 && p.clientHeight > 100)"
        assert seen.page.locator(".picture svg.rbdgen").evaluate_all(shown) == [True, True]
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
        wide = "(tables) => tables.filter(t => t.scrollWidth > t.parentElement.clientWidth).length"
        tables = seen.page.locator("main table")
        assert tables.count() >= 8
        assert tables.evaluate_all(wide) == 0
        # a row says what its cells are
        row = seen.page.locator("#functions ~ .scroll table tr").nth(1)
        heads = row.locator("td").evaluate_all("cells => cells.map(c => c.dataset.head)")
        assert heads[:4] == ["function", "what it is", "interval cycles", "latency cycles"]
        shown = "(c) => getComputedStyle(c, '::before').content"
        assert row.locator("td").nth(2).evaluate(shown) == '"interval cycles"'
        assert seen.complaints == []


def test_drawings_are_legible_in_a_small_window(build: Path) -> None:
    """Letters are as high as printed ones: eight pixels at least, where the drawing is scrolled in its frame."""
    with visit(build / "report.html", width=420) as seen:
        heights = "(texts) => texts.map(t => t.getBoundingClientRect().height).filter(h => h > 0)"
        for where in (".plot svg text", ".picture svg text"):
            found = seen.page.locator(where).evaluate_all(heights)
            assert len(found) > 5, where
            assert min(found) >= 8, where


def test_long_names_wrap(build: Path, tmp_path: Path) -> None:
    """Of a robot, a unit and a FIFO."""
    long_name = "left_front_" * 20 + "wheel"
    text = (build / "report.html").read_text(encoding="utf-8")
    page = tmp_path / "long.html"
    page.write_text(re.sub(r"(<code>|<h1>)[\w]+(</)", rf"\g<1>{long_name}\g<2>", text))
    for width in (420, 1280):
        with visit(page, width=width) as seen:
            assert long_name in seen.page.locator("h1").inner_text()
            assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_figure_can_be_saved(build: Path, tmp_path: Path) -> None:
    """As a file that needs nothing of the page, and looks the same."""
    with visit(build / "report.html") as seen:
        buttons = seen.page.get_by_role("button", name="save as SVG")
        figures = seen.page.locator("figure:has(svg)").count()
        assert buttons.count() == figures >= 5
        for number in (0, 1, 2):
            with seen.page.expect_download() as download:
                buttons.nth(number).click()
            file = tmp_path / download.value.suggested_filename
            download.value.save_as(file)
            assert file.name.startswith("pendulum2-")
            root = ElementTree.fromstring(file.read_text(encoding="utf-8"))
            assert root.tag == "{http://www.w3.org/2000/svg}svg"
            assert float(root.get("width", "0")) > 100
            assert "var(" not in file.read_text(encoding="utf-8")
            alone = seen.page.context.browser.new_page()
            alone.goto(file.as_uri())
            look = "(t) => [getComputedStyle(t).fill, getComputedStyle(t).fontSize]"
            there = seen.page.locator("figure:has(svg)").nth(number).locator("text").first
            assert alone.locator("text").first.evaluate(look) == there.evaluate(look)
            alone.close()
        assert seen.complaints == []


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


def test_every_figure_beside_others_says_how_it_is_known(build: Path) -> None:
    with visit(build / "report.html") as seen:
        cells = seen.page.locator("#others ~ .scroll table td:not(.text):not(:first-child)")
        figures = [text.split("\n") for text in cells.all_inner_texts() if text != "–"]
        ours = [figure for figure in figures if len(figure) == 2]
        assert len(ours) >= 7 * len(FUNCTIONS)
        assert {known for _, known in ours} == {"measured", "modelled"}
        said = seen.page.locator("#others ~ ul li").all_inner_texts()
        assert any("DRACO" in line and "not known: absolute figures" in line for line in said)
        # these are of an arm
        assert not any("GRiD 2026" in line for line in said)


@pytest.mark.thorough
def test_a_page_says_where_its_design_does_not_win(tmp_path: Path) -> None:
    small = ("--functions", "difd", "--ii", "4", "--word", "18", "--evidence", "0")
    assert main(["generate", "iiwa14", *small, "-o", str(tmp_path)]) == 0
    assert main(["report", str(tmp_path)]) == 0
    with visit(tmp_path / "report.html") as seen:
        lost = seen.page.locator("#others ~ ul").first.locator("li").all_inner_texts()
        assert any("latency, cycles: 34 (measured) by RoboShape" in line for line in lost)
        figures = seen.page.locator("#others ~ .scroll small").all_inner_texts()
        assert set(figures) == {"measured", "modelled", "published"}


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
        assert seen.page.locator("img[src=x]").count() == 0
        assert seen.page.locator("script").all_text_contents() == [SCRIPT.read_text()]
        assert seen.complaints == []


def test_a_build_without_pictures_says_so(build: Path, tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text((build / "report.json").read_text())
    assert main(["report", str(tmp_path)]) == 0
    with visit(tmp_path / "report.html") as seen:
        assert seen.page.locator(".picture").count() == 0
        assert seen.page.locator(".note").all_inner_texts() == [
            "layout.svg is missing; generate again",
            "timing.svg is missing; generate again",
        ]
        assert seen.complaints == []


def test_a_picture_can_do_nothing(build: Path, tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text((build / "report.json").read_text())
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9" height="9" '
        'onload="console.error(1)"><script>console.error("x")</script><style>body { color: red; }</style>'
        '<image xlink:href="http://example.org/x.png"/><rect width="5" height="5" onclick="console.error(2)" '
        'style="fill: url(http://example.org/y)"/></svg>'
    )
    for name in ("layout.svg", "timing.svg"):
        (tmp_path / name).write_text(svg)
    assert main(["report", str(tmp_path)]) == 0
    with visit(tmp_path / "report.html") as seen:
        pictures = seen.page.locator(".picture svg")
        inside = "(pictures) => pictures.map(p => p.innerHTML)"
        assert pictures.evaluate_all(inside) == ['<rect width="5" height="5"></rect>'] * 2
        colour = seen.page.evaluate("getComputedStyle(document.body).color")
        assert brightness(colour) < 60
        assert colour != "rgb(255, 0, 0)"
        assert seen.complaints == []
        assert len(seen.requests) == 1


@pytest.mark.parametrize(
    "text", ["<svg", "<html></html>", '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>']
)
def test_a_file_that_is_no_picture_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^layout\.svg: broken: .*; generate again$"):
        inline_picture(text, "layout.svg")


def column(table: Any, k: int) -> list[str]:
    """The texts of a table's column, without its head."""
    return table.evaluate(f"t => [...t.rows].slice(1).map(r => r.cells[{k}].innerText)")


def test_tables_sort_by_click_and_by_key(build: Path) -> None:
    with visit(build / "report.html") as seen:
        table = seen.page.locator("#units ~ .scroll table").first
        heads = table.locator("th")
        as_written = column(table, 1)
        products = heads.nth(1).get_by_role("button")
        products.click()
        assert column(table, 1) == sorted(as_written, key=int)
        assert heads.nth(1).get_attribute("aria-sort") == "ascending"
        products.press("Enter")
        assert column(table, 1) == sorted(as_written, key=int, reverse=True)
        assert heads.nth(1).get_attribute("aria-sort") == "descending"
        heads.nth(0).get_by_role("button").press("Space")
        assert heads.nth(1).get_attribute("aria-sort") is None
        names = column(table, 0)
        assert names == sorted(names, key=str.lower)
        assert len(names) == len(as_written)
        # what is not known stays last, whatever the order
        used = heads.nth(3).get_by_role("button")
        for _ in range(2):
            used.click()
            assert "–" not in column(table, 3)[: -column(table, 3).count("–") or None]
        assert seen.complaints == []


def point_at(page: Any, place: str) -> None:
    """Move the pointer to the middle of the first element there, once the page stands still."""
    shape = page.locator(place).first
    shape.evaluate("e => e.scrollIntoView({behavior: 'instant', block: 'center'})")
    page.evaluate("new Promise(f => requestAnimationFrame(() => requestAnimationFrame(f)))")
    box = shape.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def test_values_are_said_at_the_pointer(build: Path) -> None:
    with visit(build / "report.html") as seen:
        tip = seen.page.locator("#tip")
        assert tip.is_hidden()
        for place, text in (
            (".picture svg text.strong:has(> title)", r"^base: the base$"),
            (".picture svg rect.idle", r"^\d+% of its multipliers' slots used$"),
            (".chart svg rect.idle", r"^task in: cycles -\d+ to -1$"),
            ('svg[aria-label="Errors of da_dq"] rect.cover', r"^da_dq \S+, \S+: \d\.\de-\d\d$"),
            ('svg[aria-label="Roofline"] g:has(> title)', r"^id: \d+ multipliers, \S+ million t"),
        ):
            point_at(seen.page, place)
            assert tip.is_visible(), place
            assert re.search(text, tip.inner_text()), (place, tip.inner_text())
        point_at(seen.page, "h1")
        assert tip.is_hidden()


def test_a_page_asks_nothing_of_a_network(build: Path, tmp_path: Path) -> None:
    """Its own policy forbids it, even if something in it would."""
    page = tmp_path / "page.html"
    text = (build / "report.html").read_text()
    asking = '<img src="http://127.0.0.1:9/x.png"><script>document.title = "ran"</script>'
    page.write_text(text.replace("</main>", f"{asking}</main>"))
    with visit(page) as seen:
        assert seen.page.title() != "ran"
        assert len(seen.complaints) >= 2
        assert all("Content Security Policy" in said for said in seen.complaints)


def test_long_tables_are_scrolled_in_a_frame(build: Path, tmp_path: Path) -> None:
    report = json.loads((build / "report.json").read_text())
    report["units"] *= 12
    (tmp_path / "report.json").write_text(json.dumps(report))
    assert main(["report", str(tmp_path)]) == 0
    with visit(tmp_path / "report.html") as seen:
        frame = seen.page.locator("#units ~ .scroll").first
        assert frame.evaluate("f => f.scrollHeight > f.clientHeight")
        frame.evaluate("f => f.scrollTo(0, 400)")
        # the head stays in sight
        head = frame.locator("th").first.bounding_box()
        top = frame.bounding_box()
        assert head
        assert top
        assert abs(head["y"] - top["y"]) < 2


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


def test_entries_of_a_grid_are_named_by_joint() -> None:
    errors = {"max": [1e-3, 1e-6], "rms": [1e-4, 1e-7], "labels": [["elbow", "wrist"]]}
    said = [text for _, _, text in error_grid("tau", errors).entries]
    assert said == ["tau elbow: 1.0e-03", "tau wrist: 1.0e-06"]
