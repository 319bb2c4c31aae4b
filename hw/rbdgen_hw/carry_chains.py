"""Sums of Lattice's ECP5 with all that goes with them in one carry chain, in place of what synthesis would infer.

A bit of a carry chain has a look-up table with four inputs before it: room for a sign and for what an accumulator
begins with, or for the bits of a third number that is a constant, as rounding adds. Synthesis makes logic of its own
for these. As with multiplier blocks (:mod:`rbdgen_hw.primitives`), each sum is a module of its own, and here are
modules of the same names and ports. CCU2C: ECP5 and ECP5-5G sysIO and slice documentation (FPGA-TN-02035), and Yosys's
model of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

ACCUMULATOR = re.compile(r"^module (\w+_accumulate_(\d+)_([0-9a-f]+))\(", re.M)
"""Name, width and mask of starting bits of an accumulator's module."""
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
    if len(every) % 2:
        every.append(Bit((ZERO, ZERO, ZERO, ZERO), lambda a, b, c, d: 0, lambda a, b: 0))
    text = f"  wire [{len(every) // 2}:0] chain;\n"
    for k in range(0, len(every), 2):
        pins = []
        for half, bit in enumerate(every[k : k + 2]):
            pins += [f".{name}{half}({net})" for name, net in zip("ABCD", bit.inputs, strict=True)]
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


def accumulator(name: str, width: int, starting: int) -> str:
    """The module of an accumulator (:class:`rbdgen_hw.operators.Accumulate`): the sign of what is added, and whether
    the sum so far counts, are in the chain; bits that sums start from have a look-up table before it."""
    text = (
        f"module {name}(clk, rst, x, start, first, minus, y);\n  input clk;\n  input rst;\n"
        f"  input signed [{width - 1}:0] x;\n  input signed [{width - 1}:0] start;\n  input first;\n  input minus;\n"
        f"  output signed [{width - 1}:0] y;\n  wire [{width - 1}:0] total;\n  reg [{width - 1}:0] sum = 0;\n"
        f"  wire [{width - 1}:0] started = first ? start : sum;\n  always @(posedge clk) sum <= total;\n"
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
    for name, width, starting in ACCUMULATOR.findall(verilog):
        found.append(accumulator(name, int(width), int(starting, 16)))
    for name, op, a, left, b, right, drop, kept, wraps in ROUNDED_SUM.findall(verilog):
        if int(drop) == 0:
            continue
        widths, places = (int(a), int(b)), (int(left), int(right))
        total = Sum(name, op == "sub", widths, places, int(drop), int(kept), bool(wraps))
        found.append(total.module())
    return "".join(found)
