"""Boards' pins and clocks against those that others have written down."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from rbdgen_boards.board import get_board

ORACLES = {
    "ulx3s_85f": ("ulx3s", "ULX3S_85F_Platform"),
    "tang_mega_138k_pro": ("tang_mega_138k_pro_dock", "TangMega138kProDockPlatform"),
    "arty_a7_100": ("arty_a7", "ArtyA7_100Platform"),
    "ecpix5_85f": ("ecpix5", "ECPIX585Platform"),
    "ecpix5_45f": ("ecpix5", "ECPIX545Platform"),
    "ulx3s_12f": ("ulx3s", "ULX3S_12F_Platform"),
    "ulx3s_25f": ("ulx3s", "ULX3S_25F_Platform"),
    "ulx3s_45f": ("ulx3s", "ULX3S_45F_Platform"),
    "icebreaker": ("icebreaker", "ICEBreakerPlatform"),
    "nexys_a7_100": ("nexys4ddr", "Nexys4DDRPlatform"),
}
PLACED = {
    "colorlight_5a_75b": ("colorlight_5a75b_r7_0", "Colorlight_5A75B_R70Platform"),
    "butterstick": ("butterstick", "ButterStickPlatform"),
    "icesugar_pro": ("icesugar_pro", "ICESugarProPlatform"),
    "orangecrab_25f": ("orangecrab_r0_2", "OrangeCrabR0_2_25FPlatform"),
    "orangecrab_85f": ("orangecrab_r0_2", "OrangeCrabR0_2_85FPlatform"),
}
"""Boards of which amaranth-boards has other things than these tests compare one by one, but the same pins."""
AMARANTH_PADS = {
    "rx_clk": "rx_clk",
    "rx_ctl": "rx_ctrl",
    "rx_data": "rx_data",
    "tx_clk": "tx_clk",
    "tx_ctl": "tx_ctrl",
    "tx_data": "tx_data",
    "rst_n": "rst",
}
"""Boards that amaranth-boards knows as well."""


def test_an_spi_devices_pins_are_those_of_a_connector() -> None:
    """In the order of Digilent's Pmod Interface Specification, type 2A: select, MOSI, MISO, clock, interrupt."""
    module = importlib.import_module("amaranth_boards.icebreaker")
    connectors = {(c.name, c.number): c.mapping for c in module.ICEBreakerPlatform.connectors}
    pmod = connectors["pmod", 0]
    board = get_board("icebreaker_spi")
    places = {"cs_n": "1", "mosi": "2", "miso": "3", "sck": "4", "ready": "7"}
    assert {name: board.pins[name] for name in places} == {
        name: (pmod[place],) for name, place in places.items()
    }


@pytest.mark.parametrize("name", ORACLES)
def test_pins_and_clock_are_those_of_amaranth_boards(name: str) -> None:
    module, platform = ORACLES[name]
    oracle = getattr(importlib.import_module(f"amaranth_boards.{module}"), platform)
    board = get_board(name)

    def resource(kind: str, number: int):
        return next(r for r in oracle.resources if (r.name, r.number) == (kind, number))

    clock = resource(oracle.default_clk, 0)
    assert (board.clock_pin,) == tuple(clock.ios[0].names)
    assert board.clock == clock.clock.frequency / 1e6
    if board.shell == "udp":
        assert board.part == f"{oracle.device}-{oracle.speed}{oracle.package}I"
        leds = [resource("rgb_led", k).ios[1] for k in range(len(board.pins["led"]))]
        assert board.pins["led"] == tuple(led.ios[0].names[0] for led in leds)
        assert {led.ios[0].invert for led in leds} == {board.inverted}
        phy = {io.name: io.ios[0] for io in resource("eth_rgmii", 0).ios if hasattr(io, "name")}
        for name, theirs in AMARANTH_PADS.items():
            assert board.pins[f"eth_{name}"] == tuple(phy[theirs].names), name
        assert phy["rst"].invert
        return
    uart = {io.name: io.ios[0].names for io in resource("uart", 0).ios if hasattr(io, "name")}
    for port in ("rx", "tx"):
        assert board.pins[port] == tuple(uart[port])
    assert board.pins["led"] == tuple(
        resource("led", k).ios[0].names[0] for k in range(len(board.pins["led"]))
    )
    if board.flow == "ecp5":
        assert board.part == f"{oracle.device}-{oracle.speed}{oracle.package}C"
    if name == "tang_mega_138k_pro":
        assert board.part == oracle.part


def numbered(resources: list[Any]) -> set[str]:
    """All pins of these resources and of what is inside them."""
    found: set[str] = set()
    for own in resources:
        for io in getattr(own, "ios", ()):
            found |= set(getattr(io, "names", ())) | numbered([io])
    return found


@pytest.mark.parametrize("name", PLACED)
def test_pins_are_among_those_of_amaranth_boards(name: str) -> None:
    module, platform = PLACED[name]
    made = getattr(importlib.import_module(f"amaranth_boards.{module}"), platform)
    oracle, resources = made, made.resources
    if name == "butterstick":
        # its resources follow from voltages that its user chooses, and are listed by name then
        oracle = made()
        resources = list(oracle.resources.values())
    board = get_board(name)
    clock = next(r for r in resources if r.name == oracle.default_clk)
    assert (board.clock_pin,) == tuple(clock.ios[0].names)
    assert board.clock == clock.clock.frequency / 1e6
    assert board.part.startswith(f"{oracle.device}-{oracle.speed}{oracle.package}")
    known = numbered(resources)
    known |= {pin for own in made.connectors for pin in own.mapping.values()}
    assert {pin for own in board.pins.values() for pin in own} <= known
    if board.shell == "udp":
        phy = next(r for r in resources if r.name == "eth_rgmii")
        theirs = {io.name: tuple(io.ios[0].names) for io in phy.ios if hasattr(io, "name")}
        for port, pad in AMARANTH_PADS.items():
            assert board.pins[f"eth_{port}"] == theirs[pad.replace("ctrl", "ctl")], port
