"""The file of published figures: complete, sourced, and matched to the right robot."""

from __future__ import annotations

import re
import tomllib

import pytest

from rbdgen.functions.registry import known as known_functions
from rbdgen.report.published import (
    DATA,
    KINDS,
    figures_for,
    general_figures,
    published_figures,
    robot_key,
)


def test_every_figure_says_how_it_is_known_and_what_it_leaves_out() -> None:
    for f in published_figures():
        assert f.kind in KINDS, f
        assert f.source, f
        assert f.leaves_out, f
        assert f.how, f
        assert set(f.functions) <= known_functions().keys(), f
        known = (
            f.latency_cycles,
            f.interval_cycles,
            f.latency_us,
            f.resources or None,
            f.claim or None,
        )
        assert any(k is not None for k in known), f


ADDRESS = re.compile(
    r"https://(doi\.org/10\.\d{4,}/\S+|arxiv\.org/abs/\d{4}\.\d{5}|[\w.-]+\.\w+/\S*)"
)


def test_every_figure_can_be_looked_up() -> None:
    for f in published_figures():
        assert ADDRESS.fullmatch(f.address), f
        assert f.where.strip(), f
        assert f.device.strip(), f
        assert f.precision.split(",")[0] in ("fixed point", "single", "double", "not known"), f
        # who has not seen a table's number says so, and who names a number has digits for it
        place = re.search(
            r"[Tt]able|[Ff]igure|abstract|README|\w+\.(py|csv|md)|timed|experiments", f.where
        )
        assert place, f


def test_every_source_is_used_and_named_once() -> None:
    content = tomllib.loads(DATA.read_text(encoding="utf-8"))
    used = {entry["source"] for entry in (*content["figure"], *content["calls"])}
    assert used == content["sources"].keys()
    addresses = [source["address"] for source in content["sources"].values()]
    assert len(set(addresses)) == len(addresses)


def test_all_works_are_there() -> None:
    works = " ".join(f.work for f in published_figures())
    for name in ("RoboShape", "Robomorphic", "Plancher", "Dadu-RBD", "DRACO", "GRiD", "Pinocchio"):
        assert name in works


@pytest.mark.parametrize(
    ("names", "joints", "key"),
    [
        (("iiwa14", "iiwa14"), 7, "iiwa"),
        (("iiwa_rbd_accel", "iiwa"), 7, "iiwa"),
        (("jaco_2_simple", "iiwa"), 12, "jaco2"),  # its file calls it iiwa
        (("hyq", "hyq"), 12, "hyq"),
        (("hyq_simple_xyz_prismatic", "hyq"), 15, None),
        (("pendulum2", "pendulum2"), 2, None),
    ],
)
def test_robots_are_matched_by_name_and_joints(
    names: tuple[str, ...], joints: int, key: str | None
) -> None:
    assert robot_key(names, joints) == key


def test_figures_of_a_robot_and_function() -> None:
    cycles = {(f.latency_cycles, f.interval_cycles) for f in figures_for("iiwa", "difd")}
    assert {(34, 24), (50, 32), (95, None), (None, 12)} <= cycles
    assert not figures_for(None, "difd")
    assert {f.work for f in figures_for("atlas", "id")} >= {"GRiD, RTX 3080, one call"}


def test_microseconds_follow_from_cycles_and_clock() -> None:
    ideal = next(f for f in figures_for("iiwa", "difd") if f.work == "RoboShape, ideal controller")
    assert ideal.microseconds == pytest.approx(34 / 55.6)
    assert ideal.microseconds_per_task == pytest.approx(24 / 55.6)


def test_claims_about_others_robots_are_left_out() -> None:
    assert {f.work for f in general_figures({None})} == {"DRACO"}
    assert len(general_figures({"atlas"})) == 3
    iiwa = [f.work for f in general_figures({"iiwa"})]
    assert len(iiwa) == 4
    assert "GRiD 2026 on an RTX 5090" in iiwa


def test_calls_of_generated_code_are_those_of_its_table() -> None:
    calls = {}
    for f in published_figures():
        if f.work == "Pinocchio's generated code on a Core Ultra 9 285K":
            assert f.robots == ("iiwa",)
            calls[f.functions] = f.latency_us
    assert calls[("id",)] == 0.17
    assert calls[("d2id",)] == 7.5
    assert len(calls) == 7
