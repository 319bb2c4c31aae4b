"""Devices as a controller asks them, whatever they are, and whether one is of the controller's robot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from rbdgen.errors import ConfigError, short
from rbdgen.functions.quantities import F_EXT

Arrays = tuple[np.ndarray, ...]
"""Results of a function, in order."""


class Device(Protocol):
    """Whatever answers functions by their names: vectors are Pinocchio's, with any equal leading shape."""

    def call(self, function: str, /, **operands: np.ndarray) -> np.ndarray | Arrays:
        """Results of a function such as ``fd``: an array, or a tuple of several."""
        ...

    def takes(self, function: str) -> tuple[str, ...]:
        """The operands of a function. ConfigError for one that the device does not have."""
        ...

    def gives(self, function: str) -> tuple[str, ...]:
        """The results of a function. ConfigError for one that the device does not have."""
        ...

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints with coordinates of their own, in the order of q."""
        ...


class Calls:
    """A ``device`` for a controller of ``joints`` (names of those that move by themselves, in order) that asks
    ``functions``; external forces act on ``bodies``.

    ConfigError for a function that the device does not have, and for a device of other joints.
    """

    def __init__(
        self, device: Device, joints: Sequence[str], bodies: int, functions: Sequence[str]
    ) -> None:
        check_joints(device.joint_names, joints)
        self.device = device
        self.bodies = bodies
        self.gives = {name: device.gives(name) for name in functions}
        self.forced = {name for name in functions if F_EXT.name in device.takes(name)}
        """Functions that take external forces."""

    def __call__(self, function: str, **operands: np.ndarray) -> dict[str, np.ndarray]:
        """Results of a function by name; no external forces act where none are given."""
        if function in self.forced and F_EXT.name not in operands:
            batch = operands["q"].shape[:-1]
            # a device made with forces wants them in every task
            operands[F_EXT.name] = np.zeros((*batch, self.bodies, 6))
        results = self.device.call(function, **operands)
        names = self.gives[function]
        if len(names) == 1:
            return {names[0]: np.asarray(results)}
        return dict(zip(names, results, strict=True))

    def require_forces(self, function: str) -> None:
        """ConfigError unless a function takes external forces."""
        if function not in self.forced:
            raise ConfigError(
                f"{function}: this device takes no external forces, which contacts need; make one with --forces "
                "(forces=True)"
            )


def check_joints(own: Sequence[str], asked: Sequence[str]) -> None:
    """ConfigError where a device's joints are not those of the controller's model."""
    if len(own) != len(asked):
        raise ConfigError(
            f"device: is of {len(own)} joints, the controller's model has {len(asked)}; read both from the same file, "
            "with the same base and locks"
        )
    for k, (here, there) in enumerate(zip(own, asked, strict=True)):
        if here != there:
            raise ConfigError(
                f"device: its joint {k} is {short(here)}, that of the controller's model is {short(there)}; read both "
                "from the same file"
            )
