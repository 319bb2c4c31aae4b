"""Devices: the registry finds every file, and a delay decides when operations run, not what registers there are."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

import rbdgen.devices
from rbdgen import ConfigError, Design, Options, compile_robot, load_robot
from rbdgen.devices.device import Device
from rbdgen.devices.registry import DEFAULT_DEVICE, DEVICES, NOT_FAMILIES, get_device
from rbdgen.machines.pipeline.queues import chosen_ahead, loop_cycles
from rbdgen_hw.emit import design_verilog
from tests.conftest import few

FUNCTIONS = ("id", "minv", "dfd")
NEXT_TO_NOTHING = 1e-12
"""ns. Some paths of the generic devices fill the period exactly; the scheduler tolerates 1e-9 ns beyond."""
REGISTERS = tuple(f.name for f in dataclasses.fields(Device) if f.name.endswith("_registers"))


def test_every_file_is_a_family() -> None:
    folder = Path(rbdgen.devices.__file__).parent
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert files >= set(NOT_FAMILIES)
    assert len(DEVICES) >= len(files - set(NOT_FAMILIES))
    assert all(device.name == name for name, device in DEVICES.items())
    assert DEFAULT_DEVICE in DEVICES


def test_unknown_device_names_the_nearest() -> None:
    with pytest.raises(
        ConfigError, match=r"^device 'ecp6': unknown; did you mean ecp5\? known devices: "
    ):
        get_device("ecp6")


@pytest.mark.parametrize("name", ["admission_registers", "lane_registers", "loop_registers"])
def test_a_register_that_hardware_cannot_have_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=rf"^device ecp5: {name} must be 0 or 1, not 2$"):
        dataclasses.replace(DEVICES["ecp5"], **{name: 2})


@pytest.mark.parametrize(
    ("shape", "a", "b", "blocks"),
    [((18, 18), 18, 18, 1), ((18, 18), 27, 18, 2), ((18, 18), 32, 32, 4), ((27, 18), 18, 27, 1)],
)
def test_multiplier_blocks(shape: tuple[int, int], a: int, b: int, blocks: int) -> None:
    device = dataclasses.replace(DEVICES["ecp5"], shape=shape)
    assert device.blocks(a, b) == blocks


def built(monkeypatch: pytest.MonkeyPatch, device: Device) -> Design:
    """A design of a small robot for a device that no file has."""
    monkeypatch.setitem(DEVICES, "changed", dataclasses.replace(device, name="changed"))
    return compile_robot(
        load_robot("pendulum2"), Options(FUNCTIONS, ii=4, device="changed", word=18)
    )


@pytest.mark.parametrize("name", few(DEVICES, "ecp5"))
@pytest.mark.slow
def test_a_routing_delay_is_a_delay_and_nothing_else(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is next to nothing changes no cycle and no register, whatever registers the device asks for."""
    devices = [
        dataclasses.replace(DEVICES[name], routing=delay) for delay in (0.0, NEXT_TO_NOTHING)
    ]
    without, with_it = (built(monkeypatch, device) for device in devices)
    assert without.plan.exits == with_it.plan.exits
    assert without.plan.schedule.entry_cycles == with_it.plan.schedule.entry_cycles
    for function in FUNCTIONS:
        assert without.promised_latency(function) == with_it.promised_latency(function)
    # operations move at random to where fewer values wait, and any difference makes other moves: here none moves
    monkeypatch.setattr(
        "rbdgen.machines.pipeline.scheduler.shorten_lifetimes", lambda times, extra: times
    )
    without, with_it = (built(monkeypatch, device) for device in devices)
    schedules = without.plan.schedule, with_it.plan.schedule
    cycles = [[(slot.start, slot.finish) for slot in s.slots] for s in schedules]
    assert cycles[0] == cycles[1]
    assert without.plan.units == with_it.plan.units
    assert design_verilog(without) == design_verilog(with_it)


@pytest.mark.slow
def test_registers_are_there_without_a_routing_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind by its own field: a design has as many as the device states."""
    plain = DEVICES["ecp5"]
    bare = dataclasses.replace(plain, **dict.fromkeys(REGISTERS, 0))
    least = built(monkeypatch, bare)

    def more(**registers: int) -> Design:
        return built(monkeypatch, dataclasses.replace(bare, **registers))

    assert all(device.routing == 0.0 for device in (plain, bare))
    assert more(admission_registers=1).plan.schedule.entry_cycles == 2
    assert least.plan.schedule.entry_cycles == 1
    for count in (1, 3):
        later = more(flag_registers=count).plan.schedule.exits
        assert later == {name: cycle + count for name, cycle in least.plan.schedule.exits.items()}
    assert bare.product_cycles(last=True) == bare.product_cycles(last=False)
    assert dataclasses.replace(bare, factor_registers=1).product_cycles(last=True) == (
        bare.product_cycles(last=True) + 1
    )
    assert chosen_ahead(more(lane_registers=1).plan)
    assert not chosen_ahead(least.plan)
    loops = [loop_cycles(d.plan, "feedback") for d in (least, more(loop_registers=1))]
    assert loops[1] == loops[0] + 1
    assert more(connection_registers=1).plan.units != least.plan.units
