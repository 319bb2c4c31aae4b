"""Primitives of a device, multipliers with their own registers and sums in carry chains, in place of what synthesis
would infer.

A design's Verilog has each product and each sum as a module of its own, which any tool understands and every simulator
runs (:class:`rbdgen_hw.operators.Multiplier`). For a device with a primitive here, :func:`overrides` gives
modules of the same names and ports that hold that primitive, several of them where a product is too wide for one;
products with another number of registers stay.

A bit of ECP5's carry chain has a look-up table with four inputs before it: room for a sign and for what an accumulator
begins with, or for the bits of a third number that is a constant, as rounding adds. Synthesis makes logic of its own
for these. A bit of a Gowin ALU adds or subtracts as an input says, which synthesis never uses where a design chooses
the sign: it spends a look-up table a bit on that. CCU2C: ECP5 and ECP5-5G sysIO and slice documentation
(FPGA-TN-02035), and Yosys's model of it; ALU: the guide to Gowin's primitives of logic (UG288), and Yosys's model of
it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rbdgen.machines.engine.loading import column_bits, columns
from rbdgen.protocol.loading import DATA_BITS

ACCUMULATOR = re.compile(r"^module (\w+_accumulate_(\d+)_([0-9a-f]+)(_held)?)\(", re.M)
"""Name, width and mask of starting bits of an accumulator's module, and whether its sum is held where it says so."""
ROUNDED_SUM = re.compile(
    r"^module (\w+_(add|sub)_(\d+)l(\d+)_(\d+)l(\d+)_(\d+)to(\d+)(wrap)?)\(", re.M
)
"""Name, operation, widths and places of both arguments, bits dropped and kept of a sum that rounds."""
ZERO, ONE = "1'b0", "1'b1"


@dataclass(frozen=True)
class Bit:
    """A bit of a carry chain: four ``inputs``; ``propagates`` says of their values whether a carry goes on, and
    ``generates`` of the first two whether there is one where it does not."""

    inputs: tuple[str, str, str, str]
    propagates: Callable[[int, int, int, int], int]
    generates: Callable[[int, int], int]

    def table(self) -> int:
        """The look-up table. Where the last two inputs are low, its entries are those of what generates a carry."""
        entries = 0
        for number in range(16):
            a, b, c, d = (number >> k & 1 for k in range(4))
            value = self.propagates(a, b, c, d)
            if number < 4:
                value = self.generates(a, b)
            entries |= value << number
        return entries


def _carried(bit: str) -> Bit:
    """A bit below all others, which carries ``bit`` into them."""
    return Bit((bit, ZERO, ONE, ZERO), lambda a, b, c, d: 0, lambda a, b: a)


def _chain(bits: Sequence[Bit], carry: str = ZERO) -> str:
    """Instances of CCU2C for ``bits``, lowest first, with the sum of bit k on ``total[k]``."""
    every = [_carried(carry), *bits]
    # a CCU2C has two bits
    if len(every) % 2:
        every.append(Bit((ZERO, ZERO, ZERO, ZERO), lambda a, b, c, d: 0, lambda a, b: 0))
    text = f"  wire [{len(every) // 2}:0] chain;\n"
    for k in range(0, len(every), 2):
        pins = []
        for half, bit in enumerate(every[k : k + 2]):
            pins += [f".{name}{half}({net})" for name, net in zip("ABCD", bit.inputs, strict=True)]
            # the first bit of the chain is the carry's
            number = k + half - 1
            if 0 <= number < len(bits):
                pins.append(f".S{half}(total[{number}])")
        if k:
            pins.append(f".CIN(chain[{k // 2}])")
        if k + 2 < len(every):
            pins.append(f".COUT(chain[{k // 2 + 1}])")
        low, high = every[k].table(), every[k + 1].table()
        text += (
            f'  CCU2C #(.INIT0(16\'h{low:04x}), .INIT1(16\'h{high:04x}), .INJECT1_0("NO"), .INJECT1_1("NO"))\n'
            f"    bits{k // 2} ({', '.join(pins)});\n"
        )
    return text


def _accumulator_ports(name: str, width: int, held: bool) -> str:
    """The head of an accumulator's module."""
    top = width - 1
    keep = ("keep, ", "  input keep;\n") if held else ("", "")
    return (
        f"module {name}(clk, rst, x, start, first, minus, {keep[0]}y);\n  input clk;\n  input rst;\n"
        f"  input signed [{top}:0] x;\n  input signed [{top}:0] start;\n  input first;\n  input minus;\n{keep[1]}"
        f"  output signed [{top}:0] y;\n"
    )


def accumulator(name: str, width: int, starting: int, held: bool = False) -> str:
    """The module of an accumulator (:class:`rbdgen_hw.operators.Accumulate`): the sign of what is added, and
    whether the sum so far counts, are in the chain; bits that sums start from have a look-up table before it."""
    enabled = "if (keep) " if held else ""
    text = _accumulator_ports(name, width, held) + (
        f"  wire [{width - 1}:0] total;\n  reg [{width - 1}:0] sum = 0;\n"
        f"  wire [{width - 1}:0] started = first ? start : sum;\n"
        f"  always @(posedge clk) {enabled}sum <= total;\n"
    )
    bits = []
    for k in range(width):
        inputs = (f"x[{k}]", "minus", f"sum[{k}]", "first")
        if starting >> k & 1:
            inputs = (f"x[{k}]", "minus", f"started[{k}]", ZERO)
        bits.append(Bit(inputs, lambda a, b, c, d: a ^ b ^ (c & ~d & 1), lambda a, b: a ^ b))
    return text + _chain(bits, "minus") + "  assign y = total;\nendmodule\n"


@dataclass(frozen=True)
class Sum:
    """A sum that rounds: whether it subtracts, widths and places of both arguments, and bits dropped and kept."""

    name: str
    subtracts: bool
    widths: tuple[int, int]
    places: tuple[int, int]
    drop: int
    kept: int
    wraps: bool

    @property
    def width(self) -> int:
        """Bits of the exact sum and of half of the result's last place together, and of the result at least."""
        longest = max(w + p for w, p in zip(self.widths, self.places, strict=True))
        return max(max(longest, self.drop + 1) + 2, self.drop + self.kept)

    def _input(self, side: int, k: int) -> str:
        """The bit of an argument that stands at bit ``k`` of the sum."""
        name, width, places = "ab"[side], self.widths[side], self.places[side]
        if k < places:
            return ZERO
        # above its highest bit an argument goes on with its sign
        return f"{name}[{min(k - places, width - 1)}]"

    def _bit(self, k: int) -> Bit:
        """Bit ``k``: from that of the half on, the two numbers and the half are first added without carries, and what
        each bit leaves over is added to the next one."""
        own = self._input(0, k), self._input(1, k)
        turned = int(self.subtracts)
        half = self.drop - 1
        if k < half:
            # the last input is high, so that what generates a carry has entries of its own
            return Bit((*own, ZERO, ONE), lambda a, b, c, d: a ^ b ^ turned, lambda a, b: a)
        if k == half:
            return Bit(
                (*own, ZERO, ZERO),
                lambda a, b, c, d: 1 ^ a ^ b ^ turned,
                lambda a, b: 1 ^ a ^ b ^ turned,
            )
        one, other = self._input(0, k - 1), self._input(1, k - 1)
        if k > half + 1:
            return Bit(
                (*own, one, other),
                lambda a, b, c, d: a ^ b ^ turned ^ (c & (d ^ turned)),
                lambda a, b: a ^ b ^ turned,
            )
        if turned:
            # what is left over must be nothing where both inputs are low
            other = f"~{other}"
        return Bit(
            (*own, one, other),
            lambda a, b, c, d: a ^ b ^ turned ^ (c | d),
            lambda a, b: a ^ b ^ turned,
        )

    def module(self) -> str:
        """The module (:class:`rbdgen_hw.operators.Sum`)."""
        first, second = self.widths
        top = self.drop + self.kept - 1
        ports = "a, b, y, overflow" if self.wraps else "a, b, y"
        text = (
            f"module {self.name}({ports});\n  input signed [{first - 1}:0] a;\n"
            f"  input signed [{second - 1}:0] b;\n  output signed [{self.kept - 1}:0] y;\n"
            f"  wire [{self.width - 1}:0] total;\n"
        )
        bits = [self._bit(k) for k in range(self.width)]
        text += _chain(bits, ONE if self.subtracts else ZERO)
        if self.wraps:
            upper = f"total[{self.width - 1}:{top}]"
            text += f"  output overflow;\n  assign overflow = ~(&{upper} | ~|{upper});\n"
        return text + f"  assign y = total[{top}:{self.drop}];\nendmodule\n"


def chains(verilog: str) -> str:
    """Modules for the accumulators and the sums that round of a design's Verilog."""
    found = []
    for name, width, starting, held in ACCUMULATOR.findall(verilog):
        found.append(accumulator(name, int(width), int(starting, 16), bool(held)))
    for name, op, a, left, b, right, drop, kept, wraps in ROUNDED_SUM.findall(verilog):
        # nothing is rounded: without a third number synthesis makes one chain of it
        if int(drop) == 0:
            continue
        widths, places = (int(a), int(b)), (int(left), int(right))
        total = Sum(name, op == "sub", widths, places, int(drop), int(kept), bool(wraps))
        found.append(total.module())
    return "".join(found)


ADD_OR_SUBTRACT = 2
"""The mode in which a bit adds where I3 is high, and else subtracts."""


def alu_accumulator(name: str, width: int, starting: int, held: bool = False) -> str:
    """The module of an accumulator (:class:`rbdgen_hw.operators.Accumulate`): the sign of what is added is the
    mode's, and carried in; whether the sum so far counts is a look-up table a bit."""
    top = width - 1
    enabled = "if (keep) " if held else ""
    text = _accumulator_ports(name, width, held) + (
        f"  wire [{width}:0] carries;\n  reg [{top}:0] sum = 0;\n"
        f"  wire [{top}:0] started = first ? start & {width}'h{starting:x} : sum;\n"
        f"  assign carries[0] = minus;\n  always @(posedge clk) {enabled}sum <= y;\n"
    )
    for k in range(width):
        pins = f".I0(started[{k}]), .I1(x[{k}]), .I3(~minus)"
        chain = f".CIN(carries[{k}]), .COUT(carries[{k + 1}]), .SUM(y[{k}])"
        text += f"  ALU #(.ALU_MODE({ADD_OR_SUBTRACT})) bit{k} ({pins}, {chain});\n"
    return text + "endmodule\n"


def alus(verilog: str) -> str:
    """Modules for the accumulators of a design's Verilog."""
    found = []
    for name, width, starting, held in ACCUMULATOR.findall(verilog):
        found.append(alu_accumulator(name, int(width), int(starting, 16), bool(held)))
    return "".join(found)


PRODUCT_MODULE = re.compile(r"^module (\w+_product_(\d+)x(\d+)_r(\d+))\(", re.M)
"""Name, widths and registers of a product's module in a design's Verilog."""
ECP5_REGISTERS = {
    1: ("REG_OUTPUT",),
    2: ("REG_INPUTA", "REG_INPUTB", "REG_OUTPUT"),
    3: ("REG_INPUTA", "REG_INPUTB", "REG_OUTPUT", "REG_PIPELINE"),
}
"""Registers of Lattice's block that make so many in a row."""
GOWIN_REGISTERS = {1: ("PREG",), 2: ("AREG", "BREG", "PREG")}
"""Registers of Gowin's block that make so many in a row: the product's, and its operands' before it."""


def _mult18x18d(name: str, registers: int, a: str, b: str, p: str, signs: tuple[bool, bool]) -> str:
    """Lattice ECP5's MULT18X18D: a register behind it, with two also before it, with three also inside."""
    clocks = ECP5_REGISTERS[registers]
    parameters = ",\n    ".join(
        f'.{r}_CLK("CLK0"), .{r}_CE("CE0"), .{r}_RST("RST0")' for r in clocks
    )
    pins = [f".{side}{k}({wire}[{k}])" for side, wire in (("A", a), ("B", b)) for k in range(18)]
    pins += [f".P{k}({p}[{k}])" for k in range(36)]
    pins += [".SIGNEDA(1'b1)", ".SIGNEDB(1'b1)", ".SOURCEA(1'b0)", ".SOURCEB(1'b0)"]
    pins += [".CLK0(clk)", ".CE0(1'b1)", ".RST0(1'b0)"]
    lines = ",\n    ".join(", ".join(pins[k : k + 6]) for k in range(0, len(pins), 6))
    return (
        f'  MULT18X18D #(\n    {parameters},\n    .GSR("DISABLED"), .RESETMODE("SYNC")\n  ) {name} (\n'
        f"    {lines}\n  );\n"
    )


def _multalu27x18(
    name: str, registers: int, a: str, b: str, p: str, signs: tuple[bool, bool]
) -> str:
    """Gowin GW5A's MULTALU27X18: a register between the product and the sum that follows it, with two also before it.

    Not behind it: for the GW5AST-138, apycula makes the same bits whether the register there is asked for or not. What
    it neither adds nor selects is left open: a constant would be led to every pin over wires of the fabric.
    """
    parameters = ", ".join(
        f'.{r}_CLK("CLK0"), .{r}_CE("CE0"), .{r}_RESET("RESET0")'
        for r in GOWIN_REGISTERS[registers]
    )
    return (
        f"  MULTALU27X18 #(\n    {parameters},\n"
        '    .MULT_RESET_MODE("SYNC"), .DYN_A_SEL("FALSE"), .A_SEL(1\'b0), .DYN_P_SEL("FALSE"), .P_SEL(1\'b0),\n'
        '    .DYN_P_ADDSUB("FALSE"), .P_ADDSUB(1\'b0), .DYN_C_SEL("FALSE"), .C_SEL(1\'b0), .DYN_CASI_SEL("FALSE"),\n'
        '    .CASI_SEL(1\'b0), .DYN_ACC_SEL("FALSE"), .ACC_SEL(1\'b0), .DYN_ADD_SUB_0("FALSE"), .ADD_SUB_0(1\'b0),\n'
        f'    .DYN_ADD_SUB_1("FALSE"), .ADD_SUB_1(1\'b0)\n  ) {name} (\n'
        f"    .A({a}), .B({b}), .CLK({{1'b0, clk}}), .CE(2'b11), .RESET(2'b00), .DOUT({p})\n  );\n"
    )


GW2A_REGISTERS = {
    1: ("OUT_REG",),
    2: ("AREG", "BREG", "OUT_REG"),
    3: ("AREG", "BREG", "PIPE_REG", "OUT_REG"),
}
"""Registers of Gowin GW2A's block that make so many in a row."""


def _mult18x18(name: str, registers: int, a: str, b: str, p: str, signs: tuple[bool, bool]) -> str:
    """Gowin GW2A's MULT18X18 of two signed operands, which come by its own pins (UG287)."""
    kept = GW2A_REGISTERS[registers]
    parameters = [
        f".{register}(1'b{int(register in kept)})"
        for register in ("AREG", "BREG", "OUT_REG", "PIPE_REG")
    ]
    pins = [f".A({a})", f".B({b})", f".DOUT({p})", ".ASIGN(1'b1)", ".BSIGN(1'b1)"]
    pins += [".ASEL(1'b0)", ".BSEL(1'b0)", ".CE(1'b1)", ".CLK(clk)", ".RESET(1'b0)"]
    return (
        f'  MULT18X18 #(\n    {", ".join(parameters)}, .MULT_RESET_MODE("SYNC")\n  ) {name} (\n'
        f"    {', '.join(pins)}\n  );\n"
    )


ICE40_REGISTERS = {
    1: ("PIPELINE_16x16_MULT_REG2",),
    2: ("A_REG", "B_REG", "PIPELINE_16x16_MULT_REG2"),
}
"""Registers of iCE40 UltraPlus's block that make so many in a row."""
WHOLE_PRODUCT = "2'b11"
"""What a half of its outputs selects: its half of the product of 16 x 16 bits."""
ICE40_LOW = (
    *("AHOLD", "BHOLD", "CHOLD", "DHOLD", "IRSTTOP", "IRSTBOT", "ORSTTOP", "ORSTBOT"),
    *("OLOADTOP", "OLOADBOT", "ADDSUBTOP", "ADDSUBBOT", "OHOLDTOP", "OHOLDBOT"),
    *("CI", "ACCUMCI", "SIGNEXTIN"),
)
"""Its pins that are always low."""


def _sb_mac16(name: str, registers: int, a: str, b: str, p: str, signs: tuple[bool, bool]) -> str:
    """Lattice iCE40 UltraPlus's SB_MAC16 as a product of 16 x 16 bits, each signed or not (FPGA-TN-02007)."""
    parameters = [f".{register}(1'b1)" for register in ICE40_REGISTERS[registers]]
    parameters += [f".{half}OUTPUT_SELECT({WHOLE_PRODUCT})" for half in ("TOP", "BOT")]
    parameters += [f".{side}_SIGNED(1'b{int(own)})" for side, own in zip("AB", signs, strict=True)]
    pins = [f".A({a})", f".B({b})", ".C(16'd0)", ".D(16'd0)", f".O({p})", ".CLK(clk)", ".CE(1'b1)"]
    pins += [f".{pin}(1'b0)" for pin in ICE40_LOW]
    return (
        f"  SB_MAC16 #(\n    {', '.join(parameters)}\n  ) {name} (\n    {', '.join(pins)}\n  );\n"
    )


PROGRAM_MEMORY = re.compile(r"^module (\w+_program_(\d+)x(\d+))\(", re.M)
"""Name, bits and words of a program memory's module (:class:`rbdgen_hw.engine.sequencer.ProgramMemory`)."""
LARGE_BITS, LARGE_WORDS = 16, 1 << 14
"""Of iCE40 UltraPlus's large memories: bits of a word, and words."""
LARGE = 4
"""So many of them there are."""


def large_memory(name: str, bits: int, words: int) -> str:
    """The module of a program memory in large memories of iCE40 UltraPlus, which read or write in a cycle, and hold
    nothing in the beginning (FPGA-TN-02022)."""
    address = max(words - 1, 1).bit_length()
    step = column_bits(bits)
    column = max(columns(bits) - 1, 1).bit_length()
    text = (
        f"module {name}(clk, rst, address, word, write, write_address, write_column, write_data);\n"
        f"  input clk, rst, write;\n  input [{address - 1}:0] address, write_address;\n"
        f"  input [{column - 1}:0] write_column;\n  input [{DATA_BITS - 1}:0] write_data;\n"
        f"  output reg [{bits - 1}:0] word;\n"
        f"  wire [{LARGE_WORDS.bit_length() - 2}:0] place = write ? write_address : address;\n"
    )
    count = -(-bits // LARGE_BITS)
    text += f"  wire [{count * LARGE_BITS - 1}:0] found;\n"
    for k in range(count):
        low = k * LARGE_BITS
        own, at = divmod(low, step)
        data = f"write_data[{at + LARGE_BITS - 1}:{at}]"
        pins = [".ADDRESS(place)", f".DATAIN({data})", ".MASKWREN(4'b1111)"]
        pins += [f".WREN(write & (write_column == {own}))", ".CHIPSELECT(1'b1)", ".CLOCK(clk)"]
        pins += [".STANDBY(1'b0)", ".SLEEP(1'b0)", ".POWEROFF(1'b1)"]
        pins += [f".DATAOUT(found[{low + LARGE_BITS - 1}:{low}])"]
        text += f"  SB_SPRAM256KA memory{k} ({', '.join(pins)});\n"
    return text + f"  always @(posedge clk) word <= found[{bits - 1}:0];\nendmodule\n"


def large_memories(verilog: str) -> str:
    """Modules for program memories of a design's Verilog, as far as they go into large memories: one that is there
    from the beginning does not."""
    found = []
    for name, bits, words in PROGRAM_MEMORY.findall(verilog):
        halves = column_bits(int(bits)) % LARGE_BITS == 0
        if halves and int(words) <= LARGE_WORDS and int(bits) <= LARGE * LARGE_BITS:
            found.append(large_memory(name, int(bits), int(words)))
    return "".join(found)


@dataclass(frozen=True)
class Primitive:
    """A device's block: the widths in bits of its two signed inputs and its output, and its ``instance`` by name,
    number of registers, and the wires of inputs and output. ``registers``: the numbers of them that it can have."""

    shape: tuple[int, int]
    output: int
    instance: Callable[[str, int, str, str, str, tuple[bool, bool]], str]
    registers: tuple[int, ...]
    others: Callable[[str], str] = lambda verilog: ""
    """Modules for what else there is in a design's Verilog: sums, memories."""
    unsigned: bool = False
    """Whether inputs may be unsigned, with all of their bits."""

    def _blocks(self, wide: int, narrow: int) -> int:
        """Number of blocks that a product takes whose operands of these widths go to the inputs of these names."""
        return len(self._parts(wide, 0)) * len(self._parts(narrow, 1))

    def _parts(self, bits: int, side: int) -> list[tuple[int, int, bool]]:
        """The pieces of an operand at the input of that number."""
        return _parts(bits, self.shape[side], self.unsigned)

    def module(self, name: str, a: int, b: int, registers: int) -> str | None:
        """A product's module of that name, operand widths and number of registers; None if the block has no such
        number. What is more than it has are registers of the fabric, before it. Operands go to the inputs that take
        fewer blocks, else the wider to the wider."""
        if registers < min(self.registers):
            return None
        inside = min(registers, max(self.registers))
        orders = [("a", "b", a, b), ("b", "a", b, a)]
        # the wider one first, which counts where both orders take as many
        orders.sort(key=lambda order: -order[2])
        wide, narrow, n, m = min(
            orders,
            key=lambda order: self._blocks(order[2], order[3]),
        )
        text = (
            f"module {name}(clk, rst, a, b, p);\n  input clk;\n  input rst;\n  input signed [{a - 1}:0] a;\n"
            f"  input signed [{b - 1}:0] b;\n  output signed [{a + b - 1}:0] p;\n"
        )
        for k in range(registers - inside):
            for side, width in (("a", a), ("b", b)):
                text += f"  reg signed [{width - 1}:0] {side}{k};\n"
                text += f"  always @(posedge clk) {side}{k} <= {f'{side}{k - 1}' if k else side};\n"
        if registers > inside:
            wide, narrow = (f"{side}{registers - inside - 1}" for side in (wide, narrow))
        first, second = self._parts(n, 0), self._parts(m, 1)
        for operand, port, parts, width in (
            (wide, "wide", first, self.shape[0]),
            (narrow, "narrow", second, self.shape[1]),
        ):
            for k, (low, high, top) in enumerate(parts):
                bits = f"{operand}[{high}:{low}]"
                if top:
                    bits = f"$signed({bits})"
                elif not self.unsigned:
                    bits = f"{{1'b0, {bits}}}"
                text += f"  wire signed [{width - 1}:0] {port}{k} = {bits};\n"
        terms = []
        for (k, x), (j, y) in itertools.product(enumerate(first), enumerate(second)):
            result = f"result{k}_{j}"
            # a block's output may be wider than its product
            size = min(sum(self.shape), self.output)
            text += f"  wire [{self.output - 1}:0] {result};\n  wire signed [{a + b - 1}:0] term{k}_{j} = "
            signed = x[2] or y[2] or not self.unsigned
            text += f"{'$signed' if signed else ''}({result}[{size - 1}:0]);\n"
            terms.append(f"(term{k}_{j} <<< {x[0] + y[0]})" if x[0] + y[0] else f"term{k}_{j}")
            pins = f"wide{k}", f"narrow{j}", result
            text += self.instance(f"block{k}_{j}", inside, *pins, (x[2], y[2]))
        low = first[-1][0]
        if len(first) == len(second) == 2 and second[-1][0] == low:
            # of four products the outer two stand side by side: only those between them are added
            return text + (
                # kept, as synthesis would make logic for a sum of three
                f"  (* keep *) wire signed [{self.output}:0] between = $signed(result0_1) + $signed(result1_0);\n"
                f"  assign p[{low - 1}:0] = result0_0[{low - 1}:0];\n  assign p[{a + b - 1}:{low}] = "
                f"$signed({{result1_1[{a + b - 2 * low - 1}:0], result0_0[{2 * low - 1}:{low}]}}) + between;\n"
                "endmodule\n"
            )
        return text + f"  assign p = {' + '.join(terms)};\nendmodule\n"


def _parts(bits: int, width: int, unsigned: bool) -> list[tuple[int, int, bool]]:
    """The pieces of a signed operand that an input of ``width`` bits takes, as (lowest bit, highest bit, whether it has
    the sign): all but the last are unsigned, a bit shorter than an input that is not ``unsigned`` itself."""
    parts = []
    low = 0
    step = width if unsigned else width - 1
    while bits - low > width:
        parts.append((low, low + step - 1, False))
        low += step
    return [*parts, (low, bits - 1, True)]


PRIMITIVES = {
    "ecp5": Primitive((18, 18), 36, _mult18x18d, tuple(ECP5_REGISTERS), chains),
    "gowin": Primitive((27, 18), 48, _multalu27x18, tuple(GOWIN_REGISTERS), alus),
    "gw2a": Primitive((18, 18), 36, _mult18x18, tuple(GW2A_REGISTERS), alus),
    "ice40": Primitive((16, 16), 32, _sb_mac16, tuple(ICE40_REGISTERS), large_memories, True),
}
"""By flow."""


def overrides(verilog: str, flow: str) -> str:
    """Modules with ``flow``'s primitives for products and sums in ``verilog``; empty if it has none."""
    primitive = PRIMITIVES.get(flow)
    if primitive is None:
        return ""
    made = (
        primitive.module(name, int(a), int(b), int(n))
        for name, a, b, n in PRODUCT_MODULE.findall(verilog)
    )
    products = "".join(text for text in made if text is not None)
    return products + primitive.others(verilog)
