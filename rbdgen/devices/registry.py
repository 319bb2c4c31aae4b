"""The list of all devices: every other file of this folder that has a ``FAMILY``, a tuple of devices, adds those."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from dataclasses import dataclass

import rbdgen.devices
from rbdgen.devices.device import FASTEST, SLOWEST, Device
from rbdgen.errors import ConfigError
from rbdgen.setting import NUMBER, WORD, StageOptions, setting

DEFAULT_DEVICE = "generic125"
NOT_FAMILIES = ("device", "registry")
"""Files of this folder that describe no device."""


def _find_devices() -> dict[str, Device]:
    """All devices by name, by their files' names."""
    found: dict[str, Device] = {}
    names = sorted(module.name for module in pkgutil.iter_modules(rbdgen.devices.__path__))
    for name in names:
        if name in NOT_FAMILIES:
            continue
        family = importlib.import_module(f"rbdgen.devices.{name}").FAMILY
        found |= {device.name: device for device in family}
    return found


DEVICES = _find_devices()
"""Known devices by name."""


def get_device(name: str) -> Device:
    """The device of that name; ConfigError with the nearest names."""
    if name not in DEVICES:
        near = difflib.get_close_matches(name, DEVICES, 1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ConfigError(f"device {name!r}: unknown; {hint}known devices: {', '.join(DEVICES)}")
    return DEVICES[name]


@dataclass(frozen=True)
class DeviceOptions(StageOptions):
    """The device that a design is timed for, and its clock."""

    device: str = setting(
        DEFAULT_DEVICE,
        WORD,
        "target",
        "device family that it is timed for",
        otherwise=f"{DEFAULT_DEVICE}, or the board's",
        choices=lambda: DEVICES,
        metavar="D",
    )
    clock: float | None = setting(
        None,
        NUMBER,
        "target",
        "clock in MHz that the pipeline is made for",
        otherwise="the device's",
        least=SLOWEST,
        most=FASTEST,
        metavar="MHZ",
    )


def target_device(options: DeviceOptions) -> Device:
    """The device that a schedule is made for, at the clock that it is made for. ConfigError for one out of range."""
    device = get_device(options.device)
    return device if options.clock is None else device.at_clock(options.clock)
