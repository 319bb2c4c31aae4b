"""Registers move beside the sums that they keep: where the tile allows it, and nothing else changes."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from rbdgen_boards.gowin.placement import AIDS, FAR, FIRST, registers_to_sums

CLOCK, ENABLE, OTHER = 2, 3, 4


def cell(kind: str, place: str, **pins: int) -> dict[str, Any]:
    """A cell as nextpnr writes it."""
    attributes = {"NEXTPNR_BEL": place, "BEL_STRENGTH": "1"}
    return {
        "type": kind,
        "attributes": attributes,
        "connections": {pin: [bit] for pin, bit in pins.items()},
    }


def register(
    place: str, source: int, to: int, enable: int | None = ENABLE, kind: str = "DFFE"
) -> dict[str, Any]:
    """A register; without an ``enable`` it has none."""
    pins = {"CLK": CLOCK, "D": source, "Q": to} | ({} if enable is None else {"CE": enable})
    return cell(kind, place, **pins)


def design(**cells: dict[str, Any]) -> dict[str, Any]:
    """A design of these cells, whose nets have the names of their bits."""
    bits = sorted({bit for c in cells.values() for pin in c["connections"].values() for bit in pin})
    netnames = {f"n{bit}": {"bits": [bit]} for bit in bits}
    return {
        "modules": {
            "top": {
                "cells": cells,
                "netnames": netnames,
                "ports": {"p": {}},
                "settings": {"s": "1"},
            }
        }
    }


def places(made: dict[str, Any]) -> dict[str, str]:
    """Where cells are, by name."""
    cells = made["modules"]["top"]["cells"]
    return {name.removeprefix(FIRST): c["attributes"]["BEL"] for name, c in cells.items()}


SUMS = {f"s{k}": cell("ALU", f"X5Y7/ALU{k}", SUM=10 + k) for k in range(6)}


def test_registers_come_to_their_sums_and_need_no_table() -> None:
    """The table before one is gone with its net; the other's stays out until nextpnr adds it again."""
    through = cell("LUT4", "X9Y7/LUT0", F=40, I3=10)
    elsewhere = cell("LUT4", "X9Y7/LUT1", F=41, I3=30)
    made = design(
        **copy.deepcopy(SUMS),
        r=register("X9Y7/DFF0", 40, 20),
        r_passthrough_lut_0=cell("BLOCKER_LUT", "X5Y7/LUT0"),
        **{"r_passthrough_lut$": through},
        q=register("X9Y7/DFF1", 41, 21),
        **{"q_passthrough_lut$": elsewhere},
    )
    assert registers_to_sums(made) == 1
    module = made["modules"]["top"]
    assert places(made) == {f"s{k}": f"X5Y7/ALU{k}" for k in range(6)} | {
        "r": "X5Y7/DFF0",
        "q": "X9Y7/DFF1",
    }
    assert (module["cells"]["r"]["connections"]["D"], module["cells"]["q"]["connections"]["D"]) == (
        [10],
        [30],
    )
    assert {"n40", "n41"}.isdisjoint(module["netnames"])
    assert not any(c["type"] in AIDS for c in module["cells"].values())
    assert (module["ports"], module["settings"]) == ({}, {})
    # sums are the last by name
    names = sorted(module["cells"])
    assert [module["cells"][n]["type"] for n in names[-6:]] == ["ALU"] * 6


@pytest.mark.parametrize(("number", "other"), [(0, 1), (2, 3), (4, 5), (4, 6), (5, 7)])
@pytest.mark.parametrize(
    ("neighbour", "fits"),
    [
        ({"enable": ENABLE}, True),
        ({"enable": OTHER}, False),
        ({"enable": None, "kind": "DFF"}, False),
        ({"kind": "DFFRE"}, False),
    ],
)
def test_registers_of_a_group_have_clock_enable_and_reset_in_common(
    number: int, other: int, neighbour, fits
) -> None:
    there = register(f"X5Y7/DFF{other}", 30, 31, **neighbour)
    made = design(**copy.deepcopy(SUMS), r=register("X6Y7/DFF2", 10 + number, 20), there=there)
    assert registers_to_sums(made) == int(fits)
    assert places(made)["r"] == (f"X5Y7/DFF{number}" if fits else "X6Y7/DFF2")


def test_groups_do_not_mind_each_other() -> None:
    there = register("X5Y7/DFF2", 30, 31, OTHER)
    made = design(**copy.deepcopy(SUMS), r=register("X6Y7/DFF2", 11, 20), there=there)
    assert registers_to_sums(made) == 1


def test_set_and_reset_may_be_beside_each_other() -> None:
    a, b = (
        cell(kind, place, CLK=CLOCK, D=bit, Q=20 + bit, **{pin: OTHER})
        for kind, place, bit, pin in (
            ("DFFS", "X6Y7/DFF0", 10, "SET"),
            ("DFFR", "X6Y7/DFF2", 11, "RESET"),
        )
    )
    made = design(**copy.deepcopy(SUMS), a=a, b=b)
    assert registers_to_sums(made) == 2


def test_one_that_leaves_makes_room() -> None:
    """A register leaves the group of another's place; one whose place is taken stays."""
    made = design(
        **copy.deepcopy(SUMS),
        t=cell("ALU", "X9Y7/ALU0", SUM=16),
        a=register("X6Y7/DFF1", 10, 20),
        b=register("X5Y7/DFF1", 16, 21, OTHER),
        c=register("X8Y7/DFF0", 16, 22, OTHER),
    )
    assert registers_to_sums(made) == 2
    assert {n: p for n, p in places(made).items() if n in "abc"} == {
        "a": "X5Y7/DFF0",
        "b": "X9Y7/DFF0",
        "c": "X8Y7/DFF0",
    }


def test_one_far_away_stays() -> None:
    near, far = f"X5Y{7 + FAR - 1}/DFF0", f"X6Y{7 + FAR - 1}/DFF0"
    made = design(**copy.deepcopy(SUMS), a=register(near, 10, 20), b=register(far, 11, 21))
    assert registers_to_sums(made) == 1
    assert (places(made)["a"], places(made)["b"]) == ("X5Y7/DFF0", far)
