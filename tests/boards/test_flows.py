"""The open flows with their real tools, on a top small enough for a test: one multiplier block and a few registers."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rbdgen import Design
from rbdgen.devices.gw5a import DERATING, MULTIPLIER_OUTPUT
from rbdgen.errors import ConfigError
from rbdgen.protocol.links import Addresses
from rbdgen_boards import tools
from rbdgen_boards.board import get_board
from rbdgen_boards.flow import Request, Routed
from rbdgen_boards.flows import FLOWS
from rbdgen_boards.gowin import flow as gowin
from rbdgen_boards.gowin.placement import FIRST, THROUGH
from rbdgen_boards.synthesis import NETLIST, cells
from rbdgen_boards.top import TOP, board_top
from rbdgen_hw.emit import uart_verilog, udp_verilog
from rbdgen_hw.primitives import GOWIN_REGISTERS, PRIMITIVES
from rbdgen_hw.shells.datagram_receiver import INCOMING
from rbdgen_hw.shells.datagram_sender import OUTGOING
from rbdgen_hw.shells.ethernet import RGMII, core_name
from tests.conftest import design

DESIGN = f"""
module {TOP}(clk, rx, tx, led);
  input clk, rx;
  output tx;
  output [1:0] led;
  wire clock, settled;
CLOCKING
  reg signed [17:0] a = 0, b = 0;
  reg [35:0] sum = 0;
  wire signed [35:0] p;
  always @(posedge clock) begin
    a <= {{a[16:0], rx}};
    b <= {{b[16:0], a[17]}};
    sum <= sum + p;
  end
  x_product_18x18_r2 product(.clk(clock), .rst(1'b0), .a(a), .b(b), .p(p));
  assign tx = sum[35];
  assign led = {{settled, sum[34]}};
endmodule
"""


def build(board_name: str, directory: Path) -> tuple[Routed, float]:
    """What a board's flow makes of the small design."""
    board = get_board(board_name)
    flow = FLOWS[board.flow]
    made = flow.clocking(board, 60.0, directory)
    blocks = PRIMITIVES[flow.multiplier].module("x_product_18x18_r2", 18, 18, 2)
    assert blocks is not None
    top = made.module + DESIGN.replace("CLOCKING", made.lines)
    request = Request(board, {"top.v": top}, blocks, made.megahertz, made.megahertz, 1)
    routed = flow.build(request, directory, lambda step: None)
    assert routed is not None
    return routed, made.megahertz


@pytest.mark.slow
def test_ecp5_makes_a_bitstream(tmp_path: Path) -> None:
    routed, clock = build("ulx3s_85f", tmp_path)
    assert clock == pytest.approx(60.0, rel=0.02)
    assert routed.achieved > clock
    assert routed.used["multipliers"] == 1
    assert 36 <= routed.used["registers"] < 200
    assert 18 <= routed.used["luts"] < 200
    assert routed.critical_path
    assert [stated.subject for stated in routed.assumptions] == ["clock network"]
    bitstream = (tmp_path / routed.bitstream).read_bytes()
    assert b"LFE5U-85F" in bitstream[:200]
    assert set(routed.seconds) == {"synthesis", "place and route at 60 MHz", "bitstream"}
    assert cells(tmp_path)["MULT18X18D"] == 1


def sources(cells: dict[str, Any]) -> dict[tuple[str, str], tuple[str, str]]:
    """From which cell's output each input of a Gowin table or register comes, past tables that pass it on."""
    cells = {name.removeprefix(FIRST): cell for name, cell in cells.items()}
    drivers = {
        bit: (name, pin if len(bits) == 1 else f"{pin}{k}")
        for name, cell in cells.items()
        for pin, bits in cell["connections"].items()
        if cell["port_directions"][pin] == "output"
        for k, bit in enumerate(bits)
    }

    def source(bit: int) -> tuple[str, str] | None:
        name, pin = drivers.get(bit, ("", ""))
        return (
            source(cells[name]["connections"]["I3"][0]) if name.endswith(THROUGH) else (name, pin)
        )

    kinds = ("LUT", "DFF")
    return {
        (name, pin): source(bits[0])
        for name, cell in cells.items()
        if cell["type"].startswith(kinds) and not name.endswith(THROUGH)
        for pin, bits in cell["connections"].items()
        if cell["port_directions"][pin] == "input" and pin != "CLK"
    }


@dataclasses.dataclass
class Packed:
    """A build for a GW5A: its ``folder``, what was ``routed`` for a ``clock``, and ``cells`` when they were packed, as
    they were ``made`` by synthesis and ``placed``."""

    folder: Path
    routed: Routed
    clock: float
    made: dict[str, Any]
    placed: dict[str, Any]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Packed:
    """The small design, which is packed by apycula's own program as well, into ``plain.fs``, and once more without each
    register of its block, into ``<register>.fs``."""
    folder, run = tmp_path_factory.mktemp("gowin"), tools.run
    found: dict[str, Any] = {}

    def pack(tool: tools.Tool, arguments: Sequence[str], *where: Any) -> bool:
        if tool != gowin.GOWIN_PACK:
            return run(tool, arguments, *where)
        plain = ["plain.fs" if a == gowin.BITSTREAM else a for a in arguments]
        run(dataclasses.replace(tool, module=None), plain, *where)
        routed = (folder / gowin.ROUTED).read_text()
        netlist = json.loads((folder / NETLIST).read_text())
        found["made"] = netlist["modules"][TOP]["cells"]
        found["placed"] = json.loads(routed)["modules"]["top"]["cells"]
        changes = {r: (f'"{r}_CLK": *"CLK0"', f'"{r}_CLK": "BYPASS"') for r in GOWIN_REGISTERS[2]}
        changes["OREG"] = '"AREG_CLK": *"CLK0"', '"AREG_CLK": "CLK0", "OREG_CLK": "CLK0"'
        for register, (pattern, change) in changes.items():
            changed, count = re.subn(pattern, change, routed)
            assert count == 1
            (folder / f"{register}.json").write_text(changed)
            run(tool, [*arguments[:-2], f"{register}.fs", f"{register}.json"], *where)
        return run(tool, arguments, *where)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tools, "run", pack)
        routed, clock = build("tang_mega_138k_pro", folder)
    return Packed(folder, routed, clock, found["made"], found["placed"])


@pytest.mark.thorough
@pytest.mark.thorough
def test_gowin_routes_what_was_synthesized_with_registers_beside_their_sums(packed: Packed) -> None:
    """Placement is read back and changed in between."""
    made, routed = sources(packed.made), sources(packed.placed)
    constants = ("VCC", "GND", "$PACKER_VCC_DRV", "$PACKER_GND_DRV")
    wanted = {
        pin: source
        for pin, source in made.items()
        if packed.made[source[0]]["type"] not in constants
    }
    assert {pin: routed.get(pin) for pin in wanted} == wanted
    places = {
        name.removeprefix(FIRST): c["attributes"].get("NEXTPNR_BEL", "")
        for name, c in packed.placed.items()
    }
    fed = {
        name: source for (name, pin), (source, out) in routed.items() if (pin, out) == ("D", "SUM")
    }
    beside = [
        name for name, source in fed.items() if places[name] == places[source].replace("ALU", "DFF")
    ]
    assert len(fed) == 36
    assert len(beside) >= 30
    assert f"{beside[0]}{THROUGH}" not in places


@pytest.mark.thorough
@pytest.mark.slow
def test_gowin_makes_a_bitstream(packed: Packed) -> None:
    folder, routed, clock = packed.folder, packed.routed, packed.clock
    bitstream = (folder / routed.bitstream).read_bytes()
    assert (folder / "plain.fs").read_bytes() == bitstream
    # each register of the block that the pipeline counts on is one in the bitstream as well, and one that it does
    # without is not, although it was asked for
    assert (folder / "OREG.fs").read_bytes() == bitstream
    bitstreams = {
        bitstream,
        *((folder / f"{register}.fs").read_bytes() for register in GOWIN_REGISTERS[2]),
    }
    assert len(bitstreams) == 1 + len(GOWIN_REGISTERS[2])
    assert clock == 50.0
    assert routed.achieved > clock
    # paths through cells that nextpnr has no delays of can only be slower than the others
    known = json.loads((folder / "nextpnr.json").read_text())
    assert routed.achieved <= min(f["achieved"] for f in known["fmax"].values()) * 1.001
    # that of multipliers it has been told, and it is derated as all others
    first = known["critical_paths"][0]["path"][0]
    assert (first["type"], first["from"]["cell"]) == ("clk-to-q", "product.block0_0")
    assert first["delay"] == pytest.approx(MULTIPLIER_OUTPUT)
    (constraint,) = {round(f["constraint"], 1) for f in known["fmax"].values()}
    assert constraint == clock
    said = re.search(r"\(\w+ at ([\d.]+) MHz\)", (folder / "nextpnr.log").read_text())
    assert said
    assert float(said[1]) == pytest.approx(DERATING * clock, rel=1e-3)
    assert routed.critical_path
    counted = {stated.subject: stated.registers for stated in routed.assumptions}
    # the 36 registers of the sum, and the block itself
    assert counted["multiplier blocks"] == 37
    assert counted["block memories"] == 0
    assert counted["speed grade"] is None
    assert routed.used["multipliers"] == 1
    # 36 registers' inputs come through tables, the sum's 36 bits are in places of tables, and the sum in registers
    assert 72 <= routed.used["luts"] < 200
    text = (folder / routed.bitstream).read_text()
    # after the ones of the preamble comes the word by which the device finds a bitstream
    assert set(text) == {"0", "1", "\n"}
    assert f"{0xA5C3:016b}" in text[:5000]


def register_in_place_of(d: Design) -> str:
    """Verilog of a register that gives tasks back, in place of an accelerator."""
    task, result = d.tasks.task.beat_bits, d.tasks.result.beat_bits
    return (
        f"module {d.name}(input clk, input rst, input in_valid, output in_ready, input [{task - 1}:0] in_payload,\n"
        f"  output reg out_valid, input out_ready, output reg [{result - 1}:0] out_payload);\n"
        "  assign in_ready = out_ready;\n"
        "  always @(posedge clk) if (rst) out_valid <= 0;\n"
        "    else if (out_ready) begin out_valid <= in_valid; out_payload <= in_payload; end\n"
        "endmodule\n"
    )


@pytest.mark.thorough
def test_the_serial_lines_shell_leaves_the_clock_to_the_accelerator(tmp_path: Path) -> None:
    """Alone, with a register in place of an accelerator, it is faster than any of them."""
    board, d = get_board("ulx3s_85f"), design("iiwa14", functions=("id", "m", "did"), ii=8)
    flow = FLOWS[board.flow]
    made = flow.clocking(board, 130.0, tmp_path)
    clock = made.megahertz
    echo = register_in_place_of(d)
    sources = {
        "top.v": made.module + board_top(board, f"{d.name}_uart", made.lines),
        "shell.v": uart_verilog(d, bytes(16), clock * 1e6, board.rate),
        "echo.v": echo,
    }
    request = Request(board, sources, "", clock, clock, 1)
    routed = flow.build(request, tmp_path, lambda step: None)
    assert routed is not None
    assert routed.achieved > 120.0


MAC = """
module {name}({ports});
  reg [{most}:0] coming;
  reg [31:0] going;
  reg [7:0] mixed;
  reg ready;
  always @(posedge clk) begin
    coming <= {{coming[{most} - 1:0], rx_ctl ^ mixed[0]}};
    going <= going ^ {{{out_names}}};
    mixed <= {{mixed[6:0], ^going ^ in_ready}};
    ready <= rx_data[0];
  end
  assign {{{in_names}}} = coming;
  assign out_ready = ready;
  assign tx_ctl = mixed[7], tx_data = mixed[3:0], tx_clk = mixed[1], rst_n = mixed[2];
endmodule
"""
"""In place of a MAC: it gives and takes anything."""


@pytest.mark.thorough
def test_the_shell_of_datagrams_leaves_the_clock_to_the_accelerator(tmp_path: Path) -> None:
    """Without a MAC, on the slowest grade, with a register in place of an accelerator; and it is small."""
    board, d = get_board("ecpix5_85f"), design("iiwa14", functions=("id", "m", "did"), ii=8)
    board = dataclasses.replace(board, part="LFE5U-85F-6BG554C", clocks={})
    flow = FLOWS[board.flow]
    made = flow.clocking(board, 110.0, tmp_path)
    clock = made.megahertz
    echo = register_in_place_of(d)
    name = core_name(d.name)
    whole = udp_verilog(d, bytes(16), clock * 1e6, Addresses().station(bytes(16)), RGMII)
    shell, mac = whole.split(f"// {name}:")
    ports = re.findall(r"module \w+\((.*?)\);", mac, re.S)[0]
    coming = {n: m.shape for n, m in INCOMING.members.items() if n != "ready"}
    stub = MAC.format(
        name=name,
        ports=ports.replace("output reg", "output"),
        most=sum(coming.values()) - 1,
        in_names=", ".join(f"in_{n}" for n in coming),
        out_names=", ".join(f"out_{n}" for n in OUTGOING.members if n != "ready"),
    )
    sources = {
        "top.v": made.module + board_top(board, f"{d.name}_udp", made.lines),
        "shell.v": shell + stub,
        "echo.v": echo,
    }
    request = Request(board, sources, "", clock, clock, 1)
    routed = flow.build(request, tmp_path, lambda step: None)
    assert routed is not None
    assert routed.achieved > 100.0
    assert routed.used["luts"] < 2600
    assert routed.used["memories"] <= 10


@pytest.mark.slow
def test_what_is_too_large_is_refused_before_placing(tmp_path: Path) -> None:
    board = get_board("ulx3s_85f")
    blocks = PRIMITIVES["ecp5"].module("x_product_18x18_r2", 18, 18, 2) or ""
    many = "\n".join(
        f"  wire signed [35:0] p{k}; x_product_18x18_r2 m{k}(.clk(clk), .rst(1'b0), .a(a), .b(a ^ {k}), .p(p{k}));"
        for k in range(157)
    )
    total = " ^ ".join(f"p{k}" for k in range(157))
    top = (
        f"module {TOP}(input clk, input rx, output tx, output [1:0] led);\n  reg signed [17:0] a;\n"
        f"  reg [35:0] sum;\n{many}\n  always @(posedge clk) begin a <= {{a[16:0], rx}}; sum <= {total}; end\n"
        "  assign tx = ^sum;\n  assign led = 0;\nendmodule\n"
    )
    request = Request(board, {"top.v": top}, blocks, 50.0, 50.0, 1)
    with pytest.raises(
        ConfigError,
        match=r"^board ulx3s_85f: the design takes 157 multipliers where it has 156, 1 ",
    ):
        FLOWS[board.flow].build(request, tmp_path, lambda step: None)
    assert not (tmp_path / "nextpnr.log").exists()
