"""Operations that move in time: fewer registers, and nothing else that gets worse."""

from __future__ import annotations

import pytest

from rbdgen.devices.registry import DEVICES, get_device
from rbdgen.ir.builder import Builder
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.number_formats import Format
from rbdgen.machines.pipeline.buffers import make_plan
from rbdgen.machines.pipeline.check import check_plan
from rbdgen.machines.pipeline.schedule import Schedule
from rbdgen.machines.pipeline.scheduler import schedule
from tests.conftest import design, few


def as_early_as_can_be(monkeypatch: pytest.MonkeyPatch, *args) -> Schedule:
    """The list schedule."""
    with monkeypatch.context() as m:
        m.setattr(
            "rbdgen.machines.pipeline.scheduler.shorten_lifetimes", lambda times, extra: times
        )
        return schedule(*args)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("ii", few([1, 3, 8], 3))
def test_fewer_bits_wait_and_nothing_comes_later(
    ii: int, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = design("iiwa14").fixed, get_device(device), ii
    early, now = as_early_as_can_be(monkeypatch, *args), schedule(*args)
    plans = [make_plan(s) for s in (early, now)]
    check_plan(plans[1])
    assert plans[1].register_bits + plans[1].fifo_bits < 0.98 * (
        plans[0].register_bits + plans[0].fifo_bits
    )
    assert now.exits == early.exits
    assert now.blocks == early.blocks
    assert now.multipliers == early.multipliers


def test_both_products_of_a_sum_are_made_at_once_where_a_multiplier_is_spare() -> None:
    builder = Builder()
    a, b, c, d = map(builder.input, "abcd")
    with builder.submodule("unit"):
        products = builder.mul(a, b), builder.mul(c, d)
        total = builder.add(*products)
    graph = builder.graph({"total": total})
    fixed = FixedGraph(graph, (Format(18, 8),) * len(graph.nodes), {})
    device = get_device("ecp5").at_clock(50)
    one, two = (schedule(fixed, device, 4, spare=spare) for spare in (0, 1))
    for times, starts in ((one, 2), (two, 1)):
        check_plan(make_plan(times))
        assert len({times.slots[i].start for i, n in graph if n.name == "mul"}) == starts
        assert times.multipliers == {"unit": 3 - starts}
    assert make_plan(one).register_bits > make_plan(two).register_bits


def test_spare_blocks_are_never_exceeded() -> None:
    args = design("iiwa14").fixed, get_device("gw5a"), 8
    fewest = schedule(*args, hurry=False).blocks
    for spare in (1, 5, 20):
        times = schedule(*args, spare=spare, hurry=False)
        check_plan(make_plan(times))
        assert fewest <= times.blocks <= fewest + spare


def test_the_same_input_gives_the_same_schedule() -> None:
    fixed, device = design("iiwa14").fixed, get_device("gw5a")
    assert schedule(fixed, device, 5) == schedule(fixed, device, 5)
