"""The comparison: every row and figure says how it is known, and nothing promised is shown as measured."""

from __future__ import annotations

import copy
import csv
import io
import re
from dataclasses import asdict
from typing import Any

import pytest

from rbdgen.processor_times import NUMPY, PINOCCHIO, Timing
from rbdgen.report import comparison, comparison_text
from rbdgen.report.columns import WIDTH
from rbdgen.report.comparison import FIGURES, HERE, PROMISED, RTL, Row
from rbdgen.report.design import design_report
from rbdgen.report.published import losses
from tests.conftest import design

MACHINE = {"processor": "abacus", "cores": 2, "python": "3", "numpy": "2", "pin": None}
TIMINGS = [
    ("iiwa14", Timing(NUMPY, "id", 1, 1, 900.0, "one call for the batch")),
    ("iiwa14", Timing(NUMPY, "id", 1, 1024, 2.0, "one call for the batch")),
    (
        "iiwa14",
        Timing(PINOCCHIO, "id", 1, None, None, note="Pinocchio is not installed: pip install pin"),
    ),
]


def measured_report() -> dict[str, Any]:
    """A report as a simulation would have made it, with figures that no schedule would promise."""
    report = copy.deepcopy(design_report(design("iiwa14", ii=4)))
    report |= {"figures": "measured in RTL simulation", "simulator": "abacus"}
    report["functions"]["id"] |= {
        "ii_cycles": 444,
        "latency_cycles": 555,
        "tasks": 3,
        "mismatches": 0,
        "max_relative_error": 1e-4,
    }
    return report


@pytest.fixture(scope="module")
def content() -> dict[str, Any]:
    return comparison.comparison([("iiwa14", measured_report())], TIMINGS, MACHINE)


def test_ours_are_the_measured_cycles(content: dict[str, Any]) -> None:
    ours = [r for r in content["rows"] if r["known"] == comparison.RTL]
    assert [(r["latency_cycles"], r["interval_cycles"]) for r in ours] == [(555, 444)]
    assert ours[0]["latency_us"] == pytest.approx(555 / 125)
    assert ours[0]["task_us"] == pytest.approx(444 / 125)
    assert "place and route" in ours[0]["how"]


@pytest.fixture(scope="module")
def promised() -> dict[str, Any]:
    report = design_report(design("iiwa14", functions=("difd",), ii=4))
    return comparison.comparison([("iiwa14", report)])


@pytest.mark.slow
def test_promises_are_called_modelled(promised: dict[str, Any]) -> None:
    row = promised["rows"][0]
    assert row["known"] == PROMISED
    assert row["interval_cycles"] == 4
    assert set(row["cells"].values()) == {"modelled"}
    assert {r["known"] for r in promised["rows"]}.isdisjoint({RTL, HERE})
    said = comparison_text.text(promised)
    assert "Nothing was measured in this run: --measure simulates" in said
    assert re.search(r"Where the promised accelerators do not win:\n- iiwa14, difd, latency", said)


def test_every_figure_says_how_it_is_known(
    content: dict[str, Any], promised: dict[str, Any]
) -> None:
    for row in (*content["rows"], *promised["rows"]):
        there = {figure for figure in FIGURES if row[figure] is not None}
        assert there == row["cells"].keys() - {"resources"}
        assert set(row["cells"].values()) <= {"measured", "modelled", "published"}
    ours = content["rows"][0]["cells"]
    assert (ours["latency_cycles"], ours["clock_mhz"]) == ("measured", "modelled")
    # a product of what is measured and what is modelled is no better than the worse of both
    assert ours["latency_us"] == "modelled"
    shape = next(r for r in promised["rows"] if r["implementation"].startswith("RoboShape, ideal"))
    assert shape["cells"]["latency_cycles"] == "measured"
    assert shape["cells"]["clock_mhz"] == shape["cells"]["latency_us"] == "published"


def test_the_text_marks_every_figure(promised: dict[str, Any]) -> None:
    said = comparison_text.text(promised)
    assert max(map(len, said.splitlines())) <= WIDTH
    tables = said[said.index("iiwa14, difd") : said.index(comparison_text.LEGEND)]
    ours = re.search(r"^rbdgen, II 4, .*? {2}(\S.*?) +\[1\]$", tables, re.M)
    assert ours
    cells = ours[1].split()
    assert len(cells) == len(comparison_text.SHOWN)
    assert all(cell.endswith("~") for cell in cells)
    assert re.search(r"^RoboShape, ideal +34= +24= +55\.6\^ ", tables, re.M)
    assert "(5460 DSP, 580809 LUT^)" in " ".join(tables.split())


def test_what_else_was_published_is_said(content: dict[str, Any]) -> None:
    said = comparison_text.text(content)
    (other,) = [entry for entry in content["elsewhere"] if entry["function"] == "difd"]
    for work in ("RoboShape", "Robomorphic", "Dadu-RBD"):
        assert any(work in name for name in other["works"])
    assert re.search(r"ask for --functions\s+[\w,]*\bdifd\b", said)
    for rival in ("DRACO", "GRiD 2026"):
        (found,) = [p for p in content["also_published"] if p["work"].startswith(rival)]
        assert found["leaves_out"]
        flat = " ".join(said.split())
        assert f"{found['claim']}; {found['how']}; not known: {found['leaves_out']}" in flat


def test_robots_without_published_figures_are_named() -> None:
    report = design_report(design("pendulum2", ii=4))
    content = comparison.comparison([("pendulum2", report)])
    assert content["without_figures"]["robots"] == ["pendulum2"]
    said = " ".join(comparison_text.text(content).split())
    assert "No figures were published of pendulum2; there are such of iiwa, hyq" in said


def test_every_row_says_how_it_is_known(content: dict[str, Any]) -> None:
    known = {r["known"] for r in content["rows"]}
    assert known <= {comparison.RTL, comparison.HERE, "not measured", *comparison.KINDS.values()}
    assert {comparison.RTL, comparison.HERE} <= known


def test_pinocchio_absent_is_said(content: dict[str, Any]) -> None:
    row = next(r for r in content["rows"] if r["implementation"] == PINOCCHIO)
    assert (row["known"], row["task_us"]) == ("not measured", None)
    text = comparison_text.text(content)
    assert "Pinocchio not installed" in text
    assert "pip install pin" in text


def test_latency_is_that_of_a_single_state(content: dict[str, Any]) -> None:
    rows = {r["batch"]: r for r in content["rows"] if r["implementation"] == NUMPY}
    assert (rows[1]["latency_us"], rows[1024]["latency_us"]) == (900.0, None)


def test_published_figures_stand_beside(content: dict[str, Any]) -> None:
    text = comparison_text.text(content)
    assert "GRiD" in text
    assert "read in the source" in text
    assert any("DRACO" in p["work"] for p in content["also_published"])


def test_csv_has_all_rows(content: dict[str, Any]) -> None:
    rows = list(csv.DictReader(io.StringIO(comparison_text.csv_text(content))))
    assert [r["implementation"] for r in rows] == [r["implementation"] for r in content["rows"]]
    assert (rows[0]["latency_cycles_known"], rows[0]["clock_mhz_known"]) == ("measured", "modelled")


def row(known: str, name: str, **figures: Any) -> dict[str, Any]:
    """A row of the comparison whose figures are known in one way."""
    cells = dict.fromkeys(figures, known.split(",", 1)[0].split(":", 1)[0])
    function = figures.pop("function", "id")
    return asdict(Row("arm", function, name, known, **figures, cells=cells))


def test_where_others_are_better_is_said() -> None:
    ours = row(RTL, "rbdgen, II 4", latency_us=0.2, task_us=0.03, latency_cycles=25)
    slow = row(HERE, "Pinocchio", latency_us=0.9, task_us=0.02, batch=64, workers=2)
    fast = row(HERE, "rbdgen C", latency_us=0.1, task_us=0.05, batch=1, workers=1)
    clocked = row("published: read in the source", "an accelerator", latency_cycles=20)
    other = row(HERE, "rbdgen C", function="fd", latency_us=0.1)
    found = losses([ours, slow, fast, clocked, other], (PROMISED, RTL))
    assert [(x["figure"], x["implementation"], x["theirs"]) for x in found] == [
        ("latency_us", "rbdgen C", 0.1),
        ("task_us", "Pinocchio", 0.02),
        ("latency_cycles", "an accelerator", 20),
    ]
    assert [x["theirs_known"] for x in found] == ["measured", "measured", "published"]
    assert losses([ours, other], (PROMISED, RTL)) == []


def test_rates_are_by_multiplier_and_by_table(promised: dict[str, Any]) -> None:
    ours = promised["rows"][0]
    design_ = promised["designs"][0]
    assert ours["luts"] == design_["modelled_resources"]["luts"]
    rate = 1e6 / ours["task_us"]
    assert ours["per_lut"] == pytest.approx(rate / ours["luts"])
    assert ours["per_multiplier"] == pytest.approx(rate / design_["multipliers"]["variable"])
    shape = next(r for r in promised["rows"] if r["implementation"].startswith("RoboShape, ideal"))
    assert shape["per_multiplier"] == pytest.approx(55.6e6 / 24 / 1328)
    assert shape["cells"]["per_multiplier"] == "published"
    assert (
        "per_multiplier"
        not in next(r for r in promised["rows"] if "FPGA" in r["implementation"])["cells"]
    )
    said = comparison_text.text(promised)
    assert said.count(comparison_text.DENSITY_TITLE) == 1


def test_latex_has_every_row_and_source(promised: dict[str, Any]) -> None:
    text = comparison_text.latex_text(promised)
    rows = [line for line in text.splitlines() if line.startswith("iiwa14 & difd & ")]
    assert len(rows) == len(promised["rows"])
    columns = re.search(r"begin\{tabular\}\{(\w+)\}", text)
    assert columns
    for line in rows:
        assert len(re.split(r"(?<!\\)&", line)) == len(columns[1])
        assert not re.search(r"(?<!\\)[%#_]", line)
    for row in promised["rows"]:
        assert row["address"] in text


def test_ours_say_by_what_they_were_made() -> None:
    made = {
        "date": "2026-11-29",
        "command": "rbdgen compare iiwa14",
        "version": "1.2",
        "commit": "abc",
    }
    found = comparison.comparison([("iiwa14", measured_report())], TIMINGS, MACHINE, made)
    ours = [row for row in found["rows"] if not row["address"] and row["cells"]]
    assert {row["source"] for row in ours} == {
        "rbdgen 1.2, commit abc, 2026-11-29: rbdgen compare iiwa14"
    }
    assert len(ours) == 3
