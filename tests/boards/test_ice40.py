"""The flow of iCE40: clocks, constraints, what is counted, and netlists of nextpnr's that say all."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from typing import Any

import pytest

from rbdgen.errors import ConfigError
from rbdgen_boards.board import get_board
from rbdgen_boards.ice40 import Ice40, connect_clocks, constants_apart, pcf, used_cells
from rbdgen_boards.synthesis import without_modules

BOARD = get_board("icebreaker")


def test_constraints_have_a_pin_for_each_bit() -> None:
    assert pcf(BOARD).splitlines() == [
        "set_io clk 35",
        "set_io rx 6",
        "set_io tx 9",
        "set_io led[0] 11",
        "set_io led[1] 37",
    ]
    pulled = dataclasses.replace(BOARD, port_attributes={"rx": {"pullup": "yes"}})
    assert "set_io -pullup yes rx 6" in pcf(pulled)


def test_a_clock_comes_from_the_pll_or_from_the_oscillator_inside(tmp_path: Path) -> None:
    made = Ice40().clocking(BOARD, 24.0, tmp_path)
    assert made.megahertz == 24.0
    assert "SB_PLL40_PAD" in made.lines
    assert ".PACKAGEPIN(clk)" in made.lines
    other = Ice40().clocking(get_board("upduino_3"), 24.0, tmp_path)
    assert ".REFERENCECLK(clk)" in other.lines
    assert Ice40().clocking(BOARD, 12.0, tmp_path).lines.startswith("  assign clock = clk;")
    inside = dataclasses.replace(BOARD, clock_pin="", clock=24.0)
    assert '.CLKHF_DIV("0b01")' in Ice40().clocking(inside, 20.0, tmp_path).lines
    none = dataclasses.replace(BOARD, clock_pin="", clock=25.0)
    with pytest.raises(
        ConfigError, match=r"^board icebreaker: clock\.megahertz must be one of 48, 24, 12, 6, "
    ):
        Ice40().clocking(none, 20.0, tmp_path)


def test_cells_are_counted() -> None:
    count = {"SB_LUT4": 7, "SB_DFF": 2, "SB_DFFESR": 3, "SB_MAC16": 4, "SB_RAM40_4K": 5}
    assert used_cells(count | {"SB_SPRAM256KA": 4}) == {
        "multipliers": 4,
        "luts": 7,
        "registers": 5,
        "memories": 5,
    }


def cell(kind: str, parameters: dict[str, str] | None = None, **pins: list[int]) -> dict[str, Any]:
    return {"type": kind, "parameters": parameters or {}, "connections": pins}


def test_a_pll_is_connected_to_its_pad_and_its_buffer() -> None:
    cells = {
        "pll": cell("ICESTORM_PLL", REFERENCECLK=[], PLLOUT_A_GLOBAL=[]),
        "clk": cell("SB_IO", PACKAGE_PIN=[3]),
        "rx": cell("SB_IO", PACKAGE_PIN=[4], D_IN_0=[5]),
        "clock": cell("SB_GB", USER_SIGNAL_TO_GLOBAL_BUFFER=[], GLOBAL_BUFFER_OUTPUT=[6]),
        "reset": cell("SB_GB", USER_SIGNAL_TO_GLOBAL_BUFFER=[7], GLOBAL_BUFFER_OUTPUT=[8]),
    }
    connect_clocks(cells)
    pins = cells["pll"]["connections"]
    assert pins["REFERENCECLK"] == [3]
    assert pins["PLLOUT_A_GLOBAL"] == [9]
    assert cells["clock"]["connections"]["USER_SIGNAL_TO_GLOBAL_BUFFER"] == [9]
    # without a PLL nothing is to be done
    plain = {"rx": cells["rx"]}
    connect_clocks(plain)
    assert plain == {"rx": cells["rx"]}


def test_a_constant_beside_a_carry_gets_a_cell_of_its_own() -> None:
    whole = {"LUT_INIT": f"{0x0055:016b}", "CARRY_ENABLE": "1", "DFF_ENABLE": "0"}
    own = cell("ICESTORM_LC", whole, I0=[], I1=[4], I2=[5], I3=[], O=[5], COUT=[6])
    other = cell("ICESTORM_LC", whole, I0=[9], I1=[4], I2=[5], I3=[], O=[7], COUT=[8])
    cells = {"own": own, "other": copy.deepcopy(other)}
    assert constants_apart(cells) == 1
    made = cells["own_constant"]
    assert made["connections"] == {"O": [5]}
    assert made["parameters"]["LUT_INIT"] == "1" * 16
    assert cells["own"]["connections"]["O"] == []
    assert cells["other"] == other


def test_modules_that_others_stand_for_are_not_read() -> None:
    text = "module a(x);\n  input x;\nendmodule\n(* top = 1 *)\nmodule b(x);\nendmodule\nmodule c(x);\nendmodule\n"
    assert without_modules(text, {"b", "d"}) == (
        "module a(x);\n  input x;\nendmodule\nmodule c(x);\nendmodule\n"
    )
    assert without_modules(text, ()) == text
