"""Sites of errors: what has which number, and how a site is described."""

from __future__ import annotations

from rbdgen.ir.builder import Builder
from rbdgen.ir.graph import Graph
from rbdgen.ir.terms import Terms
from rbdgen.wordlength.sites import describe_site, make_sites


def mixed() -> Graph:
    """x·y, and a dot with two products and an addend."""
    builder = Builder()
    x, y, z = map(builder.input, "xyz")
    with builder.submodule("one"):
        product = builder.mul(x, y)
        dot = builder.sum((product, z, x, y, z), Terms((1, -1), (1,)))
    return builder.graph({"out": dot})


def test_every_factor_of_every_product_is_a_site() -> None:
    graph = mixed()
    sites = make_sites(graph, frozenset())
    assert sites.factors == {3: 5, 4: 7}
    assert sites.results == {"out": 11}
    assert sites.count == 12


def test_a_sum_has_no_factors_and_a_kept_result_no_site() -> None:
    builder = Builder()
    total = builder.add(builder.input("x"), builder.input("y"))
    sites = make_sites(builder.graph({"out": total}), frozenset({"out"}))
    assert (sites.factors, sites.results, sites.count) == ({}, {}, 3)


def test_sites_are_described_by_what_is_there() -> None:
    graph = mixed()
    sites = make_sites(graph, frozenset())
    described = [describe_site(graph, sites, site) for site in range(sites.count)]
    assert described[0] == "operand x"
    assert described[3] == "a signal (mul) of one (%3)"
    assert described[4] == "result out"
    assert described[5:7] == ["a factor of a product in one (%3)"] * 2
    assert described[7:11] == ["a factor of a product in one (%4)"] * 4
    assert described[11] == "result out"
