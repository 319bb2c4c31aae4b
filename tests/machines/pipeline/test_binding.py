"""Runs of products on shared multipliers: never two at once, no wider than need be, and with fewer inputs to choose
from."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence

import pytest

from rbdgen.devices.registry import DEVICES
from rbdgen.machines.pipeline.binding import Binding, Product, Run, bind
from rbdgen.machines.pipeline.multipliers import UnitMultipliers

DEVICE = DEVICES["ecp5"]
INTERVAL = 8


def random_runs(
    seed: int, widths: Sequence[int] = (12, 18, 18, 22)
) -> tuple[list[Run], dict[int, int]]:
    """Runs of one to four products, of factors that occur several times, and multipliers that are free for them."""
    rng = random.Random(seed)
    width = {f"x{k}": rng.choice(widths) for k in range(12)}
    unit = UnitMultipliers(INTERVAL, ())
    runs: list[Run] = []
    first: dict[int, int] = {}
    for node in range(30):
        products = []
        for _ in range(rng.randint(1, 4)):
            wide, narrow = sorted(rng.sample(sorted(width), 2), key=lambda x: -width[x])
            moves = rng.choice([None, 3, 4])
            products.append(Product((width[wide], width[narrow]), (wide, narrow), moves))
        start = rng.choice([None, ("c", 18)])
        run = Run(node, rng.randrange(INTERVAL), tuple(products), start)
        shape = len(products), run.blocks(DEVICE)
        number = unit.find(run.phase, shape, careful=False)
        if number is None:
            number = unit.grow(shape[1])
        unit.take(number, run.phase, shape)
        runs.append(run)
        first[node] = number
    return runs, first


def blocks(runs: Sequence[Run], bindings: Mapping[int, Binding]) -> int:
    """Blocks of multipliers whose inputs are as wide as what goes to them."""
    widths: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for run in runs:
        bound = bindings[run.node]
        for product, crossed in zip(run.products, bound.crossed, strict=True):
            for side, width in enumerate(product.widths):
                at = side ^ crossed
                widths[bound.number][at] = max(widths[bound.number][at], width)
    return sum(DEVICE.blocks(*pair) for pair in widths.values())


def inputs(runs: Sequence[Run], bindings: Mapping[int, Binding]) -> int:
    """Inputs of multiplexers before multipliers beyond the first."""
    read: dict[tuple[int, int], set[object]] = defaultdict(set)
    for run in runs:
        bound = bindings[run.node]
        for product, crossed in zip(run.products, bound.crossed, strict=True):
            for side, name in enumerate(product.read):
                read[bound.number, side ^ crossed].add(name)
    return sum(len(names) - 1 for names in read.values())


def as_first(runs: Sequence[Run], first: Mapping[int, int]) -> dict[int, Binding]:
    """The bindings from which exchanges begin, with wider factors on the first inputs."""
    return {run.node: Binding(first[run.node], (False,) * len(run.products)) for run in runs}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("extra", [0, 3])
def test_a_multiplier_makes_one_product_at_a_time(seed: int, extra: int) -> None:
    runs, first = random_runs(seed)
    bindings = bind(runs, INTERVAL, DEVICE, first, extra)
    taken: dict[int, set[int]] = defaultdict(set)
    for run in runs:
        bound = bindings[run.node]
        assert len(bound.crossed) == len(run.products)
        for k in range(len(run.products)):
            phase = (run.phase + k) % INTERVAL
            assert phase not in taken[bound.number]
            taken[bound.number].add(phase)
    numbers = {bound.number for bound in bindings.values()}
    assert numbers == set(range(len(numbers)))
    assert len(numbers) <= len(set(first.values())) + extra


@pytest.mark.parametrize("seed", range(12))
def test_exchanges_leave_less_to_choose_and_no_wider_multipliers(seed: int) -> None:
    runs, first = random_runs(seed)
    bindings = bind(runs, INTERVAL, DEVICE, first)
    assert blocks(runs, bindings) <= blocks(runs, as_first(runs, first))
    assert inputs(runs, bindings) < inputs(runs, as_first(runs, first))


@pytest.mark.slow
def test_more_multipliers_have_less_to_choose() -> None:
    totals = []
    for extra in (0, 3, 100):
        total = 0
        for seed in range(6):
            runs, first = random_runs(seed, widths=(18,))
            total += inputs(runs, bind(runs, INTERVAL, DEVICE, first, extra))
        totals.append(total)
    assert totals[0] > totals[1] > totals[2]


def test_the_same_factor_goes_to_the_same_multiplier() -> None:
    def single(node: int, phase: int, a: str, b: str) -> Run:
        return Run(node, phase, (Product((18, 18), (a, b)),))

    runs = [
        single(1, 0, "a", "b"),
        single(2, 0, "c", "d"),
        single(3, 1, "d", "c"),
        single(4, 1, "b", "a"),
    ]
    bindings = bind(runs, 2, DEVICE, {1: 0, 2: 1, 3: 0, 4: 1})
    assert inputs(runs, bindings) == 0
