"""Delays of operators: what saturation costs, and that the checker agrees with every device's schedule."""

from __future__ import annotations

import dataclasses

import pytest

from rbdgen.ir.fixed import ROUNDED
from rbdgen.layout.functions import FUNCTIONS
from rbdgen.schedule.check import check_plan
from rbdgen.schedule.delays import operator_delays
from rbdgen.schedule.device import DEVICES
from tests.conftest import design


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("overflow", ["saturate", "flag"])
def test_every_device_schedules_all_functions(device: str, overflow: str) -> None:
    # compiling checks the plan; here the device's own delays are checked again, saturating or not
    check_plan(design("pendulum2", functions=tuple(FUNCTIONS), ii=3, device=device, overflow=overflow).plan)


def test_saturation_costs_what_the_device_says() -> None:
    fixed = design("pendulum2", functions=tuple(FUNCTIONS), ii=3).fixed
    device = DEVICES["ecp5"]
    free = dataclasses.replace(device, limit=0.0)
    wrapping = dataclasses.replace(fixed, saturate=False)
    costs = {
        i: (operator_delays(fixed, device, i).after - operator_delays(fixed, free, i).after)
        for i, node in fixed.graph
        if node.op in ROUNDED
    }
    assert {i for i, cost in costs.items() if cost} == {i for i in costs if fixed.may_overflow(i)}
    assert {round(cost, 9) for cost in costs.values()} == {0.0, device.limit}
    assert all(operator_delays(wrapping, device, i) == operator_delays(wrapping, free, i) for i in costs)
