"""Delays of the GW5AST-138 in two kinds of time, nextpnr's and the part's: from the one to the other once."""

from __future__ import annotations

import pytest

from rbdgen.devices.gw5a import DERATING, MULTIPLIER_OUTPUT, MULTIPLIER_SETUP
from rbdgen_boards.gowin.delays import (
    KNOWN,
    MEMORY,
    MULTIPLIER,
    Filed,
    derated_report,
    filed,
    real,
)
from rbdgen_boards.gowin.flow import Gowin

REPORT = {
    "utilization": {"LUT4": {"used": 3, "available": 4}},
    "fmax": {"clock": {"achieved": 125.0, "constraint": 150.0}},
    "critical_paths": [
        {"from": "a", "to": "b", "path": [{"type": "clk-to-q", "delay": 0.232}, {"delay": 7.768}]}
    ],
}


def test_there_and_back_is_the_same() -> None:
    assert real(Filed(1.0)) == DERATING > 1
    assert real(filed(1.7)) == pytest.approx(1.7)
    # a clock that nextpnr aims at has a period as much shorter as the part is slower
    assert real(Filed(1e3 / Gowin.times.aim(80.0))) == pytest.approx(1e3 / 80.0)


def test_what_is_assumed_of_multipliers_is_the_parts_own() -> None:
    """nextpnr is told less, which its report brings back; the analysis of all paths has it as it is."""
    assert real(Filed(MULTIPLIER.output)) == pytest.approx(MULTIPLIER_OUTPUT)
    assert real(Filed(MULTIPLIER.setup)) == pytest.approx(MULTIPLIER_SETUP)
    assert KNOWN.clocked["MULTALU27X18"] == (MULTIPLIER_OUTPUT, MULTIPLIER_SETUP)
    assert KNOWN.clocked["SDP"] == pytest.approx([DERATING * delay for delay in MEMORY])


def test_a_report_is_derated_once() -> None:
    made = derated_report(REPORT)
    assert made["utilization"] == REPORT["utilization"]
    assert made["fmax"]["clock"] == {"achieved": 100.0, "constraint": 120.0}
    delays = [step["delay"] for step in made["critical_paths"][0]["path"]]
    assert delays == pytest.approx([0.29, 9.71])
    assert sum(delays) == pytest.approx(1e3 / made["fmax"]["clock"]["achieved"])
    with pytest.raises(ValueError, match=r"^report: must be in nextpnr's time, is in the part's$"):
        derated_report(made)
