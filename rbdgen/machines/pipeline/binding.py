"""Binding of products to a unit's multipliers, and of factors to the inputs of these.

The schedule says when the products of a node are made: a run, one a cycle, on any of the unit's multipliers that is
free for so long. Wide products go to the same multipliers, so that few are wide. Beyond that, the choices before
multipliers and accumulators are to be narrow: products that have a factor in common had better go to the same one, and
so had those that move by as many places. Runs change multipliers at random as long as that costs little, and ever less
(threshold accepting, Dueck & Scheuer 1990).
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rbdgen.devices.device import Device
from rbdgen.machines.pipeline.multipliers import UnitMultipliers
from rbdgen.machines.pipeline.schedule import Schedule
from rbdgen.processes import on_all_cores

TRIES, MOST_TRIES = 100, 200_000
"""Exchanges that are tried for every product, and in a unit in all."""
FEW_TRIES = 100_000
"""A second's worth: below, forking a process is not worth it."""
TOLERANCE = 12.0
"""Bits of multiplexers by which an exchange may make things worse at first."""
NEAR = 0.6
"""Share of exchanges with a multiplier that has a factor of the product already."""
FLIPS = 0.25
"""Share of tries that exchange the two factors of a product."""
ACCUMULATED = 30
"""Bits of an accumulator, about: what a choice among places costs."""


@dataclass(frozen=True)
class Product:
    """A product to be bound: of the wider factor and the other one the width and what is ``read`` there, the same for
    factors that take the same input of a multiplexer; and by how many places it moves, up to a constant (``moves``;
    None: that does not matter)."""

    widths: tuple[int, int]
    read: tuple[Hashable, Hashable]
    moves: int | None = None


@dataclass(frozen=True)
class Run:
    """The products of a ``node``, which start in a ``phase`` one after the other, and what their sum starts from, if
    that is read: that and its width."""

    node: int
    phase: int
    products: tuple[Product, ...]
    start: tuple[Hashable, int] | None = None

    def blocks(self, device: Device) -> int:
        """Blocks of a multiplier that makes any of the products."""
        return max(device.blocks(*product.widths) for product in self.products)


@dataclass(frozen=True)
class Binding:
    """Multiplier of a run: its ``number`` in its unit, and of each product whether the wider factor goes to
    the second input (``crossed``)."""

    number: int
    crossed: tuple[bool, ...]


def bind_products(schedule: Schedule, most: Mapping[str, int]) -> Schedule:
    """``schedule`` with the products of every unit that shares multipliers bound to these, of which a unit may have
    ``most``."""
    binding = dict(schedule.binding)
    multipliers = dict(schedule.multipliers)
    crossed: set[tuple[int, int]] = set()
    units = _shared_runs(schedule)

    def bound(unit: str) -> dict[int, Binding]:
        """The bindings of one unit."""
        runs = units[unit]
        interval = schedule.folds.interval(unit, schedule.ii)
        count = 1 + max(schedule.binding[run.node] for run in runs)
        extra = max(0, most[unit] - count)
        return bind(runs, interval, schedule.device, schedule.binding, extra)

    sizes = [_tries(runs) for runs in units.values()]
    found = on_all_cores(bound, list(units), sizes) if sum(sizes) > FEW_TRIES else map(bound, units)
    for unit, bindings in zip(units, found, strict=True):
        multipliers[unit] = 1 + max(made.number for made in bindings.values())
        for i, made in bindings.items():
            binding[i] = made.number
            for k, other in enumerate(made.crossed):
                if other:
                    crossed.add((i, k))
            # the first turn's operator makes all turns
            for turn in schedule.folds.turns.get(i, ()):
                binding[turn.node] = made.number
    return replace(
        schedule,
        binding=binding,
        crossed=frozenset(crossed),
        multipliers=multipliers,
    )


def _shared_runs(schedule: Schedule) -> dict[str, list[Run]]:
    """The runs of units that share multipliers."""
    units: dict[str, list[Run]] = defaultdict(list)
    for i, node in schedule.fixed.graph:
        if schedule.in_time(i) and schedule.folds.template(i) == i:
            units[node.owner].append(_run(schedule, i))
    return units


def _run(schedule: Schedule, i: int) -> Run:
    """The run of node ``i``."""
    fixed = schedule.fixed
    folds = schedule.folds
    node = fixed.graph.nodes[i]
    formats = folds.arguments(fixed, i)
    reads = list(map(schedule.read, node.args, schedule.read_cycles(i)))
    products = []
    for k in range(len(node.products)):
        wider, other = folds.factors(fixed, i, k)
        moves = None
        # a product that no dot adds is rounded wherever it comes out
        if i in fixed.points:
            heads = formats[wider].head + formats[other].head
            moves = fixed.points[i] + heads
        product = Product(
            widths=(formats[wider].width, formats[other].width),
            read=(reads[wider], reads[other]),
            moves=moves,
        )
        products.append(product)
    start = None
    if node.addends:
        position = node.terms.factors
        start = reads[position], formats[position].width
    interval = folds.interval(node.owner, schedule.ii)
    phase = schedule.slots[i].start % interval
    return Run(i, phase, tuple(products), start)


def bind(
    runs: Sequence[Run],
    interval: int,
    device: Device,
    first: Mapping[int, int],
    extra: int = 0,
) -> dict[int, Binding]:
    """The bindings of a unit's runs by node, to the multipliers that ``first`` binds them to and ``extra`` more."""
    binder = _Binder(runs, interval, device, first, extra)
    binder.exchange()
    # a multiplier that lost all of its runs is not built
    used = {bound.number for bound in binder.bindings.values()}
    renumbered = {old: new for new, old in enumerate(sorted(used))}
    bindings = {}
    for node, bound in binder.bindings.items():
        number = renumbered[bound.number]
        bindings[node] = replace(bound, number=number)
    return bindings


class _Choices:
    """Choices before one multiplier: reads of its two inputs and of what its sums start from, and places."""

    def __init__(self, width: Mapping[Hashable, int]) -> None:
        self.width = width
        self.counts: tuple[dict[Hashable, int], ...] = ({}, {}, {}, {})
        """Counts of what is chosen: at the first input, at the second, where sums start, and among places."""
        self._cost: int | None = None

    def note(self, run: Run, crossed: Sequence[bool], times: int) -> None:
        """Count a run in, or out with ``times`` −1."""
        first, second, starts, places = self.counts
        self._cost = None
        for product, other in zip(run.products, crossed, strict=True):
            one, two = product.read
            if other:
                one, two = two, one
            _count(first, one, times)
            _count(second, two, times)
            if product.moves is not None:
                _count(places, product.moves, times)
        if run.start is not None:
            read, _ = run.start
            _count(starts, read, times)

    def cost(self) -> int:
        """Bits that multiplexers choose: of each input, all but the widest are added to what one alone would take."""
        if self._cost is None:
            self._cost = self._counted()
        return self._cost

    def _counted(self) -> int:
        first, second, starts, places = self.counts
        total = 0
        for counts in (first, second):
            if len(counts) > 1:
                widths = [self.width[read] for read in counts]
                total += sum(widths) - max(widths)
        # one input more, as a sum that goes on takes itself
        total += sum(self.width[read] for read in starts)
        more_places = max(0, len(places) - 1)
        return total + ACCUMULATED * more_places


def _count(counts: dict[Hashable, int], key: Hashable, times: int) -> None:
    """Count what is chosen in or out; nothing that is not chosen stays."""
    count = counts.get(key, 0) + times
    if count:
        counts[key] = count
    else:
        del counts[key]


class _Binder:
    """Runs on multipliers, while they are exchanged."""

    def __init__(
        self,
        runs: Sequence[Run],
        interval: int,
        device: Device,
        first: Mapping[int, int],
        extra: int,
    ) -> None:
        self.runs = _numbered(runs)
        self.geometry = UnitMultipliers(interval, ())
        count = 1 + max(first[run.node] for run in runs)
        self.widths = _input_widths(runs, first, device, count, extra)
        """Widths that the inputs of every multiplier may have."""
        self.phases: list[int] = []
        """The phases of every run, as bits, by its number."""
        for run in self.runs:
            phases = self.geometry.phases(run.phase, len(run.products))
            self.phases.append(phases)
        self.on: list[set[int]] = [set() for _ in self.widths]
        """The runs of every multiplier, by their numbers."""
        width: dict[Hashable, int] = defaultdict(int)
        self.readers: dict[Hashable, list[int]] = defaultdict(list)
        """The runs that read something, by their numbers."""
        for number, run in enumerate(self.runs):
            for read, bits in _reads(run):
                width[read] = max(width[read], bits)
                self.readers[read].append(number)
        self.choices = [_Choices(width) for _ in self.widths]
        self.bindings: dict[int, Binding] = {}
        for number, run in enumerate(self.runs):
            there = first[run.node]
            straight = [False] * len(run.products)
            # widths were made for the first binding, so that it fits
            crossed = self._crossed(run, there, straight)
            assert crossed is not None
            self._put(number, Binding(there, crossed))

    def _crossed(
        self,
        run: Run,
        number: int,
        wanted: Sequence[bool],
    ) -> tuple[bool, ...] | None:
        """Inputs of a multiplier to which the factors of a run can go, as ``wanted`` if they can so."""
        first, second = self.widths[number]
        crossed = []
        for product, cross in zip(run.products, wanted, strict=True):
            wide, narrow = product.widths
            for other in (cross, not cross):
                a, b = (narrow, wide) if other else (wide, narrow)
                if a <= first and b <= second:
                    crossed.append(other)
                    break
            else:
                return None
        return tuple(crossed)

    def _bound(self, number: int) -> Binding:
        """The binding of a run."""
        run = self.runs[number]
        return self.bindings[run.node]

    def _put(self, number: int, bound: Binding) -> None:
        run = self.runs[number]
        self.bindings[run.node] = bound
        self.on[bound.number].add(number)
        self.choices[bound.number].note(run, bound.crossed, 1)

    def _take(self, number: int) -> None:
        run = self.runs[number]
        bound = self.bindings[run.node]
        self.on[bound.number].remove(number)
        self.choices[bound.number].note(run, bound.crossed, -1)

    def exchange(self) -> None:
        """Exchange runs, or the factors of products, as long as the tolerance lasts."""
        tries = _tries(self.runs)
        # a fixed seed: the same design gives the same hardware
        draw = random.Random(1).random
        for n in range(tries):
            tolerance = TOLERANCE * (1 - n / tries)
            number = int(draw() * len(self.runs))
            run = self.runs[number]
            k = int(draw() * len(run.products))
            if draw() < FLIPS:
                self._flip(number, k, tolerance)
                continue
            if draw() < NEAR:
                factor = draw() < 0.5
                read = run.products[k].read[factor]
                readers = self.readers[read]
                reader = readers[int(draw() * len(readers))]
                there = self._bound(reader).number
            else:
                there = int(draw() * len(self.widths))
            cross = draw() < 0.5
            self._move(number, there, cross, tolerance)

    def _flip(self, number: int, k: int, tolerance: float) -> None:
        """Exchange the factors of one product, if that costs no more than ``tolerance``."""
        run = self.runs[number]
        bound = self.bindings[run.node]
        wanted = list(bound.crossed)
        wanted[k] = not wanted[k]
        crossed = self._crossed(run, bound.number, wanted)
        if crossed is not None and crossed == tuple(wanted):
            flipped = Binding(bound.number, crossed)
            self._rebind({number: flipped}, tolerance)

    def _move(self, number: int, there: int, cross: bool, tolerance: float) -> None:
        """Bind a run to another multiplier and what is in its way there to its own, if that can be and costs no more
        than ``tolerance``; its factors ``cross`` or not."""
        run = self.runs[number]
        here = self.bindings[run.node]
        if here.number == there:
            return
        phases = self.phases[number]
        leaving = [n for n in self.on[there] if self.phases[n] & phases]
        arriving = 0
        for n in leaving:
            arriving |= self.phases[n]
        # only the two multipliers exchange runs: what else is in the way stays
        for n in self.on[here.number]:
            if n != number and self.phases[n] & arriving:
                return
        wanted = [other ^ cross for other in here.crossed]
        crossed = self._crossed(run, there, wanted)
        if crossed is None:
            return
        moves = {number: Binding(there, crossed)}
        for n in leaving:
            wanted = self._bound(n).crossed
            back = self._crossed(self.runs[n], here.number, wanted)
            if back is None:
                return
            moves[n] = Binding(here.number, back)
        self._rebind(moves, tolerance)

    def _rebind(self, moves: Mapping[int, Binding], tolerance: float) -> None:
        """Bind runs elsewhere, all at once, if that costs no more than ``tolerance``."""
        before = {n: self._bound(n) for n in moves}
        bindings = (*moves.values(), *before.values())
        # no other multiplier's cost changes
        touched = {bound.number for bound in bindings}
        cost = self._cost(touched)
        self._exchange_all(moves)
        if self._cost(touched) - cost > tolerance:
            self._exchange_all(before)

    def _cost(self, multipliers: Iterable[int]) -> int:
        """Bits that the multiplexers before some multipliers choose."""
        return sum(self.choices[number].cost() for number in multipliers)

    def _exchange_all(self, moves: Mapping[int, Binding]) -> None:
        """Take all runs away before any is put elsewhere."""
        for n in moves:
            self._take(n)
        for n, bound in moves.items():
            self._put(n, bound)


def _tries(runs: Iterable[Run]) -> int:
    """Exchanges that are tried for the runs of a unit."""
    products = sum(len(run.products) for run in runs)
    return min(TRIES * products, MOST_TRIES)


def _numbered(runs: Iterable[Run]) -> list[Run]:
    """The runs with numbers for what they read: equal ones for what is the same, and quick to look up."""
    numbers: dict[Hashable, int] = {}
    numbered = []
    for run in runs:
        products = []
        for product in run.products:
            one, other = (numbers.setdefault(read, len(numbers)) for read in product.read)
            products.append(replace(product, read=(one, other)))
        start = run.start
        if start is not None:
            read, width = start
            start = numbers.setdefault(read, len(numbers)), width
        numbered.append(replace(run, products=tuple(products), start=start))
    return numbered


def _reads(run: Run) -> list[tuple[Hashable, int]]:
    """Values that a run reads, with the widths."""
    reads = []
    for product in run.products:
        reads += zip(product.read, product.widths, strict=True)
    if run.start is not None:
        reads.append(run.start)
    return reads


def _input_widths(
    runs: Sequence[Run],
    first: Mapping[int, int],
    device: Device,
    count: int,
    extra: int,
) -> list[tuple[int, int]]:
    """Widths of the inputs of all multipliers, as far as they take no more blocks; the ``extra`` ones are as the
    smallest."""
    widths = [(0, 0)] * count
    for run in runs:
        number = first[run.node]
        for product in run.products:
            widths[number] = _wider(widths[number], product.widths)
    rounded = _rounded(widths, device)
    smallest = min(rounded, key=lambda pair: (device.blocks(*pair), pair))
    return rounded + [smallest] * extra


def _wider(widths: tuple[int, int], others: tuple[int, int]) -> tuple[int, int]:
    """Widths that hold both."""
    first = max(widths[0], others[0])
    second = max(widths[1], others[1])
    return first, second


def _rounded(widths: Sequence[tuple[int, int]], device: Device) -> list[tuple[int, int]]:
    """Widths that take as many blocks, for multipliers of as many blocks the same as far as that goes."""
    common: dict[int, tuple[int, int]] = {}
    for pair in widths:
        blocks = device.blocks(*pair)
        before = common.get(blocks, (0, 0))
        wider = _wider(before, pair)
        # what is wider for others' sake must not cost a block
        if device.blocks(*wider) != blocks:
            wider = before
        common[blocks] = wider
    rounded = []
    for pair in widths:
        wider = common[device.blocks(*pair)]
        holds = _wider(wider, pair) == wider
        rounded.append(wider if holds else pair)
    return rounded
