"""Where frames are on their links: values of a device's parameters by places as users give them, without a compiler.

A device has its frames in its bodies' frames, which the compiler chose; the manifest says where links are in these
(``movable``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rbdgen.errors import ConfigError, nearest, short
from rbdgen.operands import UNIT_TOLERANCE, check_finite, number_array

UPRIGHT = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
"""The rotation of a frame that is not turned on its link."""


@dataclass(frozen=True)
class MovablePlace:
    """Where a frame's ``link`` is in its body's frame, by ``origin`` (3, m) and ``rotation`` (3, 3); how far from the
    link's origin the frame may be (``reach``, m); and the ``parameters``' names by the entry of the frame's place."""

    link: str
    origin: np.ndarray
    rotation: np.ndarray
    reach: float
    parameters: Mapping[str, str]


def place_parameters(
    movable: Mapping[str, MovablePlace], frame: str, position: object, rotation: object
) -> dict[str, float]:
    """Values by name of the parameters of a ``frame`` whose origin is at ``position`` (3, m) of its link, and whose
    axes are the columns of ``rotation`` (3, 3) there. ConfigError for a frame that there is not or that is built in,
    for one too far away, and for what is no place."""
    if frame not in movable:
        raise ConfigError(
            f"frame: no {short(frame)} that can be put elsewhere; "
            + (nearest(frame, movable) if movable else "build with --movable-frames")
        )
    own = movable[frame]
    away, turned = _checked("position", position, (3,)), _checked("rotation", rotation, (3, 3))
    off = float(np.max(np.abs(turned @ turned.T - np.eye(3))))
    if off > UNIT_TOLERANCE or np.linalg.det(turned) < 0:
        raise ConfigError(
            f"frame {short(frame)}: rotation: must be a rotation, is off by {off:.3g} or mirrors"
        )
    distance = float(np.linalg.norm(away))
    if distance > own.reach * (1 + UNIT_TOLERANCE):
        raise ConfigError(
            f"frame {short(frame)}: must be within {own.reach:.6g} m of the origin of {own.link!r}, not "
            f"{distance:.6g}; build with the farthest place (--frame {frame}={own.link}:X,Y,Z)"
        )
    there = own.rotation @ turned
    origin = own.origin + own.rotation @ away
    axes = "xyz"
    entries = dict(zip(axes, origin.tolist(), strict=True))
    for row, values in zip(axes, there.tolist(), strict=True):
        entries |= {f"{row}{column}": x for column, x in zip(axes, values, strict=True)}
    # entries that no function needs are no parameters
    return {name: entries[entry] for entry, name in own.parameters.items()}


def _checked(name: str, value: object, shape: tuple[int, ...]) -> np.ndarray:
    """``value`` as an array of this shape. ConfigError where it is none."""
    array = number_array(name, value)
    if array.shape != shape:
        raise ConfigError(f"{name}: must be of shape {shape}, not {array.shape}")
    check_finite(name, array)
    return array
