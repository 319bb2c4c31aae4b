"""Models of cells: the same as Yosys's where it has some, and an error for all that they do not know."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyosys
import pytest

from rbdgen.errors import ToolError
from rbdgen_boards.gowin.placement import lead_carries
from rbdgen_boards.models.ecp5 import ECP5
from rbdgen_boards.models.gowin import GOWIN
from rbdgen_boards.models.ice40 import ICE40
from rbdgen_boards.models.netlist_verilog import Models, expression, netlist_verilog
from rbdgen_boards.synthesis import essential
from rbdgen_hw.primitives import PRIMITIVES, large_memory
from rbdgen_hw.yosys import run_script
from tests.conftest import few

SHARE = Path(pyosys.__file__).parent / "share"
OWN = {
    "ecp5": "ecp5/cells_sim.v",
    "gowin": "gowin/cells_sim.v",
    "ice40": "ice40/cells_sim.v",
}
"""Yosys's own models."""
FAMILIES: dict[str, Models] = {"ecp5": ECP5, "gowin": GOWIN, "ice40": ICE40}
OUTPUTS = ("Z", "COUT", "Q", "DO", "F", "O", "SUM", "OFX", "CO")
SUMS = ("S0", "S1")
"""Outputs of one type that are inputs of another."""
WIDE = ("DI", "DO", "WAD", "RAD")


def test_expressions_are_their_tables() -> None:
    generator = random.Random(1)
    tables = [(table, 3) for table in range(256)]
    tables += [(generator.randrange(1 << 16), 4) for _ in range(200)]
    for table, size in tables:
        text = expression(table, ["abcd"[k] for k in range(size)])
        text = text.replace("1'b", "").replace("!", "1^").replace("?", "and")
        for address in range(1 << size):
            bits = {name: address >> k & 1 for k, name in enumerate("abcd"[:size])}
            assert evaluated(expression(table, list("abcd")[:size]), bits) == table >> address & 1


def evaluated(text: str, bits: Mapping[str, int]) -> int:
    """An expression of Verilog's with ``! & | ^ ?:`` and brackets."""
    words = [*text.replace("1'b", "")]
    words = [word for word in words if word != " "]

    def operand() -> int:
        word = words.pop(0)
        if word == "!":
            return 1 - operand()
        if word == "(":
            value = whole()
            assert words.pop(0) == ")"
            return value
        return bits[word] if word in bits else int(word)

    def whole() -> int:
        first = operand()
        if not words or words[0] == ")" or words[0] == ":":
            return first
        sign = words.pop(0)
        second = whole() if sign == "?" else operand()
        if sign == "?":
            assert words.pop(0) == ":"
            third = whole()
            return second if first else third
        return {"&": first & second, "|": first | second, "^": first ^ second}[sign]

    return whole()


def cell_netlist(kind: str, pins: str, **parameters: str) -> dict[str, Any]:
    """A cell with a port at each pin."""
    number, ports, connections = 2, {}, {}
    for pin in pins.split():
        width = 4 if pin in WIDE else 1
        bits = list(range(number, number + width))
        number += width
        output = pin in OUTPUTS or (kind == "CCU2C" and pin in SUMS)
        direction = "output" if output else "input"
        ports[pin] = {"direction": direction, "bits": bits}
        connections[pin] = bits
    cell = {"type": kind, "parameters": parameters, "connections": connections}
    return {"ports": ports, "cells": {"cell": cell}}


CELLS = [
    ("ecp5", "LUT4", "A B C D Z", {"INIT": "1100101000010111"}),
    ("ecp5", "PFUMX", "ALUT BLUT C0 Z", {}),
    ("ecp5", "L6MUX21", "D0 D1 SD Z", {}),
    *[
        (
            "ecp5",
            "CCU2C",
            "CIN A0 B0 C0 D0 A1 B1 C1 D1 S0 S1 COUT",
            {
                "INIT0": "1001011010101010",
                "INIT1": "0110011010101011",
                "INJECT1_0": first,
                "INJECT1_1": second,
            },
        )
        for first, second in (("NO", "NO"), ("YES", "NO"), ("NO", "YES"))
    ],
    *[
        (
            "ecp5",
            "TRELLIS_FF",
            pins,
            {
                "GSR": "DISABLED",
                "CEMUX": enable,
                "CLKMUX": "CLK",
                "LSRMUX": "LSR",
                "SRMODE": mode,
                "REGSET": value,
            },
        )
        for pins, enable, mode, value in (
            ("CLK LSR CE DI Q", "CE", "LSR_OVER_CE", "RESET"),
            ("CLK LSR CE DI Q", "INV", "LSR_OVER_CE", "SET"),
            ("CLK LSR DI Q", "1 ", "LSR_OVER_CE", "SET"),
        )
    ],
    (
        "ecp5",
        "TRELLIS_DPR16X4",
        "DI WAD WRE WCK RAD DO",
        {"WCKMUX": "WCK", "WREMUX": "WRE", "INITVAL": f"{0x0123456789ABCDEF:064b}"},
    ),
    ("gowin", "LUT3", "I0 I1 I2 F", {"INIT": "11001010"}),
    ("gowin", "LUT4", "I0 I1 I2 I3 F", {"INIT": "1100101000010111"}),
    ("gowin", "MUX2_LUT5", "I0 I1 S0 O", {}),
    *[("gowin", "ALU", "I0 I1 I3 CIN SUM COUT", {"ALU_MODE": f"{mode:032b}"}) for mode in range(3)],
    ("gowin", "DFF", "CLK D Q", {}),
    ("gowin", "DFFSE", "CLK CE SET D Q", {}),
    ("gowin", "DFFR", "CLK RESET D Q", {}),
    (
        "gowin",
        "RAM16SDP4",
        "DI WAD RAD WRE CLK DO",
        {f"INIT_{k}": f"{0x1234 << k & 0xFFFF:016b}" for k in range(4)},
    ),
    ("ice40", "SB_LUT4", "I0 I1 I2 I3 O", {"LUT_INIT": "1100101000010111"}),
    ("ice40", "SB_CARRY", "I0 I1 CI CO", {}),
    *[
        ("ice40", f"SB_DFF{kind}", f"C {pins} D Q".replace("  ", " "), {})
        for kind, pins in (
            ("", ""),
            ("N", ""),
            ("E", "E"),
            ("SR", "R"),
            ("SS", "S"),
            ("ESR", "E R"),
            ("NESS", "E S"),
        )
    ],
]


@pytest.mark.parametrize(("family", "kind", "pins", "parameters"), CELLS)
def test_models_are_those_of_yosys(
    family: str, kind: str, pins: str, parameters: dict[str, str], tmp_path: Path
) -> None:
    netlist = cell_netlist(kind, pins, **parameters)
    (tmp_path / "gate.v").write_text(netlist_verilog(netlist, FAMILIES[family], "gate"))
    ports = ", ".join(
        f"{p['direction']} [{len(p['bits']) - 1}:0] {n}" for n, p in netlist["ports"].items()
    )
    given = ", ".join(
        f".{name}({len(value)}'b{value})"
        if set(value) <= {*"01"}
        else f'.{name}("{value.strip()}")'
        for name, value in parameters.items()
    )
    pin_list = ", ".join(f".{pin}({pin})" for pin in pins.split())
    gold = f"module gold({ports}); {kind} #({given}) cell_({pin_list}); endmodule\n"
    (tmp_path / "gold.v").write_text(gold)
    script = [
        # without large memories, whose contents take minutes to read
        f"read_verilog -DNO_INCLUDES -DEQUIV -I{SHARE / family} {SHARE / OWN[family]}",
        "read_verilog gold.v gate.v",
        "hierarchy -check -top gold",
        "proc",
        "flatten",
        "design -stash gold",
        "read_verilog gate.v",
        "hierarchy -check -top gate",
        "proc",
        "design -stash gate",
        "design -copy-from gold -as gold gold",
        "design -copy-from gate -as gate gate",
        "memory_map",
        "opt_clean",
        "miter -equiv -flatten -make_outputs gold gate miter",
        "sat -verify -prove trigger 0 -seq 4 -enable_undef -set-def-inputs miter",
    ]
    run_script(script, tmp_path)


PLAYED = [
    ("SB_DFFR", "C R D Q", {}),
    ("SB_DFFES", "C E S D Q", {}),
    *[
        (
            "ICESTORM_LC",
            f"I0 I1 I2 I3 CIN {'CLK CEN SR ' if 'DFF_ENABLE' in own else ''}O COUT",
            {"LUT_INIT": "0110100110010110", "CARRY_ENABLE": "1", **own},
        )
        for own in (
            {},
            {"DFF_ENABLE": "1"},
            {"DFF_ENABLE": "1", "SET_NORESET": "1"},
            {"DFF_ENABLE": "1", "ASYNC_SR": "1"},
            {"CIN_CONST": "1", "CIN_SET": "1"},
        )
    ],
]
"""Cells of an iCE40 that proofs cannot take: those with a reset that waits for no clock, and with open pins."""


@pytest.mark.parametrize(("kind", "pins", "parameters"), PLAYED)
def test_models_play_as_those_of_yosys(
    kind: str, pins: str, parameters: dict[str, str], tmp_path: Path
) -> None:
    netlist = cell_netlist(kind, pins, **parameters)
    (tmp_path / "gate.v").write_text(netlist_verilog(netlist, ICE40, "gate"))
    given = ", ".join(f".{name}({len(value)}'b{value})" for name, value in parameters.items())
    inputs = [p for p in pins.split() if p not in OUTPUTS]
    outputs = [p for p in pins.split() if p in OUTPUTS]
    ports = ", ".join(f".{pin}({pin})" for pin in pins.split())
    made = ", ".join([*(f".{pin}({pin})" for pin in inputs), *(f".{p}(own_{p})" for p in outputs)])
    bench = (
        f"module bench;\n  reg {', '.join(inputs)}; wire {', '.join(outputs)};\n"
        f"  wire {', '.join(f'own_{p}' for p in outputs)};\n  integer k, wrong = 0;\n"
        f"  {kind} #({given}) gold({ports});\n  gate made({made});\n  initial begin\n"
        f"    {{{', '.join(inputs)}}} = 0;\n    for (k = 0; k < 4000; k = k + 1) begin\n"
        # one input at a time, so that no two edges meet
        f"      #1 case (($random & 32'h7fffffff) % {len(inputs)})\n"
        + "".join(f"        {k}: {pin} = ~{pin};\n" for k, pin in enumerate(inputs))
        + "      endcase\n"
        f"      #1 if ({{{', '.join(outputs)}}} !== {{{', '.join(f'own_{p}' for p in outputs)}}}) wrong = wrong + 1;\n"
        '    end\n    $display("wrong %0d of %0d", wrong, k);\n  end\nendmodule\n'
    )
    (tmp_path / "bench.v").write_text(bench)
    files = [str(tmp_path / "bench.v"), str(tmp_path / "gate.v"), str(SHARE / OWN["ice40"])]
    program = tmp_path / "bench"
    command = ["iverilog", "-g2012", "-DNO_ICE40_DEFAULT_ASSIGNMENTS", "-s", "bench"]
    subprocess.run([*command, "-o", program, *files], check=True)
    said = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    assert "wrong 0 of 4000" in said


def flawed(change: str) -> dict[str, Any]:
    """A look-up table's netlist with something in it that no model knows."""
    netlist = cell_netlist("LUT4", "A B C D Z", INIT="1100101000010111")
    cell = netlist["cells"]["cell"]
    if change == "type":
        cell["type"] = "LUT9"
    elif change == "parameter":
        cell["parameters"]["SPEED"] = "HIGH"
    elif change == "pin":
        cell["connections"]["E"] = [2]
    elif change == "open":
        cell["connections"]["A"] = [99]
    elif change == "twice":
        netlist["cells"]["other"] = cell
    return netlist


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("type", r"^netlist: cell cell of type LUT9: has no model; build without --verify, or "),
        ("parameter", r"^netlist: cell cell of type LUT4: SPEED=HIGH has no model; "),
        ("pin", r"^netlist: cell cell of type LUT4: pin E has no model; "),
        ("open", r"^netlist: net 99 is read and has no driver; "),
        ("twice", r"^netlist: net 6 has several drivers; "),
    ],
)
def test_what_no_model_knows_is_an_error(change: str, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        netlist_verilog(flawed(change), ECP5, "top")


@pytest.mark.parametrize(
    ("family", "kind", "pins", "parameters", "message"),
    [
        ("ecp5", "TRELLIS_FF", "CLK DI Q", {"CLKMUX": "INV"}, "CLKMUX=INV has no model, only CLK"),
        ("ecp5", "TRELLIS_FF", "CLK M Q", {"LSRMODE": "PRLD"}, "LSRMODE=PRLD has no model"),
        ("ecp5", "DP16KD", "CLKA CLKB", {"REGMODE_A": "OUTREG"}, "REGMODE_A=OUTREG has no model"),
        ("gowin", "DFFN", "CLK D Q", {}, "has no model"),
        ("gowin", "ALU", "I0 I1 I3 CIN SUM", {"ALU_MODE": f"{9:032b}"}, "ALU_MODE=9 has no model"),
        ("gowin", "LUT4", "I0 I1 I2 F", {"INIT": "1100101000010111"}, "pin I3 is open"),
        (
            "gowin",
            "MULTALU27X18",
            "CLK",
            {"A_SEL": "0", "DYN_A_SEL": "FALSE", "P_SEL": "1"},
            "P_SEL=1 has no model, only 0",
        ),
    ],
)
def test_a_mode_without_a_model_is_an_error(
    family: str, kind: str, pins: str, parameters: dict[str, str], message: str
) -> None:
    netlist = cell_netlist(kind, pins, **parameters)
    with pytest.raises(ToolError, match=f"^netlist: cell cell of type {kind}: {message}"):
        netlist_verilog(netlist, FAMILIES[family], "top")


def test_a_carry_that_begins_a_chain_depends_on_no_other() -> None:
    """As nextpnr makes it, a carry of zero is that of the place before."""
    given = {"RAW_ALU_LUT": f"{0x505A:032b}", "CIN_NETTYPE": "LOGIC"}
    netlist = cell_netlist("ALU", "I0 COUT", **given)
    with pytest.raises(ToolError, match="type ALU: depends on a carry that nothing gives; "):
        netlist_verilog(netlist, GOWIN, "top")
    assert lead_carries({"modules": {"top": netlist}}) == 1
    made = netlist_verilog(netlist, GOWIN, "top")
    assert "assign n3 = w1 ? 1'b0 : n2;" in made
    assert "wire w1 = 1'b0;" in made


MEMORIES = """
module memories(input clk, input rx, output reg [107:0] out);
  reg [35:0] wide [0:511];
  reg [17:0] half [0:1023];
  reg [8:0] nines [0:2047];
  reg [3:0] few [0:4095];
  reg [17:0] table1 [0:1023];
  reg [31:0] state = 32'h12345678, last = 32'h9abcdef0;
  integer k;
  initial begin
    for (k = 0; k < 512; k = k + 1) wide[k] = k * 36'd134775813 + 36'd7;
    for (k = 0; k < 1024; k = k + 1) half[k] = k * 77 + 5;
    for (k = 0; k < 1024; k = k + 1) table1[k] = k * 191 + 3;
    for (k = 0; k < 2048; k = k + 1) nines[k] = k * 5 + 1;
    for (k = 0; k < 4096; k = k + 1) few[k] = k * 3 + k / 16;
  end
  wire [31:0] mixed = {state[18:0], state[31:19]} ^ last;
  wire fed = state[31] ^ state[21] ^ state[1] ^ state[0] ^ rx;
  reg [35:0] a; reg [17:0] b, e; reg [8:0] c; reg [3:0] d;
  always @(posedge clk) begin
    state <= {state[30:0], fed};
    last <= mixed;
    // few addresses, so that what was written is read
    if (mixed[30]) wide[mixed[4:0]] <= {last[3:0], state};
    a <= mixed[26] ? 36'd0 : wide[last[4:0]];
    if (mixed[29]) half[{7'd3, mixed[7:5]}] <= last[17:0];
    b <= half[{7'd3, last[7:5]}];
    if (mixed[28]) nines[mixed[11:8]] <= last[26:18];
    c <= mixed[25] ? 9'd0 : nines[last[11:8]];
    if (mixed[27]) few[mixed[15:12]] <= last[30:27];
    d <= few[last[15:12]];
    e <= table1[last[25:16]];
    out <= {e, d, c, b, a} ^ {90'd0, mixed[17:0]};
  end
endmodule
"""
BENCH = """
module bench;
  reg clk = 0; reg rx = 0; integer k; integer wrong = 0;
  wire [107:0] wanted, got;
  memories gold(clk, rx, wanted);
  gate made(.clk(clk), .rx(rx), .out(got));
  initial begin
    for (k = 0; k < 3000; k = k + 1) begin
      rx = $random;
      #1 clk = 1;
      #1 clk = 0;
      if (k > 3 && wanted !== got) wrong = wrong + 1;
    end
    $display("wrong %0d of %0d", wrong, k);
  end
endmodule
"""
SYNTHESES = {
    "ecp5": ("ecp5", "synth_ecp5", ("DP16KD",)),
    "gw5a": ("gowin", "synth_gowin -family gw5a -noiopads", ("SDPX9B", "DPX9B")),
    "gw2a": ("gowin", "synth_gowin -family gw2a -noiopads", ("SDPX9B", "SPX9")),
    "ice40": ("ice40", "synth_ice40 -device u", ("SB_RAM40_4K",)),
}


@pytest.mark.parametrize("part", few(list(SYNTHESES), "ecp5"))
@pytest.mark.slow
def test_block_memories_hold_what_they_should(part: str, tmp_path: Path) -> None:
    family, command, kinds = SYNTHESES[part]
    (tmp_path / "memories.v").write_text(MEMORIES)
    marked = MEMORIES.replace("  reg [", '  (* ram_style = "block" *) reg [', 5)
    (tmp_path / "marked.v").write_text(marked)
    run_script(["read_verilog marked.v", f"{command} -top memories -json made.json"], tmp_path)
    module = json.loads((tmp_path / "made.json").read_text())["modules"]["memories"]
    found = {cell["type"] for cell in module["cells"].values()}
    assert found >= set(kinds)
    made = netlist_verilog(essential(module, {}), FAMILIES[family], "gate")
    (tmp_path / "gate.v").write_text(made)
    (tmp_path / "bench.v").write_text(BENCH)
    assert "wrong 0 of 3000" in played(tmp_path, "memories.v", "gate.v")


def played(folder: Path, *files: str) -> str:
    """What ``bench.v`` says with some files."""
    program = folder / "bench"
    paths = [str(folder / name) for name in ("bench.v", *files)]
    subprocess.run(["iverilog", "-g2012", "-s", "bench", "-o", program, *paths], check=True)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


def single_memory(width: int, write_mode: int, packed: bool) -> dict[str, Any]:
    """A Gowin memory of one port with words of 32 or 36 bits, as Yosys has it, or as nextpnr packs it: as two ports,
    the second of which has the upper half of each word and its byte enables."""
    numbers = iter(range(2, 200))
    ports = {
        name: {"direction": direction, "bits": [next(numbers) for _ in range(size)]}
        for name, direction, size in (
            ("clk", "input", 1),
            ("ce", "input", 1),
            ("wre", "input", 1),
            ("ad", "input", 14),
            ("di", "input", width),
            ("q", "output", width),
        )
    }
    nets = {name: port["bits"] for name, port in ports.items()}
    pins: dict[str, list[Any]] = {
        "CLK": nets["clk"],
        "CE": nets["ce"],
        "WRE": nets["wre"],
        "OCE": ["1"],
        "RESET": ["0"],
    }
    if packed:
        pins |= {f"{pin}B": net for pin, net in pins.items()}
        enables, word = nets["ad"][:4], nets["ad"][5:]
        lower = [*enables[:2], "0", "0", "0", *word]
        upper = [*enables[2:], "0", "0", "1", *word]
        pins |= {f"AD{k}": [net] for k, net in enumerate(lower)}
        pins |= {f"ADB{k}": [net] for k, net in enumerate(upper)}
        pins |= {f"BLKSEL{k}": ["0"] for k in range(3)}
        pins |= {f"BLKSELB{k}": ["0"] for k in range(3)}
        # a byte of eight bits takes the place of one of nine
        byte = width // 4
        at = [9 * (k // byte) + k % byte for k in range(width)]
        pins |= {f"DI{at[k]}": [net] for k, net in enumerate(nets["di"])}
        pins |= {f"DO{at[k]}": [net] for k, net in enumerate(nets["q"])}
    else:
        pins |= {"AD": nets["ad"], "BLKSEL": ["0", "0", "0"], "DI": nets["di"], "DO": nets["q"]}
    generator = random.Random(width)
    row = 8 * width
    parameters = {
        "BIT_WIDTH": f"{width:032b}",
        "WRITE_MODE": f"{write_mode:b}",
        "READ_MODE": "0",
        "BLK_SEL": "000",
        "RESET_MODE": "ASYNC",
        **{f"INIT_RAM_{k:02X}": f"{generator.getrandbits(row):0{row}b}" for k in range(64)},
    }
    plain = "SPX9" if width == 36 else "SP"
    kind = "SP" if packed else plain
    cell = {"type": kind, "parameters": parameters, "connections": pins}
    return {"ports": ports, "cells": {"cell": cell}}


SINGLE_BENCH = """
module bench;
  reg clk = 0, ce = 0, wre = 0; reg [13:0] ad = 0; reg [WIDTH-1:0] di = 0; integer k; integer wrong = 0, writes = 0;
  wire [WIDTH-1:0] wanted, got;
  gold first(.clk(clk), .ce(ce), .wre(wre), .ad(ad), .di(di), .q(wanted));
  gate second(.clk(clk), .ce(ce), .wre(wre), .ad(ad), .di(di), .q(got));
  initial begin
    for (k = 0; k < 6000; k = k + 1) begin
      {ce, wre} = $random; ce = ce | k % 3 == 0; di = {$random, $random};
      // all words first, then few of them, so that what was written is read
      ad = $random; ad[13:5] = k < 512 ? k : ad[13:5] & 9'h107;
      if (k < 512) begin ce = 1; wre = 0; end
      #1 clk = 1;
      #1 clk = 0;
      if (wanted !== got || ^wanted === 1'bx) wrong = wrong + 1;
      if (ce & wre & ad[3:0] != 0) writes = writes + 1;
    end
    $display("wrong %0d of %0d, %0d", wrong, k, writes > 1000);
  end
endmodule
"""


@pytest.mark.parametrize("write_mode", range(3))
@pytest.mark.parametrize("width", [32, 36])
def test_a_wide_memory_that_is_packed_as_two_ports_is_one(
    width: int, write_mode: int, tmp_path: Path
) -> None:
    for name, packed in (("gold", False), ("gate", True)):
        made = netlist_verilog(single_memory(width, write_mode, packed), GOWIN, name)
        (tmp_path / f"{name}.v").write_text(made)
    (tmp_path / "bench.v").write_text(SINGLE_BENCH.replace("WIDTH", str(width)))
    assert "wrong 0 of 6000, 1" in played(tmp_path, "gold.v", "gate.v")


LARGE = """
module large_blocks(input clk, input [31:0] a, input [31:0] b, output [63:0] p,
  input [13:0] address, input write, input [13:0] at, input column, input [35:0] data, output [55:0] word);
  x_product_32x32_r1 product(.clk(clk), .rst(1'b0), .a(a), .b(b), .p(p));
  x_program_56x16384 memory(.clk(clk), .rst(1'b0), .address(address), .word(word), .write(write), .write_address(at),
    .write_column(column), .write_data(data));
endmodule
"""
LARGE_BENCH = """
module bench;
  reg clk = 0; reg signed [31:0] a, b; reg [13:0] address, at; reg write, column; reg [35:0] data;
  wire [63:0] p; wire [55:0] word;
  reg signed [63:0] product; reg [63:0] kept [0:15]; reg [63:0] found, wanted;
  integer k; integer wrong = 0; integer compared = 0;
  gate made(.clk(clk), .a(a), .b(b), .p(p), .address(address), .write(write), .at(at), .column(column), .data(data),
    .word(word));
  initial begin
    for (k = 0; k < 16; k = k + 1) kept[k] = 0;
    for (k = 0; k < 4000; k = k + 1) begin
      a = $random; b = k % 7 == 0 ? 32'h80000000 : $random;
      address = {10'h2a5, 4'd0} | ($random & 15); at = {10'h2a5, 4'd0} | (k & 15);
      write = k < 32 | ($random & 3) == 0; column = k < 16 ? 0 : k < 32 ? 1 : $random;
      data = {$random, $random};
      #1 clk = 1;
      if (k > 40 & !write) begin wanted = found; found = kept[address & 15]; end
      else if (k > 40) begin wanted = found; found = 64'hx; end
      else begin found = 64'hx; wanted = 64'hx; end
      if (write) begin
        if (column) kept[at & 15][63:32] = data[31:0]; else kept[at & 15][31:0] = data[31:0];
      end
      product = a * b;
      #1 clk = 0;
      if (p !== product) wrong = wrong + 1;
      if (wanted[0] !== 1'bx) begin
        compared = compared + 1;
        if (word !== wanted[55:0]) wrong = wrong + 1;
      end
    end
    $display("wrong %0d of %0d", wrong, compared > 2000);
  end
endmodule
"""


@pytest.mark.parametrize("whose", ["yosys", "rbdgen"])
def test_large_memories_and_products_of_an_ice40(whose: str, tmp_path: Path) -> None:
    """What stands for a program memory and a product, by Yosys's models of its cells and by those of netlists."""
    blocks = PRIMITIVES["ice40"].module("x_product_32x32_r1", 32, 32, 1)
    assert blocks is not None
    (tmp_path / "blocks.v").write_text(blocks + large_memory("x_program_56x16384", 56, 16384))
    (tmp_path / "large.v").write_text(LARGE)
    files = ["blocks.v", "large.v"]
    if whose == "rbdgen":
        script = [*(f"read_verilog {name}" for name in files)]
        run_script([*script, "synth_ice40 -device u -top large_blocks -json made.json"], tmp_path)
        module = json.loads((tmp_path / "made.json").read_text())["modules"]["large_blocks"]
        (tmp_path / "gate.v").write_text(netlist_verilog(essential(module, {}), ICE40, "gate"))
        files = ["gate.v"]
    bench = (
        LARGE_BENCH if whose == "rbdgen" else LARGE_BENCH.replace("gate made", "large_blocks made")
    )
    (tmp_path / "bench.v").write_text(bench)
    program = tmp_path / "bench"
    own = [str(SHARE / OWN["ice40"])] if whose == "yosys" else []
    given = [str(tmp_path / name) for name in ("bench.v", *files)] + own
    command = ["iverilog", "-g2012", "-DNO_ICE40_DEFAULT_ASSIGNMENTS", "-s", "bench"]
    subprocess.run([*command, "-o", program, *given], check=True)
    said = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    assert "wrong 0 of 1" in said
