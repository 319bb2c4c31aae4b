"""Prints what shared multipliers choose their factors among, and what another binding could spare.

All seven functions of an arm, as ``bench/boards.py`` builds them. Today each value has a register, and is an input of
the multiplexer before each input of a multiplier that takes it. Beside that: with a memory before each input of a
multiplier, written when a value is made, a multiplexer chooses among the units that make values, and all sums of one
accumulator are one unit. Both are counted for the products as they are bound, and after annealing for just that; the
latter within the schedule, and as if products could be made at any time. Annealing may put any product on any of the
multipliers, whatever its unit and its width, and memories take any number of values at once: not all that it finds can
be built. Nor is it a bound: annealing for longer finds less. It is not that of ``rbdgen/machines/pipeline/binding.py``,
for which what a multiplexer chooses among does not depend on where sums are made. Half an hour; no targets.
"""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from builds import BUILDS, ROBOT
from figures import arguments, parse, section

from rbdgen import Design
from rbdgen.cli.commands import compile_design
from rbdgen.cli.console import reporter
from rbdgen.cli.parser import make_parser
from rbdgen.machines.pipeline.accumulators import Accumulator
from rbdgen.processes import on_all_cores

TRIES = 6_000_000
HOT, COLD = 2.0, 0.12
"""Inputs of multiplexers by which an exchange may make things worse, about, at first and in the end."""
FLIPS = 0.3
"""Share of tries that exchange the two factors of a product."""


class Factor(NamedTuple):
    """A multiplexer's choice for a product: what is ``read``, the register of a value or a table of constants, and
    the number of the sum that it is, or else the ``value``."""

    read: Hashable
    value: Hashable
    number: int | None


@dataclass
class Sum:
    """The products that one accumulator, ``on``, adds in a run, by their factors. ``slots``: when they are made, as
    bits; ``readers``: the products that have this sum as a factor, as sums and numbers there."""

    products: list[list[Factor]]
    on: int
    slots: int
    readers: set[tuple[int, int]] = field(default_factory=set)


class Choices:
    """Sums on accumulators, and how often what is chosen before each input of their multipliers: values, or ``by_unit``
    what makes them. Sums keep their ``times``, or take up no more than the interval."""

    def __init__(self, sums: Sequence[Sum], interval: int, by_unit: bool, times: bool) -> None:
        self.sums = [Sum([[*p] for p in s.products], s.on, s.slots, s.readers) for s in sums]
        self.interval, self.by_unit, self.times = interval, by_unit, times
        count = 1 + max(s.on for s in sums)
        self.on: list[set[int]] = [set() for _ in range(count)]
        self.load = [0] * count
        self.chosen: list[tuple[dict[Hashable, int], ...]] = [({}, {}) for _ in range(count)]
        self.inputs = 0
        for number, each in enumerate(self.sums):
            self.on[each.on].add(number)
            self.load[each.on] += len(each.products)
            self._count_all(number, 1)

    def _source(self, factor: Factor) -> Hashable:
        """Key of a multiplexer's input."""
        if not self.by_unit:
            return factor.read
        return factor.value if factor.number is None else self.sums[factor.number].on

    def _count(self, on: int, side: int, source: Hashable, times: int) -> None:
        counts = self.chosen[on][side]
        before = counts.get(source, 0)
        after = before + times
        if after:
            counts[source] = after
        else:
            del counts[source]
        self.inputs += (after > 0) - (before > 0)

    def _count_product(self, number: int, k: int, times: int) -> None:
        each = self.sums[number]
        for side in (0, 1):
            source = self._source(each.products[k][side])
            self._count(each.on, side, source, times)

    def _count_all(self, number: int, times: int) -> None:
        for k in range(len(self.sums[number].products)):
            self._count_product(number, k, times)

    def _flip(self, number: int, k: int) -> None:
        """Exchange the factors of a product."""
        self._count_product(number, k, -1)
        self.sums[number].products[k].reverse()
        self._count_product(number, k, 1)

    def _put(self, number: int, on: int) -> None:
        """Make a sum on another accumulator."""
        each = self.sums[number]
        read = each.readers if self.by_unit else ()
        size = len(each.products)
        self._count_all(number, -1)
        for reader, k in read:
            self._count_product(reader, k, -1)
        self.on[each.on].remove(number)
        self.load[each.on] -= size
        each.on = on
        self.load[on] += size
        self.on[on].add(number)
        for reader, k in read:
            self._count_product(reader, k, 1)
        self._count_all(number, 1)

    def anneal(self, tries: int) -> int:
        """Exchange sums and factors, ever less where that makes things worse; the inputs that are left."""
        draw = random.Random(1).random
        for n in range(tries):
            heat = HOT * (COLD / HOT) ** (n / tries)
            before = self.inputs
            number = int(draw() * len(self.sums))
            each = self.sums[number]
            if draw() < FLIPS:
                k = int(draw() * len(each.products))
                self._flip(number, k)
                if _refused(self.inputs - before, heat, draw()):
                    self._flip(number, k)
                continue
            here, there = each.on, int(draw() * len(self.on))
            back = self._in_the_way(number, there, draw())
            if here == there or back is None:
                continue
            self._exchange(number, there, back, here)
            if _refused(self.inputs - before, heat, draw()):
                self._exchange(number, here, back, there)
        return self.inputs

    def _exchange(self, number: int, there: int, back: Sequence[int], here: int) -> None:
        self._put(number, there)
        for other in back:
            self._put(other, here)

    def _in_the_way(self, number: int, there: int, drawn: float) -> list[int] | None:
        """The sums that must come back from another accumulator for one that goes there; None where that cannot be."""
        each = self.sums[number]
        if not self.times:
            size = len(each.products)
            if self.load[there] + size <= self.interval:
                return []
            alike = [n for n in sorted(self.on[there]) if len(self.sums[n].products) == size]
            return [alike[int(drawn * len(alike))]] if alike else None
        back = [n for n in sorted(self.on[there]) if self.sums[n].slots & each.slots]
        arriving = 0
        for n in back:
            arriving |= self.sums[n].slots
        stay = (n for n in self.on[each.on] if n != number)
        return None if any(self.sums[n].slots & arriving for n in stay) else back


def _refused(worse: int, heat: float, drawn: float) -> bool:
    """Whether an exchange that leaves so many more inputs is taken back."""
    return worse > 0 and drawn >= math.exp(-worse / heat)


def sums_of(design: Design) -> list[Sum]:
    """The sums of a design's products, as they are bound."""
    schedule = design.plan.schedule
    nodes = schedule.fixed.graph.nodes
    shared = [made for made in schedule.products.values() if schedule.in_time(made[0])]
    number = {i: n for n, i in enumerate(i for made in shared for i in made)}
    sums = []
    for on, made in enumerate(shared):
        for i in made:
            cycles = schedule.read_cycles(i)
            products: list[list[Factor]] = []
            slots = 0
            for k in range(len(nodes[i].products)):
                factors = []
                for position in schedule.factors(i, k):
                    a = nodes[i].args[position]
                    read = schedule.read(a, cycles[position])
                    value = read if nodes[a].op == "const" else f"node {a}"
                    factors.append(Factor(read, value, number.get(a)))
                products.append(factors)
                slots |= 1 << (schedule.slots[i].start + k) % schedule.ii
            sums.append(Sum(products, on, slots))
    for reader, each in enumerate(sums):
        for k, product in enumerate(each.products):
            for factor in product:
                if factor.number is not None:
                    sums[factor.number].readers.add((reader, k))
    return sums


def built(board: str, options: Sequence[str]) -> Design:
    """The design that ``rbdgen build`` makes a bitstream of."""
    line = ["layout", ROBOT, "--board", board, "--functions", "all", *options]
    with reporter() as progress:
        design, _ = compile_design(make_parser().parse_args(line), progress)
    return design


def measure(board: str, options: Sequence[str], most: int) -> list[list[object]]:
    """Rows of one design; annealing makes ``most`` tries."""
    design = built(board, options)
    schedule = design.plan.schedule
    sums = sums_of(design)
    made = [nodes for nodes in schedule.products.values() if schedule.in_time(nodes[0])]
    widths = [width for nodes in made for width in Accumulator(schedule, nodes).inputs]
    width = sum(widths) / len(widths)
    cases = [(by_unit, False, 0) for by_unit in (False, True)]
    cases += [(by_unit, times, most) for times in (True, False) for by_unit in (False, True)]

    def inputs(case: tuple[bool, bool, int]) -> int:
        """Inputs of all multiplexers."""
        by_unit, times, tries = case
        return Choices(sums, schedule.ii, by_unit, times).anneal(tries)

    rows: list[list[object]] = []
    fabric = schedule.device.fabric
    sizes = [1 + tries for _, _, tries in cases]
    for case, found in zip(cases, on_all_cores(inputs, cases, sizes), strict=True):
        by_unit, times, tries = case
        bound = "annealed within the schedule" if times else "annealed, at any time"
        luts = fabric.multiplexer * width * (found - len(widths))
        memories = fabric.fifo * width * len(widths) if by_unit else 0.0
        row: list[object] = [board, "units, with memories" if by_unit else "values, with registers"]
        row += [bound if tries else "as it is", len(widths), found]
        row += [f"{found / len(widths):.1f}", round(luts), round(memories)]
        rows.append(row)
    return rows


def main() -> None:
    """Run all."""
    parser = arguments(__doc__)
    parser.add_argument("--tries", type=int, default=TRIES, help="exchanges of each annealing")
    args = parse(parser)
    rows = []
    for board, functions, options, _, _ in BUILDS:
        if functions == "all":
            rows += measure(board, options, args.tries)
    head = ["board", "what is chosen among", "binding", "multiplexers", "inputs", "of each"]
    head += ["look-up tables of multiplexers, modelled", "of memories"]
    section(f"Choices before shared multipliers: {ROBOT}, all seven", head, rows)


if __name__ == "__main__":
    main()
