"""Look-up tables as Boolean expressions, which simulators compile to far less than a table's shifts."""

from __future__ import annotations

from functools import cache

from rbdgen_boards.models.cell import CONSTANTS, Bit

ZERO, ONE = "1'b0", "1'b1"


def reduced(contents: int, inputs: list[Bit]) -> tuple[int, list[Bit]]:
    """The table of those inputs that are no constants, the first of the ``inputs`` being the lowest bit of the
    address."""
    kept: list[Bit] = []
    positions = []
    fixed = 0
    for k, bit in enumerate(inputs):
        if bit not in CONSTANTS:
            kept.append(bit)
            positions.append(k)
        elif bit == "1":
            fixed |= 1 << k
    table = 0
    for address in range(1 << len(kept)):
        whole = fixed
        for k, position in enumerate(positions):
            whole |= (address >> k & 1) << position
        table |= (contents >> whole & 1) << address
    return table, kept


def expression(contents: int, names: list[str]) -> str:
    """A table as an expression of its inputs' ``names``."""
    return _cheapest(contents, len(names))[1].format(*names)


def depends_on(contents: int, size: int, k: int) -> bool:
    """Whether the output of a table of ``size`` inputs ever depends on the input of that number."""
    zero, one = _cofactors(contents, size, k)
    return zero != one


@cache
def _cheapest(table: int, size: int) -> tuple[int, str]:
    """Operations of the cheapest expression that decisions about one input after the other give, and its pattern."""
    full = (1 << (1 << size)) - 1
    if table == 0:
        return 0, ZERO
    if table == full:
        return 0, ONE
    return min(_decided(table, size, k) for k in range(size))


def _decided(table: int, size: int, k: int) -> tuple[int, str]:
    """The same where the input of number ``k`` is decided about first."""
    zero, one = _cofactors(table, size, k)
    full = (1 << (1 << size)) - 1
    name = f"{{{k}}}"
    zero_cost, when_zero = _cheapest(zero, size) if zero != table else (99, "")
    one_cost, when_one = _cheapest(one, size) if one != table else (99, "")
    if zero == one:
        return zero_cost, when_zero
    cost = zero_cost + one_cost
    if zero == full ^ one:
        if zero == 0:
            return 0, name
        if zero == full:
            return 1, f"!{name}"
        return 1 + zero_cost, f"({name} ^ {when_zero})"
    if zero == 0:
        return 1 + cost, f"({name} & {when_one})"
    if one == full:
        return 1 + cost, f"({name} | {when_zero})"
    if one == 0:
        return 2 + cost, f"(!{name} & {when_zero})"
    if zero == full:
        return 2 + cost, f"(!{name} | {when_one})"
    return 2 + cost, f"({name} ? {when_one} : {when_zero})"


def _cofactors(table: int, size: int, k: int) -> tuple[int, int]:
    """A table, of as many inputs, where the input of number ``k`` is zero, and where it is one."""
    zero = one = 0
    for address in range(1 << size):
        low = address & ~(1 << k)
        zero |= (table >> low & 1) << address
        one |= (table >> (low | 1 << k) & 1) << address
    return zero, one
