"""Delays of operators: what saturation costs, and that the checker agrees with every device's schedule."""

from __future__ import annotations

import dataclasses

import pytest

from rbdgen.devices.registry import DEVICES
from rbdgen.functions.registry import common
from rbdgen.machines.pipeline.check import check_plan
from rbdgen.machines.pipeline.delays import Operators
from tests.conftest import design


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("overflow", ["saturate", "flag"])
def test_every_device_schedules_all_functions(device: str, overflow: str) -> None:
    # compiling checks the plan; here the device's own delays are checked again, saturating or not
    check_plan(design("pendulum2", functions=common(), ii=3, device=device, overflow=overflow).plan)


def test_saturation_costs_what_the_device_says() -> None:
    fixed = design("pendulum2", functions=common(), ii=3, overflow="saturate").fixed
    device = DEVICES["ecp5"]
    free = dataclasses.replace(device, limit=0.0)
    wrapping = dataclasses.replace(fixed, overflow="flag")
    costs = {
        i: (Operators(fixed, device).delays(i).after - Operators(fixed, free).delays(i).after)
        for i, node in fixed.graph
        if node.operation.rounds
    }
    assert {i for i, cost in costs.items() if cost} == {i for i in costs if fixed.may_overflow(i)}
    assert {round(cost, 9) for cost in costs.values()} == {0.0, device.limit}
    assert all(
        Operators(wrapping, device).delays(i) == Operators(wrapping, free).delays(i) for i in costs
    )
