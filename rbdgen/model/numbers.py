"""Numbers of models that others have built: refused where nothing can be computed with them, left out where zero."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rbdgen.errors import UrdfError
from rbdgen.model.rotations import rotation_fault
from rbdgen.model.urdf_elements import LARGEST
from rbdgen.spatial import constant_matrix, constant_vector


def check_numbers(where: str, key: str, values: Any, least: float = -LARGEST) -> None:
    """UrdfError for one of ``values``, which ``where`` has under ``key``, that is no number or beyond its bounds: below
    ``least`` (0, or as low as numbers are read) or above the largest that are read."""
    bound = "of 0 or more" if least == 0.0 else f"within ±{LARGEST:g}"
    for x in np.ravel(values):
        if not (math.isfinite(x) and least <= x <= LARGEST):
            raise UrdfError(f"{where}: {key} must be a number {bound}, not {x:g}")


def check_placement(where: str, key: str, homogeneous: np.ndarray) -> None:
    """UrdfError for a placement (4×4) with a number that is none or a rotation that is none."""
    check_numbers(where, key, homogeneous)
    fault = rotation_fault(constant_matrix(homogeneous[:3, :3]))
    if fault is not None:
        raise UrdfError(f"{where}: the rotation of its {key} {fault}; mend it")


def check_directions(where: str, key: str, values: np.ndarray) -> None:
    """UrdfError for a quaternion or an axis without a length."""
    check_numbers(where, key, values)
    if not np.any(values):
        raise UrdfError(f"{where}: {key} must not be zero, which is no direction; mend it")


def unless_zero(values: np.ndarray) -> tuple[float, ...]:
    """Numbers by degree of freedom; empty where all are zero."""
    return constant_vector(values) if np.any(values) else ()
