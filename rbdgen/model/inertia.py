"""Whether a mass distribution can exist."""

from __future__ import annotations

import numpy as np

from rbdgen.model.body import Inertia, Placement
from rbdgen.spatial import IDENTITY3, constant_vector

TOLERANCE = 1e-6
"""How far a principal moment may be on the wrong side, relative to the largest: files round their numbers."""
ROUNDING = 1e-14
"""And relative to the largest about the frame's origin, of which those about a distant centre of mass are a rounded
rest."""


def inertia_faults(inertia: Inertia) -> tuple[str, ...]:
    """What no body can have, in words; empty for an inertia that a body can have.

    Checks moments without mass and, about the centre of mass, negative principal moments and the triangle inequality of
    principal moments (Wensing, Kim & Slotine, RA-L 2018).
    """
    if inertia.mass <= 0.0:
        return ("moments without mass",) if np.any(inertia.pseudo) else ()
    com = np.array(inertia.first_moment) / inertia.mass
    centred = inertia.expressed_in(Placement(IDENTITY3, constant_vector(-com)))
    low, mid, high = np.linalg.eigvalsh(centred.rotational)
    about_origin = float(np.trace(np.abs(inertia.second_moment)))
    slack = TOLERANCE * max(abs(low), abs(high)) + ROUNDING * about_origin
    if low < -slack:
        return (f"principal moment {low:.4g} is negative",)
    if high > low + mid + slack:
        return (
            f"principal moments {low:.4g}, {mid:.4g}, {high:.4g} violate the triangle inequality",
        )
    return ()
