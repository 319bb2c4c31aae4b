"""Constant factors: networks of additions that make them, and how many of those a design takes."""

from __future__ import annotations

import itertools
import random

import pytest

from rbdgen.ir.constants import AdderGraph, adder_graph, signed_digits
from tests.conftest import design


def made(graph: AdderGraph, argument: int) -> int:
    """What a network makes of an argument, exactly; nothing but zeros is dropped."""
    values = [argument]
    for addition in graph.additions:
        assert addition.signs in ((1, 1), (1, -1), (-1, 1))
        low = addition.signs[0] * values[addition.low]
        high = addition.signs[1] * values[addition.high] * 2**addition.shift
        kept, dropped = divmod(low + high, 2**addition.drop)
        assert not dropped
        values.append(kept)
    return values[-1]


def check(mantissa: int) -> None:
    graph = adder_graph(mantissa)
    digits = len(signed_digits(mantissa))
    for argument in (1, -1, 12345, -4096):
        assert made(graph, argument) == mantissa * argument
    assert graph.values[-1] == mantissa
    assert len(graph.additions) <= digits - 1
    assert 2**graph.depth < 2 * digits


@pytest.mark.parametrize("value", [1, 3, 7, 11, 255, 1023, 43691, 131071, 123457])
def test_signed_digits_are_exact_and_sparse(value: int) -> None:
    digits = signed_digits(value)
    assert sum(sign << place for sign, place in digits) == value
    places = [place for _, place in digits]
    assert all(b - a >= 2 for a, b in itertools.pairwise(places))


@pytest.mark.slow
def test_every_short_constant() -> None:
    for mantissa in range(1, 2**12, 2):
        check(mantissa)


@pytest.mark.parametrize("bits", [16, 18, 20, 22, 24, 27, 31])
def test_long_constants(bits: int) -> None:
    rng = random.Random(bits)
    for _ in range(12):
        check(rng.getrandbits(bits) | 1)


def fewest(most: int, limit: int) -> dict[int, int]:
    """The fewest additions, up to ``most``, that any network takes for each odd constant below ``limit``."""
    found: dict[int, int] = {}
    networks = {frozenset([1])}
    for count in range(1, most + 1):
        larger = set()
        for network in networks:
            for value in sums(network, 2 * limit):
                found.setdefault(value, count)
                larger.add(network | {value})
        networks = larger
    return {value: count for value, count in found.items() if value < limit}


def sums(network: frozenset[int], limit: int) -> set[int]:
    """All odd values that one addition makes of two of a network's."""
    values = set()
    for one in network:
        for other in network:
            for shift in range(limit.bit_length()):
                moved = other << shift
                values |= {one + moved, abs(one - moved)}
    values.discard(0)
    return {value // (value & -value) for value in values} - network


def test_no_network_of_two_additions_is_missed() -> None:
    limit = 2**8
    best = fewest(2, limit)
    for mantissa in range(3, limit, 2):
        digits = len(signed_digits(mantissa))
        assert len(adder_graph(mantissa).additions) == min(best.get(mantissa, 3), digits - 1)


def test_partial_sums_are_shared() -> None:
    # 45 = 5 · 9: two additions, where the four signed digits of 45 take three
    assert len(signed_digits(45)) == 4
    assert len(adder_graph(45).additions) == 2
    assert not adder_graph(1).additions


def test_values_that_wait_for_later_additions() -> None:
    graph = adder_graph(0b1010101 * 8 + 1)
    for level in range(graph.depth):
        crossing = graph.crossing(level)
        assert crossing
        assert all(graph.levels[k] <= level for k in crossing)
    assert graph.crossing(graph.depth) == []


def test_a_design_takes_fewer_adders_than_its_digits() -> None:
    fixed = design("iiwa14", functions=("id",), ii=1, constants="logic").fixed
    trees, adders = 0, 0
    for constant in fixed.constants.values():
        trees += len(signed_digits(constant.mantissa)) - 1
        adders += len(constant.graph.additions)
    assert trees > 400
    assert adders <= 0.79 * trees
