"""The comparison: every row says how it is known, and nothing promised is shown as measured."""

from __future__ import annotations

import copy
import csv
import io
from typing import Any

import pytest

from rbdgen.report import comparison
from rbdgen.report.comparison import HERE, RTL, Row, losses
from rbdgen.report.design import design_report
from rbdgen.timing.today import NUMPY, PINOCCHIO, Timing
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


def test_promises_are_refused() -> None:
    promised = design_report(design("iiwa14", ii=4))
    with pytest.raises(ValueError, match=r"must be measured, not promised"):
        comparison.comparison([("iiwa14", promised)], [], MACHINE)


def test_every_row_says_how_it_is_known(content: dict[str, Any]) -> None:
    known = {r["known"] for r in content["rows"]}
    assert known <= {comparison.RTL, comparison.HERE, "not measured", *comparison.KINDS.values()}
    assert {comparison.RTL, comparison.HERE} <= known


def test_pinocchio_absent_is_said(content: dict[str, Any]) -> None:
    row = next(r for r in content["rows"] if r["implementation"] == PINOCCHIO)
    assert (row["known"], row["task_us"]) == ("not measured", None)
    text = comparison.text(content)
    assert "Pinocchio not installed" in text
    assert "pip install pin" in text


def test_latency_is_that_of_a_single_state(content: dict[str, Any]) -> None:
    rows = {r["batch"]: r for r in content["rows"] if r["implementation"] == NUMPY}
    assert (rows[1]["latency_us"], rows[1024]["latency_us"]) == (900.0, None)


def test_published_figures_stand_beside(content: dict[str, Any]) -> None:
    text = comparison.text(content)
    assert "GRiD" in text
    assert "read in the source" in text
    assert any("DRACO" in p["work"] for p in content["also_published"])


def test_csv_has_all_rows(content: dict[str, Any]) -> None:
    rows = list(csv.DictReader(io.StringIO(comparison.csv_text(content))))
    assert [r["implementation"] for r in rows] == [r["implementation"] for r in content["rows"]]


def test_where_others_are_faster_is_said() -> None:
    ours = Row("arm", "id", "rbdgen, II 4", RTL, latency_us=0.2, task_us=0.03)
    slow = Row("arm", "id", "Pinocchio", HERE, latency_us=0.9, task_us=0.02, batch=64, workers=2)
    fast = Row("arm", "id", "rbdgen C", HERE, latency_us=0.1, task_us=0.05, batch=1, workers=1)
    other = Row("arm", "fd", "rbdgen C", HERE, latency_us=0.1)
    found = losses([ours, slow, fast, other])
    assert [(x["figure"], x["implementation"], x["theirs"]) for x in found] == [
        ("latency_us", "rbdgen C", 0.1),
        ("task_us", "Pinocchio", 0.02),
    ]
    assert losses([ours, other]) == []
