"""Products on shared multipliers: never two at once, no wider than need be, and with fewer inputs to choose from."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence

import pytest

from rbdgen.devices.registry import DEVICES
from rbdgen.schedule.binding import Binding, Product, bind

DEVICE = DEVICES["ecp5"]


def phases(seed: int) -> dict[int, list[Product]]:
    """Random products: up to six in each of eight phases, of factors that occur several times."""
    rng = random.Random(seed)
    width = {f"x{k}": rng.choice([12, 18, 18, 22]) for k in range(12)}
    found: dict[int, list[Product]] = {}
    for phase in range(8):
        row = []
        for k in range(rng.randint(3, 6)):
            a, b = sorted(rng.sample(sorted(width), 2), key=lambda x: -width[x])
            row.append(Product(100 * phase + k, (width[a], width[b]), (a, b)))
        found[phase] = row
    return found


def cost(rows: Mapping[int, Sequence[Product]], bindings: Mapping[int, Binding]) -> tuple[int, int]:
    """Multiplier blocks, and inputs of all multiplexers."""
    widths: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    inputs: dict[tuple[int, int], set[object]] = defaultdict(set)
    for row in rows.values():
        for p in row:
            bound = bindings[p.node]
            for side in (0, 1):
                at = side ^ bound.crossed
                widths[bound.number][at] = max(widths[bound.number][at], p.widths[side])
                inputs[bound.number, at].add(p.read[side])
    return sum(DEVICE.blocks(*pair) for pair in widths.values()), sum(map(len, inputs.values()))


@pytest.mark.parametrize("seed", range(12))
def test_products_share_well(seed: int) -> None:
    rows = phases(seed)
    bindings = bind(rows, DEVICE)
    for row in rows.values():
        numbers = [bindings[p.node].number for p in row]
        assert len(set(numbers)) == len(numbers)
    assert max(bound.number for bound in bindings.values()) < max(map(len, rows.values()))
    by_width = {
        p.node: Binding(k)
        for row in rows.values()
        for k, p in enumerate(
            sorted(row, key=lambda p: (DEVICE.blocks(*p.widths), p.widths), reverse=True)
        )
    }
    as_they_come = {p.node: Binding(k) for row in rows.values() for k, p in enumerate(row)}
    blocks, inputs = cost(rows, bindings)
    assert blocks <= cost(rows, by_width)[0] <= cost(rows, as_they_come)[0]
    assert inputs < cost(rows, by_width)[1]


@pytest.mark.parametrize("seed", range(4))
def test_more_multipliers_have_less_to_choose(seed: int) -> None:
    rows = phases(seed)
    fewest, some, many = (bind(rows, DEVICE, extra) for extra in (0, 3, 100))
    assert len({bound.number for bound in some.values()}) <= max(map(len, rows.values())) + 3
    assert max(bound.number for bound in many.values()) < len(many)
    choices = []
    for bindings in (fewest, some, many):
        for row in rows.values():
            assert len({bindings[p.node].number for p in row}) == len(row)
        used = len({bound.number for bound in bindings.values()})
        choices.append(cost(rows, bindings)[1] - 2 * used)
    assert choices[0] > choices[1] > choices[2]


def test_the_same_factor_goes_to_the_same_multiplier() -> None:
    rows = {
        0: [Product(1, (18, 18), ("a", "b")), Product(2, (18, 18), ("c", "d"))],
        1: [Product(3, (18, 18), ("d", "c")), Product(4, (18, 18), ("b", "a"))],
    }
    bindings = bind(rows, DEVICE)
    assert cost(rows, bindings) == (2, 4)
